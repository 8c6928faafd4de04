// SPDX-License-Identifier: MIT
// How a request of waiting.hpp comes to its lock: by what its owner holds already, by an answer, or by a message that
// hands it over.
#include <algorithm>

#include "redis/attempt.hpp"
#include "redis/instance.hpp"

namespace liblock {

// What a named owner holds already it need not ask for. True: the request has ended, or waits for an extend.
bool Waiting::reenter(AcquireRequest &request) {
  request.reentered_.clear();
  const AcquireParams &params = request.params_;
  if (!request.owner_->named() || params.on_conflict == LIBLOCK_ON_CONFLICT_WAIT) return false;
  const Nanos now = instance_.clock.now();
  for (const std::string &key : request.keys_) {
    const Reentry::Held *held = instance_.reentry.find(*request.owner_, key);
    if (held == nullptr || held->part.lease->is_over(now)) continue;
    if (params.on_conflict == LIBLOCK_ON_CONFLICT_FAIL) {
      finish(request, Status::ALREADY_HELD);
      return true;
    }
    request.reentered_.push_back(held->part);
  }
  if (request.reentered_.size() != request.keys_.size()) return false;
  // Of leases with tokens of their own: only the server can give one that counts for all of them.
  const uint64_t token = request.reentered_.front().lease->token;
  const bool agree = std::all_of(request.reentered_.begin(), request.reentered_.end(),
                                 [&](const HeldLock::Part &part) { return part.lease->token == token; });
  if (!agree) return false;
  grant_handle(request, nullptr, 0);
  return true;
}

void Waiting::granted(AcquireRequest &request, Attempt &attempt, uint64_t token) {
  request.attempt_ = nullptr;
  request.trouble_ = Status::OK;
  request.place_ = 0;
  const auto lease = attempt.lease(token);
  const bool is_over = lease != nullptr && instance_.clock.now() >= lease->ends_at.load();
  if (is_over) {
    undo(request, attempt);
    return came_too_late(request);
  }
  if (!unite_tokens(request, attempt, token)) {
    undo(request, attempt);
    return ask(request);
  }
  tell_granted(request, token, false);
  take(request, lease, attempt.sent_at());
}

// A message says that the lock is its own. The lease counts from when the server had last heard of the request; more
// than one key, and what must be confirmed first, is asked for again.
void Waiting::accept(AcquireRequest &request, const AcquireRequest::Handed &handed) {
  const Nanos now = instance_.clock.now();
  const LeaseTerms &terms = request.terms_;
  const Nanos ends_at = std::min(handed.ends_at, request.heard_at_ + Lease::trusted(terms.in_queue));
  const bool is_whole = request.keys_.size() == 1 && request.params_.replicas == 0;
  if (!is_whole || !request.has_place_ || ends_at - now <= request.params_.min_remaining) return ask(request);
  auto lease = std::make_shared<Lease>(instance_.keeper, request.id_, request.keys_, terms);
  lease->token = handed.token;
  lease->first_ttl = ends_at - now;
  lease->ends_at.store(ends_at);
  lease->is_short = !terms.renews;
  if (terms.max_hold != kNever) lease->hold_until = now + terms.max_hold;
  request.place_ = 0;
  ++instance_.counts.handed_off;
  tell_granted(request, handed.token, true);
  take(request, lease, now);
}

// It is the server's word; and it is given back where the request cannot have it.
void Waiting::take(AcquireRequest &request, const std::shared_ptr<Lease> &lease, Nanos sent_at) {
  if (request.owner_->closed.load()) return finish(request, Status::CLOSED);
  if (instance_.holds.is_full()) return finish(request, Status::LIMIT);
  if (lease != nullptr) forget_id(request);
  grant_handle(request, lease, sent_at);
}

// What is reentered goes on under the new token, with all that shares its old one. False: some of it was given back
// or lost meanwhile, or has come to share it only now.
bool Waiting::unite_tokens(AcquireRequest &request, const Attempt &attempt, uint64_t token) {
  const Nanos now = instance_.clock.now();
  const auto is_gone = [now](const HeldLock::Part &part) { return !part.is_held(now); };
  if (std::any_of(request.reentered_.begin(), request.reentered_.end(), is_gone)) return false;
  const std::vector<std::shared_ptr<Lease>> bound = instance_.holds.bound_to(request.reentered_);
  const auto is_raised = [&](const std::shared_ptr<Lease> &l) {
    return std::find(attempt.raised().begin(), attempt.raised().end(), l) != attempt.raised().end();
  };
  if (!std::all_of(bound.begin(), bound.end(), is_raised)) return false;
  for (const auto &l : bound) instance_.holds.set_token(*l, token);
  return true;
}

// Of a new lease, of what its owner holds already, or of both.
void Waiting::grant_handle(AcquireRequest &request, const std::shared_ptr<Lease> &lease, Nanos sent_at) {
  auto lock = std::make_unique<HeldLock>();
  lock->owner = request.owner_;
  lock->parts = request.reentered_;
  Grant &grant = request.grant;
  if (lease != nullptr) {
    for (size_t i = 0; i < lease->keys.size(); ++i) lock->parts.push_back({lease, i});
    lock->token = lease->token;
  } else {
    lock->token = lock->parts.front().lease->token;  // as all of them have
    grant.flags |= LIBLOCK_RESULT_REENTERED;
  }
  // What reenters counts only where it says so.
  if (lease != nullptr || request.params_.on_conflict == LIBLOCK_ON_CONFLICT_REENTER_EXTEND)
    lock->notice = LostNotice::of(request.params_, 0, lock->token);
  lock->notice.token = lock->token;
  HeldLock &held = *lock;
  grant.token = lock->token;
  grant.handle = instance_.holds.add(std::move(lock));
  if (grant.handle == 0) return finish(request, Status::LIMIT);
  if (lease != nullptr) instance_.keeper.begin(lease, sent_at);
  instance_.reentry.remember(held);
  if (!request.reentered_.empty() && request.params_.on_conflict == LIBLOCK_ON_CONFLICT_REENTER_EXTEND)
    return extend_reentered(request);
  succeed(request);
}

void Waiting::succeed(AcquireRequest &request) {
  Grant &grant = request.grant;
  const HoldView seen = instance_.holds.view(grant.handle);
  const Nanos left_least = request.params_.min_remaining;
  if (left_least > 0 && seen.deadline != kNever && seen.deadline - instance_.clock.now() < left_least)
    return finish(request, Status::TOO_LATE);
  grant.token = seen.token;  // may have risen while the lease was set anew
  grant.hold_count = seen.hold_count;
  grant.remaining =
      seen.deadline == kNever ? kNever : std::max<Nanos>(0, seen.deadline - instance_.clock.now());
  if (request.was_queued_) grant.flags |= LIBLOCK_RESULT_WAITED;
  ++instance_.counts.acquired;
  finish(request, Status::OK);
}

// The end of the request waits for the server's answer; where the request ends before, its handle goes back.
void Waiting::extend_reentered(AcquireRequest &request) {
  request.state_ = AcquireRequest::State::Asking;
  auto asked_by = std::make_shared<AcquireRequest *>(&request);
  request.extending_ = asked_by;
  arm(request);
  HeldLock &mine = *instance_.holds.find(request.grant.handle);
  mine.loss_told = true;  // nobody knows of it yet
  const Nanos now = instance_.clock.now();
  for (const HeldLock::Part &part : request.reentered_) {
    const LeaseRef &lease = part.lease;
    if (mine.extension_of(*lease) != nullptr) continue;  // of another of its keys
    const Nanos ends_at = lease->ends_at.load();
    mine.extended.push_back({lease, ends_at == kNever ? kNever : ends_at - now, lease->ttl, lease->renews});
  }
  const AcquireParams &params = request.params_;
  instance_.keeper.extend(Instance::leases_of(mine), {params.ttl, false, params.renew},
                          [this, asked_by](Status status, const std::string &why) {
                            if (*asked_by == nullptr) return;
                            AcquireRequest &ended = **asked_by;
                            ended.extending_.reset();
                            if (HeldLock *lock = instance_.holds.find(ended.grant.handle); lock != nullptr)
                              lock->loss_told = false;
                            if (status == Status::OK) return succeed(ended);
                            if (status == Status::LOST) {
                              instance_.release(std::exchange(ended.grant.handle, 0), nullptr);
                              return ask(ended);  // what it would have reentered is no more
                            }
                            instance_.note_trouble(why);
                            finish(ended, status);
                          });
}

}  // namespace liblock
