// SPDX-License-Identifier: MIT
// Waits that want no lock: for a key to be held or released, for a lock to end. A watcher stands in the queue
// of the key (or of the global lock) beside those who wait, and is ended by what it watches for.
#include <algorithm>
#include <new>
#include <span>

#include "local/shard_locks.hpp"

namespace liblock {

namespace {

bool is_held(const KeyRef &ref) { return ref.state == KeyRef::State::Held; }

}  // namespace

void LockTable::watch(LocalRequest &request, Waiter::Kind kind, Bytes key, Handle watched, LocalOwner &owner,
                      const AcquireParams &params) {
  Waiter &waiter = request.waiter;
  waiter.request = &request;
  waiter.kind = kind;
  waiter.params = &params;
  waiter.watched = watched;
  waiter.owner = &owner;
  request.pin();
  {
    Deferred deferred(*this);
    Status begun = Status::NO_MEMORY;
    try {
      begun = begin_watching(waiter, key);
    } catch (const std::bad_alloc &) {}
    if (begun != Status::OK) finish(waiter, begun, deferred);
  }
  request.unpin();
}

Status LockTable::wait_watching(Waiter::Kind kind, Bytes key, Handle watched, LocalOwner &owner, Nanos wait) {
  AcquireParams params;
  params.wait = wait;
  Waiter waiter;
  waiter.kind = kind;
  waiter.params = &params;
  waiter.watched = watched;
  waiter.owner = &owner;
  const Status begun = begin_watching(waiter, key);
  if (begun != Status::OK) return begun;
  if (waiter.word.load(std::memory_order_acquire) != Waiter::kDone) wait_blocking(waiter);
  return waiter.grant.status;
}

// OK: it is in a queue, or has ended. Otherwise it is in none.
Status LockTable::begin_watching(Waiter &waiter, Bytes key) {
  if (waiters_.load(std::memory_order_relaxed) >= static_cast<uint64_t>(options_.waiters_max))
    recount_waiters();
  return waiter.kind == Waiter::Kind::WatchLost ? begin_watching_lock(waiter)
                                                : begin_watching_key(waiter, key);
}

Status LockTable::begin_watching_key(Waiter &waiter, Bytes key) {
  Deferred deferred(*this);
  const Position at = position_of(key);
  Shard &shard = shards_[at.shard];
  const std::lock_guard lock(shard.mutex);
  uint32_t index = find_current(shard, at, key, deferred);
  const bool held = index != kNoEntry && shard.entry(index).held();
  if (waiter.kind == Waiter::Kind::WatchReleased && !held) return Status::NOT_HELD;
  if (waiter.kind == Waiter::Kind::WatchHeld && held) {
    finish(waiter, Status::OK, deferred);
    return Status::OK;
  }
  if (waiter.params->wait == 0) return Status::TIMEOUT;
  if (index == kNoEntry) index = shard.insert(at.hash, key);
  const Status queued = enqueue(waiter, shard, index, deferred);
  if (queued != Status::OK) drop_idle_entry(shard, index);
  return queued;
}

Status LockTable::begin_watching_lock(Waiter &waiter) {
  const HoldView seen = view(waiter.owner->instance(), waiter.watched);
  if (seen.status != Status::OK) return seen.status;
  if (waiter.params->wait == 0) return Status::TIMEOUT;
  if (handle::is_compound(waiter.watched)) return begin_watching_record(waiter);
  Deferred deferred(*this);
  Shard &shard = shards_[handle::shard(waiter.watched)];
  const uint32_t index = handle::index(waiter.watched);
  const std::lock_guard lock(shard.mutex);
  if (shard.entry(index).handle != waiter.watched || !shard.entry(index).held())
    return stale(shard, waiter.watched, false);
  return enqueue(waiter, shard, index, deferred);
}

Status LockTable::begin_watching_record(Waiter &waiter) {
  Deferred deferred(*this);
  Shard &home = shards_[handle::shard(waiter.watched)];
  home.mutex.lock();
  const Record *record = home.record(waiter.watched);
  if (record == nullptr || record->global) {
    const bool is_gone = record == nullptr;  // since the view
    const Status gone = stale(home, waiter.watched, false);
    home.mutex.unlock();  // comes after the global lock's
    return is_gone ? gone : begin_watching_global(waiter);
  }
  const ShardLocks locks(*this, *record, true);
  if (record->lost.load()) return Status::LOST;
  // Any key of it will do: when that one is given back alone, watch_elsewhere() takes another.
  const std::span<const KeyRef> refs(record->refs, record->key_count);
  const auto ref = std::find_if(refs.begin(), refs.end(), is_held);
  if (ref == refs.end()) return Status::NOT_HELD;
  return enqueue(waiter, shards_[ref->shard], ref->index, deferred);
}

// The key is about to go from its lock, by itself: who watches the lock stands at another key of it from now on, where
// it has one. With the locks of all its shards.
void LockTable::watch_elsewhere(const KeyRef &going, Deferred &deferred) {
  const Record &record = *going.record;
  Entry &entry = shards_[going.shard].entry(going.index);
  const std::span<const KeyRef> refs(record.refs, record.key_count);
  const auto to = std::find_if(refs.begin(), refs.end(),
                               [&](const KeyRef &ref) { return is_held(ref) && &ref != &going; });
  if (entry.queue == nullptr || to == refs.end() || record.lost.load()) return;
  Shard &shard = shards_[to->shard];
  for (Waiter *w = entry.queue->watchers.front(); w != nullptr;) {
    Waiter *next = WaitQueue::Waiters::next(w);
    const bool is_one = w->kind == Waiter::Kind::WatchLost && w->watched == record.handle;
    if (is_one && w->owner->closed.load(std::memory_order_relaxed)) {
      // Whoever closes its context may have looked there already, and waits for its end.
      leave_queue(*w, shards_[going.shard]);
      finish(*w, Status::CLOSED, deferred);
    } else if (is_one) {
      try {
        WaitQueue &queue = shard.queue_of(shard.entry(to->index));
        entry.queue->remove(*w);
        queue.enqueue(*w, w->enqueued_at);
        w->index = to->index;
        w->where.store(shard.number());
        nudge(*w, deferred);  // the lease that it looks after is another one
      } catch (const std::bad_alloc &) {
        leave_queue(*w, shards_[going.shard]);
        finish(*w, Status::NO_MEMORY, deferred);
      }
    }
    w = next;
  }
}

Status LockTable::begin_watching_global(Waiter &waiter) {
  Deferred deferred(*this);
  std::unique_lock lock(global_.mutex);
  const bool held = std::any_of(global_.handles.begin(), global_.handles.end(),
                                [&](const Record *r) { return r->handle == waiter.watched; });
  if (!held) {
    lock.unlock();
    return view(waiter.owner->instance(), waiter.watched).status;
  }
  if (waiter.owner->closed.load(std::memory_order_relaxed)) return Status::CLOSED;
  if (waiters_.fetch_add(1) >= static_cast<uint64_t>(options_.waiters_max)) {
    waiters_.fetch_sub(1);
    return Status::LIMIT;
  }
  global_.queue.enqueue(waiter, clock_.now());
  count_thread(waiter);
  waiter.serial.store(serial_.fetch_add(1) + 1, std::memory_order_relaxed);
  waiter.first_wait_at = waiter.enqueued_at;
  waiter.where.store(Waiter::kGlobalQueue);
  if (const liblock_status asked = waiter.asked_to_end.load(); asked != 0) {
    global_.queue.remove(waiter);
    waiter.where.store(Waiter::kNowhere);
    waiters_.fetch_sub(1);
    return static_cast<Status>(asked);
  }
  if (waiter.request != nullptr && (waiter.params->wait != kNever || global_.deadline.load() != kNever))
    deferred.nudge(waiter.request);
  return Status::OK;
}

}  // namespace liblock
