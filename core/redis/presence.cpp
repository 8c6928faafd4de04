// SPDX-License-Identifier: MIT
// See presence.hpp.
#include "redis/presence.hpp"

#include <algorithm>

#include "redis/clearing.hpp"
#include "redis/instance.hpp"

namespace liblock {

namespace {

constexpr Nanos kFirst = 1'000 * kMillisecond;  // who comes and goes is spared the call
constexpr size_t kLookedAtMost = 256;           // silent ones in one call
constexpr size_t kMemberBytes = 256;

int64_t ms_of(Nanos time) { return time / kMillisecond; }

}  // namespace

class Presence::Call final : public ServerCall {
 public:
  Call(Presence &presence, bool confirms) : presence_(presence), confirms_(confirms) {
    const Instance &instance = presence.instance_;
    const Nanos interval = instance.options.zombie_interval;
    begin(scripts::presence);
    key(Keyspace::side_key(Keyspace::Side::Instances, instance.keyspace.prefix()));
    key(Keyspace::side_key(Keyspace::Side::Turn, instance.keyspace.prefix()));
    argument(presence.member_);
    argument(kSilentIntervals * interval / 1'000);
    argument(presence.declines() ? 0 : ms_of(presence.turn()));
    argument(static_cast<int64_t>(presence.pass_over_));
    argument(static_cast<int64_t>(kLookedAtMost));
    for (const std::string &member : presence.over_) argument(member);
    presence.instance_.link.send(*this);
  }
  bool fits(const Reply &reply) const override {
    return reply.is(Reply::Kind::Array) && reply.has_integers(0, 3);
  }
  ReplyLimits limits() const override {
    return {4'096 + kLookedAtMost * kMemberBytes, 16 + kLookedAtMost, 4};
  }
  void answered(const Reply &reply) override {
    presence_.answered(reply, confirms_);
    delete this;
  }
  void failed(const Failure &failure) override {
    presence_.failed(failure, confirms_);
    delete this;
  }

 private:
  Presence &presence_;
  const bool confirms_;
};

// Takes this instance off the list.
class Presence::Farewell final : public Command {
 public:
  explicit Farewell(Presence &presence) : presence_(presence) { presence.instance_.link.send(*this); }
  void encode(std::string &wire) const override {
    const std::string list =
        Keyspace::side_key(Keyspace::Side::Instances, presence_.instance_.keyspace.prefix());
    encode_words(wire, {"ZREM", list, presence_.member_});
  }
  void replied(const Reply &) override { end(); }
  void failed(const Failure &) override { end(); }

 private:
  void end() {
    Presence &presence = presence_;
    delete this;
    presence.is_leaving_ = false;
    presence.instance_.closing_goes_on();
  }
  Presence &presence_;
};

class Presence::Flush final : public Ask {
 public:
  void ended() override {}
};

Presence::Presence(Instance &instance)
    : instance_(instance),
      member_(instance.id + "|" + std::to_string(ms_of(instance.options.zombie_interval))) {}

Presence::~Presence() { instance_.runtime->cancel(*this); }

// Whoever has it asks again before it is over.
Nanos Presence::turn() const { return 2 * (instance_.options.zombie_interval + instance_.options.alive); }

bool Presence::declines() const { return instance_.runtime->now() < declines_until_; }

bool Presence::is_on() const { return instance_.options.zombie_interval != kNever && !instance_.is_closing; }

void Presence::on_connected() {
  if (!is_on()) return;
  const Nanos now = instance_.runtime->now();
  if (next_at_ == kNever) next_at_ = now + std::min(instance_.options.zombie_interval, kFirst);
  if (std::exchange(was_missed_, false)) next_at_ = now;
  // What kept us away may have kept others away, who hold and come back a moment later.
  declines_until_ = now + kSilentIntervals * instance_.options.zombie_interval;
  schedule();
}

void Presence::schedule() {
  if (!is_on() || is_under_way_) return;
  Nanos at = next_at_;
  if (state_ == State::Waiting) at = std::min(at, look_again_at_);
  instance_.runtime->cancel(*this);
  instance_.runtime->arm(*this, at);
}

void Presence::fire(Nanos now) {
  if (!is_on() || is_under_way_) return;
  if (state_ == State::Waiting && now >= look_again_at_) return send(true);
  if (now >= next_at_) return send(false);
  schedule();
}

void Presence::send(bool confirms) {
  const Nanos interval = instance_.options.zombie_interval;
  next_at_ = instance_.runtime->now() + interval - instance_.random.up_to(interval / 10);
  if (!instance_.link.is_connected()) {
    // It is no reason to connect: whoever holds or waits does so anyway.
    was_missed_ = true;
    if (confirms) state_ = State::Watching;
    return schedule();
  }
  is_listed_ = is_under_way_ = tells_over_ = true;
  new Call(*this, confirms);
}

void Presence::answered(const Reply &reply, bool confirms) {
  is_under_way_ = false;
  if (tells_over_) over_.clear();
  ++told_.runs;
  told_.last_run_us = reply.at(0).integer;
  std::vector<std::string> dead;
  for (size_t i = 3; i < reply.elements.size(); ++i) dead.emplace_back(reply.at(i).text);
  const bool has_turn = reply.at(1).integer == 1 && !dead.empty();
  const auto looked_at = static_cast<uint64_t>(std::max<int64_t>(0, reply.at(2).integer));
  // A page of those who are stopped is passed over the next time; the dead go from it by being flushed.
  if (dead.empty()) pass_over_ = looked_at < kLookedAtMost ? 0 : pass_over_ + looked_at;
  if (confirms) {
    std::erase_if(dead, [this](const std::string &member) { return !suspects_.contains(member); });
    state_ = State::Watching;
    if (has_turn && !dead.empty() && is_on()) flush(std::move(dead));
  } else if (has_turn && state_ == State::Watching) {
    suspects_ = {dead.begin(), dead.end()};
    state_ = State::Waiting;
    look_again_at_ = instance_.runtime->now() + instance_.options.alive;
  }
  schedule();
}

void Presence::failed(const Failure &failure, bool confirms) {
  is_under_way_ = false;
  was_missed_ = true;
  if (confirms) state_ = State::Watching;
  if (failure.status == Status::CLOSED) return;
  note_failure(failure.status);
  schedule();
}

void Presence::flush(std::vector<std::string> dead) {
  std::set<std::string> instances;
  for (const std::string &member : dead) instances.insert(member.substr(0, member.rfind('|')));
  state_ = State::Flushing;
  told_.is_flushing = true;
  flush_began_at_ = instance_.clock.now();
  flush_ = std::make_unique<Flush>();
  flush_->batch = 100;
  clear_dead_instances(
      instance_, *flush_, std::move(instances),
      [this, dead = std::move(dead)](Status status, const std::string &) { flushed(status, dead); });
}

void Presence::flushed(Status status, const std::vector<std::string> &dead) {
  state_ = State::Watching;
  told_.is_flushing = false;
  if (instance_.is_closing) return;
  if (status != Status::OK) {
    // Somebody else may be able to: one without the right to search never is.
    note_failure(status);
    declines_until_ = instance_.runtime->now() + kSilentIntervals * turn();
    next_at_ = instance_.runtime->now();
    return schedule();
  }
  ++told_.flushes;
  told_.instances += dead.size();
  told_.locks += flush_->tally.locks;
  told_.waiters += flush_->tally.waiters;
  tell_flushed(flush_->tally.locks);
  over_ = dead;
  tells_over_ = false;
  next_at_ = instance_.runtime->now();
  schedule();
}

void Presence::tell_flushed(uint64_t locks) try {
  auto told = std::make_unique<Told>(LIBLOCK_EVENT_DEAD_CLEARED);
  told->event.count = locks;
  told->event.elapsed_us = us_of(instance_.clock.now() - flush_began_at_);
  instance_.events.instruments()->administered(std::move(told));
} catch (const std::bad_alloc &) {
  // Instrumentation that finds no memory is incomplete, and nothing else.
}

void Presence::note_failure(Status status) {
  told_.last_failure.store(status);
  told_.last_failure_us = wall_clock_us();
}

void Presence::leave() {
  instance_.runtime->cancel(*this);
  if (!is_listed_ || !instance_.link.is_connected()) return;
  is_leaving_ = true;
  new Farewell(*this);
}

void Presence::status(liblock_zombies_status &status) const {
  const Nanos interval = instance_.options.zombie_interval;
  status.enabled = interval != kNever;
  status.flushing = told_.is_flushing;
  status.interval_ms = interval == kNever ? -1 : ms_of(interval);
  status.last_run_us = told_.last_run_us;
  status.runs = told_.runs;
  status.flushes = told_.flushes;
  status.instances = told_.instances;
  status.locks = told_.locks;
  status.waiters = told_.waiters;
  status.last_failure_us = told_.last_failure_us;
  status.last_failure = static_cast<liblock_status>(told_.last_failure.load());
}

}  // namespace liblock
