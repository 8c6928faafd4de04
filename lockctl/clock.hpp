// SPDX-License-Identifier: MIT
// Milliseconds of the clock that never jumps, for how long something takes or may take.
#pragma once

#include <chrono>
#include <cstdint>

namespace lockctl {

inline int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace lockctl
