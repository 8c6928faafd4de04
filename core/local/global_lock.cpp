// SPDX-License-Identifier: MIT
// The lock that excludes every other lock of the table. Asked for, it shuts all shards ("gates" them): keyed
// requests queue as if their key were held, except those of owners that hold a key already, since the global
// lock waits for these. It is granted when the last key held by others is given back. When it ends, the gates
// open and every key goes to its next waiter before the next global request shuts them again: neither side
// starves. Keyed locks pay one flag in the line they read anyway.
//
//   global_      handles  pending   gates    remaining
//   idle         empty    null      open     meaningless
//   asked for    empty    a waiter  shut     keys held by others, + tickets of requests that pass; above 0
//   held         some     null      shut     0
#include <algorithm>

#include "local/lease_timer.hpp"
#include "local/shard_locks.hpp"

namespace liblock {

namespace {
// Keeps `remaining` above 0 until all shards have been counted.
constexpr int64_t kCounting = int64_t{1} << 40;
}  // namespace

LockTable::Pass LockTable::try_pass(const LocalOwner &owner, const Record *record) {
  if (owner.named() && global_.gate_owner.load() == &owner) return Pass::Free;
  const bool holds_a_key = (owner.named() && owner.keys_held.load(std::memory_order_relaxed) > 0) ||
                           (record != nullptr && record->taken.load(std::memory_order_relaxed) > 0);
  if (!holds_a_key) return Pass::No;
  int64_t remaining = global_.remaining.load();
  while (remaining > 0) {
    if (global_.remaining.compare_exchange_weak(remaining, remaining + 1)) return Pass::Ticket;
  }
  return Pass::No;
}

void LockTable::drop_pass(Pass pass, Deferred &deferred) {
  if (pass == Pass::Ticket && global_.remaining.fetch_sub(1) == 1) deferred.global_must_look();
}

void LockTable::count_gated_hold(const LocalOwner &owner, int64_t change, Deferred *deferred) {
  if (owner.named() && global_.gate_owner.load() == &owner) return;
  const int64_t remaining = global_.remaining.fetch_add(change) + change;
  if (remaining == 0 && deferred != nullptr) deferred->global_must_look();
}

// With the shard's lock: who waits for a key of it waits for the end of the global lock, which has a lease.
bool LockTable::is_behind_lease(const Shard &shard) const {
  return shard.gated && global_.deadline.load() != kNever;
}

// With global_.mutex: the lease of the global lock begins, or ends earlier than it did. Who stands first behind it, at
// a key or in its own queue, and who watches it, come when it ends, whatever becomes of its holder's timer. Whoever
// queues later sees it himself: he counts as waiting before he looks.
void LockTable::tell_global_lease(Deferred &deferred) {
  if (global_.deadline.load() == kNever || waiters_.load() == 0) return;
  nudge_global_head(deferred);
  for (Waiter *w = global_.queue.watchers.front(); w != nullptr; w = WaitQueue::Waiters::next(w))
    nudge(*w, deferred);
  for (uint32_t i = 0; i < kShards; ++i) {
    Shard &shard = shards_[i];
    for (uint32_t index = 0;;) {
      const std::lock_guard lock(shard.mutex);
      const uint32_t end = std::min(shard.entries_end(), index + kEntriesPerChunk);
      for (; index < end; ++index) nudge_head(shard, index, deferred);
      if (index >= shard.entries_end()) break;
    }
  }
}

void LockTable::nudge_global_head(Deferred &deferred) {
  WaitQueue &queue = global_.queue;
  Waiter *head = queue.strict.empty() ? queue.any.front() : queue.strict.front();
  if (head != nullptr) nudge(*head, deferred);
}

// With global_.mutex. True: nobody else holds a key.
bool LockTable::gate_all(LocalOwner &owner) {
  global_.remaining.store(kCounting);
  global_.gate_owner.store(owner.named() ? &owner : nullptr);
  global_.gating.store(true);
  for (uint32_t i = 0; i < kShards; ++i) {
    Shard &shard = shards_[i];
    const std::lock_guard lock(shard.mutex);
    shard.gated = true;
    int64_t others = shard.held;
    if (owner.named() && owner.keys_held.load() > 0) {
      for (uint32_t index = 0; index < shard.entries_end(); ++index)
        others -= shard.entry(index).owner == &owner;
    }
    global_.remaining.fetch_add(others);
  }
  return global_.remaining.fetch_sub(kCounting) == kCounting;
}

// With global_.mutex. Opens all gates first; only then does anybody run, in steps of 64 entries per hold of a
// shard.
void LockTable::ungate_all(Deferred &deferred) {
  for (uint32_t i = 0; i < kShards; ++i) {
    const std::lock_guard lock(shards_[i].mutex);
    shards_[i].gated = false;
  }
  global_.gating.store(false);  // each shard is visited once more, so that no ticket outlives this
  global_.gate_owner.store(nullptr);
  for (uint32_t i = 0; i < kShards; ++i) {
    Shard &shard = shards_[i];
    for (uint32_t index = 0;;) {
      const std::lock_guard lock(shard.mutex);
      const uint32_t end = std::min(shard.entries_end(), index + kEntriesPerChunk);
      for (; index < end; ++index) pass_on(shard, index, deferred);
      if (index >= shard.entries_end()) break;
    }
  }
}

void LockTable::attempt_global(Waiter &waiter, Deferred &deferred) {
  const AcquireParams &params = *waiter.params;
  LocalOwner &owner = *waiter.owner;
  if (leases_used.load(std::memory_order_relaxed)) {
    uint64_t ended = 0;
    end_all_overdue(clock_.now(), ended);  // what is over must not be waited for
  }
  const std::lock_guard lock(global_.mutex);
  if (owner.closed.load()) return finish(waiter, Status::CLOSED, deferred);
  if (!global_.handles.empty() && global_.deadline.load() <= clock_.now())
    lose_global(EndReason::Expired, deferred);
  // Of those who wait one at a time is granted: this is room for it too.
  global_.handles.reserve(global_.handles.size() + 1);
  if (!global_.handles.empty() && owner.named() && global_.owner == &owner &&
      params.on_conflict != LIBLOCK_ON_CONFLICT_WAIT) {
    if (params.on_conflict == LIBLOCK_ON_CONFLICT_FAIL) return finish(waiter, Status::ALREADY_HELD, deferred);
    {
      const std::lock_guard shard_lock(shards_[0].mutex);
      shards_[0].assign_handle(*waiter.record);
    }
    return hold_global_again(waiter, deferred);
  }
  {
    const std::lock_guard shard_lock(shards_[0].mutex);
    shards_[0].assign_handle(*waiter.record);
  }
  const bool idle = global_.handles.empty() && global_.pending == nullptr;
  if (params.trace != nullptr) trace_global(waiter, idle, deferred);
  if (!idle && params.tries_once()) return finish(waiter, Status::BUSY, deferred);
  if (waiters_.fetch_add(1) >= static_cast<uint64_t>(options_.waiters_max) && !params.tries_once()) {
    waiters_.fetch_sub(1);
    return finish(waiter, Status::LIMIT, deferred);
  }
  count_thread(waiter);
  waiter.serial.store(serial_.fetch_add(1) + 1, std::memory_order_relaxed);
  waiter.first_wait_at = waiter.enqueued_at = clock_.now();
  waiter.wait_began_at.store(waiter.enqueued_at);
  waiter.waits_begun.store(1);
  const size_t ahead = (global_.pending != nullptr ? 1 : 0) + global_.queue.waiting();
  waiter.grant.queue_position = static_cast<int64_t>(ahead);
  waiter.grant.queue_length = waiter.grant.queue_position + 1;
  waiter.record->queued = &waiter;
  waiter.where.store(Waiter::kGlobalQueue);
  if (idle) {
    begin_pending(waiter, deferred);
    if (global_.pending != &waiter) return;  // granted
    if (params.tries_once()) return leave_global(waiter, Status::BUSY, deferred);
    waiter.grant.flags |= LIBLOCK_RESULT_WAITED;
  } else {
    global_.queue.enqueue(waiter, waiter.enqueued_at);
  }
  counters_.contended.fetch_add(1, std::memory_order_relaxed);
  if (waiter.request != nullptr) deferred.nudge(waiter.request);
  if (const liblock_status asked = waiter.asked_to_end.load(); asked != 0) {
    leave_global(waiter, static_cast<Status>(asked), deferred);
  }
}

// The waiter becomes the one asked for, or is granted at once. With global_.mutex.
void LockTable::begin_pending(Waiter &waiter, Deferred &deferred) {
  global_.pending = &waiter;
  if (gate_all(*waiter.owner)) grant_global(waiter, deferred);
}

// Its pending waiter has nobody left to wait for. With global_.mutex.
void LockTable::grant_global(Waiter &waiter, Deferred &deferred) {
  Record &record = *waiter.record;
  uint64_t token = 0;
  for (uint32_t i = 0; i < kShards; ++i) {
    const std::lock_guard lock(shards_[i].mutex);
    token = std::max(token, shards_[i].last_token());
  }
  ++token;
  for (uint32_t i = 0; i < kShards; ++i) {
    const std::lock_guard lock(shards_[i].mutex);
    shards_[i].raise_token(token);
  }
  const Nanos deadline = deadline_after(waiter.params->ttl);
  if (deadline != kNever) leases_used.store(true, std::memory_order_relaxed);
  global_.pending = nullptr;
  global_.owner = &*waiter.owner;
  global_.token = token;
  global_.deadline.store(deadline);
  global_.handles.push_back(&record);
  waiter.where.store(Waiter::kNowhere);
  record.queued = nullptr;
  waiters_.fetch_sub(1);
  counters_.global_acquired.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard lock(shards_[0].mutex);
    complete_record(record, waiter, false, token, deadline);
  }
  const bool waited = (waiter.grant.flags & LIBLOCK_RESULT_WAITED) != 0;
  if (waited && waiter.params->trace != nullptr) trace_global_hand_off(waiter, token, deferred);
  tell_global_lease(deferred);
  finish(waiter, Status::OK, deferred);
}

void LockTable::hold_global_again(Waiter &waiter, Deferred &deferred) {
  if (waiter.params->on_conflict == LIBLOCK_ON_CONFLICT_REENTER_EXTEND) {
    waiter.record->left_before.front() = clock_.left_until(global_.deadline.load());
    leases_used.store(true, std::memory_order_relaxed);  // first: those who are told look there
    set_global_deadline(deadline_after(waiter.params->ttl), deferred);
  }
  global_.handles.push_back(waiter.record);
  counters_.global_acquired.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard lock(shards_[0].mutex);
    complete_record(*waiter.record, waiter, true, global_.token, global_.deadline.load());
    waiter.record->since = global_.handles.front()->since;
    waiter.record->initial_ttl = global_.handles.front()->initial_ttl;
  }
  waiter.grant.hold_count = static_cast<uint32_t>(global_.handles.size());
  waiter.grant.remaining = clock_.left_until(global_.deadline.load());
  finish(waiter, Status::OK, deferred);
}

void LockTable::look_at_global() {
  Deferred deferred(*this);
  const std::lock_guard lock(global_.mutex);
  if (global_.pending == nullptr) return;
  if (global_.remaining.load() == 0) {
    grant_global(*global_.pending, deferred);
  } else {
    nudge(*global_.pending, deferred);
  }
}

// With global_.mutex, as the next two. The present hold is over.
void LockTable::free_global(Deferred &deferred) {
  global_.owner = nullptr;
  global_.deadline.store(kNever);
  ungate_all(deferred);
  next_global(deferred);
}

void LockTable::next_global(Deferred &deferred) {
  if (global_.pending != nullptr || !global_.handles.empty() || global_.queue.nobody_waits()) return;
  auto &list = global_.queue.strict.empty() ? global_.queue.any : global_.queue.strict;
  Waiter &waiter = *list.front();
  global_.queue.remove(waiter);
  waiter.grant.flags |= LIBLOCK_RESULT_WAITED;
  begin_pending(waiter, deferred);
  if (global_.pending == &waiter) nudge(waiter, deferred);  // it slept on the lease of the one before it
}

void LockTable::lose_global(EndReason reason, Deferred &deferred) {
  for (Record *record : global_.handles) {
    if (record->lost.exchange(true)) continue;
    record->pins.fetch_add(1);
    record->reaped_owner = record->owner->shared_from_this();
    deferred.reap(record);
  }
  (reason == EndReason::Expired ? counters_.global_expired : counters_.global_taken).fetch_add(1);
  global_.handles.clear();
  end_watches(global_.queue, Waiter::Kind::WatchLost, 0, Status::LOST, deferred);
  free_global(deferred);
}

Status LockTable::release_global(const Owner &instance, Handle h) {
  Deferred deferred(*this);
  Record *record = nullptr;
  LeaseTimer *timer = nullptr;
  bool lost = false;
  {
    const std::lock_guard lock(global_.mutex);
    const auto found = std::find_if(global_.handles.begin(), global_.handles.end(),
                                    [h](const Record *r) { return r->handle == h; });
    if (found == global_.handles.end() || (*found)->owner->instance() != instance.instance()) {
      Shard &home = shards_[0];
      const std::lock_guard shard_lock(home.mutex);
      record = home.record(h);
      if (record == nullptr) return stale(home, h, true);
      if (!record->lost.load()) return Status::INVALID_HANDLE;
      home.forget_handle(*record);  // lost, and its reaper has not come yet: told here instead
      return Status::LOST;
    }
    record = *found;
    {
      const std::lock_guard shard_lock(shards_[0].mutex);
      shards_[0].forget_handle(*record);
      timer = record->take_timer();
    }
    lost = global_.deadline.load() <= clock_.now();
    if (lost) {
      lose_global(EndReason::Expired, deferred);
    } else {
      const bool was_oldest = found == global_.handles.begin();
      const auto next = global_.handles.erase(found);  // moves end()
      if (was_oldest) {
        const std::lock_guard shard_lock(shards_[0].mutex);
        hand_on_global(*record);
      }
      const auto above = static_cast<size_t>(global_.handles.end() - next);
      give_back_global_extension(*record, above, deferred);
      counters_.global_released.fetch_add(1);
      end_watches(global_.queue, Waiter::Kind::WatchLost, h, Status::NOT_HELD, deferred);
      if (global_.handles.empty()) free_global(deferred);
    }
  }
  if (timer != nullptr) timer->stop();
  if (!lost) unlink_and_unpin(*record);
  return lost ? Status::LOST : Status::OK;
}

void LockTable::reap_global(Record &record) {
  const std::shared_ptr<LocalOwner> owner = std::move(record.reaped_owner);
  LeaseTimer *timer = nullptr;
  LostNotice notice;
  {
    const std::lock_guard lock(shards_[0].mutex);
    if (!record.handle_gone) {
      shards_[0].remember_lost(record.handle);
      shards_[0].forget_handle(record);
      notice = lost_notice_of(record);
    }
    timer = record.take_timer();
  }
  if (timer != nullptr) timer->stop();
  notice.send();
  unlink_and_unpin(record);
  unpin(record);
}

bool LockTable::end_global_wait(Waiter &waiter, Status status, Deferred &deferred) {
  const std::lock_guard lock(global_.mutex);
  if (waiter.where.load() != Waiter::kGlobalQueue) return false;
  leave_global(waiter, status, deferred);
  return true;
}

// With global_.mutex. The waiter, pending, queued or watching, ends.
void LockTable::leave_global(Waiter &waiter, Status status, Deferred &deferred) {
  dequeue_global(waiter, deferred);
  finish(waiter, status, deferred);
}

void LockTable::dequeue_global(Waiter &waiter, Deferred &deferred) {
  waiter.where.store(Waiter::kNowhere);
  if (waiter.record != nullptr) waiter.record->queued = nullptr;
  waiters_.fetch_sub(1);
  if (global_.pending == &waiter) {
    global_.pending = nullptr;
    ungate_all(deferred);
    next_global(deferred);
  } else {
    global_.queue.remove(waiter);
    if (global_.deadline.load() != kNever) nudge_global_head(deferred);
  }
}

// While it is the one asked for, it finds out itself which of the keys that it waits for become overdue; else
// it watches the holder's lease.
Nanos LockTable::tend_global(const Waiter &waiter, Nanos now, Deferred &deferred) {
  if (!leases_used.load(std::memory_order_relaxed)) return kNever;
  {
    const std::lock_guard lock(global_.mutex);
    if (!global_.handles.empty() && global_.deadline.load() <= now) lose_global(EndReason::Expired, deferred);
    if (waiter.where.load() != Waiter::kGlobalQueue) return kNever;
    if (global_.pending != &waiter) return global_.deadline.load();
  }
  uint64_t ended = 0;
  return end_all_overdue(now, ended);
}

bool LockTable::end_global_if_overdue(Nanos now) {
  Deferred deferred(*this);
  return end_global_if_overdue(now, deferred);
}

bool LockTable::end_global_if_overdue(Nanos now, Deferred &deferred) {
  if (global_.deadline.load() > now) return false;
  const std::lock_guard lock(global_.mutex);
  if (global_.handles.empty() || global_.deadline.load() > now) return false;
  lose_global(EndReason::Expired, deferred);
  return true;
}

}  // namespace liblock
