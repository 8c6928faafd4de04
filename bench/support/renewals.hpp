// SPDX-License-Identifier: MIT
// How leases are taken and for how long they are watched, so that what is measured of their renewal is what it comes to
// in the long run. Leases that were taken together fall due together, and a window sees more or fewer of them as it
// lies; those that were taken one after the other over a period come due evenly from the first one on, and a window
// that lasts whole periods sees each of them as often as any.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace liblock_bench {

// A lease is renewed when 0.3 to 1/3 of it are over, and so 3.16 times within it.
inline std::chrono::nanoseconds renewal_period(int64_t ttl_ms) {
  return std::chrono::nanoseconds(ttl_ms * 950'000 / 3);
}

// take(first, end), for a thousandth of them at a time.
template <typename Take>
void take_evenly(size_t count, std::chrono::nanoseconds over, Take take) {
  constexpr size_t slices = 1'000;
  const auto began = std::chrono::steady_clock::now();
  for (size_t slice = 0; slice < slices; ++slice) {
    const size_t first = count * slice / slices, end = count * (slice + 1) / slices;
    if (first != end) take(first, end);
    std::this_thread::sleep_until(began + over * (slice + 1) / slices);
  }
}

}  // namespace liblock_bench
