// SPDX-License-Identifier: MIT
// Ending holds and waits of others: administration, and owners and instances that close. A holder that loses
// its lock this way is told LOST; one that closes gives its locks back as by release.
#include <algorithm>
#include <utility>
#include <vector>

#include "local/lease_timer.hpp"
#include "local/shard_locks.hpp"

namespace liblock {

// Of each key the owner's youngest lock. With the locks of the keys' shards. LOST: a lease was over.
Status LockTable::find_owned(const LocalOwner &owner, std::span<const Bytes> keys, std::vector<KeyRef *> &refs,
                             Deferred &deferred) {
  Status status = Status::OK;
  const Nanos now = clock_.now();
  refs.clear();
  for (const Bytes key : keys) {
    const Position at = position_of(key);
    Shard &shard = shards_[at.shard];
    const uint32_t index = shard.find(at.hash, key);
    KeyRef *ref = index == kNoEntry || shard.entry(index).owner != &owner ? nullptr : shard.entry(index).refs;
    while (ref != nullptr && !ref->record->all_held.load()) ref = ref->next;
    if (ref != nullptr && end_if_overdue(shard, index, now, deferred)) {
      status = Status::LOST;
    } else if (ref == nullptr && status == Status::OK) {
      status = Status::NOT_HELD;
    }
    refs.push_back(ref);
  }
  return status;
}

// Under the locks of all shards of all locks that lose a key: each keeps another key or ends as a whole, and who
// watches it goes by the other.
Status LockTable::release_keys(LocalOwner &owner, std::span<const Bytes> keys) {
  if (owner.closed.load()) return Status::CLOSED;
  std::vector<Bytes> wanted(keys.begin(), keys.end());
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  std::vector<KeyRef *> refs;
  std::vector<Handle> emptied;
  refs.reserve(wanted.size());
  emptied.reserve(wanted.size());
  Status status = Status::OK;
  {
    Deferred deferred(*this);
    LockedShards locks(*this);
    for (const Bytes key : wanted) locks.add(position_of(key).shard);
    for (bool is_missing = true; is_missing;) {
      locks.unlock();
      locks.lock();
      status = find_owned(owner, wanted, refs, deferred);
      if (status != Status::OK) break;
      is_missing = false;
      for (const KeyRef *ref : refs) is_missing = locks.add_missing(*ref->record) || is_missing;
    }
    for (KeyRef *ref : refs) {
      if (status != Status::OK) break;
      if (ref->record->taken.load() == 1) emptied.push_back(ref->record->handle);
      Shard &shard = shards_[ref->shard];
      const uint32_t index = ref->index;
      watch_elsewhere(*ref, deferred);
      hand_on_carried(*ref, false);
      drop_ref(shard, *ref, deferred);
      tell_first_end(*ref->record, deferred);
      pass_on(shard, index, deferred);
    }
  }
  for (const Handle h : emptied) {
    const Status released = release_record(owner, h);
    static_cast<void>(released);  // it has no key left to lose; another thread may have released it already
  }
  return status;
}

Status LockTable::force_release(Bytes key, bool drop_queue, Tally &tally) {
  Deferred deferred(*this);
  const Position at = position_of(key);
  Shard &shard = shards_[at.shard];
  const std::lock_guard lock(shard.mutex);
  const uint32_t index = find_current(shard, at, key, deferred);
  if (index == kNoEntry) return Status::NOT_HELD;
  if (const WaitQueue *queue = shard.entry(index).queue; queue != nullptr) tally.waiters = queue->waiting();
  tally.queues = tally.waiters != 0;
  if (drop_queue) {
    end_waits_of_entry(
        shard, index, [](const Waiter &) { return true; }, Waits::ForLocks, Status::DEQUEUED, deferred);
  }
  tally.locks = shard.entry(index).held();
  if (tally.locks != 0) lose(shard, index, EndReason::TakenAway, deferred);
  pass_on(shard, index, deferred);
  return tally.locks != 0 ? Status::OK : Status::NOT_HELD;
}

// The caller passes the key on. Returns how many waits for the lock it ended.
size_t LockTable::end_waits_of_entry(Shard &shard, uint32_t index, const WhichWait &waits, Waits which,
                                     Status status, Deferred &deferred) {
  size_t ended = 0;
  WaitQueue *queue = shard.entry(index).queue;
  if (queue == nullptr) return ended;
  for (auto *list : {&queue->strict, &queue->any, &queue->watchers}) {
    if (list == &queue->watchers && which == Waits::ForLocks) break;
    for (Waiter *w = list->front(); w != nullptr;) {
      Waiter *next = WaitQueue::Waiters::next(w);
      if (waits(*w)) {
        ended += list != &queue->watchers;
        leave_queue(*w, shard);
        finish(*w, status, deferred);
      }
      w = next;
    }
  }
  return ended;
}

// Visits all entries in use, as many per hold of a shard as the batch says, and 64 at most. Returns the steps.
template <typename Visit>
uint64_t LockTable::for_each_entry(uint32_t batch, Visit visit) {
  const uint32_t most = std::min(batch, kEntriesPerChunk);
  uint64_t steps = 0;
  for (uint32_t number = 0; number < kShards; ++number) {
    Shard &shard = shards_[number];
    for (uint32_t index = 0;;) {
      Deferred deferred(*this);
      const std::lock_guard lock(shard.mutex);
      const uint32_t end = std::min(shard.entries_end(), index + most);
      steps += end > index;
      for (; index < end; ++index) {
        if (shard.entry(index).state != Entry::State::InUse) continue;
        visit(shard, index, deferred);
        after_leaving(shard, index, deferred);
      }
      if (index >= shard.entries_end()) break;
    }
  }
  return steps;
}

Tally LockTable::clear(const Whom &whom, const WhichWait &waits, uint32_t batch) {
  Tally tally;
  // Waits first, all of them: what is taken away must not be granted to one who is about to be dequeued.
  tally.waiters = end_global_waits(waits, Waits::ForLocks, Status::DEQUEUED);
  tally.queues = tally.waiters != 0;
  tally.steps = for_each_entry(batch, [&](Shard &shard, uint32_t index, Deferred &deferred) {
    const size_t ended = end_waits_of_entry(shard, index, waits, Waits::ForLocks, Status::DEQUEUED, deferred);
    tally.waiters += ended;
    tally.queues += ended != 0;
  });
  {
    Deferred deferred(*this);
    const std::lock_guard lock(global_.mutex);
    if (!global_.handles.empty() && whom(*global_.owner)) {
      ++tally.locks;
      lose_global(EndReason::TakenAway, deferred);
    }
  }
  tally.steps += for_each_entry(batch, [&](Shard &shard, uint32_t index, Deferred &deferred) {
    if (!shard.entry(index).held() || !whom(*shard.entry(index).owner)) return;
    ++tally.locks;
    lose(shard, index, EndReason::TakenAway, deferred);
  });
  return tally;
}

size_t LockTable::end_global_waits(const WhichWait &waits, Waits which, Status status) {
  size_t ended = 0;
  Deferred deferred(*this);
  const std::lock_guard lock(global_.mutex);
  for (auto *list : {&global_.queue.strict, &global_.queue.any, &global_.queue.watchers}) {
    if (list == &global_.queue.watchers && which == Waits::ForLocks) break;
    for (Waiter *w = list->front(); w != nullptr;) {
      Waiter *next = WaitQueue::Waiters::next(w);
      if (waits(*w)) {
        ended += list != &global_.queue.watchers;
        leave_global(*w, status, deferred);
      }
      w = next;
    }
  }
  while (global_.pending != nullptr && waits(*global_.pending)) {
    ++ended;
    leave_global(*global_.pending, status, deferred);
  }
  return ended;
}

namespace {

// Of what the owner holds and nobody gives back yet; 0: nothing.
Handle next_to_let_go(LocalOwner &owner) {
  const std::lock_guard lock(owner.mutex);
  for (Record *r = owner.records.front(); r != nullptr; r = List<Record, &Record::owner_links>::next(r)) {
    if (r->all_held.load() && !std::exchange(r->let_go, true)) return r->handle;
  }
  return 0;
}

}  // namespace

// Takes no memory, so that it cannot stop half-way. What a context that closed has left stays held.
void LockTable::close_owner(LocalOwner &owner) {
  owner.closed.store(true);
  {
    Deferred deferred(*this);
    const std::lock_guard lock(owner.mutex);
    if (owner.zombie.load()) return;
    for (Record *r = owner.records.front(); r != nullptr; r = List<Record, &Record::owner_links>::next(r)) {
      if (r->global) {
        const std::lock_guard global_lock(global_.mutex);
        if (r->queued != nullptr) leave_global(*r->queued, Status::CLOSED, deferred);
      } else {
        const ShardLocks locks(*this, *r);
        if (r->queued != nullptr) {
          Waiter &waiter = *r->queued;
          Shard &shard = shards_[waiter.where.load()];
          const uint32_t index = waiter.index;
          leave_queue(waiter, shard);
          after_leaving(shard, index, deferred);
          finish(waiter, Status::CLOSED, deferred);
        }
      }
    }
  }
  while (const Handle h = next_to_let_go(owner)) {
    const Status released = release_record(owner, h);
    static_cast<void>(released);  // LOST is as good an end
  }
}

// Its named owners were closed before. Marks first, so that nothing is granted behind the scan.
void LockTable::close_instance(LocalOwner &unnamed, bool leave) {
  unnamed.closed.store(true);
  const void *instance = unnamed.instance();
  const WhichWait ours = [instance](const Waiter &w) { return w.owner->instance() == instance; };
  end_global_waits(ours, Waits::AlsoWatches, Status::CLOSED);
  bool left_locks = false, left_unnamed = false;
  std::vector<Handle> held;
  {
    const std::lock_guard lock(global_.mutex);
    for (const Record *r : global_.handles) {
      if (r->owner->instance() != instance) continue;
      left_locks |= leave;
      left_unnamed |= leave && r->owner == &unnamed;
      if (!leave) held.push_back(r->handle);
    }
  }
  for_each_entry(kEntriesPerChunk, [&](Shard &shard, uint32_t index, Deferred &deferred) {
    end_waits_of_entry(shard, index, ours, Waits::AlsoWatches, Status::CLOSED, deferred);
    const Entry &entry = shard.entry(index);
    if (!entry.held() || entry.owner->instance() != instance) return;
    left_locks |= leave;
    left_unnamed |= leave && entry.owner == &unnamed;
    if (leave) return;
    if (entry.refs == nullptr) return end_hold(shard, index, EndReason::Released, true, deferred);
    for (const KeyRef *ref = entry.refs; ref != nullptr; ref = ref->next) {
      if (ref->record->all_held.load()) held.push_back(ref->record->handle);
    }
  });
  for (const Handle h : held) {
    const Status released = release_record(unnamed, h);
    static_cast<void>(released);  // a record of several keys was found once per key
  }
  if (leave) unnamed.zombie.store(true);
  instance_closed(unnamed, left_locks, left_unnamed);
}

}  // namespace liblock
