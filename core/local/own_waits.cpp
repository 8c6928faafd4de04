// SPDX-License-Identifier: MIT
// Requests of a named owner that wait while another of his is granted: those that wait for what he has by now would
// wait for himself, and no search for deadlocks would find it, since nobody else is part of it. They leave their queues
// and go on, as if they had been handed one of several keys, and find a key that they may reenter.
#include <array>
#include <new>

#include "local/shard_locks.hpp"

namespace liblock {

bool LockTable::goes_on_with_own(const Waiter &waiter) {
  return waiter.kind == Waiter::Kind::Lock && waiter.owner->named() &&
         waiter.params->on_conflict != LIBLOCK_ON_CONFLICT_WAIT;
}

// It has keys on its way to the one that it waits for now: they are its owner's from now on.
bool LockTable::has_others_of_own(const Record &record, const Waiter &waiter) {
  const uint32_t mine = goes_on_with_own(waiter) ? 1 : 0;
  return record.taken.load(std::memory_order_relaxed) != 0 && waiter.owner->own_waits.load() > mine;
}

void LockTable::end_and_look(LocalRequest &request, Record &taken, Deferred &deferred) {
  const std::shared_ptr<LocalOwner> owner = request.waiter.owner->shared_from_this();
  end(request, &deferred);  // first, so that its end comes before those of the others
  look_at_own_waits(*owner, taken, deferred);
}

// With no lock held, and a pin of the record that is dropped. Its keys may have been given back meanwhile: then others
// of his that have them have looked, or will.
void LockTable::look_at_own_waits(LocalOwner &owner, Record &taken, Deferred &deferred) {
  if (taken.global) reenter_global(owner, deferred);
  bool is_crowded = false;
  for (uint32_t i = 0; i < taken.key_count && !is_crowded; ++i)
    is_crowded = !look_at_own_waits_for(taken.refs[i], owner, deferred);
  if (is_crowded) look_at_all_own_waits(owner, deferred);
  unpin(taken);
}

// False: a queue of many others is not gone through for a few of his.
bool LockTable::look_at_own_waits_for(const KeyRef &ref, LocalOwner &owner, Deferred &deferred) {
  constexpr size_t kFew = 64;
  Shard &shard = shards_[ref.shard];
  const std::lock_guard lock(shard.mutex);
  if (ref.index >= shard.entries_end()) return true;
  const Entry &entry = shard.entry(ref.index);
  if (entry.owner != &owner || entry.queue == nullptr) return true;
  if (entry.queue->waiting() > kFew + owner.own_waits.load()) return false;
  std::array<WaitQueue::Waiters *, 2> lists = {&entry.queue->strict, &entry.queue->any};
  for (WaitQueue::Waiters *list : lists) {
    for (Waiter *w = list->front(); w != nullptr;) {
      Waiter &waiter = *w;
      w = WaitQueue::Waiters::next(w);
      if (waiter.owner == &owner && goes_on_with_own(waiter)) goes_on(waiter, shard, deferred);
      if (entry.queue == nullptr) return true;  // he was the last
    }
  }
  return true;
}

// What he has and has asked for.
void LockTable::look_at_all_own_waits(LocalOwner &owner, Deferred &deferred) {
  const std::lock_guard lock(owner.mutex);
  for (Record *r = owner.records.front(); r != nullptr; r = List<Record, &Record::owner_links>::next(r)) {
    if (r->all_held.load() || r->global) continue;
    const ShardLocks locks(*this, *r);
    Waiter *const waiter = r->queued;
    if (waiter == nullptr || !goes_on_with_own(*waiter)) continue;
    Shard &shard = shards_[waiter->wanted->shard];
    if (shard.entry(waiter->index).owner == &owner) goes_on(*waiter, shard, deferred);
  }
}

// With the shard's lock. Where somebody else has the key by the time that it looks, it is back at its place.
void LockTable::goes_on(Waiter &waiter, Shard &shard, Deferred &deferred) {
  const uint32_t index = waiter.index;
  waiter.place_kept_for = waiter.was_requeued ? nullptr : waiter.wanted;
  leave_queue(waiter, shard);
  after_leaving(shard, index, deferred);
  waiter.grant.flags |= LIBLOCK_RESULT_WAITED;
  finish(waiter, Status::OK, deferred);
}

void LockTable::reenter_global(LocalOwner &owner, Deferred &deferred) {
  const std::lock_guard lock(global_.mutex);
  if (global_.handles.empty() || global_.owner != &owner) return;
  for (auto *list : {&global_.queue.strict, &global_.queue.any}) {
    for (Waiter *w = list->front(); w != nullptr;) {
      Waiter &waiter = *w;
      w = WaitQueue::Waiters::next(w);
      if (waiter.owner != &owner || !goes_on_with_own(waiter)) continue;
      if (waiter.params->on_conflict == LIBLOCK_ON_CONFLICT_FAIL) {
        leave_global(waiter, Status::ALREADY_HELD, deferred);
        continue;
      }
      try {
        global_.handles.reserve(global_.handles.size() + 1);
      } catch (const std::bad_alloc &) {
        return;  // they wait on
      }
      dequeue_global(waiter, deferred);
      waiter.grant.flags |= LIBLOCK_RESULT_WAITED;
      hold_global_again(waiter, deferred);
    }
  }
}

}  // namespace liblock
