// SPDX-License-Identifier: MIT
// The pair that everything else exists around: one key, nobody else interested. Each half takes one spin lock
// and touches the shard's line, one index slot, the entry and its deadline; no allocation once warm, no
// system call. Inline, so that a call through the C API saves and restores registers once.
#pragma once

#include "local/lock_table.hpp"

namespace liblock {

[[gnu::always_inline]] inline bool LockTable::try_thin(LocalOwner &owner, Bytes key, Nanos ttl,
                                                       FastGrant &grant) {
  const Position at = position_of(key);
  Shard &shard = shards_[at.shard];
  shard.prefetch_insert(&first_chunks_[at.shard]);
  const Nanos deadline = deadline_after(ttl);
  const std::lock_guard lock(shard.mutex);
  if (shard.gated || owner.closed.load(std::memory_order_relaxed) || shard.credit == 0) return false;
  // Whoever finds the key in the table goes the long way: it is held, or others wait for it.
  if (shard.find(at.hash, key) != kNoEntry) return false;
  const uint32_t index = shard.insert(at.hash, key);
  Chunk &chunk = shard.chunk_of(index);
  Entry &entry = chunk.entries[index % kEntriesPerChunk];
  const uint64_t token = shard.next_token();
  entry.owner = &owner;
  entry.token = token;
  chunk.deadlines[index % kEntriesPerChunk] = deadline;
  chunk.begun[index % kEntriesPerChunk] = deadline - ttl;  // 0 where both are kNever
  ++shard.held;
  ++shard.grants;
  --shard.credit;
  if (deadline != kNever && !leases_used.load(std::memory_order_relaxed)) leases_used.store(true);
  grant.handle = entry.handle;
  grant.token = token;
  return true;
}

// True: done. False: somebody else is interested, or something is out of the ordinary; nothing has changed.
[[gnu::always_inline]] inline bool LockTable::release_simple(Shard &shard, const Owner &instance, Handle h) {
  const uint32_t index = handle::index(h);
  if (index >= shard.entries_end()) return false;
  Chunk &chunk = shard.chunk_of(index);
  Entry &entry = chunk.entries[index % kEntriesPerChunk];
  if (entry.handle != h || !entry.held() || entry.refs != nullptr ||
      entry.owner->instance() != instance.instance())
    return false;
  if (entry.queue != nullptr || shard.gated || entry.has_value) return false;
  Nanos &deadline = chunk.deadlines[index % kEntriesPerChunk];
  if (deadline != kNever && deadline <= clock_.coarse()) return false;
  entry.owner = nullptr;
  entry.handle = handle::next(h);
  deadline = kNever;
  --shard.held;
  ++shard.credit;
  shard.erase(index, entry);
  return true;
}

[[gnu::always_inline]] inline Status LockTable::release(const Owner &instance, Handle h) {
  if (handle::is_compound(h)) return release_record(instance, h);
  Shard &shard = shards_[handle::shard(h)];
  shard.mutex.lock();
  if (!release_simple(shard, instance, h)) return release_locked(shard, instance, h);
  shard.mutex.unlock();
  return Status::OK;
}

}  // namespace liblock
