// SPDX-License-Identifier: MIT
// See remote_request.hpp. Times are the runtime's; only those of leases are by the suspend-aware clock.
#include "remote/remote_request.hpp"

#include <algorithm>
#include <array>
#include <memory_resource>
#include <utility>
#include <vector>

#include "remote/remote_instance.hpp"

namespace liblock {

namespace {

void pack_word(std::string &packed, const liblock_bytes &word) {
  packed += std::to_string(word.size) + ":";
  packed.append(static_cast<const char *>(word.data), word.size);
}

// Sorted, each once.
LockKeys lock_keys_of(Bytes prefix, std::span<const Bytes> keys) {
  std::array<std::byte, 1024> room;
  std::pmr::monotonic_buffer_resource memory(room.data(), room.size());
  std::pmr::vector<Bytes> sorted(keys.begin(), keys.end(), &memory);
  std::sort(sorted.begin(), sorted.end(), [](Bytes a, Bytes b) { return compare_bytes(a, b) < 0; });
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  size_t bytes = 0;
  for (const Bytes key : sorted) bytes += prefix.size() + key.size();
  LockKeys lock_keys;
  lock_keys.reserve(sorted.size(), bytes);
  for (const Bytes key : sorted) lock_keys.add(prefix, key);
  return lock_keys;
}

}  // namespace

RemoteRequest::RemoteRequest(RemoteInstance &instance, RemoteOwner &owner, std::span<const Bytes> keys,
                             const AcquireParams &params)
    : instance_(instance),
      owner_(owner.shared_from_this()),
      keys_(lock_keys_of(instance.keyspace.prefix(), keys)),
      params_(params),
      value_(params.value),
      terms_(params, instance.first_lease),
      began_at_(instance.runtime->now()) {
  for (const liblock_metadata &m : params.metadata) {
    pack_word(metadata_, m.name);
    pack_word(metadata_, m.value);
  }
  // One attempt takes what it takes: its turn behind those that were asked for before it, and the time-outs of the
  // connection.
  if (params.wait != kNever && !params.tries_once()) wait_until_ = began_at_ + params.wait;
}

bool RemoteRequest::reenters(Bytes lock_key) const {
  return std::any_of(reentered_.begin(), reentered_.end(),
                     [&](const HeldLock::Part &part) { return part.lock_key() == lock_key; });
}

Nanos RemoteRequest::next_bound() const {
  return std::min(wait_until_, was_queued_ ? retries_.next_at() : kNever);
}

void RemoteRequest::run() { instance_.waits().start(*this); }
void RemoteRequest::fire(Nanos now) { instance_.waits().on_timer(*this, now); }

RemoteWaiting::~RemoteWaiting() { remote_.runtime->cancel(go_on_); }

void RemoteWaiting::start(RemoteRequest &request) {
  all_.push_back(&request);
  if (remote_.is_closing || request.owner_->closed.load()) return finish(request, Status::CLOSED);
  ask(request);
}

void RemoteWaiting::ask(RemoteRequest &request) {
  remote_.runtime->cancel(request);
  if (request.owner_->closed.load()) return finish(request, Status::CLOSED);
  if (reenter(request) || holds_back(request)) return;
  request.may_be_taken_ = false;
  if (!std::exchange(request.was_asked_for_, true)) asked_for_.push_back(&request);
  send_attempt(request);
}

// Who waits in a line comes when he is called. What waits for replicas takes turns anyway.
bool RemoteWaiting::holds_back(RemoteRequest &request) {
  const bool is_new = !request.was_queued_ || (request.trouble_ != Status::OK && !others_need(request));
  request.takes_turn_ = is_new && request.params_.replicas == 0;
  const bool has_turn = attempts_ < kAttemptsMost && (held_back_.empty() || has_turn_ == &request);
  if (has_turn || !request.takes_turn_) {
    if (request.is_held_back_) leave_lists(request);
    return false;
  }
  request.state_ = RemoteRequest::State::Asking;
  if (!request.is_held_back_) {
    leave_lists(request);
    request.is_held_back_ = true;
    held_back_.push_back(&request);
  }
  arm(request);
  return true;
}

void RemoteWaiting::leave_lists(RemoteRequest &request) {
  if (std::exchange(request.was_asked_for_, false)) asked_for_.remove(&request);
  if (std::exchange(request.is_held_back_, false)) held_back_.remove(&request);
}

void RemoteWaiting::attempt_ends() {
  --attempts_;
  // Not at once: whoever ends may be one of many that are being gone through.
  if (!held_back_.empty()) remote_.runtime->arm(go_on_, remote_.runtime->now());
}

void RemoteWaiting::go_on() {
  while (attempts_ < kAttemptsMost && !held_back_.empty()) {
    has_turn_ = held_back_.front();
    leave_lists(*has_turn_);
    ask(*has_turn_);
  }
  has_turn_ = nullptr;
}

// What a named owner holds already it need not ask for. True: the request has ended, or waits for an extend.
bool RemoteWaiting::reenter(RemoteRequest &request) {
  request.reentered_.clear();
  const AcquireParams &params = request.params_;
  if (!request.may_reenter()) return false;
  for (const Bytes key : request.keys_) {
    const Reentry::Held *held = held_by_owner(request, key);
    if (held == nullptr) continue;
    if (params.on_conflict == LIBLOCK_ON_CONFLICT_FAIL) {
      finish(request, Status::ALREADY_HELD);
      return true;
    }
    if (const Status status = may_reenter(request, *held->part.lease); status != Status::OK) {
      finish(request, status);
      return true;
    }
    request.reentered_.push_back(held->part);
  }
  if (request.reentered_.size() != request.keys_.size()) return false;
  // Of leases with tokens of their own: only a server can give one that counts for all of them.
  const uint64_t token = request.reentered_.front().lease->token;
  const bool agree = std::all_of(request.reentered_.begin(), request.reentered_.end(),
                                 [&](const HeldLock::Part &part) { return part.lease->token == token; });
  if (!agree) return false;
  grant_handle(request, nullptr, 0);
  return true;
}

const Reentry::Held *RemoteWaiting::held_by_owner(const RemoteRequest &request, Bytes lock_key) const {
  const Reentry::Held *held = remote_.reentry.find(*request.owner_, lock_key);
  return held != nullptr && !held->part.lease->is_over(remote_.clock.now()) ? held : nullptr;
}

bool RemoteWaiting::has_come_to_hold(const RemoteRequest &request, const LockKeys &lock_keys) const {
  if (!request.may_reenter()) return false;
  for (const Bytes lock_key : lock_keys) {
    if (held_by_owner(request, lock_key) != nullptr) return true;
  }
  return false;
}

// Others of his ask again when an attempt of theirs has failed. The end of one may bring the end, or the lock, of
// another.
void RemoteWaiting::comes_to_hold(const std::shared_ptr<RemoteOwner> &owner, const LeaseRef &lease) {
  if (own_waits_.empty()) return;
  for (const Lease::Key &key : lease->keys) {
    own_waits_.each(*owner, key.lock_key, [this](RemoteRequest &request) {
      if (std::exchange(request.is_looked_at_, true)) return;
      looked_at_.push_back(&request);
    });
  }
  for (size_t i = 0; i < looked_at_.size(); ++i) {
    RemoteRequest *const request = std::exchange(looked_at_[i], nullptr);
    if (request == nullptr) continue;
    request->is_looked_at_ = false;
    const bool waits = request->state_ == RemoteRequest::State::Waiting;
    if (waits && has_come_to_hold(*request, request->keys_)) ask_anew(*request);
  }
  looked_at_.clear();
}

void RemoteWaiting::leave_own_waits(RemoteRequest &request) {
  if (request.own_waits_ != nullptr) own_waits_.remove(*request.owner_, request.keys_, request.own_waits_);
  if (!std::exchange(request.is_looked_at_, false)) return;
  std::replace(looked_at_.begin(), looked_at_.end(), &request, static_cast<RemoteRequest *>(nullptr));
}

bool RemoteWaiting::still_reenters(const RemoteRequest &request) const {
  const Nanos now = remote_.clock.now();
  return std::all_of(request.reentered_.begin(), request.reentered_.end(), [&](const HeldLock::Part &part) {
    const Reentry::Held *held = remote_.reentry.find(*request.owner_, part.lock_key());
    return held != nullptr && held->part.lease == part.lease && part.is_held(now);
  });
}

void RemoteWaiting::may_be_taken_away(Bytes lock_key) {
  for_each_under_way([lock_key](RemoteRequest &request) {
    if (lock_key.empty() || request.keys_.contains(lock_key)) request.may_be_taken_ = true;
  });
}

void RemoteWaiting::grant_handle(RemoteRequest &request, const LeaseRef &lease, Nanos sent_at) {
  const bool may_be_taken = request.may_be_taken_;
  const std::shared_ptr<RemoteOwner> owner = lease != nullptr && request.owner_->named() ? request.owner_ : nullptr;
  give_handle(request, lease, sent_at);  // may be the end of the request
  if (may_be_taken && lease != nullptr && lease->state.load() == Lease::State::Held)
    remote_.verify_leases({lease}, nullptr);
  if (owner != nullptr) comes_to_hold(owner, lease);
}

void RemoteWaiting::give_handle(RemoteRequest &request, const LeaseRef &lease, Nanos sent_at) {
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
  grant.handle = remote_.holds.add(std::move(lock));
  if (grant.handle == 0) return finish(request, Status::LIMIT);
  if (lease != nullptr) remote_.begin_lease(lease, sent_at);
  remote_.reentry.remember(held);
  if (!request.reentered_.empty() && request.params_.on_conflict == LIBLOCK_ON_CONFLICT_REENTER_EXTEND)
    return extend_reentered(request);
  succeed(request);
}

void RemoteWaiting::succeed(RemoteRequest &request) {
  Grant &grant = request.grant;
  const HoldView seen = remote_.holds.view(grant.handle);
  const Nanos left_least = request.params_.min_remaining;
  if (left_least > 0 && seen.deadline != kNever && seen.deadline - remote_.clock.now() < left_least)
    return finish(request, Status::TOO_LATE);
  grant.token = seen.token;  // may have risen while the lease was set anew
  grant.hold_count = seen.hold_count;
  grant.remaining =
      seen.deadline == kNever ? kNever : std::max<Nanos>(0, seen.deadline - remote_.clock.now());
  if (request.was_queued_) grant.flags |= LIBLOCK_RESULT_WAITED;
  ++remote_.counts.acquired;
  finish(request, Status::OK);
}

// The end of the request waits for the answer; where the request ends before, its handle goes back.
void RemoteWaiting::extend_reentered(RemoteRequest &request) {
  withdraw(request);
  request.state_ = RemoteRequest::State::Asking;
  auto asked_by = std::make_shared<RemoteRequest *>(&request);
  request.extending_ = asked_by;
  arm(request);
  HeldLock &mine = *remote_.holds.find(request.grant.handle);
  mine.loss_told = mine.is_pending = true;
  const Nanos now = remote_.clock.now();
  for (const HeldLock::Part &part : request.reentered_) {
    const LeaseRef &lease = part.lease;
    if (mine.extension_of(*lease) != nullptr) continue;  // of another of its keys
    mine.extended.push_back({lease, lease->left(now), lease->ttl, lease->renews});
  }
  const AcquireParams &params = request.params_;
  remote_.set_leases(RemoteInstance::leases_of(mine), {params.ttl, false, params.renew, params.ttl_is_auto},
                     [this, asked_by](Status status, const std::string &why) {
                       if (*asked_by == nullptr) return;
                       RemoteRequest &ended = **asked_by;
                       ended.extending_.reset();
                       if (HeldLock *lock = remote_.holds.find(ended.grant.handle); lock != nullptr)
                         lock->loss_told = lock->is_pending = false;
                       if (status == Status::OK) return succeed(ended);
                       if (status == Status::LOST) {
                         remote_.release(std::exchange(ended.grant.handle, 0), nullptr);
                         ended.grant.flags &= ~uint32_t{LIBLOCK_RESULT_REENTERED};
                         return ask(ended);  // what it would have reentered is no more
                       }
                       remote_.note_trouble(status, why);
                       finish(ended, status);
                     });
}

bool RemoteWaiting::begins_to_wait(RemoteRequest &request) {
  if (remote_.counts.waiters.load() >= remote_.waiters_max) {
    finish(request, Status::LIMIT);
    return false;
  }
  ++remote_.counts.waiters;
  ++remote_.counts.contended;
  request.was_queued_ = true;
  if (request.may_reenter()) own_waits_.add(request, *request.owner_, request.keys_, request.own_waits_);
  const auto step = request.retries_.start(request.params_.retry, remote_.random, request.began_at_);
  if (step != RetryCount::Step::Refused) return true;
  refuse_interval(request);
  return false;
}

void RemoteWaiting::refuse_interval(RemoteRequest &request) {
  remote_.note_trouble(Status::INVALID_ARGUMENT,
                       "backoff_callback returned a negative interval; return milliseconds, or 0 = at once");
  finish(request, Status::INVALID_ARGUMENT);
}

bool RemoteWaiting::ends_by_time(RemoteRequest &request, Nanos now) {
  if (request.was_queued_) {
    const auto step = request.retries_.advance(request.params_.retry, remote_.random, now);
    if (step == RetryCount::Step::Refused) {
      refuse_interval(request);
      return true;
    }
    if (step == RetryCount::Step::Exhausted) {
      time_is_over(request, Status::RETRIES_EXHAUSTED);
      return true;
    }
  }
  if (now < request.wait_until_) return false;
  time_is_over(request, Status::TIMEOUT);
  return true;
}

void RemoteWaiting::time_is_over(RemoteRequest &request, Status usual) {
  finish(request, request.trouble_ != Status::OK ? request.trouble_ : ending_of(usual));
}

void RemoteWaiting::end(RemoteRequest &request, Status status) {
  if (request.state_ != RemoteRequest::State::Over) finish(request, status);
}

void RemoteWaiting::finish(RemoteRequest &request, Status status) {
  request.state_ = RemoteRequest::State::Over;
  remote_.runtime->cancel(request);
  let_go(request);
  if (request.extending_ != nullptr) *request.extending_ = nullptr;
  if (status != Status::OK && request.grant.handle != 0)
    remote_.release(std::exchange(request.grant.handle, 0), nullptr);
  (request.is_ending_ ? ending_ : all_).remove(&request);
  leave_lists(request);
  leave_own_waits(request);
  if (request.was_queued_) --remote_.counts.waiters;
  if (status == Status::TIMEOUT || status == Status::RETRIES_EXHAUSTED) ++remote_.counts.timeouts;
  if (status == Status::CANCELED) ++remote_.counts.canceled;
  Grant &grant = request.grant;
  grant.status = status;
  grant.attempts = request.retries_.attempts();
  grant.waited = remote_.runtime->now() - request.began_at_;
  request.finished();
}

void RemoteWaiting::end_all(const RemoteOwner *owner, Status status) {
  for (RemoteRequest *request = all_.front(); request != nullptr;) {
    RemoteRequest *next = All::next(request);
    if (owner == nullptr || request->owner_.get() == owner) {
      all_.remove(request);
      request->is_ending_ = true;
      ending_.push_back(request);
    }
    request = next;
  }
  // One that gives back what it was granted may bring another's turn, which ends at once: its owner is closed too.
  while (!ending_.empty()) finish(*ending_.front(), status);
  if (held_back_.empty()) remote_.runtime->cancel(go_on_);
}

}  // namespace liblock
