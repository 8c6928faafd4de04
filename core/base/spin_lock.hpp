// SPDX-License-Identifier: MIT
// A four-byte lock for sections of some tens of nanoseconds: one compare-and-swap in, one plain store out,
// which is half of what a mutex costs. Never held across a system call, an allocation of unbounded size or a
// callback. A thread that finds it taken spins, then yields, and at last sleeps for moments: under real-time
// scheduling a yielding high-priority thread would otherwise keep the holder from ever running.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <ctime>

#include "base/not_cancelled.hpp"

namespace liblock {

inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

// Begins to fetch the line of an address for writing. A line that another CPU wrote last costs one journey
// this way, instead of one to read it and another to own it; several that are asked for together travel
// together.
inline void prefetch_for_write(const void *address) {
#if defined(__x86_64__)
  // Not __builtin_prefetch: without -mprfchw it fetches for reading.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char *>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

class SpinLock {
 public:
  void lock() {
    if (!try_lock()) lock_slow();
  }
  bool try_lock() {
    uint32_t free = 0;
    return word_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void unlock() { word_.store(0, std::memory_order_release); }

 private:
  [[gnu::noinline]] void lock_slow() {
    for (uint32_t round = 0;; ++round) {
      for (int i = 0; i < 64; ++i) {
        if (word_.load(std::memory_order_relaxed) == 0 && try_lock()) return;
        cpu_relax();
      }
      if (round < 64) {
        sched_yield();
      } else {
        const NotCancelled here;  // what the caller has begun is known to others
        const timespec moment{0, 50'000};
        nanosleep(&moment, nullptr);
      }
    }
  }

  std::atomic<uint32_t> word_{0};
};

}  // namespace liblock
