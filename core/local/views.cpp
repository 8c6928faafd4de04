// SPDX-License-Identifier: MIT
// What can be seen of the table from outside: copies made under a shard's lock, one key or 64 entries at a
// time.
#include <algorithm>
#include <cstdlib>

#include "base/wall_clock.hpp"
#include "local/lock_table.hpp"

namespace liblock {

namespace {

int64_t ms_or_none(Nanos remaining) { return remaining == kNever ? -1 : ms_from_nanos(remaining); }

WaiterInfo waiter_info(const Waiter &w, Nanos now) {
  const Nanos waited = now - w.enqueued_at;
  return {w.owner->id(),      waited / kMillisecond,  w.params->order,
          w.params->priority, w.owner->instance_id(), wall_us_ago(waited)};
}

void add_waiters(const WaitQueue &queue, Nanos now, KeyInfo &info) {
  for (const auto *list : {&queue.strict, &queue.any}) {
    for (const Waiter *w = list->front(); w != nullptr; w = WaitQueue::Waiters::next(w)) {
      info.waiters.push_back(waiter_info(*w, now));
    }
  }
}

bool is_wanted(const KeyInfo &info, Ask::Which which) {
  if (which == Ask::Which::Locks) return info.is_held;
  return info.waiter_count() != 0 || (which == Ask::Which::Keys && info.is_held);
}

// Without a lease a thin hold keeps no time: its pair would pay for the clock.
void describe_thin_start(Nanos begun, Nanos deadline, Nanos now, KeyInfo &info) {
  if (begun != 0) info.since_us = wall_us_ago(std::max<Nanos>(0, now - std::abs(begun)));
  info.initial_ttl_ms = begun == 0 ? -1 : begun > 0 ? ms_from_nanos(deadline - begun) : 0;
}

}  // namespace

// With the lock of one of the record's shards.
void LockTable::describe_start(const Record &record, Nanos now, KeyInfo &info) const {
  info.since_us = wall_us_ago(now - record.since);
  info.initial_ttl_ms = ms_or_none(record.initial_ttl);
}

// With the shard's lock.
std::unique_ptr<KeyInfo> LockTable::describe(Shard &shard, uint32_t index, bool with_waiters, Nanos now) {
  auto info = std::make_unique<KeyInfo>();
  const Entry &entry = shard.entry(index);
  info->key = entry.key();
  info->is_held = entry.held() && shard.deadline(index) > now &&
                  (entry.refs == nullptr || !is_over_by_others(entry, now));
  if (info->is_held) {
    info->owner = entry.owner->id();
    info->instance = entry.owner->instance_id();
    info->is_zombie = entry.owner->zombie.load();
    info->token = entry.token;
    info->remaining_ms = ms_or_none(clock_.left_until(shard.deadline(index)));
    info->hold_count = handles_on(entry);
    const KeyRef *oldest = oldest_on(entry);
    if (oldest != nullptr) {
      describe_start(*oldest->record, now, *info);
      info->value = oldest->record->value;
      info->metadata = oldest->record->metadata;
    } else if (entry.has_value) {
      info->value = shard.value_of(entry.handle);
    }
    if (oldest == nullptr) describe_thin_start(shard.begun(index), shard.deadline(index), now, *info);
  }
  if (with_waiters && entry.queue != nullptr) add_waiters(*entry.queue, now, *info);
  return info;
}

bool LockTable::is_locked(Bytes key) {
  const Position at = position_of(key);
  Shard &shard = shards_[at.shard];
  const std::lock_guard lock(shard.mutex);
  const uint32_t index = shard.find(at.hash, key);
  if (index == kNoEntry || !shard.entry(index).held()) return false;
  const Nanos now = clock_.now();
  return shard.deadline(index) > now && !is_over_by_others(shard.entry(index), now);
}

bool LockTable::is_queued(Bytes key) {
  const Position at = position_of(key);
  Shard &shard = shards_[at.shard];
  const std::lock_guard lock(shard.mutex);
  const uint32_t index = shard.find(at.hash, key);
  return index != kNoEntry && shard.entry(index).queue != nullptr &&
         !shard.entry(index).queue->nobody_waits();
}

std::unique_ptr<KeyInfo> LockTable::inspect(Bytes key, bool with_waiters) {
  const Position at = position_of(key);
  Shard &shard = shards_[at.shard];
  const std::lock_guard lock(shard.mutex);
  const uint32_t index = shard.find(at.hash, key);
  if (index == kNoEntry) return nullptr;
  auto info = describe(shard, index, with_waiters, clock_.now());
  return info->is_held || !info->waiters.empty() ? std::move(info) : nullptr;
}

std::unique_ptr<KeyInfo> LockTable::inspect_global() {
  const std::lock_guard lock(global_.mutex);
  const Nanos now = clock_.now();
  auto info = std::make_unique<KeyInfo>();
  info->is_global = true;
  info->is_held = !global_.handles.empty() && global_.deadline.load() > now;
  if (info->is_held) {
    info->owner = global_.owner->id();
    info->instance = global_.owner->instance_id();
    info->is_zombie = global_.owner->zombie.load();
    info->token = global_.token;
    info->remaining_ms = ms_or_none(clock_.left_until(global_.deadline.load()));
    info->hold_count = static_cast<uint32_t>(global_.handles.size());
    const std::lock_guard shard_lock(shards_[0].mutex);
    describe_start(*global_.handles.front(), now, *info);
    info->value = global_.handles.front()->value;
    info->metadata = global_.handles.front()->metadata;
  }
  if (const Waiter *w = global_.pending; w != nullptr) info->waiters.push_back(waiter_info(*w, now));
  add_waiters(global_.queue, now, *info);
  return info->is_held || !info->waiters.empty() ? std::move(info) : nullptr;
}

void LockTable::list_step(Ask::Which which, Bytes prefix, uint32_t budget, ListPosition &position,
                          std::vector<std::unique_ptr<KeyInfo>> &out) {
  auto number = static_cast<uint32_t>(position.next >> 32);
  auto index = static_cast<uint32_t>(position.next);
  while (budget != 0 && number < kShards) {
    Shard &shard = shards_[number];
    const std::lock_guard lock(shard.mutex);
    const uint32_t from = index;
    const uint32_t end = std::min({shard.entries_end(), from + kEntriesPerChunk, from + budget});
    for (; index < end; ++index) {
      const Entry &entry = shard.entry(index);
      if (entry.state != Entry::State::InUse || !entry.key().starts_with(prefix)) continue;
      auto info = describe(shard, index, true, clock_.now());
      if (is_wanted(*info, which)) out.push_back(std::move(info));
    }
    budget -= index - from;
    if (index < shard.entries_end()) continue;
    ++number;
    index = 0;
  }
  position.next = static_cast<uint64_t>(number) << 32 | index;
  if (number < kShards) return;
  position.at_end = true;
  auto global = inspect_global();
  if (global != nullptr && prefix.empty() && is_wanted(*global, which)) out.push_back(std::move(global));
}

void LockTable::stats(liblock_stats &stats) {
  for (uint32_t i = 0; i < kShards; ++i) {
    Shard &shard = shards_[i];
    const std::lock_guard lock(shard.mutex);
    const ShardCounters &c = shard.counters;
    stats.locks_held += shard.held;
    stats.acquired += shard.grants + c.reentered;
    stats.released += shard.grants - shard.held - c.expired - c.taken_away + c.reentries_released;
    stats.handed_off += c.handed_off;
    stats.expired += c.expired;
    stats.taken_away += c.taken_away;
    stats.taken_over += c.taken_over;
    stats.sweep_entries += c.sweep_entries;
    stats.sweep_entries_per_hold_max =
        std::max(stats.sweep_entries_per_hold_max, c.sweep_entries_per_hold_max);
  }
  {
    const std::lock_guard lock(global_.mutex);
    stats.locks_held += !global_.handles.empty();
  }
  stats.acquired += counters_.global_acquired.load();
  stats.released += counters_.global_released.load();
  stats.expired += counters_.global_expired.load();
  stats.taken_away += counters_.global_taken.load();
  recount_waiters();
  stats.waiters = waiters_.load();
  stats.contended = counters_.contended.load();
  stats.timeouts = counters_.timeouts.load();
  stats.canceled = counters_.canceled.load();
  stats.deadlocks = counters_.deadlocks.load();
  stats.deadlock_searches = counters_.deadlock_searches.load();
  stats.renewals = counters_.renewals.load();
  stats.sweeps = counters_.sweeps.load();
}

void LockTable::check_invariants() {
  for (uint32_t i = 0; i < kShards; ++i) {
    const std::lock_guard lock(shards_[i].mutex);
    shards_[i].check_invariants();
  }
}

uint64_t LockTable::highest_token() {
  uint64_t token = 0;
  for (uint32_t i = 0; i < kShards; ++i) {
    const std::lock_guard lock(shards_[i].mutex);
    token = std::max(token, shards_[i].last_token());
  }
  return token;
}

}  // namespace liblock
