// SPDX-License-Identifier: MIT
// See keeper.hpp. The end of a lease is counted from before its request was sent. Answers come in order on one
// connection; an answer to an older change than the last one sent moves nothing.
#include "redis/keeper.hpp"

#include <algorithm>
#include <cstdio>
#include <tuple>
#include <utility>

#include "redis/instance.hpp"

namespace liblock {

namespace {

// Few enough that a script holds the server up for about as long as a few commands.
constexpr size_t kBatch = 32;
constexpr Nanos kCollect = 20 * kMillisecond;
constexpr Nanos kShortest = 20 * kMillisecond;

// A lease in a call, with the keys that were held when it was made: others may be given back meanwhile.
struct Item {
  LeaseRef lease;
  uint32_t change = 0;
  std::vector<std::string> keys;
};

size_t count_keys(const std::vector<Item> &items) {
  size_t count = 0;
  for (const Item &item : items) count += item.keys.size();
  return count;
}

int64_t ms_of(Nanos ttl) { return ttl == kNever ? 0 : std::max<int64_t>(1, ttl / kMillisecond); }

}  // namespace

std::string change_text(uint32_t change) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", change);
  return text;
}

void Lease::fire(Nanos) { keeper.on_timer(*this, 0); }

class Keeper::ExtendCall final : public ServerCall {
 public:
  ExtendCall(Keeper &keeper, const std::vector<LeaseRef> &leases, bool by_renewal, Done done)
      : keeper_(keeper), by_renewal_(by_renewal), done_(std::move(done)) {
    for (const LeaseRef &lease : leases) items_.push_back({lease, 0, {}});
  }
  Nanos ttl = kNever;  // of an extend; a renewal takes each lease's own
  bool add = false;

  void sending(Nanos now) override {
    if (has_body()) return;
    sent_at_ = now;
    was_sent_ = true;
    Instance &instance = keeper_.instance_;
    begin(scripts::extend);
    const Lease &like = *items_.front().lease;  // all of a call are alike in what is said once
    const uint32_t change = like.change + (by_renewal_ ? 0 : 1);
    for (Item &item : items_) {
      item.lease->change = item.change = change;
      ++item.lease->changes_open;
      item.keys = item.lease->held_keys();
      for (const std::string &k : item.keys) key(k);
    }
    for (const Item &item : items_) {
      if (!item.lease->has_metadata) continue;
      for (const std::string &k : item.keys) key(Keyspace::side_key(Keyspace::Side::Metadata, k));
    }
    argument(instance.link.server_clock().not_after(now, 2 * instance.options.connection.command_timeout));
    argument(static_cast<int64_t>(count_keys(items_)));
    argument(ms_of(by_renewal_ ? keeper_.renewal_ttl(like) : ttl));
    argument(by_renewal_ ? Bytes("renew") : add ? Bytes("add") : Bytes("set"));
    argument(change_text(change));
    for (const Item &item : items_) {
      const std::string head = "ll1|" + item.lease->id;
      for (size_t i = 0; i < item.keys.size(); ++i) argument(head);
    }
  }
  void answered(const Reply &reply) override {
    const Nanos now = keeper_.instance_.clock.now();
    keeper_.instance_.link.server_clock().observe(reply.at(1).integer, now);
    const bool is_late = reply.at(0).text == "LATE";
    size_t at = 2;
    Status status = is_late ? Status::SERVER : Status::OK;
    for (const Item &item : items_) {
      --item.lease->changes_open;
      int64_t least = INT64_MAX;
      bool lost = false;
      for (size_t i = 0; i < item.keys.size() && !is_late; ++i) {
        const int64_t answer = reply.at(at++).integer;
        if (answer == -3) lost = true;
        if (answer >= 0) least = std::min(least, answer);
      }
      if (is_late) {
        keeper_.try_again(item.lease);
        continue;
      }
      if (lost) status = Status::LOST;
      keeper_.renewed(item.lease, item.change,
                      lost                 ? -3
                      : least == INT64_MAX ? -1
                                           : least,
                      sent_at_, by_renewal_);
    }
    end(status, is_late ? "the request was under way for too long" : "");
  }
  void failed(const Failure &failure) override {
    for (const Item &item : items_) {
      if (was_sent_) --item.lease->changes_open;
      if (failure.status != Status::CLOSED) keeper_.try_again(item.lease);
    }
    keeper_.instance_.note_trouble(failure.text);
    end(failure.sent ? Status::IN_DOUBT : failure.status, failure.text);
  }

 private:
  void end(Status status, const std::string &why) {
    if (done_ != nullptr) done_(status, why);
    delete this;
  }
  Keeper &keeper_;
  const bool by_renewal_;
  const Done done_;
  std::vector<Item> items_;
  Nanos sent_at_ = 0;
  bool was_sent_ = false;
};

class Keeper::VerifyCall final : public ServerCall {
 public:
  VerifyCall(Keeper &keeper, const std::vector<LeaseRef> &leases, Done done)
      : keeper_(keeper), done_(std::move(done)) {
    for (const LeaseRef &lease : leases) items_.push_back({lease, 0, lease->held_keys()});
    begin(scripts::verify);
    for (const Item &item : items_) {
      for (const std::string &k : item.keys) key(k);
    }
    for (const Item &item : items_) {
      for (size_t i = 0; i < item.keys.size(); ++i) argument(item.lease->id);
    }
  }
  void answered(const Reply &reply) override {
    Status status = Status::OK;
    size_t at = 1;
    for (const Item &item : items_) {
      bool lost = false;
      for (size_t i = 0; i < item.keys.size(); ++i) lost = reply.at(at++).integer == -3 || lost;
      item.lease->must_verify = false;
      if (lost) status = Status::LOST;
      if (lost) {
        keeper_.lose(item.lease);
      } else if (item.lease->state.load() == Lease::State::Held) {
        keeper_.arm(*item.lease);
      }
    }
    end(status, "");
  }
  void failed(const Failure &failure) override {
    keeper_.instance_.note_trouble(failure.text);
    end(failure.sent ? Status::IN_DOUBT : failure.status, failure.text);
  }

 private:
  void end(Status status, const std::string &why) {
    if (done_ != nullptr) done_(status, why);
    delete this;
  }
  Keeper &keeper_;
  const Done done_;
  std::vector<Item> items_;
};

class Keeper::UpdateCall final : public ServerCall {
 public:
  UpdateCall(Keeper &keeper, const std::vector<LeaseRef> &leases, const std::string &value, Done done)
      : keeper_(keeper), done_(std::move(done)) {
    uint32_t change = 0;
    for (const LeaseRef &lease : leases) change = std::max(change, lease->change + 1);
    begin(scripts::update);
    for (const LeaseRef &lease : leases) {
      lease->change = change;
      items_.push_back({lease, change, lease->held_keys()});
      for (const std::string &k : items_.back().keys) key(k);
    }
    argument(change_text(change));
    argument(value);
    for (const Item &item : items_) {
      for (size_t i = 0; i < item.keys.size(); ++i) argument(item.lease->id);
    }
  }
  void answered(const Reply &reply) override {
    Status status = Status::OK;
    size_t at = 0;
    for (const Item &item : items_) {
      bool lost = false;
      for (size_t i = 0; i < item.keys.size(); ++i) lost = reply.at(at++).integer == 0 || lost;
      if (lost) keeper_.lose(item.lease);
      if (lost) status = Status::LOST;
    }
    end(status, "");
  }
  void failed(const Failure &failure) override {
    end(failure.sent ? Status::IN_DOUBT : failure.status, failure.text);
  }

 private:
  void end(Status status, const std::string &why) {
    done_(status, why);
    delete this;
  }
  Keeper &keeper_;
  const Done done_;
  std::vector<Item> items_;
};

Keeper::~Keeper() { stop(); }

void Keeper::stop() {
  for (const LeaseRef &lease : leases_) instance_.runtime->cancel(*lease);
  instance_.runtime->cancel(flush_);
  leases_.clear();
  due_.clear();
  renewals_per_s_ = 0;
}

void Keeper::begin(const LeaseRef &lease, Nanos sent_at) {
  lease->self = lease;
  if (lease->renews) set_renewal(*lease, sent_at, lease->first_ttl);
  count(*lease, static_cast<int64_t>(lease->keys.size()));
  leases_.push_back(lease);
  lease->place = leases_.size() - 1;
  arm(*lease);
}

void Keeper::count(Lease &lease, int64_t keys) {
  lease.keys_counted += keys;
  instance_.counts.keys_held.fetch_add(keys);
}

void Keeper::let_go(Lease &lease) {
  count(lease, -lease.keys_counted);
  if (lease.state.load() == Lease::State::Held) lease.state.store(Lease::State::Released);
  instance_.runtime->cancel(lease);
  set_rate(lease, 0);
  if (lease.place >= leases_.size() || leases_[lease.place].get() != &lease) return;
  const LeaseRef kept = leases_[lease.place];
  leases_[lease.place] = leases_.back();
  leases_[lease.place]->place = lease.place;
  leases_.pop_back();
}

void Keeper::lose(const LeaseRef &lease) {
  if (lease->state.load() != Lease::State::Held) return;
  lease->state.store(Lease::State::Lost);
  let_go(*lease);
  const bool by_time = instance_.clock.now() >= lease->ends_at.load();
  ++(by_time ? instance_.counts.expired : instance_.counts.taken_away);
  // The lock is lost as a whole; what is left of it on the server would only stand in the way.
  if (lease->keys.size() > 1) {
    std::vector<Cleaner::Key> keys;
    for (const Lease::Key &key : lease->keys) keys.push_back({key.lock_key, lease->id});
    instance_.cleaner.release(std::move(keys), lease->ends_at.load(), 0, 0);
  }
  const std::vector<Handle> locks = lease->locks;
  for (const Handle handle : locks) {
    HeldLock *lock = instance_.holds.find(handle);
    if (lock == nullptr || std::exchange(lock->loss_told, true)) continue;
    instance_.asking.lock_is_gone(handle, Status::LOST);
    if (!lock->owner->closed.load()) lock->notice.send();
  }
}

void Keeper::arm(Lease &lease) {
  Nanos at = lease.ends_at.load();
  if (lease.renews && !lease.is_collected && !lease.must_verify && lease.changes_open == 0)
    at = std::min(at, lease.renew_at);
  instance_.runtime->cancel(lease);
  if (at != kNever) instance_.arm(lease, at);
}

void Keeper::on_timer(Lease &lease, Nanos) {
  const LeaseRef kept = lease.self.lock();
  if (kept == nullptr || lease.state.load() != Lease::State::Held) return;
  const Nanos now = instance_.clock.now();
  if (now >= lease.ends_at.load()) return lose(kept);
  if (lease.renews && now >= lease.renew_at && lease.changes_open == 0 && !lease.must_verify) collect(kept);
  arm(lease);
}

void Keeper::collect(const LeaseRef &lease) {
  if (lease->is_collected) return;
  lease->is_collected = true;
  due_.push_back(lease);
  const Nanos now = instance_.runtime->now();
  const bool is_short = lease->ttl < 500 * kMillisecond;
  if (is_short || (due_.size() >= kBatch && now >= next_batch_at_)) return flush();
  instance_.runtime->arm(flush_, std::max(now + kCollect, due_.size() >= kBatch ? next_batch_at_ : 0));
}

// What is due, one batch; the rest a moment later, unless it is urgent.
void Keeper::flush() {
  instance_.runtime->cancel(flush_);
  std::erase_if(due_, [](const LeaseRef &lease) { return lease->state.load() != Lease::State::Held; });
  if (due_.empty()) return;
  if (!instance_.link.is_connected()) {
    const std::vector<LeaseRef> due = std::exchange(due_, {});
    for (const LeaseRef &lease : due) {
      lease->is_collected = false;
      try_again(lease);
    }
    return instance_.link.connect();
  }
  const Nanos now = instance_.runtime->now();
  do {
    send_batch(take_batch());
  } while (!due_.empty() && is_urgent(*due_.front()));
  next_batch_at_ = now + pause_between_batches();
  if (!due_.empty()) instance_.runtime->arm(flush_, next_batch_at_);
}

bool Keeper::is_urgent(const Lease &lease) const {
  return lease.ends_at.load() - instance_.clock.now() < lease.ttl / 2 || lease.ttl < 500 * kMillisecond;
}

// The first that are alike in what a call says once.
std::vector<LeaseRef> Keeper::take_batch() {
  const auto kind = [this](const Lease &lease) {
    return std::tuple(ms_of(renewal_ttl(lease)), lease.has_metadata, lease.change);
  };
  const auto wanted = kind(*due_.front());
  std::vector<LeaseRef> batch, rest;
  size_t keys = 0;
  for (const LeaseRef &lease : due_) {
    const bool fits = batch.empty() || keys + lease->keys.size() <= kBatch;
    if (fits && kind(*lease) == wanted) {
      lease->is_collected = false;
      keys += lease->keys.size();
      batch.push_back(lease);
    } else {
      rest.push_back(lease);
    }
  }
  due_ = std::move(rest);
  return batch;
}

// A fifth faster than they come, so that none ever waits for long.
Nanos Keeper::pause_between_batches() const {
  if (renewals_per_s_ <= 0) return 0;
  return static_cast<Nanos>(0.8 * static_cast<double>(kBatch) / renewals_per_s_ * 1e9);
}

void Keeper::set_rate(Lease &lease, double renewals_per_s) {
  renewals_per_s_ += renewals_per_s - lease.renewals_per_s;
  lease.renewals_per_s = renewals_per_s;
}

void Keeper::send_batch(std::vector<LeaseRef> leases) {
  instance_.counts.renewals += leases.size();
  instance_.link.send(*new ExtendCall(*this, leases, true, nullptr));
}

Nanos Keeper::renewal_ttl(const Lease &lease) const {
  if (lease.hold_until == kNever) return lease.ttl;
  return std::min(lease.ttl, std::max(kShortest, lease.hold_until - instance_.clock.now()));
}

// When two thirds of what a renewal sets are left, or of what there is where that is less: so that a renewal never
// takes anything away.
void Keeper::set_renewal(Lease &lease, Nanos from, Nanos ttl) {
  lease.renew_at = kNever;
  if (ttl != kNever && lease.ttl != kNever && (lease.hold_until == kNever || from + ttl < lease.hold_until)) {
    const Nanos least = std::min(ttl, lease.ttl);
    lease.renew_at = from + ttl - least * 2 / 3 - instance_.random.up_to(least / 30);
  }
  set_rate(lease, lease.renew_at == kNever ? 0 : 3e9 / static_cast<double>(std::min(ttl, lease.ttl)));
}

void Keeper::try_again(const LeaseRef &lease) {
  if (lease->state.load() != Lease::State::Held) return;
  const Nanos pause =
      std::clamp<Nanos>(lease->ttl == kNever ? 0 : lease->ttl / 20, 10 * kMillisecond, 100 * kMillisecond);
  if (lease->renews) lease->renew_at = instance_.clock.now() + pause;
  arm(*lease);
}

void Keeper::renewed(const LeaseRef &lease, uint32_t change, int64_t answer, Nanos sent_at, bool by_renewal) {
  if (lease->state.load() != Lease::State::Held) return;
  if (instance_.clock.now() >= lease->ends_at.load()) return lose(lease);  // whatever the server says now
  if (answer == -3) return lose(lease);
  if (change == lease->change) {
    const Nanos ttl = answer == -1 ? kNever : nanos_from_ms(answer);
    const Nanos ends_at = ttl == kNever ? kNever : sent_at + Lease::trusted(ttl);
    lease->ends_at.store(by_renewal ? std::max(ends_at, lease->ends_at.load()) : ends_at);
    if (lease->renews) set_renewal(*lease, sent_at, ttl);
  }
  arm(*lease);
}

void Keeper::extend(const std::vector<LeaseRef> &leases, Nanos ttl, bool add, Done done) {
  const Nanos now = instance_.clock.now();
  for (const LeaseRef &lease : leases) {
    if (!add) lease->ttl = ttl;
    // A shorter lease counts here before the server knows of it.
    if (!add && ttl != kNever && now + Lease::trusted(ttl) < lease->ends_at.load())
      lease->ends_at.store(now + Lease::trusted(ttl));
  }
  // One call for each: they may differ in what a call says once.
  struct Several {
    Done done;
    size_t open;
    Status worst = Status::OK;
    std::string why;
  };
  auto several = std::make_shared<Several>(Several{std::move(done), leases.size(), Status::OK, {}});
  const auto one_done = [several](Status status, const std::string &why) {
    if (status != Status::OK && several->worst != Status::LOST) {
      several->worst = status;
      several->why = why;
    }
    if (--several->open == 0 && several->done != nullptr) several->done(several->worst, several->why);
  };
  for (const LeaseRef &lease : leases) {
    auto *call = new ExtendCall(*this, {lease}, false, one_done);
    call->ttl = ttl;
    call->add = add;
    instance_.link.send(*call);
  }
}

void Keeper::verify(const std::vector<LeaseRef> &leases, Done done) {
  instance_.link.send(*new VerifyCall(*this, leases, std::move(done)));
}

void Keeper::update(const std::vector<LeaseRef> &leases, const std::string &value, Done done) {
  instance_.link.send(*new UpdateCall(*this, leases, value, std::move(done)));
}

std::vector<LeaseRef> Keeper::find(const std::string &lock_key) const {
  std::vector<LeaseRef> found;
  for (const LeaseRef &lease : leases_) {
    for (const Lease::Key &key : lease->keys) {
      if (key.handles != 0 && key.lock_key == lock_key) found.push_back(lease);
    }
  }
  return found;
}

void Keeper::on_connected(bool another) {
  const Nanos now = instance_.clock.now();
  const std::vector<LeaseRef> all = leases_;
  for (const LeaseRef &lease : all) {
    lease->must_verify = lease->must_verify || another;
    if (lease->must_verify) {
      verify({lease}, nullptr);
    } else if (lease->renews && now >= lease->renew_at) {
      collect(lease);
    }
    arm(*lease);
  }
  if (!due_.empty()) flush();
}

}  // namespace liblock
