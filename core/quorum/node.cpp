// SPDX-License-Identifier: MIT
// See node.hpp.
#include "quorum/node.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/mutant.hpp"
#include "quorum/instance.hpp"
#include "redis/cleartext.hpp"

namespace liblock::quorum {

class Node::HelloCall final : public ServerCall {
 public:
  explicit HelloCall(Node &node) : node_(node), generation_(node.generation_) {
    begin(scripts::hello);
    key(kNodeKey);
    argument(node.boot_);
  }
  void sending(Nanos now) override { sent_at_ = now; }
  bool fits(const Reply &reply) const override {
    return reply.has_integers(0, 1) && ServerClock::is_time(reply.at(0).integer) &&
           reply.at(1).is(Reply::Kind::Text) && reply.has_integers(3, 6);
  }
  void answered(const Reply &reply) override {
    const int64_t now_us = reply.at(0).integer;
    node_.observe(now_us, sent_at_, node_.instance_.clock.now());
    Hello hello;
    hello.who = reply.at(1).text;
    const bool is_sound = hello.who.empty() || Configuration::parse(reply.at(2).text, hello.configuration);
    hello.silent_until_us = std::clamp<int64_t>(reply.at(4).integer, 0, ServerClock::kLastUs);
    hello.needs_floor = reply.at(5).integer != 0;
    hello.high = static_cast<uint64_t>(std::max<int64_t>(0, reply.at(6).integer));
    hello.floor = static_cast<uint64_t>(std::max<int64_t>(0, reply.at(8).integer));
    Node &node = node_;
    const bool is_current = generation_ == node.generation_;
    delete this;
    node.is_asking_ = false;
    if (!is_current) return;
    if (!is_sound)
      return node.refuse(Status::PROTOCOL, "its mark has a record that this version does not know");
    node.said(hello, now_us);
  }
  void failed(const Failure &failure) override {
    node_.is_asking_ = false;
    if (!failure.sent && failure.status != Status::CLOSED && failure.status != Status::CONNECT)
      node_.refuse(failure.status, failure.text);
    delete this;
  }

 private:
  Node &node_;
  const uint64_t generation_;
  Nanos sent_at_ = 0;
};

Node::Node(Instance &instance, size_t number, const ConnectionOptions &options_of_it)
    : index(number),
      options(options_of_it),
      address(options.address.redacted()),
      link(*instance.runtime, instance.clock, instance.random, options, Keyspace::channel_of(instance.id),
           *this),
      instance_(instance),
      why_(address + ": it has not answered yet") {
  warn_of_cleartext(instance.events, options.address, address);
}

// A proxy in front of several servers hides restarts; a replica and an evicting server forget.
std::string Node::unfit(const ServerInfo &info) const {
  if (info.run_id.empty())
    return "INFO shows no run_id: a proxy, or a server that hides its restarts, cannot be a node of a quorum";
  if (info.may_evict())
    return "its maxmemory-policy is " + shown(info.eviction_policy) +
           ", which evicts locks; set it to noeviction";
  if (same_as_ != nullptr) return "it is the same server as " + same_as_->address + ": one server is one node";
  return {};
}

const Node *Node::with_boot(const std::string &boot) const {
  for (const auto &other : instance_.nodes()) {
    if (other.get() != this && other->boot_ == boot && !boot.empty()) return other.get();
  }
  return nullptr;
}

void Node::on_connected(const ServerInfo &info, bool) {
  ++generation_;
  is_asking_ = false;
  told_ = 0;
  boot_ = info.run_id;
  same_as_ = with_boot(boot_);
  evicts_ = info.may_evict();
  if (const std::string why = unfit(info); !why.empty()) {
    boot_.clear();
    return refuse(info.run_id.empty() ? Status::UNSUPPORTED : Status::INVALID_ARGUMENT, why);
  }
  state_ = State::Connecting;
  if (info.time_us != 0) observe(info.time_us, info.asked_at, instance_.clock.now());
  look_again();
}

void Node::on_disconnected(Status status, const std::string &text) {
  // Whoever answers, and is a replica or wants another password, is not away. What it was refused for before says
  // nothing of now.
  state_ = status == Status::CONNECT || status == Status::CLOSED ? State::Down : State::Refused;
  trouble_ = status;
  why_ = text;
  if (std::exchange(was_up_, false)) instance_.tell_node(*this, LIBLOCK_EVENT_NODE_DOWN, trouble_, why_);
  instance_.membership.changed(*this);
}

void Node::refuse(Status status, const std::string &why) {
  state_ = State::Refused;
  trouble_ = status;
  why_ = address + ": " + why;
  // It may be one that was removed, and stay what it is for ever.
  link.distrust(status, why, std::min<uint32_t>(refusals_++, kRefusalsCounted));
}

void Node::look_again() {
  if (state_ == State::Ready) state_ = State::Connecting;
  ask_anew();
}

void Node::ask_anew() {
  if (!std::exchange(is_asking_, true)) send(*new HelloCall(*this));
}

void Node::was_marked() {
  if (!is_connected()) return;
  state_ = State::Connecting;
  look_again();
}

void Node::said(const Hello &hello, int64_t now_us) {
  const bool was_silent = hello_.needs_floor;
  const bool begins_anew = hello.silent_until_us != hello_.silent_until_us;
  hello_ = hello;
  remember_votes();
  const Nanos now = instance_.clock.now();
  if (hello.needs_floor && (!was_silent || begins_anew)) {
    boot_seen_at = now;
    ++instance_.counts_quorum.quarantines;
    const Nanos silence = LIBLOCK_MUTANT(floor_at_once) || LIBLOCK_MUTANT(no_quarantine)
                              ? 0
                              : nanos_from_ms(hello.configuration.max_ttl_ms) / 100 * 101;
    silent_until_ = now + silence;
    instance_.tell_node(*this, LIBLOCK_EVENT_NODE_QUARANTINED, Status::QUARANTINED,
                        address + ": it restarted, or lost its data; it does not vote for " +
                            std::to_string(silence / kMillisecond) + " ms");
  }
  if (!hello.needs_floor) {
    const int64_t left_us = std::clamp<int64_t>(hello.silent_until_us - now_us, 0, kNever / 4'000);
    silent_until_ = now + left_us * 1'000;
  }
  instance_.membership.heard(*this);
}

// What a server was before it lost its data nobody can ask it any more.
void Node::remember_votes() {
  const bool is_marked = !hello_.who.empty();
  const bool votes = is_marked && !hello_.never_voted();
  const bool was_lost = !marked_boot_.empty() && (!is_marked || marked_boot_ != boot_);
  may_have_voted_ = may_have_voted_ || votes || was_lost;
  if (is_marked) marked_boot_ = boot_;
}

void Node::set_ready(const std::string &node_id) {
  refusals_ = told_ = 0;
  id = node_id;
  state_ = State::Ready;
  if (!std::exchange(was_up_, true)) instance_.tell_node(*this, LIBLOCK_EVENT_NODE_UP, Status::OK, address);
}

Nanos Node::stepped_until() const {
  return has_stepped_ ? stepped_at_ + instance_.membership.max_ttl() / 100 * 101 : 0;
}

// Between two looks its clock and ours go alike, but for their rates. A slow answer says too little.
void Node::observe(int64_t server_us, Nanos asked_at, Nanos now) {
  const Nanos took = now - asked_at;
  if (took < 0 || server_us <= 0 || !ServerClock::is_time(server_us)) return;
  link.server_clock().observe(server_us, now);
  figures->round_trip_us = took / 1'000;
  figures->clock_offset_ms = (server_us + took / 2'000 - instance_.wall_us()) / 1'000;
  if (took > instance_.options.clock_step / 2) return;
  const int64_t offset = server_us - (asked_at + took / 2) / 1'000;
  // The rates of two clocks may differ by a hundredth.
  const Nanos drift = (now - std::exchange(offset_at_, now)) / 100;
  const bool stepped =
      has_offset_ && std::abs(offset - offset_us) * 1'000 > instance_.options.clock_step + drift;
  has_offset_ = true;
  offset_us = offset;
  if (!stepped) return;
  ++instance_.counts_quorum.steps;
  has_stepped_ = true;
  stepped_at_ = now;
  instance_.tell_node(*this, LIBLOCK_EVENT_NODE_STEPPED, Status::OK,
                      address + ": its clock jumped; it gives no votes for new locks for max_ttl_ms");
}

void Node::on_listening() { instance_.on_listening(*this); }
void Node::on_message(Bytes message) { instance_.on_message(*this, message); }
bool Node::needs_server() { return !instance_.is_closing; }
bool Node::needs_messages() { return instance_.needs_messages(); }

}  // namespace liblock::quorum
