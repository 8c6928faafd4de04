// SPDX-License-Identifier: MIT
// The 64-bit names of pending asynchronous calls: generation 32 | index 32, starting at a random generation,
// so that an ended or forged request is refused. A slot whose generations are used up is retired.
#pragma once

#include <mutex>
#include <vector>

#include "base/random.hpp"
#include "engine/pending_call.hpp"

namespace liblock {

class RequestTable {
 public:
  RequestTable(size_t requests_max, Random &random) : requests_max_(requests_max), random_(random) {}

  // 0 when requests_max are pending. The table keeps no reference: remove() comes before the call's last one
  // goes.
  liblock_request add(PendingCall &call) {
    const std::lock_guard lock(mutex_);
    if (pending_ >= requests_max_) return 0;
    if (free_.empty()) {
      free_.reserve(slots_.size() + 1);
      slots_.push_back({nullptr, 1 + static_cast<uint32_t>(random_.next() % (UINT32_MAX / 2))});
      free_.push_back(static_cast<uint32_t>(slots_.size() - 1));
    }
    const uint32_t index = free_.back();
    free_.pop_back();
    slots_[index].call = &call;
    ++pending_;
    return id_of(index);
  }
  void remove(liblock_request id) {
    const std::lock_guard lock(mutex_);
    const auto index = static_cast<uint32_t>(id);
    slots_[index].call = nullptr;
    --pending_;
    if (++slots_[index].generation != UINT32_MAX) free_.push_back(index);
  }
  // With a reference for the caller; nullptr: it has ended or never was.
  PendingCall *find(liblock_request id) {
    const std::lock_guard lock(mutex_);
    const auto index = static_cast<uint32_t>(id);
    if (index >= slots_.size() || slots_[index].call == nullptr || id_of(index) != id) return nullptr;
    slots_[index].call->pin();
    return slots_[index].call;
  }

 private:
  struct Slot {
    PendingCall *call;
    uint32_t generation;
  };
  liblock_request id_of(uint32_t index) const {
    return static_cast<uint64_t>(slots_[index].generation) << 32 | index;
  }

  const size_t requests_max_;
  Random &random_;
  std::mutex mutex_;
  std::vector<Slot> slots_;  // guarded by mutex_, as all below
  std::vector<uint32_t> free_;
  size_t pending_ = 0;
};

}  // namespace liblock
