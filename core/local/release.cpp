// SPDX-License-Identifier: MIT
// Release beyond the fast path: somebody waits, the lease may be over, or the handle names no present hold.
#include "local/lock_table.hpp"

namespace liblock {

Status LockTable::release(const Owner &instance, Handle h) {
  if (handle::is_compound(h)) return release_record(instance, h);
  Shard &shard = shards_[handle::shard(h)];
  const uint32_t index = handle::index(h);
  Deferred deferred(*this);
  const std::lock_guard lock(shard.mutex);
  if (index >= shard.entries_end()) return stale(shard, h, true);
  Entry &entry = shard.entry(index);
  if (entry.handle != h || !entry.held() || entry.refs != nullptr) return stale(shard, h, true);
  if (entry.owner->instance() != instance.instance()) return Status::INVALID_HANDLE;
  const bool overdue = shard.deadline(index) <= clock_.now();
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
