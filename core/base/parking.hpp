// SPDX-License-Identifier: MIT
// Where a thread waits for one thing to end that happens on another: once each. The one who ends it touches it
// for the last time when the waiting thread may go on, and with it the memory; the wake-up that follows is
// harmless then. Until then he may nudge it: the waiting thread has something to do and parks again.
#pragma once

#include "base/clock.hpp"
#include "base/platform.hpp"

namespace liblock {

class Parking {
 public:
  // True: it has ended. False: nudged.
  bool park() {
    uint32_t seen = kFresh;
    if (state_.compare_exchange_strong(seen, kParked, std::memory_order_acq_rel)) {
      while ((seen = state_.load(std::memory_order_acquire)) == kParked)
        wait_on_word(state_, kParked, kNever);
    }
    return seen != kNudged || !state_.compare_exchange_strong(seen, kFresh, std::memory_order_acq_rel,
                                                              std::memory_order_acquire);
  }
  // By who ends it, before.
  void nudge() {
    const void *const word = &state_;
    if (state_.exchange(kNudged, std::memory_order_acq_rel) == kParked) wake_word(word, 1);
  }
  void unpark() {
    const void *const word = &state_;
    if (state_.exchange(kEnded, std::memory_order_acq_rel) == kParked) wake_word(word, 1);
  }

 private:
  static constexpr uint32_t kFresh = 0, kParked = 1, kEnded = 2, kNudged = 3;
  std::atomic<uint32_t> state_{kFresh};
};

}  // namespace liblock
