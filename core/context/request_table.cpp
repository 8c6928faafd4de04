// SPDX-License-Identifier: MIT
// See request_table.hpp.
#include "context/request_table.hpp"

#include "base/grow.hpp"

namespace liblock {

void *RequestTable::take_memory(size_t size, const std::shared_ptr<void> &keeper) {
  const std::lock_guard lock(mutex_);
  void *memory = kept_ != nullptr ? take_kept() : ::operator new (size, std::align_val_t{kAlignment});
  if (++out_ == 1) keeper_ = keeper;
  return memory;
}

void RequestTable::give_back_memory(void *memory) {
  std::shared_ptr<void> keeper;  // may be the last to keep this table: goes after the lock
  void *surplus;
  {
    const std::lock_guard lock(mutex_);
    surplus = take_back(memory, keeper);
  }
  free_memory(surplus);
}

liblock_request RequestTable::add(PendingCall &call) {
  const std::lock_guard lock(mutex_);
  if (pending_ >= requests_max_ + (delivering_.load(std::memory_order_relaxed) ? 1 : 0)) return 0;
  if (free_.empty()) {
    make_room(free_, slots_.size() + 1);
    slots_.push_back({nullptr, 1 + static_cast<uint32_t>(random_.next() % (UINT32_MAX / 2))});
    free_.push_back(static_cast<uint32_t>(slots_.size() - 1));
  }
  const uint32_t index = free_.back();
  free_.pop_back();
  slots_[index].call = &call;
  ++pending_;
  return id_of(index);
}

void RequestTable::forget(liblock_request id) {
  Told told;
  {
    const std::lock_guard lock(mutex_);
    take_out(id);
    if (pending_ == 0 && idle_ != nullptr) told = take_idle();
  }
  if (told.idle != nullptr) told.idle->nothing_is_pending();
}

void RequestTable::tell_when_idle(Idle &idle) {
  {
    const std::lock_guard lock(mutex_);
    if (pending_ > 0) {
      idle_ = &idle;
      return;
    }
  }
  idle.nothing_is_pending();
}

PendingCall *RequestTable::find(liblock_request id) {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<uint32_t>(id);
  if (index >= slots_.size() || slots_[index].call == nullptr || id_of(index) != id) return nullptr;
  if (slots_[index].call->is_over()) return nullptr;
  slots_[index].call->pin();
  return slots_[index].call;
}

}  // namespace liblock
