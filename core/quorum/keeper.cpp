// SPDX-License-Identifier: MIT
// See keeper.hpp. The end of a lease is counted from before its round was sent.
#include "quorum/keeper.hpp"

#include <algorithm>
#include <utility>

#include "quorum/instance.hpp"
#include "quorum/keeper_round.hpp"
#include "quorum/node_record.hpp"

namespace liblock::quorum {

namespace {

GrantRef shared(Lease &lease) { return std::static_pointer_cast<GrantLease>(lease.self.lock()); }

}  // namespace

std::string record_of(const GrantLease &lease, const std::string &instance) {
  NodeRecord record;
  record.id = lease.id;
  record.sequence = change_text(lease.change);
  record.token = lease.token;
  record.owner = lease.owner;
  record.instance = instance;
  record.since_us = record.ticket_us = lease.ticket_us;
  record.lease_ms = lease.first_ttl / kMillisecond;
  record.version = lease.version;
  record.votes = lease.votes_shown;
  record.value = lease.value;
  return text_of(record);
}

Keeper::Keeper(Instance &instance)
    : instance_(instance),
      by_key_(instance.random.next()),
      due_(kBatch, DueRenewals::Calls::SayAllOfEach),
      flush_(*this) {}

void Keeper::stop() {
  is_stopped_ = true;
  for (const GrantRef &lease : leases_) instance_.runtime->cancel(*lease);
  instance_.runtime->cancel(flush_);
  by_key_.clear();
  leases_.clear();
  due_.clear();
}

void Keeper::begin(const GrantRef &lease, Nanos sent_at) {
  if (lease->place != SIZE_MAX) return goes_on(*lease);
  lease->self = lease;
  lease->counts_from = sent_at;
  instance_.count(*lease, static_cast<int64_t>(lease->keys.size()));
  leases_.push_back(lease);
  lease->place = leases_.size() - 1;
  if (lease->renews) set_renewal(*lease, sent_at, lease->first_ttl);
  by_key_.add(*lease);
  arm(*lease);
  instance_.listen();  // somebody may take it away
  instance_.observers.held(*lease);
}

// In other hands, who are to have it for as long as they asked for: at once what is left, and the rest behind it.
void Keeper::goes_on(GrantLease &lease) {
  if (lease.renews) return;
  lease.is_short = true;
  lease.renew_at = instance_.clock.now();
  arm(lease);
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
  const GrantRef kept = leases_[lease.place];
  leases_[lease.place] = leases_.back();
  leases_[lease.place]->place = lease.place;
  leases_.pop_back();
  lease.place = SIZE_MAX - 1;
}

void Keeper::lose(const LeaseRef &lease) {
  if (lease->state.load() != Lease::State::Held) return;
  lease->state.store(Lease::State::Lost);
  const bool by_time = instance_.clock.now() >= lease->ends_at.load();
  const bool was_begun = lease->place != SIZE_MAX;
  let_go(*lease);
  if (!was_begun) return;
  ++(by_time ? instance_.counts.expired : instance_.counts.taken_away);
  // What is left of it on nodes that were not heard of.
  auto &grant = static_cast<GrantLease &>(*lease);
  instance_.undo_lease(grant);
  // Whoever took it away may have told them before what is told of it here.
  if (!by_time) instance_.observers.released(grant, grant.held_keys());
  instance_.tell_loss(*lease);
}

void Keeper::arm(Lease &lease) {
  if (is_stopped_) return;  // a round may come to its end later
  Nanos at = lease.ends_at.load();
  if (lease.wants_renewal() && !lease.is_collected && lease.changes_open == 0)
    at = std::min(at, lease.renew_at);
  instance_.runtime->cancel(lease);
  instance_.arm(lease, at);
}

void Keeper::on_timer(Lease &lease, Nanos) {
  const GrantRef kept = shared(lease);
  if (kept == nullptr || lease.state.load() != Lease::State::Held) return;
  const Nanos now = instance_.clock.now();
  if (now >= lease.ends_at.load()) return lose(kept);
  const bool is_due =
      lease.wants_renewal() && now >= lease.renew_at && lease.changes_open == 0 && !lease.is_collected;
  if (is_due) collect(kept);
  arm(lease);
}

PacedRenewals::Time Keeper::time() const { return {instance_.runtime->now(), instance_.clock.now()}; }

// By the timer only: a round without nodes ends at once, and may end a lease with it.
void Keeper::collect(const LeaseRef &lease) {
  due_.add(lease, instance_.clock.now());
  instance_.runtime->arm(flush_, due_.next_at(time()));
}

// As many full rounds as have their turn, all that is urgent, or one round that is not full; the rest a moment later.
void Keeper::flush() {
  instance_.runtime->cancel(flush_);
  if (due_.empty()) return;
  const PacedRenewals::Time now = time();
  for (bool goes = !due_.is_full() || due_.has_turn(now); goes; goes = due_.has_turn(now)) {
    const auto round = std::make_shared<Round>(*this, Round::How::Renew, nullptr);
    for (const LeaseRef &lease : due_.take(now)) {
      if (lease->state.load() != Lease::State::Held || lease->changes_open != 0) continue;
      lease->cut(now.leases);
      round->add(std::static_pointer_cast<GrantLease>(lease), lease->renewal_ttl(now.leases));
      ++instance_.counts.renewals;
    }
    if (!round->empty()) round->begin();
  }
  if (!due_.empty()) instance_.runtime->arm(flush_, due_.next_at(now));
}

// When two thirds of it are left, a little earlier or later than others.
void Keeper::set_renewal(Lease &lease, Nanos from, Nanos ttl) {
  lease.renew_at = kNever;
  const bool is_last = lease.hold_until != kNever && from + ttl >= lease.hold_until;
  const bool is_kept = lease.place < SIZE_MAX - 1;  // a round may end before or behind that
  due_.set_rate(lease, is_last || !is_kept ? kNever : std::max(kMillisecond, ttl));
  if (!is_last) lease.renew_at = from + ttl / 3 - instance_.random.up_to(ttl / 30);
}

void Keeper::try_again(GrantLease &lease) {
  if (lease.state.load() != Lease::State::Held || lease.place == SIZE_MAX) return;
  const Nanos pause = std::clamp<Nanos>(lease.ttl / 20, 10 * kMillisecond, 100 * kMillisecond);
  // The more is still to be answered of it, the longer: a node may be slow.
  const auto open = static_cast<Nanos>(lease.rounds_open.size());
  if (lease.wants_renewal()) lease.renew_at = instance_.clock.now() + std::max<Nanos>(1, open) * pause;
  arm(lease);
}

// A renewal never moves an end backwards; what was asked for by its holder does.
void Keeper::renewed(const GrantRef &lease, Nanos ttl, Nanos asked_at, uint32_t change, bool sets) {
  Nanos ends_at = asked_at + Lease::trusted(ttl);
  for (const auto &[number, end] : lease->sets) {
    if (number > change) ends_at = std::min(ends_at, end);
  }
  lease->ends_at.store(sets ? ends_at : std::max(lease->ends_at.load(), ends_at));
  lease->counts_from = asked_at;
  // Since the last hand that it went to.
  if (sets || asked_at >= lease->renew_at) lease->is_as_it_is_to_be();
  if (lease->renews) set_renewal(*lease, asked_at, ttl);
  if (lease->place != SIZE_MAX) arm(*lease);
  instance_.observers.held(*lease);
}

// What is too long, or too few nodes are there for, is refused before anything has changed, and nothing is sent: nodes
// would refuse it, and it be lost here; or what nobody hears of would hold here alone.
void Keeper::extend(const std::vector<LeaseRef> &leases, const Extension &asked, AskDone done) {
  const Nanos now = instance_.clock.now();
  const Nanos most = instance_.membership.max_ttl();
  Extension extension = asked;
  if (extension.is_auto) extension.ttl = std::min(extension.ttl, most);
  const bool is_too_long = std::any_of(leases.begin(), leases.end(), [&](const LeaseRef &lease) {
    const Nanos left = extension.add ? std::max<Nanos>(0, lease->left(now)) : 0;
    return extension.ttl > most || left > most - extension.ttl;
  });
  if (is_too_long) {
    const std::string why =
        "ttl_ms is longer than the quorum's max_ttl_ms, " + std::to_string(most / kMillisecond);
    if (done != nullptr) done(Status::INVALID_ARGUMENT, why);
    return;
  }
  for (const LeaseRef &ref : leases) {
    const auto &lease = static_cast<const GrantLease &>(*ref);
    const QuorumRule rule = instance_.membership.rule(lease.subset, lease.votes);
    if (extension.gives_back || rule.is_reached(instance_.membership.ready() & rule.nodes())) continue;
    if (done != nullptr) done(Status::NO_QUORUM, instance_.why_no_quorum(rule).text);
    return;
  }
  const auto how = extension.gives_back ? Round::How::GiveBack : Round::How::Set;
  const auto round = std::make_shared<Round>(*this, how, std::move(done));
  for (const LeaseRef &ref : leases) {
    const auto lease = std::static_pointer_cast<GrantLease>(ref);
    lease->is_plain = false;
    const Nanos ends_at = lease->ends_at.load();
    const Nanos ttl = extension.add ? extension.ttl + std::max<Nanos>(0, lease->left(now)) : extension.ttl;
    round->add(lease, ttl);  // as it is until now
    lease->renews = lease->renews || extension.renews;
    if (!extension.add) lease->ttl = extension.ttl;
    // What is shorter holds at once.
    lease->ends_at.store(std::min(ends_at, now + Lease::trusted(ttl)));
    // Too few nodes may hear of it now.
    if (extension.gives_back && !lease->renews) lease->owe(ttl, now);
  }
  round->begin();
}

void Keeper::commit(const GrantRef &lease, Nanos ttl, AskDone done) {
  lease->first_ttl = ttl;
  const auto round = std::make_shared<Round>(*this, Round::How::Set, std::move(done));
  round->add(lease, ttl);
  round->begin();
}

}  // namespace liblock::quorum
