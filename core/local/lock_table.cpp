// SPDX-License-Identifier: MIT
// Making and unmaking a table, and its register of owners.
#include "local/lock_table.hpp"

#include <algorithm>

#include "local/lease_timer.hpp"

namespace liblock {

LockTable::LockTable(const TableOptions &options, Clock clock, uint64_t first_token, uint64_t seed)
    : options_(options),
      clock_(clock),
      random_(seed),
      hash_seed_(random_.next()),
      first_chunks_(std::make_unique_for_overwrite<Chunk[]>(kShards)),
      shards_(std::make_unique<Shard[]>(kShards)),
      credit_pool_(options.locks_max) {
  for (uint32_t i = 0; i < kShards; ++i) {
    shards_[i].init(i, &random_, &first_chunks_[i]);
    shards_[i].raise_token(first_token);
  }
}

// Locks that were left to themselves (LEAVE) end with their table, and their timers with them.
LockTable::~LockTable() {
  for (uint32_t i = 0; i < kShards; ++i) {
    for (Record *record : shards_[i].records()) {
      LeaseTimer *timer = record != nullptr ? record->take_timer() : nullptr;
      if (timer != nullptr) timer->stop();
    }
  }
}

void LockTable::add_owner(LocalOwner *owner) {
  const std::lock_guard lock(owners_mutex_);
  owner->place = owners_.size();
  owners_.push_back(owner);
}

void LockTable::remove_owner(LocalOwner *owner) {
  const std::lock_guard lock(owners_mutex_);
  if (owner->place >= owners_.size() || owners_[owner->place] != owner) return;
  owners_[owner->place] = owners_.back();
  owners_[owner->place]->place = owner->place;
  owners_.pop_back();
}

void LockTable::keep_zombie(std::shared_ptr<LocalOwner> owner) {
  const std::lock_guard lock(owners_mutex_);
  zombies_.push_back(std::move(owner));
}

}  // namespace liblock
