// SPDX-License-Identifier: MIT
// Random numbers for jitter, hash seeds and first generations; not for secrets. The sequence follows from the
// seed alone (splitmix64, Steele, Lea and Flood 2014), so that a test can replay it. Thread-safe without a
// lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

#include "base/platform.hpp"

namespace liblock {

class Random {
 public:
  Random() : state_(seed_of_system()) {}
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = state_.fetch_add(0x9e3779b97f4a7c15u, std::memory_order_relaxed) + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Uniform in 0..bound, both included; bias below 2^-32 for the bounds used here.
  int64_t up_to(int64_t bound) {
    return bound <= 0 ? 0 : static_cast<int64_t>(next() % (static_cast<uint64_t>(bound) + 1));
  }

 private:
  static uint64_t seed_of_system() {
    uint64_t seed = 0;
    if (random_bytes(&seed, sizeof seed, WhenUnseeded::Fail)) return seed;
    timespec ts;  // early boot or a filtered system call: spread is all that is needed
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return static_cast<uint64_t>(ts.tv_nsec) ^ (reinterpret_cast<uintptr_t>(&seed) << 20);
  }

  std::atomic<uint64_t> state_;
};

}  // namespace liblock
