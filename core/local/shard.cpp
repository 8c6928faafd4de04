// SPDX-License-Identifier: MIT
// See shard.hpp. Index: linear probing with backward-shift deletion (Knuth, TAOCP 6.4, algorithm R), at most 3/4 full.
#include "local/shard.hpp"

#include <algorithm>
#include <new>

namespace liblock {

namespace {
constexpr uint32_t kFirstSlots = 16;
}

Shard::~Shard() {
  for (Chunk *chunk : chunk_store_) {
    for (Entry &entry : chunk->entries) delete entry.queue;
    delete chunk;
  }
  for (Record *record : record_slots_) delete record;
  while (free_records_ != nullptr) delete std::exchange(free_records_, free_records_->next_free);
  while (free_queues_ != nullptr) delete std::exchange(free_queues_, free_queues_->next_free);
}

void Shard::init(uint32_t number, Random *random) {
  number_ = number;
  random_ = random;
}

uint32_t Shard::find(uint32_t hash, Bytes key) const {
  if (slots_ == nullptr) return kNoEntry;
  for (uint32_t at = hash & mask_;; at = (at + 1) & mask_) {
    const Slot slot = slots_[at];
    if (slot.index == kNoEntry) return kNoEntry;
    if (slot.hash != hash) continue;
    const Entry &entry = chunks_[slot.index / kEntriesPerChunk]->entries[slot.index % kEntriesPerChunk];
    if (entry.key_size == key.size() && std::memcmp(entry.key().data(), key.data(), key.size()) == 0) return slot.index;
  }
}

uint32_t Shard::insert(uint32_t hash, Bytes key) {
  if (slots_ == nullptr || used_ + 1 > (mask_ + 1) / 4 * 3) grow_index();
  if (free_entry_ == kNoEntry) grow_entries();
  const uint32_t index = free_entry_;
  Entry &fresh = entry(index);
  char *copied = key.size() > sizeof fresh.inline_key ? keys_.copy(key) : nullptr;
  // Nothing below fails.
  free_entry_ = fresh.hash;
  if (copied != nullptr) {
    fresh.long_key = copied;
  } else {
    std::memcpy(fresh.inline_key, key.data(), key.size());
  }
  fresh.key_size = static_cast<uint16_t>(key.size());
  fresh.hash = hash;
  fresh.state = Entry::State::InUse;
  place({hash, index});
  ++used_;
  return index;
}

void Shard::place(Slot slot) {
  uint32_t at = slot.hash & mask_;
  while (slots_[at].index != kNoEntry) at = (at + 1) & mask_;
  slots_[at] = slot;
}

void Shard::erase(uint32_t index) {
  Entry &gone = entry(index);
  LIBLOCK_ASSERT(gone.state == Entry::State::InUse && gone.owner == nullptr && gone.queue == nullptr);
  uint32_t hole = gone.hash & mask_;
  while (slots_[hole].index != index) hole = (hole + 1) & mask_;
  for (uint32_t at = (hole + 1) & mask_; slots_[at].index != kNoEntry; at = (at + 1) & mask_) {
    // A slot may move back into the hole unless its home lies cyclically behind the hole.
    const uint32_t home = slots_[at].hash & mask_;
    if (((at - home) & mask_) >= ((at - hole) & mask_)) {
      slots_[hole] = slots_[at];
      hole = at;
    }
  }
  slots_[hole].index = kNoEntry;
  --used_;
  if (gone.key_size > sizeof gone.inline_key) keys_.give_back(gone.long_key, gone.key_size);
  gone.state = Entry::State::Unused;
  if (handle::used_up(gone.handle)) return;  // retired: its generations would begin to repeat
  gone.hash = free_entry_;
  free_entry_ = index;
}

void Shard::grow_index() {
  std::vector<Slot> larger(slots_ == nullptr ? kFirstSlots : slot_store_.size() * 2, Slot{0, kNoEntry});
  slot_store_.swap(larger);
  slots_ = slot_store_.data();
  mask_ = static_cast<uint32_t>(slot_store_.size() - 1);
  for (const Slot slot : larger) {
    if (slot.index != kNoEntry) place(slot);
  }
}

void Shard::grow_entries() {
  if (entries_end_ + kEntriesPerChunk > handle::kIndexMax) throw std::bad_alloc();
  chunk_store_.reserve(chunk_store_.size() + 1);
  auto *chunk = new Chunk;
  chunk_store_.push_back(chunk);
  chunks_ = chunk_store_.data();
  for (uint32_t i = kEntriesPerChunk; i-- > 0;) {
    const uint32_t index = entries_end_ + i;
    Entry &fresh = chunk->entries[i];
    fresh = {};
    fresh.handle = handle::first(number_, index, false, *random_);
    fresh.hash = free_entry_;
    free_entry_ = index;
    chunk->deadlines[i] = kNever;
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

Record *Shard::new_record() {
  if (free_record_slots_.empty()) {
    const auto index = static_cast<uint32_t>(record_slots_.size());
    if (index > handle::kIndexMax) throw std::bad_alloc();
    record_slots_.reserve(index + 1);
    record_handles_.reserve(index + 1);
    free_record_slots_.reserve(index + 1);
    record_slots_.push_back(nullptr);
    record_handles_.push_back(handle::first(number_, index, true, *random_));
    free_record_slots_.push_back(index);
  }
  Record *record = free_records_ != nullptr ? std::exchange(free_records_, free_records_->next_free) : new Record;
  const uint32_t index = free_record_slots_.back();
  free_record_slots_.pop_back();
  record->handle = record_handles_[index];
  record->home = number_;
  record_slots_[index] = record;
  return record;
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
  if (!handle::used_up(record.handle)) free_record_slots_.push_back(index);  // capacity was reserved by new_record
  record.handle_gone = true;
}

void Shard::free_record(Record *record) {
  // A record keeps its vectors' and strings' memory, so that the next one of the same shape allocates nothing.
  record->owner = nullptr;
  record->global = record->handle_gone = record->renew = false;
  record->all_held.store(false, std::memory_order_relaxed);
  record->lost.store(false, std::memory_order_relaxed);
  record->taken.store(0, std::memory_order_relaxed);
  record->queued = nullptr;
  for (uint32_t i = 0; i < record->key_count; ++i) record->refs[i] = KeyRef{};
  record->key_count = record->lock_count = 0;
  record->ttl = record->hold_until = kNever;
  record->on_lost = nullptr;
  record->losses.reset();
  record->runtime.reset();
  record->value.clear();
  record->metadata.clear();
  record->timer = nullptr;
  record->next_free = free_records_;
  free_records_ = record;
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

bool Shard::was_lost(Handle h) const { return std::find(lost_.begin(), lost_.end(), h) != lost_.end(); }

bool Shard::forget_lost(Handle h) {
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
