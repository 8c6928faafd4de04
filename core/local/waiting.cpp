// SPDX-License-Identifier: MIT
// Acquires that may have to wait: attempt, queue, and what a waiter does by itself while it waits. A blocking
// call and an asynchronous request go the same way; the first tends to itself between sleeps, the second by
// its timer.
#include <algorithm>
#include <new>

#include "base/platform.hpp"
#include "local/shard_locks.hpp"

namespace liblock {

namespace {

// The next in line looks for the key this long before it sleeps: a sleeper on another, idle CPU costs its
// waker more.
constexpr Nanos kSpinBudget = 40'000;
constexpr int kSpinBurst = 100;

}  // namespace

void LockTable::begin(Waiter &waiter, LocalOwner &owner, std::span<const Bytes> keys,
                      const AcquireParams &params) {
  waiter.params = &params;
  waiter.owner = &owner;
  if (keys.size() == 1 && !owner.named() && !params.needs_record()) {
    const Position at = position_of(keys[0]);
    waiter.key = keys[0];
    waiter.hash = at.hash;
    waiter.shard = at.shard;
  } else {
    prepare_record(owner, keys, params, waiter);
  }
}

Grant LockTable::acquire(LocalOwner &owner, std::span<const Bytes> keys, const AcquireParams &params) {
  Waiter waiter;
  try {
    begin(waiter, owner, keys, params);
    {
      Deferred deferred(*this);
      attempt(waiter, deferred);
    }
    for (;;) {
      if (waiter.word.load(std::memory_order_acquire) != Waiter::kDone) wait_blocking(waiter);
      if (!was_handed_one_of_several(waiter)) break;
      Deferred deferred(*this);
      go_on(waiter, deferred);
    }
  } catch (const std::bad_alloc &) {
    waiter.grant.status = Status::NO_MEMORY;
  }
  if (const Nanos began_at = waiter.first_wait_at; began_at != 0)
    waiter.grant.waited = clock_.now() - began_at;
  Record *const granted = pin_for_own_waits(waiter);
  conclude(waiter);
  if (granted != nullptr) {
    Deferred deferred(*this);
    look_at_own_waits(owner, *granted, deferred);
  }
  return waiter.grant;
}

void LockTable::submit(LocalRequest &request, LocalOwner &owner, std::span<const Bytes> keys,
                       const AcquireParams &params) {
  Waiter &waiter = request.waiter;
  waiter.request = &request;
  request.pin();
  {
    Deferred deferred(*this);
    try {
      begin(waiter, owner, keys, params);
      // "Before waiting" is here: by the time of its timer a later wait may have closed a cycle.
      const bool search_at_once =
          options_.deadlock_delay_ms == 0 && owner.named() && options_.deadlock_detection;
      if (search_at_once) request.expect_timer(shared_from_this());
      attempt(waiter, deferred);
      if (search_at_once && waiter.where.load() != Waiter::kNowhere) {
        deferred.nudge(&request);  // also where it must search again
        tend_deadlock(waiter, std::max(clock_.now(), waiter.wait_began_at.load()));
      }
    } catch (const std::bad_alloc &) {
      finish(waiter, Status::NO_MEMORY, deferred);
    }
  }
  request.unpin();
}

// Ended, or handed a key and not yet through: on with it, with no lock held. What comes of it is for the same deferred:
// a long line of requests, the end of each of which brings the next, is gone through one behind the other.
void LockTable::drive(LocalRequest &request, Deferred &deferred) {
  Waiter &waiter = request.waiter;
  if (was_handed_one_of_several(waiter)) {
    try {
      go_on(waiter, deferred);
      return;
    } catch (const std::bad_alloc &) {
      waiter.grant.status = Status::NO_MEMORY;
    }
  }
  Record *const granted = pin_for_own_waits(waiter);
  if (granted != nullptr) return end_and_look(request, *granted, deferred);
  end(request, &deferred);
}

void LockTable::end(LocalRequest &request, Deferred *deferred) {
  conclude(request.waiter, deferred);
  if (request.timer_expected()) request.disarm();
  request.finished();
}

bool LockTable::was_handed_one_of_several(const Waiter &waiter) const {
  return waiter.grant.handle == 0 && waiter.grant.status == Status::OK &&
         (waiter.record != nullptr || waiter.has_tried_again);
}

void LockTable::go_on(Waiter &waiter, Deferred &deferred) {
  recount_waiters_at_bound();  // it may wait once more, and has left a queue
  waiter.word.store(Waiter::kWaiting, std::memory_order_relaxed);
  waiter.grant.status = Status::INTERNAL;
  if (waiter.record == nullptr) return attempt_thin(waiter, deferred);
  advance(*waiter.record, waiter, deferred);
}

void LockTable::attempt(Waiter &waiter, Deferred &deferred) {
  const uint32_t wanted = waiter.record == nullptr ? 1 : waiter.record->key_count;
  if (credit_pool_.load(std::memory_order_relaxed) < wanted) reclaim_credit();
  recount_waiters_at_bound();
  if (global_.deadline.load() != kNever) end_global_if_overdue(clock_.now());
  if (waiter.record == nullptr) {
    attempt_thin(waiter, deferred);
  } else if (waiter.record->global) {
    attempt_global(waiter, deferred);
  } else {
    advance(*waiter.record, waiter, deferred);
  }
}

void LockTable::attempt_thin(Waiter &waiter, Deferred &deferred) {
  const AcquireParams &params = *waiter.params;
  LocalOwner &owner = *waiter.owner;
  Shard &shard = shards_[waiter.shard];
  const std::lock_guard lock(shard.mutex);
  if (owner.closed.load(std::memory_order_relaxed)) return finish(waiter, Status::CLOSED, deferred);
  uint32_t index = shard.find(waiter.hash, waiter.key);
  if (index != kNoEntry && end_if_overdue(shard, index, clock_.now(), deferred)) {
    ++shard.counters.taken_over;
    waiter.grant.flags |= LIBLOCK_RESULT_TOOK_OVER;
    index = shard.find(waiter.hash, waiter.key);
  }
  if (!shard.gated && availability(shard, index, owner, params, false) == Availability::Free) {
    if (!take_credit(shard)) return finish(waiter, Status::LIMIT, deferred);
    if (index == kNoEntry) index = shard.insert(waiter.hash, waiter.key);
    const uint64_t token = shard.next_token();
    const Nanos deadline = deadline_after(params.ttl);
    begin_hold(shard, index, owner, deadline, token);
    shard.begun(index) = deadline - params.ttl;
    Entry &entry = shard.entry(index);
    waiter.grant.handle = entry.handle;
    waiter.grant.token = token;
    waiter.grant.hold_count = 1;
    waiter.grant.remaining = params.ttl;
    if (entry.queue != nullptr) end_watches(*entry.queue, Waiter::Kind::WatchHeld, 0, Status::OK, deferred);
    return finish(waiter, Status::OK, deferred);
  }
  if (params.tries_once()) {
    if (index != kNoEntry && tries_again(waiter, shard.entry(index), deferred)) return;
    return finish(waiter, Status::BUSY, deferred);
  }
  if (index == kNoEntry) index = shard.insert(waiter.hash, waiter.key);
  const Status queued = enqueue(waiter, shard, index, deferred);
  if (queued == Status::OK) return;
  drop_idle_entry(shard, index);
  finish(waiter, queued, deferred);
}

// With the shard's lock. Anything but OK: it is in no queue.
Status LockTable::enqueue(Waiter &waiter, Shard &shard, uint32_t index, Deferred &deferred) {
  if (waiter.owner->closed.load(std::memory_order_relaxed)) return Status::CLOSED;
  if (waiters_.fetch_add(1) >= static_cast<uint64_t>(options_.waiters_max)) {
    waiters_.fetch_sub(1);
    return Status::LIMIT;
  }
  WaitQueue *queue;
  try {
    queue = &shard.queue_of(shard.entry(index));
  } catch (const std::bad_alloc &) {
    waiters_.fetch_sub(1);
    return Status::NO_MEMORY;
  }
  const bool is_back = comes_back(waiter);
  const size_t position = is_back ? queue->enqueue_again(waiter) : queue->enqueue(waiter, clock_.now());
  count_thread(waiter);
  if (!is_back) waiter.serial.store(serial_.fetch_add(1) + 1, std::memory_order_relaxed);
  waiter.index = index;
  waiter.wait_began_at.store(waiter.enqueued_at);
  if (waiter.first_wait_at == 0) waiter.first_wait_at = waiter.enqueued_at;
  waiter.waits_begun.fetch_add(1);
  if (waiter.kind == Waiter::Kind::Lock) {
    waiter.grant.queue_position = static_cast<int64_t>(position);
    waiter.grant.queue_length = static_cast<int64_t>(queue->waiting());
    counters_.contended.fetch_add(1, std::memory_order_relaxed);
  }
  if (waiter.record != nullptr) waiter.record->queued = &waiter;
  if (waiter.record != nullptr && goes_on_with_own(waiter)) waiter.owner->own_waits.fetch_add(1);
  waiter.where.store(shard.number());
  if (const liblock_status asked = waiter.asked_to_end.load(); asked != 0) {
    leave_queue(waiter, shard);
    return static_cast<Status>(asked);
  }
  const bool timed = waiter.params->wait != kNever || waiter.params->retry.counts() ||
                     waiter.params->queue_ttl != kNever || is_leased(shard, index) ||
                     waiter.params->progress != nullptr ||
                     (waiter.owner->named() && options_.deadlock_detection);
  if (waiter.request != nullptr && timed) deferred.nudge(waiter.request);
  return Status::OK;
}

// close() waits for threads that others can see waiting, so they are counted before they can be seen.
void LockTable::count_thread(Waiter &waiter) {
  std::atomic<uint64_t> *threads = waiter.params->threads_waiting;
  if (threads != nullptr && !std::exchange(waiter.grant.counted_as_waiting, true)) threads->fetch_add(1);
}

// The shards count who left by themselves, since hand-offs come by the million; the bound asks for the sum.
// With no shard's lock held.
void LockTable::recount_waiters() {
  for (uint32_t i = 0; i < kShards; ++i) {
    const std::lock_guard lock(shards_[i].mutex);
    waiters_.fetch_sub(std::exchange(shards_[i].counters.waits_left, 0));
  }
}

// A waiter is gone from the queue: the key may be free for the next, the queue empty, or its head a new one.
void LockTable::after_leaving(Shard &shard, uint32_t index, Deferred &deferred) {
  Entry &entry = shard.entry(index);
  if (!entry.held()) {
    pass_on(shard, index, deferred);
  } else if (entry.queue != nullptr && entry.queue->empty()) {
    shard.drop_queue(entry);
  } else if (is_leased(shard, index)) {
    nudge_head(shard, index, deferred);
  }
}

bool LockTable::end_wait(Waiter &waiter, Status status, Deferred &deferred) {
  for (;;) {
    const uint32_t where = waiter.where.load();
    if (where == Waiter::kNowhere) return false;
    if (where == Waiter::kGlobalQueue) {
      if (end_global_wait(waiter, status, deferred)) return true;
      continue;
    }
    Shard &shard = shards_[where];
    const std::lock_guard lock(shard.mutex);
    if (waiter.where.load() != where) continue;
    const uint32_t index = waiter.index;
    leave_queue(waiter, shard);
    after_leaving(shard, index, deferred);
    finish(waiter, status, deferred);
    return true;
  }
}

bool LockTable::ask_to_end(Waiter &waiter, Status status) {
  Deferred deferred(*this);
  waiter.asked_to_end.store(static_cast<liblock_status>(status));
  if (status == Status::CANCELED) counters_.canceled.fetch_add(1, std::memory_order_relaxed);
  return end_wait(waiter, status, deferred);
}

void LockTable::wait_blocking(Waiter &waiter) {
  bool next_in_line = waiter.grant.queue_position == 0 && waiter.kind == Waiter::Kind::Lock;
  while (waiter.word.load(std::memory_order_acquire) != Waiter::kDone) {
    if (next_in_line && waiter.params->order != LIBLOCK_ORDER_ANY && spin_as_head(waiter)) return;
    const Nanos until = tend(waiter, clock_.now());
    uint32_t expected = Waiter::kWaiting;
    if (!waiter.word.compare_exchange_strong(expected, Waiter::kParked)) {
      // Nudged since it looked: what it would sleep on may be wrong by now.
      next_in_line =
          expected == Waiter::kNudged && waiter.word.compare_exchange_strong(expected, Waiter::kWaiting);
      continue;
    }
    while (waiter.word.load() == Waiter::kParked) {
      wait_on_word(waiter.word, Waiter::kParked, until);
      if (until != kNever && clock_.now() >= until) break;
    }
    uint32_t parked = Waiter::kParked;
    // Still parked: time to act by itself. Otherwise it was nudged (kWaiting) or is done.
    next_in_line = !waiter.word.compare_exchange_strong(parked, Waiter::kWaiting);
  }
}

// True: the wait has ended. In bursts with the CPU offered to others in between: the holder may be one of
// them.
bool LockTable::spin_as_head(Waiter &waiter) {
  if (!spin_habit_.pays()) return false;
  const Nanos give_up_at = clock_.now() + kSpinBudget;
  bool is_done = false;
  do {
    for (int i = 0; i < kSpinBurst && !is_done; ++i) {
      is_done = waiter.word.load(std::memory_order_acquire) == Waiter::kDone;
      if (!is_done) cpu_relax();
    }
    if (!is_done) sched_yield();
  } while (!is_done && clock_.now() < give_up_at);
  spin_habit_.ended(is_done);
  return is_done;
}

// From when it began to wait, however late somebody comes to look after it.
void LockTable::plan(Waiter &waiter, Nanos began_at) {
  waiter.planned = true;
  const AcquireParams &params = *waiter.params;
  waiter.wait_until = params.wait == kNever ? kNever : began_at + params.wait;
  if (waiter.kind != Waiter::Kind::Lock) return;
  if (waiter.retries.start(params.retry, random_, began_at) == RetryCount::Step::Refused)
    waiter.wait_until = INT64_MIN;
}

// What is due for a waiter at `now`. Returns when to come back; kNever: only when nudged.
Nanos LockTable::tend(Waiter &waiter, Nanos now) {
  Nanos next;
  {
    Deferred deferred(*this);
    next = act_for(waiter, now, deferred);
  }
  return waiter.params->progress == nullptr ? next : std::min(next, tell_place(waiter, now));
}

Nanos LockTable::act_for(Waiter &waiter, Nanos now, Deferred &deferred) {
  if (!waiter.planned) plan(waiter, waiter.first_wait_at);
  const bool refused = waiter.wait_until == INT64_MIN;
  const auto step =
      refused ? RetryCount::Step::Refused
              : waiter.retries.advance(waiter.params->retry, random_, std::min(now, waiter.wait_until));
  const uint32_t attempts = waiter.retries.attempts();
  const bool is_retry = waiter.attempts.exchange(attempts, std::memory_order_relaxed) != attempts;
  if (is_retry && waiter.params->trace != nullptr) trace_retry(waiter, deferred);
  if (step != RetryCount::Step::Wait || now >= waiter.wait_until) {
    const Status end = step == RetryCount::Step::Refused     ? Status::INVALID_ARGUMENT
                       : step == RetryCount::Step::Exhausted ? Status::RETRIES_EXHAUSTED
                                                             : Status::TIMEOUT;
    if (end != Status::INVALID_ARGUMENT) counters_.timeouts.fetch_add(1, std::memory_order_relaxed);
    waiter.asked_to_end.store(
        static_cast<liblock_status>(end));  // also where it is between two of several keys
    end_wait(waiter, end, deferred);
    return kNever;
  }
  Nanos next = std::min(waiter.wait_until, waiter.retries.next_at());
  const uint32_t where = waiter.where.load();
  if (where == Waiter::kNowhere) return next;
  next = std::min(next, where == Waiter::kGlobalQueue ? tend_global(waiter, now, deferred)
                                                      : tend_in_queue(waiter, where, now, deferred));
  if (!waiter.owner->named() || !options_.deadlock_detection) return next;
  return std::min(next, tend_deadlock(waiter, now));
}

// Leases of the holders and of the global lock, place in the queue, and ANY's own try. Returns when to look again.
Nanos LockTable::tend_in_queue(Waiter &waiter, uint32_t where, Nanos now, Deferred &deferred) {
  // Before the shard's lock, which comes after the global lock's.
  end_global_if_overdue(now, deferred);
  Shard &shard = shards_[where];
  const std::lock_guard lock(shard.mutex);
  if (waiter.where.load() != where) return kNever;
  const uint32_t index = waiter.index;
  if (end_if_overdue(shard, index, now, deferred)) {
    ++shard.counters.taken_over;
    if (waiter.where.load() != where) return kNever;  // it was this waiter's turn
  }
  Entry &entry = shard.entry(index);
  WaitQueue &queue = *entry.queue;
  const bool may_try = std::exchange(waiter.nudged, false) && !entry.held();
  if (may_try && (shard.gated || !queue.strict.empty())) {
    // Told to try before the gate shut, or before somebody queued here because it is about to: it is not for this
    // waiter to say who is next, but nobody else comes to say so either.
    pass_on(shard, index, deferred);
    if (waiter.where.load() != where) return kNever;
  } else if (may_try) {
    leave_queue(waiter, shard);
    if (take_credit(shard)) {
      hand_to(shard, index, waiter, deferred);
    } else {
      finish(waiter, Status::LIMIT, deferred);
    }
    after_leaving(shard, index, deferred);
    return kNever;
  }
  Nanos next = kNever;
  if (waiter.kind == Waiter::Kind::Lock && waiter.params->queue_ttl != kNever) {
    if (waiter.requeue_at == kNever) waiter.requeue_at = waiter.enqueued_at + waiter.params->queue_ttl;
    if (now >= waiter.requeue_at) {
      queue.requeue(waiter, now);
      waiter.requeue_at = now + waiter.params->queue_ttl;
      nudge_head(shard, index, deferred);
      if (waiter.params->trace != nullptr) trace_requeue(waiter, queue, deferred);
    }
    next = waiter.requeue_at;
  }
  const bool watches_lease = waiter.kind != Waiter::Kind::Lock || queue.strict.front() == &waiter ||
                             (queue.strict.empty() && queue.any.front() == &waiter);
  if (!watches_lease) return next;
  if (entry.refs != nullptr) next = std::min(next, end_by_any_key(entry, now, deferred));
  return std::min({next, shard.deadline(index), shard.gated ? global_.deadline.load() : kNever});
}

Nanos LockTable::tend_deadlock(Waiter &waiter, Nanos now) {
  const uint32_t begun = waiter.waits_begun.load();
  const Nanos due_at = waiter.wait_began_at.load() + nanos_from_ms(options_.deadlock_delay_ms);
  if (waiter.waits_searched.load() == begun) return kNever;
  if (now < due_at) return due_at;
  if (waiter.waits_searched.exchange(begun) == begun) return kNever;
  try {
    if (search_deadlock(waiter, *waiter.owner)) return kNever;
  } catch (const std::bad_alloc &) {
    // Its wait goes on: whoever waits stands in a queue, and is taken out of it by an end alone.
  }
  // There was no memory; or a cycle was seen and no longer stood when it was to be broken: another may stand behind it.
  waiter.waits_searched.store(0);
  return now + std::max(kMillisecond, nanos_from_ms(options_.deadlock_delay_ms));
}

Nanos LocalRequest::due(Nanos now) { return table_->tend(waiter, now); }

}  // namespace liblock
