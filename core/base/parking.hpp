// SPDX-License-Identifier: MIT
// Where a thread waits for one thing to end that happens on another: once each. The one who ends it touches it
// for the last time when the waiting thread may go on, and with it the memory; the wake-up that follows is
// harmless then.
#pragma once

#include "base/futex.hpp"

namespace liblock {

class Parking {
 public:
  void park() {
    uint32_t fresh = kFresh;
    if (!state_.compare_exchange_strong(fresh, kParked, std::memory_order_acq_rel)) return;
    while (state_.load(std::memory_order_acquire) == kParked) futex_wait(state_, kParked, kNever);
  }
  void unpark() {
    const void *const word = &state_;
    if (state_.exchange(kEnded, std::memory_order_acq_rel) == kParked) futex_wake(word, 1);
  }

 private:
  static constexpr uint32_t kFresh = 0, kParked = 1, kEnded = 2;
  std::atomic<uint32_t> state_{kFresh};
};

}  // namespace liblock
