// SPDX-License-Identifier: MIT
// When a waiting acquire counts its next retry, and when it has none left. Pure: time and randomness are
// given. An interval that elapses while the request is queued counts as one retry and changes no place in the
// queue.
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "base/random.hpp"

namespace liblock {

struct RetryPolicy {
  enum class Backoff : uint8_t { Fixed, Linear, Exponential };
  int64_t retries_max = -1;  // -1: no limit
  int64_t interval_ms = 10;
  int64_t jitter_ms = 10;
  int64_t step_ms = 10;
  int64_t cap_ms = 60'000;
  int32_t base = 2;
  Backoff backoff = Backoff::Fixed;
  int64_t (*callback)(uint32_t attempt, void *user_data) = nullptr;
  void *user_data = nullptr;

  // Without a limit nothing ends by retries, and only a callback wants to be asked: nobody needs to wake up.
  bool counts() const { return retries_max >= 0 || callback != nullptr; }
  // The interval before retry `attempt` (0-based); negative: the callback refused.
  int64_t next_interval_ms(uint32_t attempt, Random &random) const;
};

// The retries of one waiting acquire.
class RetryCount {
 public:
  enum class Step : uint8_t { Wait, Exhausted, Refused };

  // The first attempt has failed at `now`: starts the first interval.
  Step start(const RetryPolicy &policy, Random &random, Nanos now);
  // Counts the intervals that have elapsed at `now`.
  Step advance(const RetryPolicy &policy, Random &random, Nanos now);
  Nanos next_at() const { return next_at_; }
  uint32_t attempts() const { return attempts_; }

 private:
  Step begin_interval(const RetryPolicy &policy, Random &random, Nanos from);

  Nanos next_at_ = kNever;
  uint32_t attempts_ = 1;
};

}  // namespace liblock
