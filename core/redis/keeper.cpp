// SPDX-License-Identifier: MIT
// See keeper.hpp. The end of a lease is counted from before its request was sent. Answers come in order on one
// connection; an answer to an older change than the last one sent moves nothing.
#include "redis/keeper.hpp"

#include <algorithm>
#include <utility>

#include "redis/instance.hpp"
#include "redis/keeper_calls.hpp"

namespace liblock {

namespace {

// Few enough that a script holds the server up for about as long as ten acquires do, and enough that 100,000 leases of
// 30 s are some 160 calls per second.
constexpr size_t kBatch = 64;

}  // namespace

Keeper::Keeper(Instance &instance)
    : instance_(instance),
      by_key_(instance.random.next()),
      due_(kBatch, DueRenewals::Calls::SaySomeOnce),
      flush_(*this) {}

Keeper::~Keeper() { stop(); }

void Keeper::stop() {
  for (const LeaseRef &lease : leases_) instance_.runtime->cancel(*lease);
  instance_.runtime->cancel(flush_);
  by_key_.clear();
  leases_.clear();
  due_.clear();
}

void Keeper::begin(const LeaseRef &lease, Nanos sent_at) {
  if (lease->place != SIZE_MAX) return goes_on(*lease);
  lease->self = lease;
  lease->may_end_at = lease->first_ttl == kNever ? kNever : sent_at + lease->first_ttl;
  if (lease->renews) set_renewal(*lease, sent_at, lease->first_ttl);
  if (lease->is_short) lease->renew_at = sent_at;
  instance_.count(*lease, static_cast<int64_t>(lease->keys.size()));
  leases_.push_back(lease);
  lease->place = leases_.size() - 1;
  by_key_.add(*lease);
  arm(*lease);
  if (!instance_.link.is_listening()) instance_.link.listen();  // somebody may take it away
}

// In other hands, who are to have it for as long as they asked for: at once what is left, and the rest behind it.
void Keeper::goes_on(Lease &lease) {
  if (lease.renews || lease.ends_at.load() == kNever) return;
  lease.is_short = true;
  lease.renew_at = instance_.clock.now();
  if (!lease.is_collected) arm(lease);
}

void Keeper::let_go(Lease &lease) {
  instance_.passing_on.gone(lease);
  instance_.count(lease, -lease.keys_counted);
  if (lease.state.load() == Lease::State::Held) lease.state.store(Lease::State::Released);
  instance_.runtime->cancel(lease);
  due_.leave(lease);
  due_.set_rate(lease, kNever);
  if (lease.place >= leases_.size() || leases_[lease.place].get() != &lease) return;
  by_key_.remove(lease);
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
  // The lock is lost as a whole; and a change that nobody knows of may have made it last.
  if (lease->keys.size() > 1 || lease->changes_open != 0 || lease->in_doubt) give_back(*lease);
  instance_.tell_loss(*lease);
}

// What may be left on the server of a lease that is none any more.
void Keeper::give_back(const Lease &lease) {
  std::vector<Cleaner::Key> keys;
  for (const Lease::Key &key : lease.keys) keys.push_back({std::string(key.lock_key), lease.id});
  const Nanos slack = 4 * instance_.options.connection.command_timeout;
  instance_.cleaner.release(std::move(keys), lease.may_end_at == kNever ? kNever : lease.may_end_at + slack,
                            0, 0);
}

void Keeper::arm(Lease &lease) {
  Nanos at = lease.ends_at.load();
  const bool may_renew = lease.wants_renewal() && !lease.is_collected && lease.changes_open == 0;
  if (lease.must_verify || may_renew) at = std::min(at, lease.must_verify ? lease.verify_at : lease.renew_at);
  instance_.runtime->cancel(lease);
  if (at != kNever) instance_.arm(lease, at);
}

void Keeper::on_timer(Lease &lease, Nanos) {
  const LeaseRef kept = lease.self.lock();
  if (kept == nullptr || lease.state.load() != Lease::State::Held) return;
  const Nanos now = instance_.clock.now();
  if (now >= lease.ends_at.load()) return lose(kept);
  if (lease.must_verify && now >= lease.verify_at) {
    lease.verify_at = kNever;
    verify({kept}, nullptr);
  } else if (lease.wants_renewal() && now >= lease.renew_at && lease.changes_open == 0 &&
             !lease.must_verify) {
    collect(kept);
  }
  arm(lease);
}

PacedRenewals::Time Keeper::time() const { return {instance_.runtime->now(), instance_.clock.now()}; }

void Keeper::collect(const LeaseRef &lease) {
  if (lease->is_collected) return;
  lease->cut(instance_.clock.now());
  due_.add(lease, instance_.clock.now());
  const bool cannot_wait = DueRenewals::urgent_at(*lease) == 0;
  const PacedRenewals::Time now = time();
  if (cannot_wait || (due_.is_full() && due_.has_turn(now))) return flush();
  instance_.runtime->arm(flush_, due_.next_at(now));
}

// What is due, the most urgent first: as many full batches as have their turn, all that is urgent, or one batch that is
// not full; the rest a moment later. Armed for one that was not full, the timer may come before that one has its turn.
void Keeper::flush() {
  instance_.runtime->cancel(flush_);
  if (due_.empty()) return;
  if (!instance_.link.is_connected()) {
    for (const LeaseRef &lease : due_.take_all()) try_again(lease);
    return instance_.link.connect();
  }
  const PacedRenewals::Time now = time();
  for (bool goes = !due_.is_full() || due_.has_turn(now); goes; goes = due_.has_turn(now))
    send_batch(due_.take(now));
  if (!due_.empty()) instance_.runtime->arm(flush_, due_.next_at(now));
}

void Keeper::send_batch(std::vector<LeaseRef> leases) {
  instance_.counts.renewals += leases.size();
  instance_.link.send(*new ExtendCall(*this, leases, nullptr, nullptr));
}

// When two thirds of what a renewal sets are left, or of what there is where that is less: so that a renewal never
// takes anything away.
void Keeper::set_renewal(Lease &lease, Nanos from, Nanos ttl) {
  lease.renew_at = kNever;
  const Nanos least = std::max(kMillisecond, std::min(ttl, lease.ttl));  // what a server answers may be nothing
  if (ttl != kNever && lease.ttl != kNever && (lease.hold_until == kNever || from + ttl < lease.hold_until))
    lease.renew_at = from + ttl - least * 2 / 3 - instance_.random.up_to(least / 30);
  due_.set_rate(lease, lease.renew_at == kNever ? kNever : least);
}

void Keeper::try_again(const LeaseRef &lease) {
  if (lease->state.load() != Lease::State::Held) return;
  const Nanos pause =
      std::clamp<Nanos>(lease->ttl == kNever ? 0 : lease->ttl / 20, 10 * kMillisecond, 100 * kMillisecond);
  if (lease->wants_renewal()) lease->renew_at = instance_.clock.now() + pause;
  if (lease->must_verify) lease->verify_at = instance_.clock.now() + pause;
  arm(*lease);
}

// A lease counts here for no longer than the server says, and whatever that says for no longer than anything that was
// asked for.
void Keeper::renewed(const LeaseRef &lease, uint32_t change, int64_t answer, Nanos sent_at, bool sets) {
  const bool is_over = lease->is_over(instance_.clock.now());
  if (lease->state.load() == Lease::State::Held && (is_over || answer == -3)) lose(lease);
  if (lease->state.load() == Lease::State::Lost && answer != -3) give_back(*lease);  // it came too late
  if (lease->state.load() != Lease::State::Held) return;
  if (change >= lease->last_extend) {
    const Nanos most = lease->may_end_at == kNever ? kNever : std::max<Nanos>(0, lease->may_end_at - sent_at);
    const Nanos ttl = std::min(most, answer == -1 ? kNever : nanos_from_ms(answer));
    lease->ends_at.store(ttl == kNever ? kNever : sent_at + Lease::trusted(ttl));
    lease->may_end_at = ttl == kNever ? kNever : instance_.clock.now() + ttl;
    lease->in_doubt = false;
    // Since the last hand that it went to.
    if (sets || sent_at >= lease->renew_at) {
      lease->is_as_it_is_to_be();
      lease->renew_at = kNever;
    }
    if (lease->renews) set_renewal(*lease, sent_at, ttl);
  }
  arm(*lease);
}

// Where no change is under way the server has heard of all that is believed here, unless it has taken over from one
// that had: then its lease counts, as the shorter one.
void Keeper::confirmed(Lease &lease, int64_t answer, Nanos sent_at) {
  const Nanos ends_at = sent_at + Lease::trusted(nanos_from_ms(answer));
  if (answer != -1 && lease.changes_open == 0 && ends_at < lease.ends_at.load()) {
    const Nanos planned = lease.renew_at;
    lease.ends_at.store(ends_at);
    if (lease.renews) set_renewal(lease, sent_at, nanos_from_ms(answer));
    lease.renew_at = std::min(planned, lease.renew_at);
  }
  arm(lease);
}

void Keeper::extend(const std::vector<LeaseRef> &leases, const Extension &extension, AskDone done) {
  // One call for each: they may differ in what a call says once.
  struct Several {
    AskDone done;
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
    lease->is_plain = false;
    // What is added to must be there: of a lease that was handed over in part the rest goes ahead.
    const bool is_part = extension.add && lease->is_short && lease->changes_open == 0;
    if (is_part) {
      lease->cut(instance_.clock.now());
      send_batch({lease});
    }
    instance_.link.send(*new ExtendCall(*this, {lease}, &extension, one_done));
  }
}

void Keeper::verify(const std::vector<LeaseRef> &leases, AskDone done) {
  instance_.link.send(*new VerifyCall(*this, leases, std::move(done)));
}

void Keeper::update(const std::vector<LeaseRef> &leases, const std::string &value, AskDone done) {
  for (const LeaseRef &lease : leases) {
    lease->is_plain = false;
    if (lease->line != nullptr)
      instance_.passing_on.tell(*lease->line);  // behind it, the value would be of another's
  }
  instance_.link.send(*new UpdateCall(*this, leases, value, std::move(done)));
}

void Keeper::on_connected(bool another) {
  const Nanos now = instance_.clock.now();
  const std::vector<LeaseRef> all = leases_;
  for (const LeaseRef &lease : all) {
    lease->must_verify = lease->must_verify || another;
    if (lease->must_verify) due_.leave(*lease);
    const bool may_renew = lease->wants_renewal() && !lease->must_verify && lease->changes_open == 0;
    if (may_renew && now >= lease->renew_at) collect(lease);
    arm(*lease);
  }
  if (!due_.empty()) flush();
  verify_all(true);
}

void Keeper::verify_all(bool marked_only) {
  std::vector<LeaseRef> some;
  size_t keys = 0;
  const auto send = [&] {
    if (!some.empty()) verify(std::exchange(some, {}), nullptr);
    keys = 0;
  };
  const std::vector<LeaseRef> all = leases_;
  for (const LeaseRef &lease : all) {
    if (marked_only && !lease->must_verify) continue;
    if (keys + lease->keys.size() > kBatch) send();
    keys += lease->keys.size();
    some.push_back(lease);
    lease->verify_at = kNever;
  }
  send();
}

}  // namespace liblock
