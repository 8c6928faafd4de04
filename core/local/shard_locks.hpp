// SPDX-License-Identifier: MIT
// Holds the locks of all shards of a record, taken in ascending order, which every other taker of several
// follows.
#pragma once

#include "local/lock_table.hpp"

namespace liblock {

class ShardLocks {
 public:
  // `first_is_locked`: the home shard, the lowest, is locked by the caller already and is now ours to unlock.
  ShardLocks(LockTable &table, const Record &record, bool first_is_locked = false)
      : table_(table), record_(record), count_(record.lock_count) {
    for (uint32_t i = first_is_locked ? 1 : 0; i < count_; ++i) shard(i).mutex.lock();
  }
  ~ShardLocks() { unlock(); }
  ShardLocks(const ShardLocks &) = delete;
  ShardLocks &operator=(const ShardLocks &) = delete;
  void unlock() {
    // Ours alone to read: whoever frees the record must get its home shard's lock first, so that goes last.
    while (count_ > 0) shard(--count_).mutex.unlock();
  }

 private:
  Shard &shard(uint32_t i) { return table_.shards_[record_.lock_order[i]]; }

  LockTable &table_;
  const Record &record_;
  uint32_t count_;
};

}  // namespace liblock
