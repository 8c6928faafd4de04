// SPDX-License-Identifier: MIT
// What was measured of a node or an observer last. Written on the loop's thread, read by any.
#pragma once

#include <atomic>
#include <cstdint>

namespace liblock::quorum {

struct NodeFigures {
  std::atomic<int64_t> round_trip_us{-1};   // -1: it has not answered yet
  std::atomic<int64_t> clock_offset_ms{0};  // its wall clock before this machine's
  std::atomic<int64_t> lag_ms{-1};  // of what an observer was fed last, when it had it; -1: it was not yet
};

}  // namespace liblock::quorum
