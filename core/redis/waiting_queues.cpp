// SPDX-License-Identifier: MIT
// The local queues of waiting.hpp: who stands where, and who looks when a key may be free.
#include <algorithm>

#include "redis/attempt.hpp"
#include "redis/instance.hpp"

namespace liblock {

namespace {

// Tells the server that this instance waits no more. Nobody waits for its answer.
class LeaveCall final : public ServerCall {
 public:
  LeaveCall(Instance &instance, const std::string &lock_key) {
    begin(scripts::leave);
    key(lock_key);
    key(Keyspace::side_key(Keyspace::Side::Waiters, lock_key));
    argument(instance.id);
  }
  void answered(const Reply &) override { delete this; }
  void failed(const Failure &) override { delete this; }
};

bool has_key(const std::vector<std::string> &keys, const std::string &lock_key) {
  return std::find(keys.begin(), keys.end(), lock_key) != keys.end();
}

}  // namespace

void Waiting::tell_leaving(const std::string &lock_key) {
  // Behind an attempt that registers, it would take that one's registration.
  if (instance_.is_closing || registers_soon(lock_key)) return;
  instance_.link.send(*new LeaveCall(instance_, lock_key));
}

KeyQueue *Waiting::queue_of(const AcquireRequest &request) {
  if (!request.in_queue_) return nullptr;
  return &queues_.at(request.keys_[request.queued_at_]);
}

size_t Waiting::waiters_of(const std::string &lock_key) const {
  const auto found = queues_.find(lock_key);
  return found == queues_.end() ? 0 : found->second.waiters.size();
}

bool Waiting::is_registered(const std::string &lock_key) const {
  const auto found = queues_.find(lock_key);
  return found != queues_.end() && found->second.is_registered;
}

std::vector<WaiterInfo> Waiting::shown(const std::string &lock_key) const {
  std::vector<WaiterInfo> infos;
  const auto found = queues_.find(lock_key);
  if (found == queues_.end()) return infos;
  const Nanos now = instance_.runtime->now();
  for (AcquireRequest *r = found->second.waiters.front(); r != nullptr; r = KeyQueue::Waiters::next(r)) {
    infos.push_back(
        {r->owner_->id(), (now - r->began_at_) / kMillisecond, r->params_.order, r->params_.priority});
  }
  return infos;
}

// Behind all that go first by their order; never in front of a head whose attempt is under way.
void Waiting::join_queue(AcquireRequest &request, size_t key) {
  KeyQueue &queue = queues_[request.keys_[key]];
  request.queued_at_ = key;
  request.in_queue_ = true;
  if (request.sort_key_ == 0) request.sort_key_ = request.params_.sort_key(instance_.runtime->now() / 1'000);
  AcquireRequest *before = nullptr;
  for (AcquireRequest *other = queue.waiters.back(); other != nullptr;
       other = KeyQueue::Waiters::prev(other)) {
    if (other->sort_key_ <= request.sort_key_ || other->state_ == AcquireRequest::State::Asking) break;
    before = other;
  }
  AcquireRequest *const old_head = queue.waiters.front();
  queue.waiters.insert(&request, before);
  if (queue.waiters.front() != &request) {
    request.state_ = AcquireRequest::State::Queued;
    request.try_at_ = kNever;
    arm(request);
  } else if (old_head != nullptr) {
    old_head->state_ = AcquireRequest::State::Queued;
    arm(*old_head);
    look(request);
  }
}

// When the queue is due, or the new head's own interval says so.
void Waiting::look(AcquireRequest &head) {
  const Nanos now = instance_.runtime->now();
  park(head, std::clamp(queue_of(head)->look_at, now, std::max(now, next_poll(head, now))));
}

// moves: to the queue of another key, so that this one may be free.
void Waiting::leave_queue(AcquireRequest &request, bool moves) {
  if (!std::exchange(request.in_queue_, false)) return;
  const std::string &key = request.keys_[request.queued_at_];
  KeyQueue &queue = queues_.at(key);
  const bool was_head = queue.waiters.front() == &request;
  queue.waiters.remove(&request);
  AcquireRequest *head = queue.waiters.front();
  if (head == nullptr) {
    const bool registered = queue.is_registered;
    const std::string name = key;
    queues_.erase(key);
    if (registered) tell_leaving(name);
    return;
  }
  if (!was_head) return;
  // Registered, a message comes when it is free; else somebody has to look.
  head->since_us_ = 0;
  if (!queue.is_registered || moves) queue.look_at = KeyQueue::kNow;
  look(*head);
}

// By an attempt of this instance that is under way.
bool Waiting::registers_soon(const std::string &lock_key) const {
  for (const AcquireRequest *r = all_.front(); r != nullptr; r = All::next(r)) {
    if (r->attempt_ != nullptr && r->attempt_->registers && has_key(r->keys_, lock_key)) return true;
  }
  return false;
}

// A message may overtake the answer that tells a request that it waits.
bool Waiting::missed_by_first(const std::string &lock_key) {
  bool missed = false;
  for (AcquireRequest *r = all_.front(); r != nullptr; r = All::next(r)) {
    if (r->attempt_ != nullptr && r->attempt_->registers && has_key(r->keys_, lock_key))
      missed = r->wake_missed_ = true;
  }
  return missed;
}

void Waiting::wake(const std::string &lock_key) {
  const auto found = queues_.find(lock_key);
  if (found == queues_.end()) {
    if (!missed_by_first(lock_key)) tell_leaving(lock_key);
    return;
  }
  found->second.is_registered = false;
  AcquireRequest &head = *found->second.waiters.front();
  if (head.state_ == AcquireRequest::State::Asking) {
    head.wake_missed_ = true;
  } else {
    ask(head);
  }
}

void Waiting::registered_for_nobody(const std::string &lock_key) {
  const auto found = queues_.find(lock_key);
  if (found != queues_.end()) {
    found->second.is_registered = true;
  } else {
    tell_leaving(lock_key);
  }
}

void Waiting::registration_after_grant(const std::vector<std::string> &lock_keys, bool stays) {
  for (const std::string &lock_key : lock_keys) {
    const auto found = queues_.find(lock_key);
    if (found != queues_.end()) found->second.is_registered = stays;
  }
}

void Waiting::freed_by_us(const std::string &lock_key) {
  const auto found = queues_.find(lock_key);
  if (found != queues_.end() && !found->second.is_registered) wake(lock_key);
}

void Waiting::dequeue(const std::string &lock_key) {
  for (;;) {
    const auto found = queues_.find(lock_key);
    if (found == queues_.end()) return;
    found->second.is_registered = false;
    finish(*found->second.waiters.front(), Status::DEQUEUED);
  }
}

void Waiting::wake_all() {
  std::vector<std::string> keys;
  for (const auto &[key, queue] : queues_) keys.push_back(key);
  for (const std::string &key : keys) {
    const auto found = queues_.find(key);
    if (found != queues_.end()) wake(key);
  }
}

}  // namespace liblock
