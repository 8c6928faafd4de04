// SPDX-License-Identifier: MIT
// What is asked about a lock by its handle, the change of its lease, and the ends that time brings.
#include <algorithm>

#include "local/lease_timer.hpp"
#include "local/shard_locks.hpp"

namespace liblock {

namespace {

Nanos later(Nanos deadline, Nanos by) {
  return deadline == kNever ? kNever : std::min(deadline, kNever / 2) + std::min(by, kNever / 4);
}

// Somebody is to hear of its loss, or it is to be renewed.
bool is_watched(const Record &record) {
  return record.renew || record.on_lost != nullptr || record.losses != nullptr;
}

}  // namespace

// With the locks of the record's shards: what is seen of a record. LOST once any of its keys is.
HoldView LockTable::view_record(const Record &record, Nanos now) {
  HoldView seen;
  seen.status = record.lost.load() ? Status::LOST : Status::OK;
  for (uint32_t i = 0; i < record.key_count; ++i) {
    const KeyRef &ref = record.refs[i];
    if (ref.state == KeyRef::State::GivenBack) continue;  // by release_keys
    if (ref.state != KeyRef::State::Held) {
      seen.status = Status::LOST;
      continue;
    }
    Shard &shard = shards_[ref.shard];
    const Entry &entry = shard.entry(ref.index);
    seen.token = std::max(seen.token, entry.token);
    seen.deadline = std::min(seen.deadline, shard.deadline(ref.index));
    if (seen.hold_count == 0) seen.hold_count = handles_on(entry);
  }
  if (seen.deadline <= now) seen.status = Status::LOST;
  return seen;
}

HoldView LockTable::view(const void *instance, Handle h) {
  HoldView seen;
  Shard &shard = shards_[handle::shard(h)];
  if (!handle::is_compound(h)) {
    const std::lock_guard lock(shard.mutex);
    const uint32_t index = handle::index(h);
    if (index >= shard.entries_end() || shard.entry(index).handle != h || !shard.entry(index).held() ||
        shard.entry(index).refs != nullptr) {
      seen.status = stale(shard, h, false);
      return seen;
    }
    const Entry &entry = shard.entry(index);
    if (entry.owner->instance() != instance) return seen;
    seen = {Status::OK, entry.token, shard.deadline(index), 1};
    if (seen.deadline != kNever && seen.deadline <= clock_.coarse()) seen.status = Status::LOST;
    return seen;
  }
  shard.mutex.lock();
  const Record *record = shard.record(h);
  if (record == nullptr || record->owner->instance() != instance || !record->all_held) {
    seen.status = record == nullptr ? stale(shard, h, false) : Status::INVALID_HANDLE;
    shard.mutex.unlock();
    return seen;
  }
  if (!record->global) {
    const ShardLocks locks(*this, *record, true);
    return view_record(*record, clock_.coarse());
  }
  shard.mutex.unlock();
  return view_global(h);
}

HoldView LockTable::view_global(Handle h) {
  const std::lock_guard lock(global_.mutex);
  const bool held = std::any_of(global_.handles.begin(), global_.handles.end(),
                                [h](const Record *r) { return r->handle == h; });
  HoldView seen{Status::LOST, global_.token, global_.deadline.load(),
                static_cast<uint32_t>(global_.handles.size())};
  if (held && seen.deadline > clock_.now()) seen.status = Status::OK;
  return seen;
}

// add: to what remains. ttl kNever: no expiry.
Status LockTable::extend(const void *instance, Handle h, Nanos ttl, bool add, HoldView &after) {
  Deferred deferred(*this);
  after = view(instance, h);
  if (after.status != Status::OK) return after.status;
  const auto new_deadline = [&](Nanos old) {
    if (ttl == kNever) return kNever;
    return add ? later(old, ttl) : deadline_after(ttl);
  };
  if (ttl != kNever) leases_used.store(true, std::memory_order_relaxed);
  Shard &shard = shards_[handle::shard(h)];
  shard.mutex.lock();
  if (!handle::is_compound(h)) {
    const uint32_t index = handle::index(h);
    const bool held =
        shard.entry(index).handle == h && shard.entry(index).held() && shard.deadline(index) > clock_.now();
    if (held) {
      after.deadline = shard.deadline(index) = new_deadline(shard.deadline(index));
      if (shard.begun(index) > 0) shard.begun(index) = -shard.begun(index);
      nudge_head(shard, index, deferred);
      lease_moved(shard, after.deadline, deferred);
    }
    shard.mutex.unlock();
    return held ? Status::OK : Status::LOST;
  }
  Record *record = shard.record(h);
  if (record == nullptr) {
    shard.mutex.unlock();
    return Status::LOST;
  }
  if (record->global) {
    shard.mutex.unlock();
    return extend_global(h, new_deadline, add ? kNever : ttl, after, deferred);
  }
  ShardLocks locks(*this, *record, true);
  if (view_record(*record, clock_.now()).status != Status::OK) return Status::LOST;
  if (ttl != kNever && !add) record->ttl = ttl;  // what renewals set from now on
  record->ends_at = new_deadline(record->ends_at);  // first: no key's lease is then set apart
  for (uint32_t i = 0; i < record->key_count; ++i) {
    const KeyRef &ref = record->refs[i];
    if (ref.state != KeyRef::State::Held) continue;
    Shard &at = shards_[ref.shard];
    forget_extensions(at.entry(ref.index));
    set_shared(at, ref.index, new_deadline(at.deadline(ref.index)), deferred);
  }
  after = view_record(*record, clock_.now());
  return Status::OK;
}

Status LockTable::extend_global(Handle h, const std::function<Nanos(Nanos)> &new_deadline, Nanos set_ttl,
                                HoldView &after, Deferred &deferred) {
  const std::lock_guard lock(global_.mutex);
  const auto found = std::find_if(global_.handles.begin(), global_.handles.end(),
                                  [h](const Record *r) { return r->handle == h; });
  if (found == global_.handles.end() || global_.deadline.load() <= clock_.now()) return Status::LOST;
  for (Record *record : global_.handles)
    std::fill(record->left_before.begin(), record->left_before.end(), kNotExtended);
  after.deadline = new_deadline(global_.deadline.load());
  if (set_ttl != kNever) {
    const std::lock_guard shard_lock(shards_[0].mutex);
    (*found)->ttl = set_ttl;
  }
  set_global_deadline(after.deadline, deferred);
  return Status::OK;
}

// When the timer of a lock must come, for a lease that ends at the deadline: at its end, or, where it is to
// be renewed, when two thirds of the ttl are left, up to a thirtieth earlier at random: leases taken together
// are not renewed together.
Nanos LockTable::timer_due(const Record &record, Nanos deadline) {
  if (deadline == kNever || !record.renew || record.ttl == kNever || deadline >= record.hold_until)
    return deadline;
  return deadline - record.ttl + record.ttl / 3 - random_.up_to(record.ttl / 30);
}

// The lease moved: those who watch it hear of the new end. With the entry's shard's lock.
void LockTable::arm_timers(Entry &entry, Nanos deadline) {
  if (deadline == kNever) return;
  for (const KeyRef *ref = entry.refs; ref != nullptr; ref = ref->next) {
    if (ref->record->all_held.load(std::memory_order_relaxed)) arm_timer(*ref->record, deadline);
  }
}

// With the lock of some shard of a lock that is held. One that had no lease has no timer either. Where there is no
// memory for one, or to arm it, the loss is told by whoever finds it: the lease has moved.
void LockTable::arm_timer(Record &record, Nanos deadline) try {
  LeaseTimer *timer = record.timer.load();
  if (timer == nullptr && is_watched(record) && record.runtime != nullptr && !record.owner->closed) {
    auto *made = new LeaseTimer(weak_from_this(), record.runtime, record.handle);
    if (record.timer.compare_exchange_strong(timer, made)) {
      timer = made;
    } else {
      made->unpin();  // somebody else was faster, at another key
    }
  }
  if (timer != nullptr) timer->arm(timer_due(record, deadline));
} catch (const std::bad_alloc &) {}

bool LockTable::attach_timer(Handle h, LeaseTimer *timer, Nanos due) {
  Shard &home = shards_[handle::shard(h)];
  const std::lock_guard lock(home.mutex);
  Record *record = home.record(h);
  if (record == nullptr || record->lost.load()) return false;
  LeaseTimer *present = nullptr;  // of who set the lease anew since it was granted
  const bool is_given = record->timer.compare_exchange_strong(present, timer);
  (is_given ? timer : present)->arm(due);
  return is_given;
}

bool LockTable::wants_timer(Handle h, std::shared_ptr<Runtime> &runtime) {
  Shard &home = shards_[handle::shard(h)];
  const std::lock_guard lock(home.mutex);
  const Record *record = home.record(h);
  if (record == nullptr || record->lost.load() || record->timer != nullptr) return false;
  runtime = record->runtime;
  return is_watched(*record) || record->global;
}

Nanos LockTable::tend_lease(Handle h, Nanos now) {
  Deferred deferred(*this);
  Shard &home = shards_[handle::shard(h)];
  home.mutex.lock();
  Record *record = home.record(h);
  if (record == nullptr || !record->all_held || record->lost.load()) {
    home.mutex.unlock();
    return kNever;
  }
  if (record->global) {
    home.mutex.unlock();
    return tend_global_lease(h, now);
  }
  ShardLocks locks(*this, *record, true);
  Nanos next = kNever;
  bool renewed = false;
  for (uint32_t i = 0; i < record->key_count; ++i) {
    const KeyRef &ref = record->refs[i];
    if (ref.state != KeyRef::State::Held) continue;
    Shard &shard = shards_[ref.shard];
    if (end_if_overdue(shard, ref.index, now, deferred)) continue;
    Nanos &deadline = shard.deadline(ref.index);
    if (!record->renew || record->owner->closed.load()) {
      next = std::min(next, deadline);
      continue;
    }
    const Nanos wanted = std::min(deadline_after(record->ttl), record->hold_until);
    renewed |= wanted > deadline;
    deadline = std::max(deadline, wanted);
    next = std::min(next, timer_due(*record, deadline));
  }
  if (renewed) renewed_as_one(*record, deferred);
  return next;
}

// With the locks of all its shards.
void LockTable::renewed_as_one(Record &record, Deferred &deferred) {
  counters_.renewals.fetch_add(1, std::memory_order_relaxed);
  record.ends_at = first_end(record);  // first: what agrees with it needs no look
  for (uint32_t i = 0; i < record.key_count; ++i) {
    const KeyRef &ref = record.refs[i];
    if (ref.state != KeyRef::State::Held) continue;
    Shard &shard = shards_[ref.shard];
    look_at_others(shard.entry(ref.index), shard.deadline(ref.index), deferred);
  }
}

Nanos LockTable::tend_global_lease(Handle h, Nanos now) {
  if (end_global_if_overdue(now)) return kNever;
  const std::lock_guard lock(global_.mutex);
  const auto found = std::find_if(global_.handles.begin(), global_.handles.end(),
                                  [h](const Record *r) { return r->handle == h; });
  if (found == global_.handles.end()) return kNever;
  const Record &record = **found;
  const Nanos deadline = global_.deadline.load();
  if (!record.renew || record.owner->closed.load()) return deadline;
  const Nanos wanted = std::min(deadline_after(record.ttl), record.hold_until);
  if (wanted > deadline) {
    global_.deadline.store(wanted);
    counters_.renewals.fetch_add(1, std::memory_order_relaxed);
  }
  return timer_due(record, std::max(wanted, deadline));
}

// With the shard's lock: ends what is overdue of the entries from..to of one chunk.
uint64_t LockTable::end_overdue(Shard &shard, uint32_t from, uint32_t to, Nanos now, Deferred &deferred) {
  if (!shard.has_overdue(from, to, now)) return 0;
  uint64_t ended = 0;
  for (uint32_t index = from; index < to; ++index) {
    if (shard.deadline(index) <= now) ended += end_if_overdue(shard, index, now, deferred);
  }
  return ended;
}

// At most one chunk of 64 entries is looked at while a shard is held, whatever the batch: an acquire waits
// for microseconds at most.
Nanos LockTable::end_all_overdue(Nanos now, uint64_t &ended) {
  Nanos earliest = kNever;
  for (uint32_t number = 0; number < kShards; ++number) {
    Shard &shard = shards_[number];
    for (uint32_t index = 0;; index += kEntriesPerChunk) {
      Deferred deferred(*this);
      const std::lock_guard lock(shard.mutex);
      if (index >= shard.entries_end()) break;
      ended += end_overdue(shard, index, index + kEntriesPerChunk, now, deferred);
      earliest = std::min(earliest, shard.earliest_deadline(index, index + kEntriesPerChunk));
    }
  }
  return earliest;
}

bool LockTable::sweep_step(SweepPosition &position, uint64_t budget, uint64_t &ended) {
  const Nanos now = clock_.now();
  while (budget > 0 && position.shard < kShards) {
    Deferred deferred(*this);
    Shard &shard = shards_[position.shard];
    const std::lock_guard lock(shard.mutex);
    if (position.index >= shard.entries_end()) {
      position = {position.shard + 1, 0};
      continue;
    }
    const uint64_t left_of_chunk = kEntriesPerChunk - position.index % kEntriesPerChunk;
    const auto looked = static_cast<uint32_t>(std::min(budget, left_of_chunk));
    ended += end_overdue(shard, position.index, position.index + looked, now, deferred);
    position.index += looked;
    shard.counters.sweep_entries += looked;
    shard.counters.sweep_entries_per_hold_max =
        std::max<uint64_t>(shard.counters.sweep_entries_per_hold_max, looked);
    budget -= looked;
  }
  return position.shard < kShards;
}

bool LockTable::sweep_batch(SweepPosition &position) {
  uint64_t ended = 0;
  if (leases_used.load(std::memory_order_relaxed)) {
    if (sweep_step(position, static_cast<uint64_t>(options_.cleanup_batch_size), ended)) return true;
    end_global_if_overdue(clock_.now());
    counters_.sweeps.fetch_add(1, std::memory_order_relaxed);
  }
  position = {};
  return false;
}

uint64_t LockTable::sweep() {
  uint64_t ended = end_global_if_overdue(clock_.now());
  SweepPosition position;
  sweep_step(position, UINT64_MAX, ended);  // in one go: batches are for the timer, which others wait behind
  counters_.sweeps.fetch_add(1, std::memory_order_relaxed);
  return ended;
}

}  // namespace liblock
