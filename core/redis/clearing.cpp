// SPDX-License-Identifier: MIT
// See clearing.hpp.
//
//   round     keys                what happens to each                          followed by
//   Look      locks               (the dead only) who may be dead is noted      a pause, or Queues
//             -                   alive_ms pass: whoever reconnects is alive    Queues
//   Queues    that have a queue   waiters go, and the lock with them            Locks
//   Locks     all                 the lock goes                                 the end
#include "redis/clearing.hpp"

#include <algorithm>

#include "engine/engine.hpp"
#include "redis/instance.hpp"
#include "redis/instance_list.hpp"
#include "redis/key_names.hpp"
#include "redis/scanning.hpp"

namespace liblock {

namespace {

using Whom = Engine::Whom;

constexpr size_t kKeysPerCallMax = 1'000;  // whatever the batch says: no script runs for long
constexpr size_t kDeadMax = 1'000;  // instances that are found dead at once; more are found the next time

class ForceCall final : public ServerCall {
 public:
  ForceCall(Instance &instance, Forced forced, AskDone done)
      : instance_(instance), forced_(std::move(forced)), done_(std::move(done)) {
    begin(scripts::force_release);
    add_names(*this, forced_.lock_key);
    argument(forced_.drops_queue ? Bytes("1") : Bytes("0"));
    argument(forced_.attempt_id);
  }
  // What is granted here later is not what it takes away.
  void sending(Nanos) override {
    named_ = instance_.keeper.find(forced_.lock_key);
    std::erase_if(named_, [&](const LeaseRef &lease) {
      return !forced_.attempt_id.empty() && lease->id != forced_.attempt_id;
    });
  }
  bool fits(const Reply &reply) const override { return reply.is(Reply::Kind::Integer); }
  void answered(const Reply &reply) override {
    instance_.taken_away(forced_.lock_key, named_, forced_.drops_queue);
    end(reply.integer == 1 ? Status::OK : Status::NOT_HELD, "");
  }
  void failed(const Failure &failure) override {
    end(failure.sent ? Status::IN_DOUBT : failure.status, failure.text);
  }

 private:
  void end(Status status, const std::string &why) { end_call(this, done_, status, why); }
  Instance &instance_;
  const Forced forced_;
  AskDone done_;
  std::vector<LeaseRef> named_;
};

// Looks first, so that it can be told what there was.
class Forcing final : public Inspection {
 public:
  Forcing(Instance &instance, Ask &ask, AskDone done)
      : instance_(instance), ask_(ask), done_(std::move(done)) {
    inspect(instance, {instance.keyspace.lock_key(ask.keys[0])}, *this);
  }
  void seen(std::vector<std::unique_ptr<KeyInfo>> infos) override {
    ask_.tally.waiters = infos[0]->waiter_count();
    ask_.tally.queues = ask_.tally.waiters != 0;
    force_away(instance_, {instance_.keyspace.lock_key(ask_.keys[0]), {}, ask_.flag},
               [this](Status status, const std::string &why) {
                 ask_.tally.locks = status == Status::OK;
                 end(status, why);
               });
  }
  void failed(Status status, const std::string &why) override { end(status, why); }

 private:
  void end(Status status, const std::string &why) { end_call(this, done_, status, why); }
  Instance &instance_;
  Ask &ask_;
  AskDone done_;
};

Bytes word_of(Whom whom) {
  switch (whom) {
    case Whom::Everybody:
      return "all";
    case Whom::Owner:
      return "owner";
    case Whom::Instance:
      return "instance";
    case Whom::Dead:
      break;
  }
  return "dead";
}

class Clearing final : public ServerCall, public Timer {
 public:
  // dead: who they are, where that is known.
  Clearing(Instance &instance, Ask &ask, std::set<std::string> dead, AskDone done)
      : instance_(instance),
        ask_(ask),
        whom_(static_cast<Whom>(ask.number)),
        round_(whom_ == Whom::Dead && dead.empty() ? Round::Look : Round::Queues),
        done_(std::move(done)),
        dead_(std::move(dead)) {}
  ~Clearing() override { instance_.runtime->cancel(*this); }

  void next_page() {
    scan(instance_.link, instance_.keyspace, round_ == Round::Queues ? Scanned::Queues : Scanned::Locks, "",
         cursor_, ask_.scan_batch, [this](Page page) {
           if (page.status != Status::OK) return end(page.status, page.why);
           cursor_ = page.next;
           page_ = std::move(page.lock_keys);
           next_batch();
         });
  }
  void fire(Nanos) override {
    instance_.asking.pauses.erase(this);
    if (instance_.is_closing) return end(Status::CLOSED, "");
    next_page();
  }
  bool fits(const Reply &reply) const override {
    return reply.is(Reply::Kind::Array) && reply.has_integers(0, 1) &&
           reply.elements.size() == 1 + 2 * batch_.size();
  }
  ReplyLimits limits() const override {
    return {64 * 1'024 + batch_.size() * 512, 64 + batch_.size() * 2, 4};
  }
  void answered(const Reply &reply) override {
    ++ask_.tally.steps;
    std::set<std::string, std::less<>> taken;
    for (size_t i = 0; i < batch_.size(); ++i) {
      const Bytes text = reply.at(1 + 2 * i).text;
      const auto away = static_cast<uint64_t>(std::max<int64_t>(0, reply.at(2 + 2 * i).integer));
      if (round_ == Round::Look) {
        if (!text.empty() && dead_.size() < kDeadMax) dead_.emplace(text);
        continue;
      }
      ask_.tally.waiters += away;
      ask_.tally.queues += away != 0;
      if (text.empty()) continue;
      ++ask_.tally.locks;
      taken.emplace(text);
    }
    if (round_ != Round::Look) tell_ours(taken, reply.at(0).integer);
    next_batch();
  }
  // What was carried out is not known, but that it does no harm to ask again.
  void failed(const Failure &failure) override {
    end(failure.sent ? Status::IN_DOUBT : failure.status, failure.text);
  }

 private:
  enum class Round : uint8_t { Look, Queues, Locks };

  void next_batch() {
    batch_.clear();
    const size_t most = std::min<size_t>(ask_.batch, kKeysPerCallMax);
    while (!page_.empty() && batch_.size() < most) {
      batch_.push_back(std::move(page_.back()));
      page_.pop_back();
    }
    if (!batch_.empty()) return send_batch();
    if (cursor_ != 0) return next_page();
    next_round();
  }
  void next_round() {
    if (round_ == Round::Locks || (round_ == Round::Queues && whom_ == Whom::Dead && dead_.empty()))
      return end(Status::OK, "");
    const bool pauses = round_ == Round::Look && !dead_.empty();
    round_ = round_ == Round::Look ? Round::Queues : Round::Locks;
    if (!pauses) return next_page();
    instance_.asking.pauses.insert(this);
    instance_.runtime->arm(*this, instance_.runtime->now() + instance_.options.alive);
  }
  void send_batch() {
    begin(scripts::clear);
    for (const Bytes lock_key : batch_) add_names(*this, lock_key);
    argument(round_ == Round::Look ? Bytes("look") : word_of(whom_));
    if (whom_ == Whom::Owner) {
      argument(escape_field(ask_.text));
    } else if (whom_ == Whom::Dead) {
      argument(ask_.dead_after / 1'000);
    } else {
      argument(Bytes(ask_.text));
    }
    for (const std::string &instance : dead_) argument(instance);
    instance_.link.send(*this);
  }
  // Others hear of it by messages; what is here need not wait for one.
  void tell_ours(const std::set<std::string, std::less<>> &taken, int64_t now_us) {
    if (whom_ == Whom::Everybody) {
      for (const Bytes lock_key : batch_) instance_.waiting.dequeue(lock_key, now_us);
    }
    std::vector<LeaseRef> lost;
    if (!taken.empty() && !instance_.keeper.empty()) {
      for (const Handle handle : instance_.holds.all()) {
        for (const LeaseRef &lease : RemoteInstance::leases_of(*instance_.holds.find(handle))) {
          if (taken.contains(lease->id.text())) lost.push_back(lease);
        }
      }
    }
    for (const LeaseRef &lease : lost) instance_.keeper.lose(lease);
  }
  void end(Status status, const std::string &why) { end_call(this, done_, status, why); }

  Instance &instance_;
  Ask &ask_;
  const Whom whom_;
  Round round_;
  AskDone done_;
  uint64_t cursor_ = 0;
  std::vector<std::string> page_;
  std::vector<std::string> batch_;
  std::set<std::string> dead_;
};

}  // namespace

void force_away(Instance &instance, Forced forced, AskDone done) {
  instance.link.send(*new ForceCall(instance, std::move(forced), std::move(done)));
}

void force_release(Instance &instance, Ask &ask, AskDone done) {
  new Forcing(instance, ask, std::move(done));
}

void clear(Instance &instance, Ask &ask, AskDone done) {
  if (static_cast<Whom>(ask.number) != Whom::Dead)
    return (new Clearing(instance, ask, {}, std::move(done)))->next_page();
  const auto cleared = [&instance, &ask, done = std::move(done)](Status status, const std::string &why) {
    if (status != Status::OK) return done(status, why);
    forget_dead_instances(instance, ask, done);
  };
  (new Clearing(instance, ask, {}, cleared))->next_page();
}

void clear_dead_instances(Instance &instance, Ask &ask, std::set<std::string> dead, AskDone done) {
  ask.number = static_cast<uint64_t>(Whom::Dead);
  ask.dead_after = kNever;  // however long they wait
  (new Clearing(instance, ask, std::move(dead), std::move(done)))->next_page();
}

}  // namespace liblock
