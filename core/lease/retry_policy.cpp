// SPDX-License-Identifier: MIT
// See retry_policy.hpp. Back-off with jitter follows the usual shapes (fixed, linear, capped exponential).
#include "lease/retry_policy.hpp"

#include <algorithm>

namespace liblock {

int64_t RetryPolicy::next_interval_ms(uint32_t attempt, Random &random) const {
  if (callback != nullptr) return callback(attempt, user_data);
  // Bounds so that no sum or product below overflows; far beyond any wait.
  constexpr int64_t kLongest = INT64_MAX / 4'096;
  int64_t interval = std::min(interval_ms, kLongest);
  const int64_t cap = std::min(cap_ms, kLongest);
  if (backoff == Backoff::Linear) {
    const int64_t step = std::min(step_ms, kLongest);
    const bool beyond = step > 0 && attempt > cap / step;
    interval = beyond ? cap : std::min(interval + static_cast<int64_t>(attempt) * step, cap);
  } else if (backoff == Backoff::Exponential) {
    for (uint32_t i = 0; i < attempt && interval > 0 && interval < cap; ++i) interval *= base;
    interval = std::min(interval, cap);
  }
  return interval + random.up_to(std::min(jitter_ms, kLongest));
}

RetryCount::Step RetryCount::start(const RetryPolicy &policy, Random &random, Nanos now) {
  attempts_ = 1;
  next_at_ = kNever;
  return policy.counts() ? begin_interval(policy, random, now) : Step::Wait;
}

RetryCount::Step RetryCount::advance(const RetryPolicy &policy, Random &random, Nanos now) {
  // At most so many intervals of 0 ms are counted per turn: a callback that always says "at once" must not
  // hold the thread for ever.
  for (int turn = 0; turn < 1'000 && next_at_ <= now; ++turn) {
    attempts_ += attempts_ != UINT32_MAX;
    const Step step = begin_interval(policy, random, next_at_);
    if (step != Step::Wait) return step;
  }
  if (next_at_ <= now) next_at_ = now + kMillisecond;
  return Step::Wait;
}

RetryCount::Step RetryCount::begin_interval(const RetryPolicy &policy, Random &random, Nanos from) {
  if (policy.retries_max >= 0 && attempts_ > policy.retries_max) return Step::Exhausted;
  const int64_t interval = policy.next_interval_ms(attempts_ - 1, random);
  if (interval < 0) return Step::Refused;
  next_at_ = from + nanos_from_ms(interval);
  return Step::Wait;
}

}  // namespace liblock
