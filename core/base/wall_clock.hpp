// SPDX-License-Identifier: MIT
// The time of day, for showing only: what decides goes by clock.hpp, so that a step of this one changes nothing
// but what is shown.
#pragma once

#include <cstdint>
#include <ctime>

#include "base/clock.hpp"

namespace liblock {

// Microseconds since 1970.
inline int64_t wall_now_us() {
  timespec ts;
  clock_gettime(CLOCK_REALTIME, &ts);
  return static_cast<int64_t>(ts.tv_sec) * 1'000'000 + ts.tv_nsec / 1'000;
}
// Of a moment that lies so far back.
inline int64_t wall_us_ago(Nanos ago) { return wall_now_us() - ago / 1'000; }

}  // namespace liblock
