// SPDX-License-Identifier: MIT
// What a lock carries: the value and metadata that its acquire brought. Handles that enter the lock again share them,
// as they share the lease: of each key the record that entered first has them, whichever handle changes them; when
// that one goes first, they go to the next.
#include <algorithm>
#include <new>

#include "local/lock_table.hpp"
#include "local/shard_locks.hpp"

namespace liblock {

namespace {

bool covers(const Record &locked, const Record &other) {
  return std::includes(locked.lock_order, locked.lock_order + locked.lock_count, other.lock_order,
                       other.lock_order + other.lock_count);
}

// Without memory the heir keeps what it brought itself: a release cannot fail.
void hand_on(const Record &from, Record &to) {
  try {
    to.value.assign(from.value);
    to.metadata = from.metadata;
  } catch (const std::bad_alloc &) {
    return;
  }
}

}  // namespace

const KeyRef *LockTable::oldest_on(const Entry &entry) {
  const KeyRef *oldest = entry.refs;
  while (oldest != nullptr && oldest->next != nullptr) oldest = oldest->next;
  return oldest;
}

// With the shard's lock, or those of all shards of the handle's record. The handle is about to leave the key. An heir
// on shards that nobody has locked keeps what it brought itself.
void LockTable::hand_on_carried(const KeyRef &ref, bool locks_all) {
  if (ref.next != nullptr) return;  // it is not the oldest
  const KeyRef *heir = shards_[ref.shard].entry(ref.index).refs;
  if (heir == &ref) return;
  while (heir->next != &ref) heir = heir->next;
  Record &to = *heir->record;
  if (!to.all_held.load() || (to.key_count != 1 && !(locks_all && covers(*ref.record, to)))) return;
  hand_on(*ref.record, to);
}

// With the lock of the global lock and shard 0's: it was the oldest, and is among its handles no more.
void LockTable::hand_on_global(const Record &gone) {
  if (!global_.handles.empty() && global_.handles.front()->all_held.load())
    hand_on(gone, *global_.handles.front());
}

// Of that handle itself; expected: nullptr, or what it must be. NOT_HELD: the handle is gone.
Status LockTable::set_carried(Handle h, Bytes value, const Bytes *expected) {
  Shard &home = shards_[handle::shard(h)];
  home.mutex.lock();
  if (!handle::is_compound(h)) {
    const std::lock_guard lock(home.mutex, std::adopt_lock);
    Entry &entry = home.entry(handle::index(h));
    if (entry.handle != h || !entry.held()) return Status::NOT_HELD;
    if (expected != nullptr && (entry.has_value ? Bytes(home.value_of(h)) : Bytes()) != *expected)
      return Status::NOT_OWNER;
    home.set_value(entry, value);
    return Status::OK;
  }
  Record *record = home.record(h);
  if (record == nullptr) {
    home.mutex.unlock();
    return Status::NOT_HELD;
  }
  const ShardLocks locks(*this, *record, true);
  if (record->lost.load()) return Status::LOST;
  if (expected != nullptr && Bytes(record->value) != *expected) return Status::NOT_OWNER;
  record->value.assign(value);
  return Status::OK;
}

// The handles that carry what this one shares, one for each key at most; empty: it is gone.
std::vector<Handle> LockTable::carriers_of(Handle h) {
  std::vector<Handle> carriers;
  Shard &home = shards_[handle::shard(h)];
  home.mutex.lock();
  const Record *record = home.record(h);
  if (record == nullptr) {
    home.mutex.unlock();
    return carriers;
  }
  const ShardLocks locks(*this, *record, true);
  for (uint32_t i = 0; i < record->key_count; ++i) {
    const KeyRef &ref = record->refs[i];
    if (ref.state != KeyRef::State::Held) continue;
    const Record &oldest = *oldest_on(shards_[ref.shard].entry(ref.index))->record;
    const Handle carrier = oldest.all_held.load() ? oldest.handle : h;
    if (std::find(carriers.begin(), carriers.end(), carrier) == carriers.end()) carriers.push_back(carrier);
  }
  return carriers;
}

bool LockTable::is_of_global(Handle h) {
  Shard &home = shards_[handle::shard(h)];
  const std::lock_guard lock(home.mutex);
  const Record *record = home.record(h);
  return record != nullptr && record->global;
}

Status LockTable::update_global(Handle h, Bytes value) {
  const std::lock_guard lock(global_.mutex);
  const bool is_held = std::any_of(global_.handles.begin(), global_.handles.end(),
                                   [h](const Record *record) { return record->handle == h; });
  if (!is_held) return Status::LOST;
  const std::lock_guard shard_lock(shards_[0].mutex);
  global_.handles.front()->value.assign(value);
  return Status::OK;
}

Status LockTable::update(const void *instance, Handle h, Bytes value) {
  for (;;) {
    const HoldView seen = view(instance, h);
    if (seen.status != Status::OK) return seen.status;
    if (!handle::is_compound(h)) {
      const Status status = set_carried(h, value);
      return status == Status::NOT_HELD ? Status::LOST : status;
    }
    if (is_of_global(h)) return update_global(h, value);
    // One that goes meanwhile hands on what it had before: once more, then.
    const std::vector<Handle> carriers = carriers_of(h);
    const bool all = std::all_of(carriers.begin(), carriers.end(),
                                 [&](Handle carrier) { return set_carried(carrier, value) == Status::OK; });
    if (all && !carriers.empty()) return Status::OK;
  }
}

}  // namespace liblock
