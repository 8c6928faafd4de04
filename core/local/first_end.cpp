// SPDX-License-Identifier: MIT
// The end of a lock of several keys whose leases differ: the owner had some of them already, or one was set apart by
// another handle. It is lost with the first of them, whichever key that is of, while those who stand at its other keys
// see only these. So the record knows that end: every head of a queue looks then at the leases of all keys. Who sets
// the lease of one key has no lock of the others; once he has let go, ends_at is found anew under all of them. Only
// named owners have such locks: those without a name set all leases of a lock at once.
#include <algorithm>

#include "local/shard_locks.hpp"

namespace liblock {

namespace {

// Those of a request have no lease together yet; those of a lost one are on their way back.
bool ends_as_one(const Record &record) {
  return record.key_count > 1 && record.all_held.load() && !record.lost.load();
}

// Its youngest handle on a key where locks of several keys may meet.
const KeyRef *first_of_several(const Entry &entry) {
  return entry.refs != nullptr && entry.owner->named() ? entry.refs : nullptr;
}

}  // namespace

// With the locks of all its shards.
Nanos LockTable::first_end(const Record &record) {
  Nanos end = kNever;
  for (uint32_t i = 0; i < record.key_count; ++i) {
    const KeyRef &ref = record.refs[i];
    if (ref.state == KeyRef::State::Held) end = std::min(end, shards_[ref.shard].deadline(ref.index));
  }
  return end;
}

// The same. Who stands at a key whose own lease ends later, or never, hears when the lock does.
void LockTable::tell_first_end(Record &record, Deferred &deferred) {
  record.ends_at = first_end(record);
  if (record.ends_at == kNever) return;
  for (uint32_t i = 0; i < record.key_count; ++i) {
    const KeyRef &ref = record.refs[i];
    if (ref.state != KeyRef::State::Held) continue;
    Shard &shard = shards_[ref.shard];
    if (shard.deadline(ref.index) > record.ends_at) nudge_head(shard, ref.index, deferred);
  }
}

// With the shard's lock, as the next two. Whether a lock on this key has any lease.
bool LockTable::ends_by_some_key(const Entry &entry) {
  for (const KeyRef *ref = first_of_several(entry); ref != nullptr; ref = ref->next) {
    if (ends_as_one(*ref->record) && ref->record->ends_at != kNever) return true;
  }
  return false;
}

// When the first of the locks on this key ends. One that seems to be over does so once it was looked at, or tells its
// later end.
Nanos LockTable::end_by_any_key(const Entry &entry, Nanos now, Deferred &deferred) {
  Nanos end = kNever;
  for (const KeyRef *ref = first_of_several(entry); ref != nullptr; ref = ref->next) {
    Record &record = *ref->record;
    if (!ends_as_one(record)) continue;
    if (record.ends_at <= now) {
      deferred.look_at_leases(record);
    } else {
      end = std::min(end, record.ends_at);
    }
  }
  return end;
}

// The lease of this key was set.
void LockTable::look_at_others(const Entry &entry, Nanos deadline, Deferred &deferred) {
  for (const KeyRef *ref = first_of_several(entry); ref != nullptr; ref = ref->next) {
    if (ends_as_one(*ref->record) && ref->record->ends_at != deadline) deferred.look_at_leases(*ref->record);
  }
}

// Every lock on this key has ended by a lease of another key, though nobody has looked yet.
bool LockTable::is_over_by_others(const Entry &entry, Nanos now) {
  const KeyRef *ref = first_of_several(entry);
  if (ref == nullptr) return false;
  for (; ref != nullptr; ref = ref->next) {
    if (!ends_as_one(*ref->record) || ref->record->ends_at > now) return false;
  }
  return true;
}

// Who does not wait is not told of what ends: he has those looked at who are in his way, and goes on once they were, as
// if he had been handed one of several keys. Once: whoever else waits for the key comes first.
bool LockTable::has_others_looked_at(Waiter &waiter, const Entry &entry, Deferred &deferred) {
  const Nanos now = clock_.now();
  if (waiter.has_tried_again || !is_over_by_others(entry, now)) return false;
  waiter.has_tried_again = true;
  end_by_any_key(entry, now, deferred);
  for (uint32_t i = 0; waiter.record != nullptr && i < waiter.record->key_count; ++i) {
    const KeyRef &ref = waiter.record->refs[i];
    if (ref.index == kNoEntry) continue;
    const Entry &other = shards_[ref.shard].entry(ref.index);
    if (is_over_by_others(other, now)) end_by_any_key(other, now, deferred);
  }
  finish(waiter, Status::OK, deferred);
  return true;
}

// With no lock held, and a pin of the record that is dropped.
void LockTable::look_at_leases(Record &record) {
  record.look_pending.store(false);  // before the locks: who sets a lease from now on asks for another look
  {
    Deferred deferred(*this);
    const ShardLocks locks(*this, record);
    const Nanos now = clock_.now();
    for (uint32_t i = 0; i < record.key_count; ++i) {
      const KeyRef &ref = record.refs[i];
      if (ref.state == KeyRef::State::Held) end_if_overdue(shards_[ref.shard], ref.index, now, deferred);
    }
    if (!record.lost.load()) tell_first_end(record, deferred);
  }
  unpin(record);
}

}  // namespace liblock
