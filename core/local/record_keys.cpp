// SPDX-License-Identifier: MIT
// The keys of one acquire: sorted by bytes where it may have to wait (everybody waits in that order), each
// once, and their shards in the order in which they are locked.
#include <algorithm>

#include "local/lock_table.hpp"

namespace liblock {

namespace {

// Keys of one acquire are few: an insertion sort beats a call of a general one.
void sort_few(Bytes *keys, size_t count) {
  for (size_t i = 1; i < count; ++i) {
    const Bytes key = keys[i];
    size_t at = i;
    for (; at > 0 && compare_bytes(keys[at - 1], key) > 0; --at) keys[at] = keys[at - 1];
    keys[at] = key;
  }
}

void sort_few(uint16_t *shards, uint32_t count) {
  for (uint32_t i = 1; i < count; ++i) {
    for (uint32_t k = i; k > 0 && shards[k] < shards[k - 1]; --k) std::swap(shards[k], shards[k - 1]);
  }
}

}  // namespace

// Sorted by bytes, each key once.
void LockTable::fill_keys(Record &record, std::span<const Bytes> keys) {
  if (keys.size() > Record::kInlineKeys) return fill_many_keys(record, keys);
  Bytes sorted[Record::kInlineKeys];
  std::copy(keys.begin(), keys.end(), sorted);
  sort_few(sorted, keys.size());
  record.refs = record.inline_refs;
  record.lock_order = record.inline_order;
  fill_refs(record, {sorted, keys.size()});
  uint32_t count = record.key_count;
  if (record.global) record.lock_order[count++] = 0;  // its handle's shard
  sort_few(record.lock_order, count);
  record.lock_count =
      static_cast<uint32_t>(std::unique(record.lock_order, record.lock_order + count) - record.lock_order);
  record.home = record.lock_order[0];
}

void LockTable::fill_many_keys(Record &record, std::span<const Bytes> keys) {
  if (record.more_refs.size() < keys.size()) {
    record.more_refs.resize(keys.size());
    record.more_order.resize(keys.size());
  }
  std::vector<Bytes> sorted(keys.begin(), keys.end());
  std::sort(sorted.begin(), sorted.end());
  record.refs = record.more_refs.data();
  record.lock_order = record.more_order.data();
  fill_refs(record, sorted);
  std::sort(record.lock_order, record.lock_order + record.key_count);
  record.lock_count = static_cast<uint32_t>(
      std::unique(record.lock_order, record.lock_order + record.key_count) - record.lock_order);
  record.home = record.lock_order[0];
}

// The refs of sorted keys, and their shards in the order of the keys.
void LockTable::fill_refs(Record &record, std::span<const Bytes> sorted) {
  uint32_t count = 0;
  for (const Bytes key : sorted) {
    if (count > 0 && compare_bytes(record.refs[count - 1].key, key) == 0) continue;
    const Position at = position_of(key);
    shards_[at.shard].prefetch_insert(&first_chunks_[at.shard]);
    record.refs[count] =
        KeyRef{key, at.hash, at.shard, kNoEntry, KeyRef::State::Wanted, false, &record, nullptr};
    record.lock_order[count++] = static_cast<uint16_t>(at.shard);
  }
  record.key_count = count;
}

// The keys in the caller's order, which will do for who takes all of them at once. False: some may be equal.
bool LockTable::fill_few_keys(Record &record, std::span<const Bytes> keys) {
  const auto count = static_cast<uint32_t>(keys.size());
  uint32_t locks = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const Position at = position_of(keys[i]);
    shards_[at.shard].prefetch_insert(&first_chunks_[at.shard]);
    record.inline_refs[i] =
        KeyRef{keys[i], at.hash, at.shard, kNoEntry, KeyRef::State::Wanted, false, &record, nullptr};
    uint32_t place = locks;
    while (place > 0 && record.inline_order[place - 1] >= at.shard) --place;
    if (place < locks && record.inline_order[place] == at.shard) {
      for (uint32_t k = 0; k < i; ++k) {
        if (record.inline_refs[k].shard == at.shard && record.inline_refs[k].hash == at.hash) return false;
      }
      continue;
    }
    for (uint32_t k = locks++; k > place; --k) record.inline_order[k] = record.inline_order[k - 1];
    record.inline_order[place] = static_cast<uint16_t>(at.shard);
  }
  record.refs = record.inline_refs;
  record.lock_order = record.inline_order;
  record.key_count = count;
  record.lock_count = locks;
  record.home = record.inline_order[0];
  return true;
}

// The caller's bytes are gone once the first attempt is over.
void LockTable::keep_keys(Record &record) {
  if (record.key_count == 0 || record.refs[0].key.data() == record.key_bytes.data()) return;  // kept already
  size_t size = 0;
  for (uint32_t i = 0; i < record.key_count; ++i) size += record.refs[i].key.size();
  record.key_bytes.clear();
  record.key_bytes.reserve(size);
  for (uint32_t i = 0; i < record.key_count; ++i) record.key_bytes.append(record.refs[i].key);
  const char *at = record.key_bytes.data();
  for (uint32_t i = 0; i < record.key_count; ++i) {
    record.refs[i].key = Bytes(at, record.refs[i].key.size());
    at += record.refs[i].key.size();
  }
}

}  // namespace liblock
