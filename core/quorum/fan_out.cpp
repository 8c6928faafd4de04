// SPDX-License-Identifier: MIT
// See fan_out.hpp.
#include "quorum/fan_out.hpp"

#include "quorum/instance.hpp"

namespace liblock::quorum {

namespace {

// It comes first, or behind a word that says what became of the call.
int64_t time_of(const Reply &reply) { return reply.at(reply.at(0).is(Reply::Kind::Integer) ? 0 : 1).integer; }

}  // namespace

void FanOut::ask(Node &node) { send(*new Call(shared_from_this(), node)); }

void FanOut::send(Call &call) {
  Node &node = call.node;
  const bool may_be_sent = node.is_ready() || (takes_back() && node.is_saying());
  if (!may_be_sent) return call.failed({node.trouble(), false, node.why()});
  node.send(call);
}

void FanOut::ask_late(Call &call) {
  Node &node = call.node;
  if ((late_ & node.bit()) != 0)
    return failed(call, {Status::SERVER, false,
                         node.address + ": requests reach it too late: see its clock and the network", true});
  late_ |= node.bit();
  send(*new Call(shared_from_this(), node, call.who_changes));
}

void FanOut::ask_anyhow(Node &node) { node.send(*new Call(shared_from_this(), node)); }

void FanOut::ask_all(NodeSet nodes) {
  const std::shared_ptr<FanOut> kept = shared_from_this();
  for (const auto &node : instance_.nodes()) {
    if ((nodes & node->bit()) != 0) ask(*node);
  }
}

void FanOut::Call::sending(Nanos now) {
  sent_at = now;
  generation = node.generation();
  of_->encode(*this);
}

bool FanOut::Call::fits(const Reply &reply) const {
  if (!ServerClock::is_time(time_of(reply))) return false;
  if (reply.at(0).text == "CONFIG") return reply.has_integers(1, 1);
  return of_->fits(*this, reply);
}

void FanOut::Call::answered(const Reply &reply) {
  node.observe(time_of(reply), sent_at, of_->instance_.clock.now());
  if (reply.at(0).text == "CONFIG") {
    node.look_again();
    return failed({Status::NODES_MISMATCH, false, node.address + ": it goes by another configuration", true});
  }
  of_->answered(*this, reply);
  delete this;
}

void FanOut::Call::failed(const Failure &failure) {
  of_->failed(*this, failure);
  delete this;
}

void FanOut::Call::put_node_key() { key(kNodeKey); }

void FanOut::Call::put_key(Bytes lock_key) { put_names(*this, lock_key); }

}  // namespace liblock::quorum
