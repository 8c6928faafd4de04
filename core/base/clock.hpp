// SPDX-License-Identifier: MIT
// Monotonic time, in nanoseconds, from outside: the system's clock in production, a number moved by hand in
// tests. One class without virtual functions, since the coarse reading is on the path of every leased
// acquire. Wall-clock time is not to be had here, so that a step of it can change nothing.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>

#include "base/platform.hpp"

namespace liblock {

using Nanos = int64_t;
inline constexpr Nanos kNever = INT64_MAX;
inline constexpr Nanos kMillisecond = 1'000'000;

// Milliseconds to a duration that never overflows when it is added to a reading of the clock.
constexpr Nanos nanos_from_ms(int64_t ms) {
  return ms >= (kNever / 4) / kMillisecond ? kNever / 4 : ms * kMillisecond;
}
// Rounds up: what is left of a lease is never shown as 0 before it ends.
constexpr int64_t ms_from_nanos(Nanos duration) {
  return duration <= 0 ? 0 : (duration + kMillisecond - 1) / kMillisecond;
}

class Clock {
 public:
  Clock() = default;
  explicit Clock(const std::atomic<Nanos> *manual) : Clock(manual, manual, 0) {}
  // A coarse reading that is behind by what the caller says, as where a machine is late with its ticks.
  Clock(const std::atomic<Nanos> *manual, const std::atomic<Nanos> *coarse, Nanos coarse_lag_max)
      : manual_(manual), manual_coarse_(coarse), coarse_lag_max_(coarse_lag_max) {}
  // Goes on while the machine sleeps, as a server's clock does; for leases that a server keeps.
  static Clock suspend_aware() {
    Clock clock;
    clock.id_ = clock.coarse_id_ = kSuspendAwareClock;
    clock.coarse_lag_max_ = 0;
    return clock;
  }

  Nanos now() const { return manual_ != nullptr ? manual_->load(std::memory_order_acquire) : read(id_); }
  // May lag behind now() by up to coarse_lag_max(), and by more where the machine is late with its ticks; a lease
  // counted from here adds that, so that it does not end early.
  Nanos coarse() const {
    return manual_coarse_ != nullptr ? manual_coarse_->load(std::memory_order_acquire) : read(coarse_id_);
  }
  Nanos coarse_lag_max() const { return coarse_lag_max_; }
  // Until which so much is left now.
  Nanos deadline_of(Nanos left) const {
    return left == kNever ? kNever : std::max(now(), coarse() + coarse_lag_max()) + left;
  }
  // What is left until `deadline`: never more than there is, never more than the duration it was set to from
  // coarse() + coarse_lag_max(), never less than 0. kNever until kNever.
  Nanos left_until(Nanos deadline) const {
    if (deadline == kNever) return kNever;
    return std::max<Nanos>(0, deadline - std::max(now(), coarse() + coarse_lag_max()));
  }
  bool is_manual() const { return manual_ != nullptr; }

 private:
  static Nanos read(clockid_t id) {
    timespec ts;
    clock_gettime(id, &ts);
    return static_cast<Nanos>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
  }
  // Linux moves its coarse clock at a tick, and by whole ticks only: what is left then, up to one, comes with the next.
  static Nanos lag_max_of_coarse() {
    timespec tick;
    return 2 * (clock_getres(kCoarseClock, &tick) == 0 ? tick.tv_nsec : 10 * kMillisecond);
  }

  const std::atomic<Nanos> *manual_ = nullptr, *manual_coarse_ = nullptr;
  clockid_t id_ = CLOCK_MONOTONIC;
  clockid_t coarse_id_ = kCoarseClock;
  Nanos coarse_lag_max_ = lag_max_of_coarse();
};

}  // namespace liblock
