// SPDX-License-Identifier: MIT
// See wire.hpp.
#include "wire.hpp"

#include <algorithm>
#include <utility>

#include "host.hpp"
#include "node.hpp"
#include "world.hpp"

namespace liblock_test::sim {

Nanos Wire::next_arrival(Way way) {
  World &world = host_.world();
  Nanos &last = last_[index(way)];
  return last = std::max(last, world.now() + (link_ == nullptr ? world.delay() : link_->delay(way)));
}

void Wire::open(const liblock::StreamTarget &target) {
  Node *const node = host_.world().node_at(target.port);
  if (node != nullptr) link_ = &host_.link_to(*node);
  ++host_.world().connections;
  host_.world().at(next_arrival(Way::ToNode), [wire = shared_from_this(), node] { wire->try_to_open(node); });
}

void Wire::try_to_open(Node *node) {
  // Nobody answers: the time-out finds out.
  if (is_held(Way::ToNode) || is_held(Way::ToHost) || is_closed()) return;
  if (node == nullptr || !node->is_up()) return arrive_at_host({Parcel::Kind::Ended, "connection refused"});
  node_ = node;
  node->accept(shared_from_this());
  arrive_at_host({Parcel::Kind::Opened, {}});
}

void Wire::request_fill() {
  wants_fill_ = true;
  host_.wants_turn();
}

void Wire::close() {
  listener_ = nullptr;
  host_.wire_closed();
  // Behind what it has written.
  if (node_ != nullptr) send(Way::ToNode, {Parcel::Kind::Ended, {}});
}

bool Wire::turn() {
  bool did = false;
  while (listener_ != nullptr && !arrived_.empty()) {
    const Parcel parcel = std::move(arrived_.front());
    arrived_.pop_front();
    did = true;
    if (parcel.kind == Parcel::Kind::Opened) listener_->on_open();
    if (parcel.kind == Parcel::Kind::Bytes) listener_->on_bytes(parcel.text);
    if (parcel.kind == Parcel::Kind::Ended) listener_->on_end(parcel.text);
  }
  if (listener_ != nullptr && std::exchange(wants_fill_, false)) {
    std::string bytes;
    listener_->fill(bytes);
    did = true;
    if (bytes.empty()) return did;
    ++host_.world().writes;
    send_bytes(Way::ToNode, std::move(bytes));
  }
  return did;
}

void Wire::send(Way way, Parcel parcel) {
  under_way_[index(way)].push_back(std::move(parcel));
  host_.world().at(next_arrival(way), [wire = shared_from_this(), way] { wire->due(way); });
}

void Wire::send_bytes(Way way, std::string bytes) {
  World &world = host_.world();
  const bool breaks = link_->breaks_one_in != 0 && world.random.up_to(link_->breaks_one_in - 1) == 0;
  if (bytes.size() <= world.piece_bytes_max) {
    send(way, {Parcel::Kind::Bytes, std::move(bytes)});
  } else {
    for (size_t at = 0; at < bytes.size();) {
      const auto most = static_cast<int64_t>(std::min(world.piece_bytes_max, bytes.size() - at));
      const size_t size = 1 + static_cast<size_t>(world.random.up_to(most - 1));
      send(way, {Parcel::Kind::Bytes, bytes.substr(at, size)});
      at += size;
    }
  }
  if (breaks) break_anyhow();
}

bool Wire::is_held(Way way) const {
  // Who is gone is cut off, but for what he had sent before.
  return (host_.is_cut() && !orphaned_) || (link_ != nullptr && link_->is_cut(way));
}

void Wire::due(Way way) {
  World &world = host_.world();
  if (const Nanos until = held_until_[index(way)]; world.now() < until)
    return world.at(until, [wire = shared_from_this(), way] { wire->due(way); });
  if (is_held(way)) return link_->hold(shared_from_this(), way);
  Parcel parcel = std::move(under_way_[index(way)].front());
  under_way_[index(way)].pop_front();
  world.trace.add(index(way));
  world.trace.add(parcel.text);
  if (way == Way::ToHost) return arrive_at_host(std::move(parcel));
  arrive_at_node(std::move(parcel));
}

void Wire::arrive_at_host(Parcel parcel) {
  if (orphaned_ || is_closed()) return;
  arrived_.push_back(std::move(parcel));
  host_.wants_turn();
}

void Wire::arrive_at_node(Parcel parcel) {
  if (node_ended_) return;
  if (parcel.kind == Parcel::Kind::Ended) return node_->forget(*this);
  if (host_.world().now() > requests_until_) return;
  if (requests_.empty()) {
    requests_ = std::move(parcel.text);
  } else {
    requests_ += parcel.text;
  }
  node_->serve(*this, requests_);
}

void Wire::reply(std::string bytes) {
  if (!answers_are_lost && !node_ended_) send_bytes(Way::ToHost, std::move(bytes));
}

void Wire::hold_answers(Nanos until) {
  Nanos &last = last_[index(Way::ToHost)];
  last = std::max(last, until);
}

void Wire::end_by_node(const std::string &why) {
  if (!std::exchange(node_ended_, true)) send(Way::ToHost, {Parcel::Kind::Ended, why});
}

void Wire::break_off(Nanos requests_until) {
  requests_until_ = std::min(requests_until_, requests_until);
  answers_are_lost = true;
  arrive_at_host({Parcel::Kind::Ended, "connection reset"});
}

void Wire::break_anyhow() {
  World &world = host_.world();
  const int64_t what = world.random.up_to(2);
  const Nanos last = last_[index(Way::ToNode)];
  if (what == 2) return break_off(world.now() + world.random.up_to(std::max(last - world.now(), Nanos{0})));
  break_off(what == 0 ? world.now() - 1 : liblock::kNever);
}

void Wire::orphan(bool delivers) {
  // What a cut holds up is lost, and what comes behind it.
  if (!delivers || host_.is_cut()) requests_until_ = host_.world().now() - 1;
  orphaned_ = true;
  if (node_ != nullptr) send(Way::ToNode, {Parcel::Kind::Ended, {}});
}

}  // namespace liblock_test::sim
