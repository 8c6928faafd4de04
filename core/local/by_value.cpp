// SPDX-License-Identifier: MIT
// Changes of a lock by its key and the value that it carries, without its handle. What is compared and changed
// under one hold of a shard is atomic; where the change needs more locks, the value is compared again under them.
#include "local/lock_table.hpp"

namespace liblock {

// With the shard's lock.
const std::string *LockTable::carried(Shard &shard, uint32_t index, Handle &h) {
  static const std::string kNothing;
  const Entry &entry = shard.entry(index);
  h = entry.handle;
  const KeyRef *oldest = oldest_on(entry);
  if (oldest == nullptr) return entry.has_value ? &shard.value_of(entry.handle) : &kNothing;
  if (!oldest->record->all_held.load()) return nullptr;  // of an acquire that is under way
  h = oldest->record->handle;
  return &oldest->record->value;
}

// The same. Whether the hold carries the value, and which handle does.
Status LockTable::carries(Shard &shard, uint32_t index, Bytes expected, Handle &h) {
  if (index == kNoEntry || !shard.entry(index).held()) return Status::NOT_HELD;
  const std::string *value = carried(shard, index, h);
  if (value == nullptr) return Status::NOT_HELD;
  return Bytes(*value) == expected ? Status::OK : Status::NOT_OWNER;
}

Status LockTable::find_by_value(Bytes key, Bytes expected, Handle &h, const void *&instance) {
  Deferred deferred(*this);
  const Position at = position_of(key);
  Shard &shard = shards_[at.shard];
  const std::lock_guard lock(shard.mutex);
  const uint32_t index = find_current(shard, at, key, deferred);
  const Status status = carries(shard, index, expected, h);
  if (status != Status::OK) return status;
  instance = shard.entry(index).owner->instance();
  return Status::OK;
}

Status LockTable::release_by_value(Bytes key, Bytes expected) {
  Deferred deferred(*this);
  const Position at = position_of(key);
  Shard &shard = shards_[at.shard];
  const std::lock_guard lock(shard.mutex);
  const uint32_t index = find_current(shard, at, key, deferred);
  Handle h;
  const Status status = carries(shard, index, expected, h);
  if (status != Status::OK) return status;
  lose(shard, index, EndReason::TakenAway, deferred);
  pass_on(shard, index, deferred);
  return Status::OK;
}

Status LockTable::extend_by_value(Bytes key, Bytes expected, Nanos ttl, bool add, HoldView &after) {
  Handle h;
  const void *instance;
  if (const Status status = find_by_value(key, expected, h, instance); status != Status::OK) return status;
  const Status status = extend(instance, h, ttl, add, after);
  return status == Status::OK ? status : Status::NOT_HELD;  // gone since it was found
}

Status LockTable::update_by_value(Bytes key, Bytes expected, Bytes value) {
  Handle h;
  const void *instance;
  if (const Status status = find_by_value(key, expected, h, instance); status != Status::OK) return status;
  const Status status = set_carried(h, value, &expected);
  return status == Status::OK || status == Status::NOT_OWNER ? status : Status::NOT_HELD;
}

}  // namespace liblock
