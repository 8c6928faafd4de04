// SPDX-License-Identifier: MIT
// The life of a record after its acquire: concluded or abandoned, released by its handle, reaped when it was
// lost. Two pins keep its memory: that of the acquire, dropped by conclude(), and that of the handle, dropped
// by whoever takes the handle out of the table: release, the reaper, or abandon().
#include <algorithm>

#include "local/lease_timer.hpp"
#include "local/record_cache.hpp"
#include "local/shard_locks.hpp"

namespace liblock {

void LockTable::conclude(Waiter &waiter, Deferred *deferred) {
  waiter.grant.attempts = waiter.attempts.load(std::memory_order_relaxed);
  Record *record = waiter.record;
  if (record == nullptr) {
    if (waiter.grant.status != Status::OK) waiter.grant.handle = waiter.grant.token = 0;
    return;
  }
  LocalOwner &owner = *record->owner;
  const bool granted = waiter.grant.status == Status::OK;
  if (!granted) {
    abandon(*record, deferred);
  } else if (owner.named() && !(waiter.grant.flags & LIBLOCK_RESULT_REENTERED) &&
             (record->key_count > 1 || record->global)) {
    raise_owner_tokens(owner, waiter.grant.token);
  }
  if (granted && owner.closed.load()) {
    // Closed between the grant and now: the closer left it to us.
    const Status released = release_record(owner, waiter.grant.handle);
    static_cast<void>(released);
    waiter.grant.status = Status::CLOSED;
  }
  if (waiter.grant.status != Status::OK) waiter.grant.handle = waiter.grant.token = 0;
  unpin(*record);
  waiter.record = nullptr;
}

// All holds of an owner follow its newest token, so that each of its handles shows one that no resource has
// passed.
void LockTable::raise_owner_tokens(LocalOwner &owner, uint64_t token) {
  const std::lock_guard lock(owner.mutex);
  for (Record *r = owner.records.front(); r != nullptr; r = List<Record, &Record::owner_links>::next(r)) {
    for (uint32_t i = 0; i < r->key_count; ++i) {
      const std::lock_guard shard_lock(shards_[r->refs[i].shard].mutex);
      Shard &shard = shards_[r->refs[i].shard];
      if (r->refs[i].state != KeyRef::State::Held) continue;
      shard.raise_token(token);
      Entry &entry = shard.entry(r->refs[i].index);
      entry.token = std::max(entry.token, token);
    }
  }
}

// The acquire failed: everything is given back, the handle was never shown to anybody.
// nullptr: with one of its own.
void LockTable::abandon(Record &record, Deferred *outer) {
  {
    Deferred deferred(*this);
    const ShardLocks locks(*this, record);
    give_back_held(record, outer != nullptr ? *outer : deferred);
    LIBLOCK_ASSERT(!record.handle_gone && !record.all_held);
    if (record.handle != 0) shards_[record.home].forget_handle(record);
  }
  unlink_and_unpin(record);
}

// Takes the record from its owner and drops the handle's pin. With no lock held.
void LockTable::unlink_and_unpin(Record &record) {
  LocalOwner &owner = *record.owner;
  if (owner.named()) {
    const std::lock_guard lock(owner.mutex);
    owner.records.remove(&record);
    record.left_before.clear();
  }
  unpin(record);
}

void LockTable::unpin(Record &record) {
  // The only pin left is ours: no need for the price of an atomic subtraction.
  if (record.pins.load(std::memory_order_acquire) != 1 && record.pins.fetch_sub(1) != 1) return;
  give_back_record(&record);
}

// With the locks of all its shards: the fast half of a compound pair. False: somebody else is interested in
// some key, or a lease may be over; nothing has changed.
bool LockTable::release_undisturbed(Record &record) {
  if (record.owner->named() || record.lost.load(std::memory_order_relaxed)) return false;
  Nanos earliest = kNever;
  for (uint32_t i = 0; i < record.key_count; ++i) {
    const KeyRef &ref = record.refs[i];
    Shard &shard = shards_[ref.shard];
    const Chunk &chunk = shard.chunk_of(ref.index);
    const Entry &entry = chunk.entries[ref.index % kEntriesPerChunk];
    if (ref.state != KeyRef::State::Held || shard.gated || entry.queue != nullptr || ref.next != nullptr)
      return false;
    earliest = std::min(earliest, chunk.deadlines[ref.index % kEntriesPerChunk]);
  }
  if (earliest != kNever && earliest <= clock_.coarse()) return false;
  for (uint32_t i = 0; i < record.key_count; ++i) {
    const KeyRef &ref = record.refs[i];
    Shard &shard = shards_[ref.shard];
    Chunk &chunk = shard.chunk_of(ref.index);
    Entry &entry = chunk.entries[ref.index % kEntriesPerChunk];
    entry.owner = nullptr;
    entry.refs = nullptr;
    chunk.deadlines[ref.index % kEntriesPerChunk] = kNever;
    --shard.held;
    ++shard.credit;
    shard.erase(ref.index, entry);
  }
  return true;
}

Status LockTable::release_record(const Owner &instance, Handle h) {
  Shard &home = shards_[handle::shard(h)];
  home.mutex.lock();
  Record *record = home.record(h);
  if (record == nullptr || !record->all_held || record->owner->instance() != instance.instance()) {
    const Status status = record == nullptr ? stale(home, h, true) : Status::INVALID_HANDLE;
    home.mutex.unlock();
    return status;
  }
  if (record->global) {
    home.mutex.unlock();
    return release_global(instance, h);
  }
  ShardLocks locks(*this, *record, true);
  if (record->timer == nullptr && release_undisturbed(*record)) {
    home.forget_handle(*record);
    locks.unlock();
    unpin(*record);
    return Status::OK;
  }
  return release_disturbed(home, *record, locks);
}

// With the locks of all its shards, which it lets go.
Status LockTable::release_disturbed(Shard &home, Record &record, ShardLocks &locks) {
  Deferred deferred(*this);
  for (uint32_t i = 0; i < record.key_count; ++i) {
    KeyRef &ref = record.refs[i];
    if (ref.state != KeyRef::State::Held || shards_[ref.shard].deadline(ref.index) == kNever) continue;
    end_if_overdue(shards_[ref.shard], ref.index, clock_.coarse(), deferred);
  }
  const bool lost = record.lost.load();
  give_back_held(record, deferred);
  home.forget_handle(record);
  LeaseTimer *timer = record.take_timer();
  locks.unlock();
  if (timer != nullptr) timer->stop();
  if (!lost) unlink_and_unpin(record);  // else the reaper's work
  return lost ? Status::LOST : Status::OK;
}

// Some key of the record was lost: the rest goes back, and the holder is told once.
void LockTable::reap(Record &record) {
  if (record.global) {
    reap_global(record);
    return;
  }
  const std::shared_ptr<LocalOwner> owner = std::move(record.reaped_owner);
  Deferred deferred(*this);
  LeaseTimer *timer = nullptr;
  LostNotice notice;
  bool ours = false;
  {
    const ShardLocks locks(*this, record);
    ours = record.all_held;
    if (!ours && record.queued != nullptr) {
      // A key was taken from a request that waits for another: it ends, and its own end gives the rest back.
      Waiter &waiter = *record.queued;
      leave_queue(waiter, shards_[waiter.wanted->shard]);
      after_leaving(shards_[waiter.wanted->shard], waiter.wanted->index, deferred);
      finish(waiter, Status::DEQUEUED, deferred);
    }
    if (ours) {
      give_back_held(record, deferred);
      if (!record.handle_gone) {
        shards_[record.home].remember_lost(record.handle);
        shards_[record.home].forget_handle(record);
        notice = lost_notice_of(record);
      }
      timer = record.take_timer();
    }
  }
  if (timer != nullptr) timer->stop();
  notice.send();
  if (ours) unlink_and_unpin(record);
  unpin(record);
}

}  // namespace liblock
