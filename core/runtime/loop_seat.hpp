// SPDX-License-Identifier: MIT
// Who runs the library's loop: its own thread, or for the length of a call a thread that waits for that call, a guest.
// A guest writes its request and reads the answer itself: nobody has to be woken for either. Pure but for its words and
// the clock that it sleeps by; the loop itself is thread_runtime.hpp's.
//
//   state   the loop is run by           left by
//   Kept    its own thread, for a turn   let_go(), to Free
//   Free    nobody                       take(), by its own thread; enter()
//   Taken   a guest                      leave(), to Free
//
//   its own thread meanwhile             ended by
//   Watching   its descriptors           one that is readable, a timer: take()
//   Dozing     after a guest: he reads   no other guest for kQuiet; call()
//              what comes
//   Away       the same, and a guest     call()
//              stays for longer
//
// Whoever has left work for the loop says so by ring(), and whoever leaves the seat or falls asleep looks for that
// afterwards: of two stores and two looks one sees the other (all seq_cst), so that nothing lies there for longer than
// it takes to wake the loop's thread. What the loop touches goes from one who runs it to the next by the seat.
#pragma once

#include "base/clock.hpp"

namespace liblock {

class LoopSeat {
 public:
  // For so long nobody looks at sockets and timers after the last guest, unless somebody is known to wait for them.
  static constexpr Nanos kQuiet = kMillisecond;

  // Any thread. True: it runs the loop, until leave().
  bool enter() {
    uint32_t free = kFree;
    if (!state_.compare_exchange_strong(free, kTaken)) return false;
    guests_.fetch_add(1);
    return true;
  }
  // in_use: others wait for what the loop brings.
  void leave(bool in_use) {
    if (in_use) rung_.store(true);
    state_.store(kFree);
    const uint32_t sleep = sleep_.load();
    if (sleep == kAway || (sleep == kDozing && rung_.load())) call();
  }
  // Any thread, after it has left work. False: the loop's descriptors have to say so to who looks at them.
  bool ring() {
    rung_.store(true);
    if (state_.load() != kFree || sleep_.load() == kWatching) return false;
    call();
    return true;
  }
  // By who runs the loop, before it looks for work.
  void heard() { rung_.store(false); }

  // By the loop's thread, which watches the descriptors next.
  void let_go() {
    guests_seen_ = guests_.load();
    state_.store(kFree);
  }
  // By the loop's thread, which was told of something, or has a timer that is due: it is back when the seat is its own.
  void take() {
    if (guests_.load() != guests_seen_) doze();
    while (!is_taken_back()) doze();
  }

 private:
  static constexpr uint32_t kKept = 0, kFree = 1, kTaken = 2;
  static constexpr uint32_t kWatching = 0, kDozing = 1, kAway = 2;

  void call() {
    calls_.fetch_add(1);
    wake_word(&calls_, 1);
  }
  bool is_taken_back() {
    uint32_t free = kFree;
    return state_.compare_exchange_strong(free, kKept);
  }
  // Until it is called; or no guest came for kQuiet, and none is there.
  void doze() {
    const uint32_t calls = calls_.load();
    sleep_.store(kDozing);
    bool is_quiet = rung_.load() && state_.load() != kTaken;
    while (!is_quiet && calls_.load() == calls) {
      const uint32_t guests = guests_.load();
      wait_on_word(calls_, calls, Clock().now() + kQuiet);
      is_quiet = guests_.load() == guests;
    }
    if (calls_.load() == calls) sleep_.store(kAway);
    while (state_.load() == kTaken && calls_.load() == calls) wait_on_word(calls_, calls, kNever);
    sleep_.store(kWatching);
  }

  std::atomic<uint32_t> state_{kKept};
  std::atomic<uint32_t> sleep_{kWatching};  // of the loop's thread
  std::atomic<uint32_t> calls_{0};          // of the loop's thread; it sleeps on them
  std::atomic<uint32_t> guests_{0};         // so far
  std::atomic<bool> rung_{false};
  uint32_t guests_seen_ = 0;  // of the loop's thread
};

}  // namespace liblock
