// SPDX-License-Identifier: MIT
// When the requests of an open loop are to start, whatever became of those before: at equal distances, or as a Poisson
// process, as independent callers would. A latency that is taken from this moment, and not from when the driver got
// round to it, holds the time that a stalled server made everybody wait. Pure: gives offsets, knows no clock.
#pragma once

#include <cmath>
#include <cstdint>

#include "../support/keys.hpp"

namespace liblock_bench {

enum class Arrivals : uint8_t { Fixed, Poisson };

class Pace {
 public:
  Pace(double per_second, Arrivals arrivals, uint64_t seed)
      : mean_ns_(1e9 / per_second), arrivals_(arrivals), state_(seed) {}

  // Nanoseconds from the beginning to the start of the next one.
  int64_t next() {
    at_ns_ += arrivals_ == Arrivals::Fixed ? mean_ns_ : -std::log1p(-random()) * mean_ns_;
    return static_cast<int64_t>(at_ns_);
  }

 private:
  // From 0 up to but not 1.
  double random() { return static_cast<double>(scramble(state_++) >> 11) * 0x1p-53; }

  const double mean_ns_;
  const Arrivals arrivals_;
  uint64_t state_;
  double at_ns_ = 0;
};

}  // namespace liblock_bench
