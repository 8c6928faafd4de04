// SPDX-License-Identifier: MIT
// See waiting.hpp; the queues are in waiting_queues.cpp. Times are the runtime's; only leases are counted by the
// suspend-aware clock.
#include "redis/waiting.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "redis/attempt.hpp"
#include "redis/instance.hpp"

namespace liblock {

AcquireRequest::AcquireRequest(Instance &instance, RedisOwner &owner, std::span<const Bytes> keys,
                               const AcquireParams &params)
    : instance_(instance),
      owner_(owner.shared_from_this()),
      params_(params),
      value_(params.value),
      began_at_(instance.runtime->now()) {
  const auto text = [](const liblock_bytes &b) {
    return std::string(static_cast<const char *>(b.data), b.size);
  };
  for (const liblock_metadata &m : params.metadata) metadata_.emplace_back(text(m.name), text(m.value));
  for (const Bytes key : keys) keys_.push_back(instance.keyspace.lock_key(key));
  std::sort(keys_.begin(), keys_.end(), [](const auto &a, const auto &b) { return compare_bytes(a, b) < 0; });
  keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
  // One attempt takes what it takes, within the time-outs of the connection.
  if (params.wait != kNever && !params.tries_once()) wait_until_ = began_at_ + params.wait;
}

bool AcquireRequest::reenters(const std::string &lock_key) const {
  return std::any_of(reentered_.begin(), reentered_.end(),
                     [&](const HeldLock::Part &part) { return part.lock_key() == lock_key; });
}

void AcquireRequest::run() { instance_.waiting.start(*this); }
void AcquireRequest::fire(Nanos now) { instance_.waiting.on_timer(*this, now); }

void Waiting::start(AcquireRequest &request) {
  all_.push_back(&request);
  if (instance_.is_closing || request.owner_->closed.load()) return finish(request, Status::CLOSED);
  if (reenter(request)) return;
  if (request.params_.order != LIBLOCK_ORDER_ANY) {
    for (size_t i = 0; i < request.keys_.size(); ++i) {
      if (request.reenters(request.keys_[i]) || waiters_of(request.keys_[i]) == 0) continue;
      if (request.params_.tries_once()) return finish(request, Status::BUSY);
      if (!begins_to_wait(request)) return;
      return join_queue(request, i);
    }
  }
  ask(request);
}

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

void Waiting::ask(AcquireRequest &request) {
  LIBLOCK_ASSERT(request.attempt_ == nullptr);
  instance_.runtime->cancel(request);
  if (request.owner_->closed.load()) return finish(request, Status::CLOSED);
  if (reenter(request)) return;
  std::string id;
  if (!instance_.attempt_ids.next(id)) return finish(request, Status::INTERNAL);
  request.state_ = AcquireRequest::State::Asking;
  request.wake_missed_ = false;
  request.attempt_ = new Attempt(instance_, request, std::move(id));
  if (KeyQueue *queue = queue_of(request); queue != nullptr) queue->look_at = KeyQueue::kNow;
  arm(request);
  request.attempt_->send();  // may end the request
}

bool Waiting::wants_registration(const AcquireRequest &request) const {
  return !request.params_.tries_once() && instance_.link.is_listening();
}

// Besides it, for one of these keys.
bool Waiting::others_wait(const AcquireRequest &request, const std::vector<std::string> &lock_keys) const {
  return std::any_of(lock_keys.begin(), lock_keys.end(), [&](const std::string &lock_key) {
    const bool waits = request.in_queue_ && request.keys_[request.queued_at_] == lock_key;
    return waiters_of(lock_key) > (waits ? 1 : 0);
  });
}

void Waiting::answered(AcquireRequest &request, Attempt &attempt, const Reply &reply) {
  request.attempt_ = nullptr;
  request.trouble_ = Status::OK;
  if (reply.at(0).text == "LATE") return late(request);
  request.late_once_ = false;
  busy(request, attempt, reply);
}

void Waiting::granted(AcquireRequest &request, Attempt &attempt, uint64_t token) {
  request.attempt_ = nullptr;
  request.trouble_ = Status::OK;
  const auto lease = attempt.lease(token);
  const bool is_over = lease != nullptr && instance_.clock.now() >= lease->ends_at.load();
  if (is_over) {
    attempt.undo();
    return came_too_late(request);
  }
  if (!unite_tokens(request, attempt, token)) {
    attempt.undo();
    return ask(request);
  }
  registration_after_grant(attempt.lock_keys(), attempt.stays_registered);
  if (request.owner_->closed.load()) {
    attempt.undo();
    return finish(request, Status::CLOSED);
  }
  if (instance_.holds.is_full()) {
    attempt.undo();
    return finish(request, Status::LIMIT);
  }
  grant_handle(request, lease, attempt.sent_at());
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
  instance_.holds.find(request.grant.handle)->loss_told = true;  // nobody knows of it yet
  const AcquireParams &params = request.params_;
  instance_.extend(request.grant.handle, params.ttl, params.renew, false,
                   [this, asked_by](Status status, const std::string &why) {
                     if (*asked_by == nullptr) return;
                     AcquireRequest &ended = **asked_by;
                     ended.extending_.reset();
                     HeldLock *lock = instance_.holds.find(ended.grant.handle);
                     if (lock != nullptr) lock->loss_told = false;
                     if (status == Status::OK) return succeed(ended);
                     if (status == Status::LOST && !ended.params_.tries_once()) {
                       instance_.release(std::exchange(ended.grant.handle, 0), nullptr);
                       return ask(ended);  // what it would have reentered is no more
                     }
                     instance_.note_trouble(why);
                     finish(ended, status);
                   });
}

void Waiting::busy(AcquireRequest &request, const Attempt &attempt, const Reply &reply) {
  constexpr int64_t kPttlMax = int64_t{1} << 53;
  const int64_t index = reply.at(2).integer, pttl = std::min(reply.at(3).integer, kPttlMax);
  if (request.params_.tries_once()) return finish(request, Status::BUSY);
  if (!request.was_queued_ && !begins_to_wait(request)) return;
  request.since_us_ = std::max<int64_t>(request.since_us_, reply.at(4).integer);
  const std::string &key = attempt.lock_keys()[static_cast<size_t>(index - 1)];
  const auto at =
      static_cast<size_t>(std::find(request.keys_.begin(), request.keys_.end(), key) - request.keys_.begin());
  if (queue_of(request) == nullptr || request.queued_at_ != at) {
    leave_queue(request, true);
    join_queue(request, at);
  }
  KeyQueue &queue = queues_.at(key);
  if (attempt.registers) queue.is_registered = true;
  if (queue.waiters.front() != &request) return;
  if (!instance_.link.is_listening()) instance_.link.listen();
  if (request.wake_missed_) return ask(request);
  const Nanos now = instance_.runtime->now();
  Nanos at_time = next_poll(request, now);
  // The holder's end frees the key without a message. The first in line looks first.
  if (pttl >= 0) {
    const int64_t place = std::clamp<int64_t>(reply.at(5).integer, 0, 100);
    at_time = std::min(at_time, now + nanos_from_ms(pttl + 1 + place * 5));
  }
  if (reply.at(6).integer == 1) at_time = std::min(at_time, now + foreign_poll(request, pttl));
  queue.look_at = at_time;
  park(request, at_time);
}

// A foreign client wakes nobody: its lock is looked at soon, and then less and less often; often again when another
// one has it, which its lease tells.
Nanos Waiting::foreign_poll(AcquireRequest &request, int64_t pttl) {
  constexpr int64_t kFirstMs = 2, kMostMs = 100;
  if (pttl > request.foreign_pttl_) request.foreign_polls_ = 0;
  request.foreign_pttl_ = pttl;
  const int64_t most = std::min(kMostMs, kFirstMs << std::min<uint32_t>(request.foreign_polls_++, 8));
  return kMillisecond + instance_.random.up_to(nanos_from_ms(most) - kMillisecond);
}

// Its lease was over when the answer came. The next one may be in time; not at once, since the network is as it is.
void Waiting::came_too_late(AcquireRequest &request) {
  request.trouble_ = Status::TOO_LATE;
  if (request.params_.tries_once()) return finish(request, Status::TOO_LATE);
  if (!request.was_queued_ && !begins_to_wait(request)) return;
  look_again(request);
}

void Waiting::look_again(AcquireRequest &request) {
  const Nanos at = next_poll(request, instance_.runtime->now());
  if (queue_of(request) == nullptr) join_queue(request, 0);
  if (queue_of(request)->waiters.front() != &request) return;
  queue_of(request)->look_at = at;
  park(request, at);
}

void Waiting::late(AcquireRequest &request) {
  if (!std::exchange(request.late_once_, true)) return ask(request);
  troubled(request, {Status::SERVER, false,
                     "requests reach the server too late: see its clock and the network", true});
}

void Waiting::troubled(AcquireRequest &request, const Failure &failure) {
  request.attempt_ = nullptr;
  const bool is_about_key = failure.status == Status::WRONG_TYPE;
  const char *more = request.keys_.size() > 1 ? " or another key of this lock: " : ": ";
  instance_.note_trouble(is_about_key ? liblock::shown(request.keys_.front()) + more + failure.text
                                      : failure.text);
  const bool never_there = failure.status == Status::CONNECT && !instance_.link.was_ever_connected();
  request.trouble_ = failure.sent ? Status::IN_DOUBT : failure.status;
  if (failure.status == Status::CLOSED) return finish(request, Status::CLOSED);
  if (!failure.passes || never_there) return finish(request, failure.status);
  if (request.params_.tries_once()) return finish(request, request.trouble_);
  if (!request.was_queued_ && !begins_to_wait(request)) return;
  look_again(request);
}

// The first attempt has failed: bounds and the first retry interval.
bool Waiting::begins_to_wait(AcquireRequest &request) {
  if (instance_.counts.waiters.load() >= instance_.options.waiters_max) {
    finish(request, Status::LIMIT);
    return false;
  }
  ++instance_.counts.waiters;
  ++instance_.counts.contended;
  request.was_queued_ = true;
  const auto step = request.retries_.start(request.params_.retry, instance_.random, request.began_at_);
  if (step != RetryCount::Step::Refused) return true;
  finish(request, Status::INVALID_ARGUMENT);
  return false;
}

Nanos Waiting::next_poll(AcquireRequest &request, Nanos now) {
  const RetryPolicy &policy = request.params_.retry;
  const Nanos most = instance_.options.alive / 3;  // the server forgets who is silent
  if (policy.counts()) return std::clamp(request.retries_.next_at(), now + kMillisecond, now + most);
  return now +
         std::clamp<Nanos>(nanos_from_ms(policy.next_interval_ms(0, instance_.random)), kMillisecond, most);
}

void Waiting::park(AcquireRequest &request, Nanos try_at) {
  request.state_ = AcquireRequest::State::Parked;
  request.try_at_ = try_at;
  arm(request);
}

void Waiting::arm(AcquireRequest &request) {
  Nanos at = std::min(request.wait_until_, request.was_queued_ ? request.retries_.next_at() : kNever);
  if (request.state_ == AcquireRequest::State::Parked) at = std::min(at, request.try_at_);
  instance_.runtime->cancel(request);
  if (at != kNever) instance_.runtime->arm(request, at);
}

void Waiting::on_timer(AcquireRequest &request, Nanos) {
  if (request.attempt_ != nullptr && request.attempt_->is_granted()) return;
  const Nanos now = instance_.runtime->now();
  if (request.was_queued_) {
    const auto step = request.retries_.advance(request.params_.retry, instance_.random, now);
    if (step == RetryCount::Step::Refused) return finish(request, Status::INVALID_ARGUMENT);
    if (step == RetryCount::Step::Exhausted)
      return finish(request, ending_of(request, Status::RETRIES_EXHAUSTED));
  }
  if (now >= request.wait_until_) return finish(request, ending_of(request, Status::TIMEOUT));
  if (request.state_ == AcquireRequest::State::Parked && now >= request.try_at_) return ask(request);
  arm(request);
}

Status Waiting::ending_of(const AcquireRequest &request, Status usual) const {
  if (request.trouble_ != Status::OK) return request.trouble_;
  const bool never_there = !instance_.link.is_connected() && !instance_.link.was_ever_connected();
  return never_there ? Status::CONNECT : usual;
}

void Waiting::end(AcquireRequest &request, Status status) {
  if (request.state_ != AcquireRequest::State::Over) finish(request, status);
}

void Waiting::finish(AcquireRequest &request, Status status) {
  request.state_ = AcquireRequest::State::Over;
  instance_.runtime->cancel(request);
  Attempt *const under_way = std::exchange(request.attempt_, nullptr);
  if (under_way != nullptr) under_way->forget_request();
  if (request.extending_ != nullptr) *request.extending_ = nullptr;
  if (status != Status::OK && request.grant.handle != 0)
    instance_.release(std::exchange(request.grant.handle, 0), nullptr);
  all_.remove(&request);
  if (request.was_queued_) --instance_.counts.waiters;
  leave_queue(request, false);
  // Behind the attempt, on the same connection: what it registered does not stay.
  if (under_way != nullptr && std::exchange(under_way->registers, false)) {
    for (const std::string &lock_key : under_way->lock_keys()) {
      if (waiters_of(lock_key) == 0) tell_leaving(lock_key);
    }
  }
  if (status == Status::TIMEOUT || status == Status::RETRIES_EXHAUSTED) ++instance_.counts.timeouts;
  if (status == Status::CANCELED) ++instance_.counts.canceled;
  Grant &grant = request.grant;
  grant.status = status;
  grant.attempts = request.retries_.attempts();
  grant.waited = instance_.runtime->now() - request.began_at_;
  request.finished();
}

void Waiting::end_all(const RedisOwner *owner, Status status) {
  std::vector<AcquireRequest *> ending;
  for (AcquireRequest *request = all_.front(); request != nullptr; request = All::next(request)) {
    if (owner == nullptr || request->owner_.get() == owner) ending.push_back(request);
  }
  for (AcquireRequest *request : ending) finish(*request, status);
}

}  // namespace liblock
