// SPDX-License-Identifier: MIT
// See instance_list.hpp.
#include "redis/instance_list.hpp"

#include <algorithm>

#include "base/read_number.hpp"
#include "redis/instance.hpp"

namespace liblock {

namespace {

constexpr size_t kInstancesPerPage = 100;
constexpr size_t kMemberBytes = 256;  // an id, its interval, and room for the protocol

// False: not as we write it.
bool read_member(const Reply &reply, size_t at, InstanceInfo &info, int64_t &silent_at_us) {
  const Bytes member = reply.at(at).text;
  const size_t bar = member.rfind('|');
  if (bar == Bytes::npos || bar == 0 || !read_number(member.substr(bar + 1), info.interval_ms) ||
      !read_number(reply.at(at + 1).text, silent_at_us) || !reply.has_integers(at + 2, 1))
    return false;
  const bool is_in_range = info.interval_ms > 0 && info.interval_ms <= Presence::kIntervalMostMs;
  info.id = member.substr(0, bar);
  info.listens = static_cast<int32_t>(reply.at(at + 2).integer);
  return is_in_range;
}

class InstancePage final : public ServerCall {
 public:
  InstancePage(Instance &instance, Ask &ask, Bytes which, AskDone done)
      : instance_(instance), ask_(ask), which_(which), done_(std::move(done)) {}
  void send() {
    ++ask_.tally.steps;
    begin(scripts::instances);
    key(Keyspace::side_key(Keyspace::Side::Instances, instance_.keyspace.prefix()));
    argument(static_cast<int64_t>(ask_.position.next));
    argument(static_cast<int64_t>(ask_.position.passed));
    argument(static_cast<int64_t>(kInstancesPerPage));
    argument(which_);
    instance_.link.send(*this);
  }
  bool fits(const Reply &reply) const override {
    return reply.is(Reply::Kind::Array) && reply.has_integers(0, 1) && reply.elements.size() % 3 == 1;
  }
  ReplyLimits limits() const override {
    return {kInstancesPerPage * kMemberBytes, kInstancesPerPage * 3 + 16, 4};
  }
  void answered(const Reply &reply) override {
    const int64_t now_us = reply.at(0).integer;
    for (size_t at = 1; at < reply.elements.size(); at += 3) {
      InstanceInfo info;
      int64_t silent_at_us = 0;
      const bool is_ours = read_member(reply, at, info, silent_at_us);
      const bool is_dead = is_ours && silent_at_us <= now_us && info.listens == 0;
      const bool is_gone = which_ == "forget" && reply.at(at + 2).integer == 0;
      move_on(silent_at_us, is_gone);
      if (is_gone) ++ask_.tally.instances;
      if (!is_ours || (ask_.flag && !is_dead)) continue;
      info.heard_us = silent_at_us - info.interval_ms * Presence::kSilentIntervals * 1'000;
      info.silent_ms = std::max<int64_t>(0, now_us - info.heard_us) / 1'000;
      info.is_zombie = is_dead;
      info.is_self = info.id == instance_.id;
      ask_.instances.push_back(std::move(info));
    }
    ask_.position.at_end = reply.elements.size() / 3 < kInstancesPerPage;
    if (which_ == "forget" && !ask_.position.at_end) return send();
    end(Status::OK, "");
  }
  void failed(const Failure &failure) override { end(failure.status, failure.text); }

 private:
  // What has gone is not passed over by the next page.
  void move_on(int64_t silent_at_us, bool is_gone) {
    const auto when = static_cast<uint64_t>(std::max<int64_t>(0, silent_at_us));
    if (when != ask_.position.next) ask_.position.passed = 0;
    ask_.position.next = when;
    ask_.position.passed += !is_gone;
  }
  void end(Status status, const std::string &why) { end_call(this, done_, status, why); }
  Instance &instance_;
  Ask &ask_;
  const Bytes which_;
  AskDone done_;
};

}  // namespace

void list_instances(Instance &instance, Ask &ask, AskDone done) {
  (new InstancePage(instance, ask, ask.flag ? "zombies" : "all", std::move(done)))->send();
}

void forget_dead_instances(Instance &instance, Ask &ask, AskDone done) {
  ask.position = {};
  ask.flag = true;
  (new InstancePage(instance, ask, "forget", std::move(done)))->send();
}

}  // namespace liblock
