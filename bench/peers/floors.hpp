// SPDX-License-Identifier: MIT
// The two physical floors of handing something from thread to thread. The spin ping-pong moves one cache line
// between two pinned threads that never sleep. The futex ring passes a token round among threads that sleep
// in between: what a strict first-come-first-served lock can do at best when each waiter parks and is woken
// by the one before it.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <thread>
#include <vector>

#include "../support/contest.hpp"
#include "../support/placement.hpp"

namespace liblock_bench {

struct BareSpin {
  static void pause() {}
};
// Two threads that share one core's resources get in each other's way less when they pause; elsewhere it
// costs.
struct PausedSpin {
  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield" ::: "memory");
#endif
  }
};

// Seconds per hand-off, one way. The first round trips find the other thread on its way to its CPU and do not
// count.
template <class Spin>
double spin_ping_pong(uint64_t rounds) {
  struct alignas(128) Line {
    std::atomic<uint64_t> turn{0};
  } line;
  const uint64_t warm_up = rounds / 10;
  Clock::time_point start;
  std::thread other([&] {
    pin_to(1);
    for (uint64_t turn = 1; turn < 2 * rounds; turn += 2) {
      while (line.turn.load(std::memory_order_acquire) != turn) Spin::pause();
      line.turn.store(turn + 1, std::memory_order_release);
    }
  });
  pin_to(0);
  for (uint64_t turn = 0; turn < 2 * rounds; turn += 2) {
    if (turn == 2 * warm_up) start = Clock::now();
    line.turn.store(turn + 1, std::memory_order_release);
    while (line.turn.load(std::memory_order_acquire) != turn + 2) Spin::pause();
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  other.join();
  unpin();
  return seconds / double(2 * (rounds - warm_up));
}

class FutexRing {
 public:
  explicit FutexRing(size_t threads) : seats_(threads) {}

  // Hops per second, all threads together.
  double run(std::chrono::milliseconds window) {
    std::vector<std::thread> threads;
    for (size_t nth = 0; nth < seats_.size(); ++nth) {
      threads.emplace_back([this, nth] { sit(nth); });
    }
    give(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    const uint64_t before = hops();
    const auto start = Clock::now();
    std::this_thread::sleep_for(window);
    const uint64_t passed = hops() - before;
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    stop_.store(true);
    for (auto &thread : threads) thread.join();
    return double(passed) / seconds;
  }

 private:
  struct alignas(128) Seat {
    std::atomic<uint32_t> token{0};
    std::atomic<uint64_t> hops{0};
  };

  // The token goes on even after the end, once round: whoever gets it then leaves, and nobody sleeps for
  // ever.
  void sit(size_t nth) {
    Seat &seat = seats_[nth];
    for (bool last = false; !last;) {
      while (seat.token.load(std::memory_order_acquire) == 0) futex(seat.token, FUTEX_WAIT_PRIVATE, 0);
      last = stop_.load();
      seat.token.store(0, std::memory_order_relaxed);
      seat.hops.store(seat.hops.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      give((nth + 1) % seats_.size());
    }
  }
  void give(size_t nth) {
    seats_[nth].token.store(1, std::memory_order_release);
    futex(seats_[nth].token, FUTEX_WAKE_PRIVATE, 1);
  }
  static void futex(std::atomic<uint32_t> &word, int operation, uint32_t value) {
    syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), operation, value, nullptr, nullptr, 0);
  }
  uint64_t hops() const {
    uint64_t sum = 0;
    for (const Seat &seat : seats_) sum += seat.hops.load(std::memory_order_relaxed);
    return sum;
  }

  std::vector<Seat> seats_;
  alignas(128) std::atomic<bool> stop_{false};
};

}  // namespace liblock_bench
