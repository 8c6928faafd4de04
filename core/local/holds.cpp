// SPDX-License-Identifier: MIT
// Beginning, handing on and ending the hold of one key, always under the lock of its shard. A key that is
// released is handed to the next waiter in the same breath: nobody can barge in between, and no wake-up can
// be lost.
#include <algorithm>

#include "base/spin_lock.hpp"
#include "local/lock_table.hpp"

namespace liblock {

namespace {

// A shard takes as many credits at once, unless the table is near its bound: then one, since credits that one
// shard keeps unused are out of reach of an acquire that holds the locks of others.
constexpr int64_t kCreditBatch = 64;
constexpr int64_t kNearBound = 64 * LockTable::kShards;
// ANY: a waiter that has been overtaken for so long is handed the key. By time, not by count: a count of
// releases falls back to the speed of strict order.
constexpr Nanos kOvertakingBudget = kMillisecond;

// With thousands of requests behind a key, what a hand-off to one of them touches comes from afar. It is one piece
// of memory, the call's own side before the waiter: fetched while the one before it is served.
void fetch_ahead(const Waiter &waiter) {
  constexpr ptrdiff_t kLine = 64, kBefore = 5 * kLine, kBehind = 3 * kLine;
  const char *here = reinterpret_cast<const char *>(&waiter);
  for (ptrdiff_t at = -kBefore; at < kBehind; at += kLine) prefetch_for_write(here + at);
}

}  // namespace

// Credits spread locks_max over the shards, so that no counter is shared by all acquires; the sum is exact.
bool LockTable::take_credit(Shard &shard) { return shard.credit > 0 || refill_credit(shard); }

bool LockTable::refill_credit(Shard &shard) {
  int64_t pool = credit_pool_.load(std::memory_order_relaxed);
  while (pool > 0) {
    const int64_t taken = pool > kNearBound ? kCreditBatch : 1;
    if (!credit_pool_.compare_exchange_weak(pool, pool - taken, std::memory_order_relaxed)) continue;
    shard.credit += static_cast<uint32_t>(taken);
    return true;
  }
  return false;
}

// Gathers unused credits of all shards. With no shard's lock held.
void LockTable::reclaim_credit() {
  for (uint32_t i = 0; i < kShards; ++i) {
    const std::lock_guard lock(shards_[i].mutex);
    credit_pool_.fetch_add(shards_[i].credit, std::memory_order_relaxed);
    shards_[i].credit = 0;
  }
}

void LockTable::leave_queue(Waiter &waiter, Shard &shard) {
  shard.entry(waiter.index).queue->remove(waiter);
  waiter.where.store(Waiter::kNowhere, std::memory_order_release);
  if (waiter.record != nullptr) {
    waiter.record->queued = nullptr;
    if (goes_on_with_own(waiter)) waiter.owner->own_waits.fetch_sub(1);
  }
  ++shard.counters.waits_left;
}

// The caller has a credit in hand (take_credit).
void LockTable::begin_hold(Shard &shard, uint32_t index, LocalOwner &owner, Nanos deadline, uint64_t token) {
  Entry &entry = shard.entry(index);
  LIBLOCK_ASSERT(entry.owner == nullptr && entry.refs == nullptr && shard.credit > 0);
  entry.owner = &owner;
  entry.token = token;
  shard.deadline(index) = deadline;
  ++shard.held;
  ++shard.grants;
  --shard.credit;
  if (deadline != kNever) leases_used.store(true, std::memory_order_relaxed);
  if (owner.named()) owner.keys_held.fetch_add(1, std::memory_order_relaxed);
  if (shard.gated) count_gated_hold(owner, +1, nullptr);
}

void LockTable::end_hold(Shard &shard, uint32_t index, EndReason reason, bool thin, Deferred &deferred) {
  Entry &entry = shard.entry(index);
  LocalOwner &owner = *entry.owner;
  LIBLOCK_ASSERT(entry.refs == nullptr);
  if (thin) {
    if (reason != EndReason::Released) shard.remember_lost(entry.handle);
    if (entry.has_value) shard.drop_value(entry);
    entry.handle = handle::next_in_place(entry.handle);
  }
  entry.owner = nullptr;
  shard.deadline(index) = kNever;
  --shard.held;
  ++shard.credit;
  if (reason == EndReason::Expired) ++shard.counters.expired;
  if (reason == EndReason::TakenAway) ++shard.counters.taken_away;
  if (owner.named()) owner.keys_held.fetch_sub(1, std::memory_order_relaxed);
  if (shard.gated) count_gated_hold(owner, -1, &deferred);
  if (entry.queue != nullptr && !entry.queue->watchers.empty()) {
    end_watches(*entry.queue, Waiter::Kind::WatchReleased, 0, Status::OK, deferred);
    end_watches(*entry.queue, Waiter::Kind::WatchLost, 0,
                reason == EndReason::Released ? Status::NOT_HELD : Status::LOST, deferred);
  }
}

// Takes the hold away from all its handles at once. The caller passes the key on.
void LockTable::lose(Shard &shard, uint32_t index, EndReason reason, Deferred &deferred) {
  Entry &entry = shard.entry(index);
  const bool thin = entry.refs == nullptr;
  for (KeyRef *ref = std::exchange(entry.refs, nullptr); ref != nullptr;) {
    KeyRef *next = std::exchange(ref->next, nullptr);
    ref->state = KeyRef::State::Lost;
    ref->record->taken.fetch_sub(1, std::memory_order_relaxed);
    if (!ref->record->lost.exchange(true)) {
      ref->record->pins.fetch_add(1, std::memory_order_relaxed);  // for the reaper
      ref->record->reaped_owner = entry.owner->shared_from_this();
      deferred.reap(ref->record);
    }
    ref = next;
  }
  end_hold(shard, index, reason, thin, deferred);
}

bool LockTable::end_if_overdue(Shard &shard, uint32_t index, Nanos now, Deferred &deferred) {
  if (!shard.entry(index).held() || shard.deadline(index) > now) return false;
  lose(shard, index, EndReason::Expired, deferred);
  pass_on(shard, index, deferred);
  return true;
}

uint32_t LockTable::find_current(Shard &shard, const Position &at, Bytes key, Deferred &deferred) {
  const uint32_t index = shard.find(at.hash, key);
  if (index == kNoEntry || !end_if_overdue(shard, index, clock_.now(), deferred)) return index;
  return shard.find(at.hash, key);  // it may have gone with its hold
}

void LockTable::pass_on(Shard &shard, uint32_t index, Deferred &deferred) {
  Entry &entry = shard.entry(index);
  if (entry.state != Entry::State::InUse || entry.held()) return;
  if (entry.queue != nullptr) {
    Pass pass = Pass::No;
    while (Waiter *waiter = next_to_serve(shard, entry, pass, deferred)) {
      leave_queue(*waiter, shard);
      if (take_credit(shard)) {
        hand_to(shard, index, *waiter, deferred);
      } else {
        finish(*waiter, Status::LIMIT, deferred);
      }
      drop_pass(pass, deferred);
      if (entry.held()) break;
    }
  }
  if (!entry.held()) {
    if (entry.queue != nullptr && is_behind_lease(shard)) nudge_head(shard, index, deferred);
    drop_idle_entry(shard, index);
  } else if (entry.queue != nullptr) {
    if (entry.queue->empty()) {
      shard.drop_queue(entry);
    } else {
      nudge_head(shard, index, deferred);  // the new next in line begins to look while the present one works
    }
  }
}

void LockTable::drop_idle_entry(Shard &shard, uint32_t index) {
  Entry &entry = shard.entry(index);
  if (entry.held() || (entry.queue != nullptr && !entry.queue->empty())) return;
  if (entry.queue != nullptr) shard.drop_queue(entry);
  shard.erase(index);
}

Waiter *LockTable::next_to_serve(Shard &shard, Entry &entry, Pass &pass, Deferred &deferred) {
  WaitQueue &queue = *entry.queue;
  if (shard.gated) {
    for (const auto *list : {&queue.strict, &queue.any}) {
      for (Waiter *w = list->front(); w != nullptr; w = WaitQueue::Waiters::next(w)) {
        pass = try_pass(*w->owner, w->record);
        if (pass != Pass::No) return w;
      }
    }
    return nullptr;
  }
  Waiter *oldest = queue.any.front();
  if (Waiter *first = queue.strict.front(); first != nullptr) {
    // Who waits in order goes first, but cannot keep one waiting who asked so much earlier.
    return oldest != nullptr && oldest->enqueued_at + kOvertakingBudget <= first->enqueued_at ? oldest
                                                                                              : first;
  }
  if (oldest == nullptr) return nullptr;
  // A request has no thread that could try by itself; a thread is handed the key once its patience is used
  // up.
  if (oldest->request != nullptr || clock_.now() - oldest->enqueued_at >= kOvertakingBudget) return oldest;
  if (!oldest->nudged) {  // one wake-up under way is enough
    oldest->nudged = true;
    nudge(*oldest, deferred);
  }
  return nullptr;
}

// The waiter has left the queue and a credit is in hand.
void LockTable::hand_to(Shard &shard, uint32_t index, Waiter &waiter, Deferred &deferred) {
  ++shard.counters.handed_off;
  const AcquireParams &params = *waiter.params;
  waiter.grant.flags |= LIBLOCK_RESULT_WAITED;
  Record *record = waiter.record;
  const Nanos deadline = deadline_after(params.ttl);
  const uint64_t token = shard.next_token();
  if (record == nullptr) {
    begin_hold(shard, index, *waiter.owner, deadline, token);
    lease_moved(shard, deadline, deferred);
    shard.begun(index) = deadline - params.ttl;
    waiter.grant.handle = shard.entry(index).handle;
    waiter.grant.token = token;
    waiter.grant.hold_count = 1;
    waiter.grant.remaining = params.ttl;
  } else if (record->key_count == 1) {
    take_ref(shard, *waiter.wanted, deadline, token, deferred);
    complete_record(*record, waiter, false, token, deadline);
  } else {
    // One key of several: whoever drives it goes on.
    take_ref(shard, *waiter.wanted, kNever, token, deferred);
  }
  if (Entry &entry = shard.entry(index); record == nullptr && entry.queue != nullptr) {
    end_watches(*entry.queue, Waiter::Kind::WatchHeld, 0, Status::OK, deferred);
  }
  if (params.trace != nullptr) trace_hand_off(waiter, shard, index, token, deferred);
  finish(waiter, Status::OK, deferred);
}

void LockTable::nudge(Waiter &waiter, Deferred &deferred) {
  if (waiter.request != nullptr) {
    deferred.nudge(waiter.request);
    return;
  }
  uint32_t seen = waiter.word.load();
  while (seen == Waiter::kWaiting || seen == Waiter::kParked) {
    const uint32_t told = seen == Waiter::kParked ? Waiter::kWaiting : Waiter::kNudged;
    if (!waiter.word.compare_exchange_weak(seen, told)) continue;
    if (seen == Waiter::kParked) deferred.wake(&waiter.word);
    return;
  }
}

// Tells the next in line, who watches the holder's lease, or the global lock's, and is about to be served.
void LockTable::nudge_head(Shard &shard, uint32_t index, Deferred &deferred) {
  WaitQueue *queue = shard.entry(index).queue;
  if (queue == nullptr) return;
  Waiter *head = queue->strict.empty() ? queue->any.front() : queue->strict.front();
  const bool lease_matters = is_leased(shard, index);
  if (head != nullptr &&
      (lease_matters || (head->request == nullptr && head->params->order != LIBLOCK_ORDER_ANY))) {
    nudge(*head, deferred);
  }
  if (!lease_matters) return;
  for (Waiter *w = queue->watchers.front(); w != nullptr; w = WaitQueue::Waiters::next(w))
    nudge(*w, deferred);
}

// It is in no queue any more. A blocked thread may return, and its waiter be gone, before this call does.
void LockTable::finish(Waiter &waiter, Status status, Deferred &deferred) {
  waiter.grant.status = status;
  if (waiter.request != nullptr) {
    deferred.drive(waiter.request);
    return;
  }
  const void *word = &waiter.word;
  if (waiter.word.exchange(Waiter::kDone) == Waiter::kParked) deferred.wake(word);
}

// watched 0: all of that kind.
void LockTable::end_watches(WaitQueue &queue, Waiter::Kind kind, Handle watched, Status status,
                            Deferred &deferred) {
  for (Waiter *w = queue.watchers.front(); w != nullptr;) {
    Waiter *next = WaitQueue::Waiters::next(w);
    if (w->kind == kind && (watched == 0 || w->watched == watched)) {
      queue.remove(*w);
      w->where.store(Waiter::kNowhere);
      waiters_.fetch_sub(1, std::memory_order_relaxed);
      finish(*w, status, deferred);
    }
    w = next;
  }
}

// The commonest hand-off: from one thin hold without a lease to a request for another such, whose end is then
// the only thing to do. What end_hold, leave_queue, begin_hold and hand_to come to together. nullptr: something
// else is to be seen to, and nothing has changed.
LocalRequest *LockTable::hand_over(Shard &shard, uint32_t index, const Owner &instance, Handle h) {
  Entry &entry = shard.entry(index);
  if (entry.handle != h || !entry.held() || entry.refs != nullptr || entry.queue == nullptr) return nullptr;
  if (entry.owner->instance() != instance.instance() || shard.gated || entry.has_value ||
      shard.deadline(index) != kNever)
    return nullptr;
  WaitQueue &queue = *entry.queue;
  Waiter *next = queue.strict.front();
  if (next == nullptr || !queue.any.empty() || !queue.watchers.empty() || next->request == nullptr ||
      next->record != nullptr || next->params->ttl != kNever)
    return nullptr;
  const Waiter *after = WaitQueue::Waiters::next(next);
  if (after != nullptr && after->request == nullptr) return nullptr;  // a thread wants to be told
  if (after != nullptr) {
    fetch_ahead(*after);
    if (const Waiter *third = WaitQueue::Waiters::next(after)) __builtin_prefetch(third);
  }
  queue.strict.remove(next);
  if (after == nullptr) shard.drop_queue(entry);
  next->where.store(Waiter::kNowhere, std::memory_order_release);
  ++shard.counters.waits_left;
  ++shard.counters.handed_off;
  ++shard.grants;
  shard.begun(index) = 0;
  entry.owner = next->owner;
  entry.handle = handle::next_in_place(h);
  entry.token = shard.next_token();
  Grant &grant = next->grant;
  grant.status = Status::OK;
  grant.flags |= LIBLOCK_RESULT_WAITED;
  grant.handle = entry.handle;
  grant.token = entry.token;
  grant.hold_count = 1;
  return next->request;
}

// Comes with the shard's lock, and lets it go.
Status LockTable::release_locked(Shard &shard, const Owner &instance, Handle h) {
  const uint32_t index = handle::index(h);
  LocalRequest *next = index < shard.entries_end() ? hand_over(shard, index, instance, h) : nullptr;
  if (next != nullptr) {
    shard.mutex.unlock();
    end(*next, nullptr);
    return Status::OK;
  }
  Deferred deferred(*this);
  const std::lock_guard lock(shard.mutex, std::adopt_lock);
  if (index >= shard.entries_end()) return stale(shard, h, true);
  Entry &entry = shard.entry(index);
  if (entry.handle != h || !entry.held() || entry.refs != nullptr) return stale(shard, h, true);
  if (entry.owner->instance() != instance.instance()) return Status::INVALID_HANDLE;
  const bool overdue = shard.deadline(index) != kNever && shard.deadline(index) <= clock_.coarse();
  if (overdue) {
    lose(shard, index, EndReason::Expired, deferred);
    shard.forget_lost(h);  // told here and now
  } else {
    end_hold(shard, index, EndReason::Released, true, deferred);
  }
  pass_on(shard, index, deferred);
  return overdue ? Status::LOST : Status::OK;
}

// What a handle that names no present hold deserves. A loss is told once where consume says so.
Status LockTable::stale(Shard &shard, Handle h, bool consume) const {
  if (consume ? shard.forget_lost(h) : shard.was_lost(h)) return Status::LOST;
  const uint32_t index = handle::index(h);
  if (handle::is_compound(h)) return shard.issued_record(h) ? Status::NOT_HELD : Status::INVALID_HANDLE;
  if (index >= shard.entries_end()) return Status::INVALID_HANDLE;
  return handle::generation(h) != 0 && h < shard.entry(index).handle ? Status::NOT_HELD
                                                                     : Status::INVALID_HANDLE;
}

}  // namespace liblock
