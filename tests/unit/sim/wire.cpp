// SPDX-License-Identifier: MIT
// See wire.hpp.
#include "wire.hpp"

#include <algorithm>
#include <utility>

#include "host.hpp"
#include "node.hpp"

namespace liblock_test::sim {

Nanos Wire::next_arrival(bool to_node) {
  Nanos &last = last_[to_node ? 1 : 0];
  return last = std::max(last, host_.world().now() + host_.world().delay());
}

void Wire::open(const liblock::StreamTarget &target) {
  Node *const node = host_.world().node_at(target.port);
  ++host_.world().connections;
  host_.world().at(next_arrival(true), [wire = shared_from_this(), node] {
    if (wire->host_.is_cut() || wire->is_closed()) return;  // nobody answers: the time-out finds out
    if (node == nullptr || !node->is_up()) return wire->arrive({Arrival::Kind::Ended, "connection refused"});
    wire->node_ = node;
    node->accept(wire);
    wire->arrive({Arrival::Kind::Opened, {}});
  });
}

void Wire::close() {
  listener_ = nullptr;
  if (node_ == nullptr) return;
  // Behind what it has written.
  host_.world().at(next_arrival(true), [wire = shared_from_this()] {
    if (!wire->node_ended_ && !wire->host_.is_cut()) wire->node_->forget(*wire);
  });
}

bool Wire::turn() {
  bool did = false;
  const std::shared_ptr<Wire> kept = shared_from_this();
  while (listener_ != nullptr && !arrived_.empty()) {
    const Arrival arrival = std::move(arrived_.front());
    arrived_.pop_front();
    did = true;
    if (arrival.kind == Arrival::Kind::Opened) listener_->on_open();
    if (arrival.kind == Arrival::Kind::Bytes) listener_->on_bytes(arrival.text);
    if (arrival.kind == Arrival::Kind::Ended) listener_->on_end(arrival.text);
  }
  if (listener_ != nullptr && std::exchange(wants_fill_, false)) {
    std::string bytes;
    listener_->fill(bytes);
    did = true;
    if (bytes.empty()) return did;
    ++host_.world().writes;
    send_pieces(bytes, true);
  }
  return did;
}

void Wire::send_pieces(const std::string &bytes, bool to_node) {
  World &world = host_.world();
  for (size_t at = 0; at < bytes.size();) {
    const size_t most = std::min(world.piece_bytes_max, bytes.size() - at);
    const size_t size = most == bytes.size()
                            ? most
                            : 1 + static_cast<size_t>(world.random.up_to(static_cast<int64_t>(most) - 1));
    world.at(next_arrival(to_node), [wire = shared_from_this(), to_node, piece = bytes.substr(at, size)] {
      wire->deliver(to_node, piece);
    });
    at += size;
  }
}

void Wire::deliver(bool to_node, std::string piece) {
  if (orphaned_ && !to_node) return;
  if (host_.is_cut() && !orphaned_) return held_[to_node ? 1 : 0].push_back(std::move(piece));
  if (!to_node) return arrive({Arrival::Kind::Bytes, std::move(piece)});
  if (drops_requests_ || node_ended_ || node_ == nullptr) return;
  requests_ += piece;
  node_->serve(*this, requests_);
}

void Wire::arrive(Arrival arrival) { arrived_.push_back(std::move(arrival)); }

void Wire::reply(const std::string &bytes) {
  if (answers_are_lost || node_ended_) return;
  send_pieces(bytes, false);
}

void Wire::end_by_node(const std::string &why) {
  if (std::exchange(node_ended_, true)) return;
  host_.world().at(next_arrival(false), [wire = shared_from_this(), why] {
    if (!wire->host_.is_cut()) wire->arrive({Arrival::Kind::Ended, why});
  });
}

void Wire::break_off(bool delivers) {
  drops_requests_ = drops_requests_ || !delivers;
  answers_are_lost = true;
  arrive({Arrival::Kind::Ended, "connection reset"});
}

void Wire::orphan(bool delivers) {
  drops_requests_ = drops_requests_ || !delivers ||
                    !held_[1].empty();  // what a cut holds up is lost, and what comes behind it
  orphaned_ = true;
  if (node_ == nullptr) return;
  host_.world().at(next_arrival(true), [wire = shared_from_this()] {
    if (!wire->node_ended_) wire->node_->forget(*wire);
  });
}

void Wire::resume() {
  for (const bool to_node : {false, true}) {
    for (std::string &piece : std::exchange(held_[to_node ? 1 : 0], {})) deliver(to_node, std::move(piece));
  }
  if (node_ended_) arrive({Arrival::Kind::Ended, "connection reset"});
}

}  // namespace liblock_test::sim
