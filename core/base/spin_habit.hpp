// SPDX-License-Identifier: MIT
// Whether it pays that somebody looks for a thing before he sleeps, learnt from what came of the last times: where it
// comes later than anybody looks, each look takes a CPU from those who make it come. A local table has one for the next
// in line, the library's loop one for who waits for a server. Any thread at any time, relaxed, since what two of them
// forget of each other costs one look.
#pragma once

#include <atomic>
#include <cstdint>

namespace liblock {

class SpinHabit {
 public:
  static constexpr uint32_t kVainMax = 8;      // in a row: then it is left to one in kProbeEvery
  static constexpr uint32_t kProbeEvery = 32;  // looks all the same, to find out when that has changed

  bool pays() {
    if (vain_.load(std::memory_order_relaxed) < kVainMax) return true;
    return left_out_.fetch_add(1, std::memory_order_relaxed) % kProbeEvery == kProbeEvery - 1;
  }

  void ended(bool in_time) {
    const uint32_t vain = vain_.load(std::memory_order_relaxed);
    const uint32_t now = in_time ? 0 : vain < kVainMax ? vain + 1 : vain;
    if (now != vain) vain_.store(now, std::memory_order_relaxed);
  }

 private:
  std::atomic<uint32_t> vain_{0};
  std::atomic<uint32_t> left_out_{0};
};

}  // namespace liblock
