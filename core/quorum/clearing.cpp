// SPDX-License-Identifier: MIT
// See clearing.hpp.
//
//   round    keys                  what happens to each                        followed by
//   Look     locks                 (the dead only) who may be dead is noted    a pause and Confirm, or Lines
//   Confirm  locks                 who still is                                Lines
//   Lines    that somebody wants   waiters go                                  Locks
//   Locks    all                   the lock goes                               the end
#include "quorum/clearing.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/engine.hpp"
#include "quorum/instance.hpp"
#include "quorum/reading.hpp"
#include "quorum/walking.hpp"

namespace liblock::quorum {

namespace {

using Whom = Engine::Whom;

constexpr size_t kKeysPerCallMax = 500;  // whatever the batch says: no script runs for long
constexpr size_t kDeadMax = 1'000;  // instances that are found dead at once; more are found the next time

// Of one page on all nodes.
struct Taken {
  std::vector<std::set<std::string, std::less<>>> ids;  // of each key
  std::vector<bool> locks;
  std::vector<uint64_t> waiters;
  NodeSet answered = 0;
};

struct Order {
  std::string whom;  // all, owner, instances
  std::vector<std::string> named;
  int64_t longest_us = 0;
  bool only_waiters = false;
};

class ClearRound final : public FanOut {
 public:
  ClearRound(Instance &instance, std::vector<std::string> lock_keys, Order order,
             std::function<void(Taken)> done)
      : FanOut(instance), lock_keys_(std::move(lock_keys)), order_(std::move(order)), done_(std::move(done)) {
    taken_.ids.resize(lock_keys_.size());
    taken_.locks.resize(lock_keys_.size());
    taken_.waiters.resize(lock_keys_.size());
  }
  void begin() {
    open_ = instance_.membership.ready();
    if (open_ == 0) return done_(std::move(taken_));
    ask_all(open_);
  }

 private:
  void encode(Call &call) override {
    call.begin_again(scripts::clear);
    call.put_node_key();
    for (const std::string &key : lock_keys_) call.put_key(key);
    call.argument(call.who());
    call.argument(call.node.boot());
    call.argument(call.node.not_after(call.sent_at, 2 * call.node.options.command_timeout));
    call.argument(kClaimMs);
    call.argument(order_.whom);
    call.argument(order_.longest_us);
    call.argument(order_.only_waiters ? Bytes("1") : Bytes("0"));
    for (const std::string &name : order_.named) call.argument(name);
  }
  bool fits(const Call &, const Reply &reply) const override {
    if (reply.at(0).text == "LATE") return reply.has_integers(1, 1);
    return reply.at(0).text == "OK" && reply.has_integers(1, 1) &&
           reply.elements.size() == 2 + 2 * lock_keys_.size();
  }
  ReplyLimits limits() const override {
    return {64 * 1'024 + lock_keys_.size() * 512, 64 + lock_keys_.size() * 2, 4};
  }
  void answered(Call &call, const Reply &reply) override {
    if (reply.at(0).text == "LATE") return ask_late(call);
    taken_.answered |= call.node.bit();
    for (size_t i = 0; i < lock_keys_.size(); ++i) {
      const Bytes id = reply.at(2 + 2 * i).text;
      const auto away = static_cast<uint64_t>(std::max<int64_t>(0, reply.at(3 + 2 * i).integer));
      taken_.waiters[i] = std::max(taken_.waiters[i], away);
      if (id.empty()) continue;
      taken_.locks[i] = true;
      taken_.ids[i].emplace(id);
    }
    one_ended(call);
  }
  void failed(Call &call, const Failure &) override { one_ended(call); }
  void one_ended(const Call &call) {
    open_ &= ~call.node.bit();
    if (open_ == 0) std::exchange(done_, nullptr)(std::move(taken_));
  }

  const std::vector<std::string> lock_keys_;
  const Order order_;
  std::function<void(Taken)> done_;
  Taken taken_;
  NodeSet open_ = 0;
};

class Clearing final : public Timer, public std::enable_shared_from_this<Clearing> {
 public:
  Clearing(Instance &instance, Ask &ask, AskDone done)
      : instance_(instance),
        ask_(ask),
        whom_(static_cast<Whom>(ask.number)),
        round_(whom_ == Whom::Dead ? Round::Look : Round::Lines),
        done_(std::move(done)) {}

  void next_page() {
    const Scanned what = round_ == Round::Lines ? Scanned::Lines : Scanned::Locks;
    walk(instance_, what, "", walk_, ask_.scan_batch,
         [self = shared_from_this()](Page page, bool at_end) { self->walked(std::move(page), at_end); });
  }
  void fire(Nanos) override {
    const std::shared_ptr<Clearing> kept = std::exchange(kept_, nullptr);
    instance_.asking.pauses.erase(this);
    instance_.runtime->cancel(*this);
    if (instance_.is_closing) return done_(Status::CLOSED, "");
    next_page();
  }

 private:
  enum class Round : uint8_t { Look, Confirm, Lines, Locks };

  void walked(Page page, bool at_end) {
    if (page.status != Status::OK) return done_(page.status, page.why);
    if (at_end) return next_round();
    page_ = std::move(page.lock_keys);
    next_batch();
  }
  void next_batch() {
    if (instance_.is_closing) return done_(Status::CLOSED, "");
    const bool looks = round_ == Round::Look || round_ == Round::Confirm;
    const size_t most = looks ? kKeysPerLook : std::min<size_t>(ask_.batch, kKeysPerCallMax);
    const size_t count = std::min(page_.size(), most);
    if (count == 0) return next_page();
    std::vector<std::string> batch(page_.end() - static_cast<ptrdiff_t>(count), page_.end());
    page_.resize(page_.size() - count);
    ++ask_.tally.steps;
    looks ? look(std::move(batch)) : take(std::move(batch));
  }
  void next_round() {
    walk_ = {};
    switch (round_) {
      case Round::Look:
        if (!suspects_.empty()) {
          round_ = Round::Confirm;
          return pause();
        }
        [[fallthrough]];
      case Round::Confirm:
        round_ = Round::Lines;
        return next_page();
      case Round::Lines:
        round_ = Round::Locks;
        if (whom_ == Whom::Dead && dead_.empty()) return done_(Status::OK, "");
        return next_page();
      case Round::Locks:
        return done_(Status::OK, "");
    }
  }
  void pause() {
    kept_ = shared_from_this();
    instance_.asking.pauses.insert(this);
    instance_.runtime->arm(*this, instance_.runtime->now() + instance_.options.alive);
  }

  void look(std::vector<std::string> batch) {
    ReadHow how;
    how.takes_unknown = how.tells_unheard = true;
    read_keys(instance_, std::move(batch), how, [self = shared_from_this()](const KeysRead &read) {
      if (read.status != Status::OK) return self->done_(read.status, read.why);
      for (const KeyVotes &key : read.keys) self->note(key);
      self->next_batch();
    });
  }
  void note(const KeyVotes &key) {
    if (!is_zombie(instance_, key)) return;
    const std::string &instance = key.record().instance;
    if (round_ == Round::Look && suspects_.size() < kDeadMax) suspects_.insert(instance);
    if (round_ == Round::Confirm && suspects_.contains(instance)) dead_.insert(instance);
  }

  void take(std::vector<std::string> batch) {
    Order order;
    order.whom = whom_ == Whom::Everybody ? "all" : whom_ == Whom::Owner ? "owner" : "instances";
    if (whom_ == Whom::Owner) order.named = {escape_field(ask_.text)};
    if (whom_ == Whom::Instance) order.named = {ask_.text};
    if (whom_ == Whom::Dead) {
      order.named.assign(dead_.begin(), dead_.end());
      order.longest_us = ask_.dead_after == kNever ? 0 : ask_.dead_after / 1'000;
    }
    order.only_waiters = round_ == Round::Lines;
    const auto round = std::make_shared<ClearRound>(
        instance_, batch, std::move(order),
        [self = shared_from_this(), batch](const Taken &taken) { self->took(batch, taken); });
    round->begin();
  }
  // What was carried out where nobody answered is not known, but that it does no harm to ask again.
  void took(const std::vector<std::string> &batch, const Taken &taken) {
    const bool is_confirmed = instance_.membership.knowing_rule().is_reached(taken.answered);
    for (size_t i = 0; i < batch.size(); ++i) {
      ask_.tally.locks += taken.locks[i];
      ask_.tally.waiters += taken.waiters[i];
      ask_.tally.queues += taken.waiters[i] != 0;
      if (!taken.locks[i]) continue;
      if (is_confirmed) {
        for (const std::string &id : taken.ids[i]) instance_.observers.taken_away(batch[i], id);
      }
      // Others hear of it by messages; what is here need not wait for one.
      std::vector<LeaseRef> ours = instance_.keeper.find(batch[i]);
      std::erase_if(ours, [&](const LeaseRef &lease) { return !taken.ids[i].contains(lease->id.text()); });
      if (!ours.empty()) instance_.verify_leases(ours, nullptr);
    }
    if (!is_confirmed)
      return done_(Status::IN_DOUBT, "fewer nodes than a quorum have confirmed it; ask again");
    next_batch();
  }

  Instance &instance_;
  Ask &ask_;
  const Whom whom_;
  Round round_;
  const AskDone done_;
  WalkPosition walk_;
  std::vector<std::string> page_;
  std::set<std::string> suspects_, dead_;
  std::shared_ptr<Clearing> kept_;  // during a pause
};

}  // namespace

void clear(Instance &instance, Ask &ask, AskDone done) {
  std::make_shared<Clearing>(instance, ask, std::move(done))->next_page();
}

}  // namespace liblock::quorum
