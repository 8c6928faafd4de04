// SPDX-License-Identifier: MIT
// A part of the table under one spin lock: an open-addressing index of its keys, their entries, and the
// records whose home it is. A plain structure: it knows nothing of waiting, owners or time. Whoever calls
// holds `mutex`, unless the text says otherwise. Entries, records and queues are pooled: once warm, nothing
// here allocates.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "local/entry.hpp"
#include "local/key_store.hpp"
#include "local/record.hpp"
#include "local/wait_queue.hpp"

namespace liblock {

struct ShardCounters {
  uint64_t reentered = 0, reentries_released = 0;  // handles that share a hold with an older one
  uint64_t handed_off = 0, expired = 0, taken_away = 0, taken_over = 0;
  uint64_t sweep_entries = 0, sweep_entries_per_hold_max = 0;
  uint64_t waits_left = 0;  // waiters that left this shard's queues and are still in the table's count
};

class alignas(64) Shard {
 public:
  Shard() = default;
  ~Shard();
  Shard(const Shard &) = delete;
  Shard &operator=(const Shard &) = delete;
  // first: memory for the first chunk, which outlives the shard; nullptr: the shard makes its own.
  void init(uint32_t number, Random *random, Chunk *first = nullptr);

  // kNoEntry when the key has none.
  uint32_t find(uint32_t hash, Bytes key) const {
    for (uint32_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Slot slot = slots_[at];
      if (slot.index == kNoEntry) return kNoEntry;
      if (slot.hash == hash && is_key_of(slot.index, key)) return slot.index;
    }
  }
  // The key must not be there. Throws std::bad_alloc, then nothing has changed.
  uint32_t insert(uint32_t hash, Bytes key) {
    if (used_ >= room() || free_entry_ == kNoEntry || key.size() > kInlineKey) return insert_slow(hash, key);
    return insert_with_room(hash, key, nullptr);
  }
  // The entry must be free of holder and queue.
  void erase(uint32_t index) { erase(index, entry(index)); }
  void erase(uint32_t index, Entry &gone) {
    LIBLOCK_ASSERT(gone.state == Entry::State::InUse && gone.owner == nullptr && gone.queue == nullptr);
    uint32_t hole = gone.hash & mask_;
    while (slots_[hole].index != index) hole = (hole + 1) & mask_;
    for (uint32_t at = (hole + 1) & mask_; slots_[at].index != kNoEntry; at = (at + 1) & mask_) {
      // A slot may move back into the hole unless its home lies cyclically behind the hole.
      const uint32_t home = slots_[at].hash & mask_;
      if (((at - home) & mask_) < ((at - hole) & mask_)) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole].index = kNoEntry;
    --used_;
    if (gone.key_size > kInlineKey) keys_.give_back(gone.long_key, gone.key_size);
    gone.state = Entry::State::Unused;
    if (handle::used_up(gone.handle)) return;  // retired: its generations would begin to repeat
    gone.hash = free_entry_;
    free_entry_ = index;
  }
  Chunk &chunk_of(uint32_t index) { return *chunk_at(index); }
  Entry &entry(uint32_t index) { return chunk_at(index)->entries[index % kEntriesPerChunk]; }
  Nanos &deadline(uint32_t index) { return chunk_at(index)->deadlines[index % kEntriesPerChunk]; }
  Nanos &begun(uint32_t index) { return chunk_at(index)->begun[index % kEntriesPerChunk]; }
  uint32_t entries_end() const { return entries_end_; }
  // The earliest deadline of the entries from..to of one chunk.
  Nanos earliest_deadline(uint32_t from, uint32_t to) const {
    Nanos earliest = kNever;
    for (const Nanos deadline : deadlines_of(from, to)) earliest = std::min(earliest, deadline);
    return earliest;
  }
  // The same question with one bit for an answer, which a compiler makes several of at a time: the sign of any
  // difference.
  bool has_overdue(uint32_t from, uint32_t to, Nanos now) const {
    uint64_t signs = 0;
    for (const Nanos deadline : deadlines_of(from, to))
      signs |= static_cast<uint64_t>(deadline) - static_cast<uint64_t>(now) - 1;
    return static_cast<int64_t>(signs) < 0;
  }
  // Without the lock. The lines that an insert is about to write, as far as their addresses are known before
  // the shard's own line has come: all of them while few keys are held. `first` as in init().
  void prefetch_insert(Chunk *first) {
    prefetch_for_write(&mutex);
    prefetch_for_write(first_slots_);
    prefetch_for_write(&first->entries[0]);
    prefetch_for_write(&first->deadlines[0]);
  }
  uint32_t number() const { return number_; }

  // The entry's queue, made where it has none. Throws std::bad_alloc.
  WaitQueue &queue_of(Entry &entry);
  // Gives an empty queue back to the pool.
  void drop_queue(Entry &entry);

  // Gives the record, whose home this is, a handle of its own. Throws std::bad_alloc, then nothing has
  // changed.
  void assign_handle(Record &record);
  // nullptr: no such handle.
  Record *record(Handle h) const;
  // Was this handle given out, by its looks?
  bool issued_record(Handle h) const {
    const uint32_t index = handle::index(h);
    return index < record_handles_.size() && handle::generation(h) != 0 && h < record_handles_[index];
  }
  // The handle answers no longer; the record itself lives on until its last pin goes.
  void forget_handle(Record &record);
  const std::vector<Record *> &records() const { return record_slots_; }

  // Handles whose lock was lost and not yet released: so that a late release can be told so. The last 4,096
  // are kept.
  void remember_lost(Handle h) noexcept;
  bool was_lost(Handle h) const;
  bool forget_lost(Handle h);

  // Values of thin holds, which have no record to carry one.
  void set_value(Entry &entry, Bytes value) {
    values_[entry.handle].assign(value);
    entry.has_value = 1;
  }
  const std::string &value_of(Handle h) { return values_[h]; }
  void drop_value(Entry &entry) {
    values_.erase(entry.handle);
    entry.has_value = 0;
  }

  // Raises the token counter so that the next token is above `token`.
  void raise_token(uint64_t token) { token_ = token_ > token ? token_ : token; }
  uint64_t next_token() { return ++token_; }
  uint64_t last_token() const { return token_; }
  void check_invariants();

  // From here to chunks_: the cache line that every pair of acquire and release touches first.
  SpinLock mutex;
  bool gated = false;   // the global lock is held or asked for: only the let-pass rule grants
  uint32_t held = 0;    // entries with a holder
  uint32_t credit = 0;  // locks that may be granted before the table's pool is asked again
  uint64_t grants = 0;  // holds begun; those ended are counted apart, so that a plain release counts nothing

 private:
  struct Slot {
    uint32_t hash;
    uint32_t index;
  };
  static constexpr size_t kLostMax = 4'096;

  static constexpr uint32_t kFirstSlots = 4;
  static constexpr uint32_t kAhead = 4 * kEntriesPerChunk;
  static constexpr size_t kInlineKey = sizeof(Entry::inline_key);

  // Chunks lie apart: whoever walks over them meets a new page each time.
  std::span<const Nanos> deadlines_of(uint32_t from, uint32_t to) const {
    if (from + kAhead < entries_end_) {
      const Nanos *soon = chunk_at(from + kAhead)->deadlines;
      for (uint32_t i = 0; i < kEntriesPerChunk; i += 8) __builtin_prefetch(soon + i);
    }
    return {chunk_at(from)->deadlines + from % kEntriesPerChunk, to - from};
  }

  // Slots that may be used before the index grows: three quarters.
  uint32_t room() const { return (mask_ + 1) - (mask_ >> 2) - 1; }

  bool is_key_of(uint32_t index, Bytes key) const {
    const Entry &entry = chunk_at(index)->entries[index % kEntriesPerChunk];
    return entry.key_size == key.size() && std::memcmp(entry.key().data(), key.data(), key.size()) == 0;
  }
  Chunk *chunk_at(uint32_t index) const {
    return index < kEntriesPerChunk ? first_chunk_ : chunks_[index / kEntriesPerChunk];
  }
  uint32_t insert_slow(uint32_t hash, Bytes key);
  // copied: the key's bytes in the key store, when they do not fit into the entry. Nothing here fails.
  uint32_t insert_with_room(uint32_t hash, Bytes key, char *copied) {
    const uint32_t index = free_entry_;
    Entry &fresh = entry(index);
    free_entry_ = fresh.hash;
    if (copied != nullptr) {
      fresh.long_key = copied;
    } else {
      copy_short(fresh.inline_key, key.data(), key.size());
    }
    fresh.key_size = static_cast<uint16_t>(key.size());
    fresh.hash = hash;
    fresh.state = Entry::State::InUse;
    place({hash, index});
    ++used_;
    return index;
  }
  void place(Slot slot) {
    uint32_t at = slot.hash & mask_;
    while (slots_[at].index != kNoEntry) at = (at + 1) & mask_;
    slots_[at] = slot;
  }
  void grow_index();
  void grow_entries();

  uint64_t token_ = 0;
  uint32_t mask_ = kFirstSlots - 1;
  uint32_t used_ = 0;
  uint32_t free_entry_ = kNoEntry;
  uint32_t entries_end_ = 0;
  Slot *slots_ = first_slots_;
  // The second line, whose address is known before the first has come.
  Chunk **chunks_ = nullptr;
  Chunk *first_chunk_ = nullptr;
  Slot first_slots_[kFirstSlots];

 public:
  ShardCounters counters;

 private:
  std::vector<Slot> slot_store_;
  std::vector<Chunk *> chunk_store_;
  std::unique_ptr<Chunk> own_first_chunk_;
  KeyStore keys_;
  WaitQueue *free_queues_ = nullptr;
  std::vector<Record *> record_slots_;  // by index of the handle; nullptr: free or retired
  std::vector<Handle> record_handles_;  // the handle that a slot has, or will give out next
  std::vector<uint32_t> free_record_slots_;
  std::unordered_map<Handle, std::string> values_;
  std::vector<Handle> lost_;
  size_t lost_next_ = 0;
  uint32_t number_ = 0;
  Random *random_ = nullptr;
};

}  // namespace liblock
