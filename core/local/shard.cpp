// SPDX-License-Identifier: MIT
// See shard.hpp. Index: linear probing with backward-shift deletion (Knuth, TAOCP 6.4, algorithm R), at most
// 3/4 full.
#include "local/shard.hpp"

#include <algorithm>
#include <new>

#include "base/grow.hpp"

namespace liblock {

Shard::~Shard() {
  for (Chunk *chunk : chunk_store_) {
    for (Entry &entry : chunk->entries) {
      delete entry.queue;
      const bool is_left = entry.state == Entry::State::InUse;  // by a context that was closed with LEAVE
      if (is_left && entry.key_size > kInlineKey) keys_.give_back(entry.long_key, entry.key_size);
    }
    if (chunk != first_chunk_) delete chunk;
  }
  for (Record *record : record_slots_) delete record;
  while (free_queues_ != nullptr) delete std::exchange(free_queues_, free_queues_->next_free);
}

void Shard::init(uint32_t number, Random *random, Chunk *first) {
  number_ = number;
  random_ = random;
  for (Slot &slot : first_slots_) slot = {0, kNoEntry};
  if (first == nullptr) own_first_chunk_.reset(new Chunk);
  first_chunk_ = first != nullptr ? first : own_first_chunk_.get();
}

uint32_t Shard::insert_slow(uint32_t hash, Bytes key) {
  if (used_ >= room()) grow_index();
  if (free_entry_ == kNoEntry) grow_entries();
  return insert_with_room(hash, key, key.size() > kInlineKey ? keys_.copy(key) : nullptr);
}

void Shard::grow_index() {
  const Slot *old = slots_;
  const uint32_t old_count = mask_ + 1;
  std::vector<Slot> larger(old_count * (old_count == kFirstSlots ? 4 : 2), Slot{0, kNoEntry});
  slots_ = larger.data();
  mask_ = static_cast<uint32_t>(larger.size() - 1);
  for (uint32_t i = 0; i < old_count; ++i) {
    if (old[i].index != kNoEntry) place(old[i]);
  }
  slot_store_.swap(larger);
}

void Shard::grow_entries() {
  if (entries_end_ + kEntriesPerChunk > handle::kIndexMax) throw std::bad_alloc();
  make_room(chunk_store_, chunk_store_.size() + 1);
  chunks_ = chunk_store_.data();  // it may have moved, also where there is no memory for the chunk
  auto *chunk = entries_end_ == 0 ? first_chunk_ : new Chunk;
  chunk_store_.push_back(chunk);
  for (uint32_t i = kEntriesPerChunk; i-- > 0;) {
    const uint32_t index = entries_end_ + i;
    Entry &fresh = chunk->entries[i];
    fresh = {};
    fresh.handle = handle::first(number_, index, false, *random_);
    fresh.hash = free_entry_;
    free_entry_ = index;
    chunk->deadlines[i] = kNever;
    chunk->begun[i] = 0;
  }
  entries_end_ += kEntriesPerChunk;
}

WaitQueue &Shard::queue_of(Entry &entry) {
  if (entry.queue != nullptr) return *entry.queue;
  if (free_queues_ == nullptr) {
    entry.queue = new WaitQueue;
  } else {
    entry.queue = std::exchange(free_queues_, free_queues_->next_free);
  }
  return *entry.queue;
}

void Shard::drop_queue(Entry &entry) {
  LIBLOCK_ASSERT(entry.queue->empty());
  entry.queue->next_free = free_queues_;
  free_queues_ = std::exchange(entry.queue, nullptr);
}

void Shard::assign_handle(Record &record) {
  if (free_record_slots_.empty()) {
    const auto index = static_cast<uint32_t>(record_slots_.size());
    if (index > handle::kIndexMax) throw std::bad_alloc();
    make_room(record_slots_, index + 1);
    make_room(record_handles_, index + 1);
    make_room(free_record_slots_, index + 1);
    record_slots_.push_back(nullptr);
    record_handles_.push_back(handle::first(number_, index, true, *random_));
    free_record_slots_.push_back(index);
  }
  const uint32_t index = free_record_slots_.back();
  free_record_slots_.pop_back();
  record.handle = record_handles_[index];
  record_slots_[index] = &record;
}

Record *Shard::record(Handle h) const {
  const uint32_t index = handle::index(h);
  if (index >= record_slots_.size()) return nullptr;
  Record *record = record_slots_[index];
  return record != nullptr && record->handle == h ? record : nullptr;
}

void Shard::forget_handle(Record &record) {
  const uint32_t index = handle::index(record.handle);
  LIBLOCK_ASSERT(record_slots_[index] == &record);
  record_slots_[index] = nullptr;
  record_handles_[index] = handle::next(record.handle);
  if (!handle::used_up(record.handle))
    free_record_slots_.push_back(index);  // capacity was reserved by new_record
  record.handle_gone = true;
}

void Shard::remember_lost(Handle h) noexcept {
  try {
    if (lost_.size() < kLostMax) {
      lost_.push_back(h);
      return;
    }
    lost_[lost_next_] = h;
    lost_next_ = (lost_next_ + 1) % kLostMax;
  } catch (const std::bad_alloc &) {
    // The late release is then told NOT_HELD instead of LOST; it touches nobody either way.
  }
}

// 0, which is no handle, stands in places that are to be used again.
bool Shard::was_lost(Handle h) const {
  return h != 0 && std::find(lost_.begin(), lost_.end(), h) != lost_.end();
}

bool Shard::forget_lost(Handle h) {
  if (h == 0) return false;
  const auto found = std::find(lost_.begin(), lost_.end(), h);
  if (found == lost_.end()) return false;
  *found = 0;  // the place is used again when its turn comes
  if (lost_.size() < kLostMax) {
    *found = lost_.back();
    lost_.pop_back();
  }
  return true;
}

void Shard::check_invariants() {
  uint32_t in_use = 0, holders = 0;
  for (uint32_t i = 0; i < entries_end_; ++i) {
    const Entry &e = entry(i);
    if (e.state == Entry::State::Unused) continue;
    ++in_use;
    holders += e.held();
    LIBLOCK_ASSERT(e.held() || e.queue != nullptr);
    LIBLOCK_ASSERT(e.held() || e.refs == nullptr);
    LIBLOCK_ASSERT(find(e.hash, e.key()) == i);
    if (e.queue != nullptr) e.queue->check_invariants();
    for (KeyRef *ref = e.refs; ref != nullptr; ref = ref->next) {
      LIBLOCK_ASSERT(ref->state == KeyRef::State::Held && ref->index == i && ref->shard == number_);
      LIBLOCK_ASSERT(ref->record->owner == e.owner);
    }
  }
  LIBLOCK_ASSERT(in_use == used_ && holders == held);
}

}  // namespace liblock
