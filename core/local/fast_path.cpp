// SPDX-License-Identifier: MIT
// The pair that everything else exists around: one key, nobody else interested. Each half takes one spin lock and
// touches the shard's line, one index slot, the entry and its deadline; no allocation once warm, no system call.
#include "local/lock_table.hpp"

namespace liblock {

bool LockTable::try_thin(LocalOwner &owner, Bytes key, Nanos ttl, Grant &grant) {
  const Position at = position_of(key);
  const Nanos deadline = deadline_after(ttl);
  Shard &shard = shards_[at.shard];
  const std::lock_guard lock(shard.mutex);
  if (shard.gated || owner.closed.load(std::memory_order_relaxed) || (shard.credit == 0 && !take_credit(shard))) {
    return false;
  }
  // Whoever finds the key in the table goes the long way: it is held, or others wait for it.
  if (shard.find(at.hash, key) != kNoEntry) return false;
  const uint32_t index = shard.insert(at.hash, key);
  Entry &entry = shard.entry(index);
  entry.owner = &owner;
  entry.token = shard.next_token();
  shard.deadline(index) = deadline;
  ++shard.held;
  ++shard.grants;
  --shard.credit;
  if (deadline != kNever && !leases_used.load(std::memory_order_relaxed)) leases_used.store(true);
  grant.status = Status::OK;
  grant.handle = entry.handle;
  grant.token = entry.token;
  grant.hold_count = 1;
  grant.remaining = ttl;
  return true;
}

Status LockTable::release(const Owner &instance, Handle h) {
  if (handle::is_compound(h)) return release_record(instance, h);
  Shard &shard = shards_[handle::shard(h)];
  const uint32_t index = handle::index(h);
  {
    const std::lock_guard lock(shard.mutex);
    if (index >= shard.entries_end() || shard.entry(index).handle != h || !shard.entry(index).held() ||
        shard.entry(index).refs != nullptr) {
      return stale(shard, h, true);
    }
    Entry &entry = shard.entry(index);
    if (entry.owner->instance() != instance.instance()) return Status::INVALID_HANDLE;
    const Nanos deadline = shard.deadline(index);
    if (entry.queue == nullptr && !shard.gated && !entry.has_value && (deadline == kNever || deadline > clock_.coarse())) {
      entry.owner = nullptr;
      entry.handle = handle::next(h);
      shard.deadline(index) = kNever;
      --shard.held;
      ++shard.credit;
      shard.erase(index);
      return Status::OK;
    }
  }
  Deferred deferred(*this);
  const std::lock_guard lock(shard.mutex);
  Entry &entry = shard.entry(index);
  // It was let go in between: somebody else may have ended it.
  if (entry.handle != h || !entry.held() || entry.refs != nullptr) return stale(shard, h, true);
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
  return handle::generation(h) != 0 && h < shard.entry(index).handle ? Status::NOT_HELD : Status::INVALID_HANDLE;
}

}  // namespace liblock
