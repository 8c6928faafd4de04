// SPDX-License-Identifier: MIT
// Where a thread waits for one thing to end that happens on another, or on itself while it runs the loop
// (runtime/loop_seat.hpp): once each. The one who ends it touches it for the last time when the waiting thread may go
// on, and with it the memory; the wake-up that follows is harmless then. Until then he may nudge it: the waiting thread
// has something to do and parks again.
#pragma once

#include <utility>

#include "base/clock.hpp"
#include "base/platform.hpp"

namespace liblock {

// How many wait for what one other thread brings about. Who ends the last of the waits leaves it to that thread to wake
// whoever slept there, when it has done what it does first.
class Attendance {
 public:
  bool is_empty() const { return waiting_.load() == 0; }
  // For what no thread sleeps for.
  void arrive() { waiting_.fetch_add(1); }
  void go() { waiting_.fetch_sub(1); }
  // By the thread that brings it about: whom it is to wake.
  const void *take_last() { return std::exchange(last_, nullptr); }
  static void wake(const void *last) {
    if (last != nullptr) wake_word(last, 1);
  }

 private:
  friend class Parking;
  std::atomic<uint32_t> waiting_{0};
  const void *last_ = nullptr;
};

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
  // park() would return at once.
  bool is_called() const { return state_.load(std::memory_order_acquire) != kFresh; }
  // By the waiting thread, before anybody can end it. True: nobody else waits.
  bool join(Attendance &attendance) {
    attendance_ = &attendance;
    return attendance.waiting_.fetch_add(1) == 0;
  }
  // By who ends it, before.
  void nudge() {
    const void *const word = &state_;
    if (state_.exchange(kNudged, std::memory_order_acq_rel) == kParked) wake_word(word, 1);
  }
  void unpark() {
    const void *const word = &state_;
    Attendance *const attendance = attendance_;
    const bool is_last = attendance != nullptr && attendance->waiting_.fetch_sub(1) == 1;
    if (state_.exchange(kEnded, std::memory_order_acq_rel) != kParked) return;
    if (!is_last) {
      wake_word(word, 1);
      return;
    }
    Attendance::wake(std::exchange(attendance->last_, word));
  }

 private:
  static constexpr uint32_t kFresh = 0, kParked = 1, kEnded = 2, kNudged = 3;
  std::atomic<uint32_t> state_{kFresh};
  Attendance *attendance_ = nullptr;
};

}  // namespace liblock
