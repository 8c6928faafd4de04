// SPDX-License-Identifier: MIT
// Hold the locks of several shards, of a record or of whatever is added, taken in ascending order, which every other
// taker of several follows.
#pragma once

#include <algorithm>
#include <vector>

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

class LockedShards {
 public:
  explicit LockedShards(LockTable &table) : table_(table) {}
  ~LockedShards() { unlock(); }
  LockedShards(const LockedShards &) = delete;
  LockedShards &operator=(const LockedShards &) = delete;
  // Counts from the next lock() on, which follows an unlock(); the same one as often as is liked.
  void add(uint32_t shard) { shards_.push_back(shard); }
  // True: some shard of the record is not locked, and was added.
  bool add_missing(const Record &record) {
    const size_t before = shards_.size();
    for (uint32_t i = 0; i < record.lock_count; ++i) {
      const uint32_t shard = record.lock_order[i];
      if (!std::binary_search(shards_.begin(), shards_.begin() + locked_, shard)) add(shard);
    }
    return shards_.size() != before;
  }
  void lock() {
    std::sort(shards_.begin(), shards_.end());
    shards_.erase(std::unique(shards_.begin(), shards_.end()), shards_.end());
    for (; locked_ < shards_.size(); ++locked_) table_.shards_[shards_[locked_]].mutex.lock();
  }
  void unlock() {
    while (locked_ > 0) table_.shards_[shards_[--locked_]].mutex.unlock();
  }

 private:
  LockTable &table_;
  std::vector<uint32_t> shards_;
  size_t locked_ = 0;
};

}  // namespace liblock
