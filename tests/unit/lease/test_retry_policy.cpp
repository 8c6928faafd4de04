// SPDX-License-Identifier: MIT
// When retries are counted and when none is left.
#include "../support/unit.hpp"
#include "lease/retry_policy.hpp"

using namespace liblock;
using Step = RetryCount::Step;

UNIT_TEST(n_retries_are_n_intervals_after_the_first_attempt) {
  Random random(1);
  RetryPolicy policy;
  policy.retries_max = 3;
  policy.jitter_ms = 0;
  RetryCount count;
  EXPECT(count.start(policy, random, 0) == Step::Wait && count.attempts() == 1);
  EXPECT(count.advance(policy, random, 10 * kMillisecond - 1) == Step::Wait && count.attempts() == 1);
  EXPECT(count.advance(policy, random, 10 * kMillisecond) == Step::Wait && count.attempts() == 2);
  EXPECT(count.advance(policy, random, 20 * kMillisecond) == Step::Wait && count.attempts() == 3);
  EXPECT(count.advance(policy, random, 30 * kMillisecond) == Step::Exhausted && count.attempts() == 4);
}

UNIT_TEST(without_a_limit_nothing_is_counted_and_nobody_is_woken) {
  Random random(1);
  RetryPolicy policy;
  RetryCount count;
  EXPECT(!policy.counts() && count.start(policy, random, 0) == Step::Wait && count.next_at() == kNever);
}

UNIT_TEST(jitter_stays_within_its_bound_and_is_spread) {
  Random random(9);
  RetryPolicy policy;
  int64_t least = 1000, most = 0;
  for (int i = 0; i < 1000; ++i) {
    const int64_t interval = policy.next_interval_ms(0, random);
    EXPECT(interval >= 10 && interval <= 20);
    least = std::min(least, interval);
    most = std::max(most, interval);
  }
  EXPECT(least == 10 && most == 20);
}

UNIT_TEST(backoff_grows_as_said_and_stops_at_its_cap) {
  Random random(1);
  RetryPolicy policy;
  policy.jitter_ms = 0;
  policy.step_ms = 50;
  policy.cap_ms = 1000;
  policy.backoff = RetryPolicy::Backoff::Linear;
  EXPECT(policy.next_interval_ms(0, random) == 10 && policy.next_interval_ms(4, random) == 210);
  EXPECT(policy.next_interval_ms(1'000'000, random) == 1000);
  policy.backoff = RetryPolicy::Backoff::Exponential;
  EXPECT(policy.next_interval_ms(0, random) == 10 && policy.next_interval_ms(3, random) == 80);
  EXPECT(policy.next_interval_ms(4'000'000'000u, random) == 1000);
}

UNIT_TEST(the_largest_values_do_not_overflow) {
  Random random(1);
  RetryPolicy policy;
  policy.interval_ms = policy.jitter_ms = policy.step_ms = policy.cap_ms = INT64_MAX;
  policy.base = 1000;
  for (const auto backoff :
       {RetryPolicy::Backoff::Fixed, RetryPolicy::Backoff::Linear, RetryPolicy::Backoff::Exponential}) {
    policy.backoff = backoff;
    EXPECT(policy.next_interval_ms(UINT32_MAX, random) > 0);
  }
}

UNIT_TEST(a_callback_is_asked_by_number_gets_no_jitter_and_may_refuse) {
  Random random(1);
  RetryPolicy policy;
  policy.callback = [](uint32_t attempt, void *) -> int64_t {
    return attempt < 2 ? int64_t{7} * attempt : -1;
  };
  RetryCount count;
  EXPECT(count.start(policy, random, 0) == Step::Wait);
  EXPECT(count.advance(policy, random, 0) == Step::Wait && count.next_at() == 7 * kMillisecond);
  EXPECT(count.advance(policy, random, 7 * kMillisecond) == Step::Refused);
}

UNIT_TEST(a_callback_that_always_says_at_once_does_not_hold_the_thread) {
  Random random(1);
  RetryPolicy policy;
  policy.callback = [](uint32_t, void *) -> int64_t { return 0; };
  RetryCount count;
  EXPECT(count.start(policy, random, 0) == Step::Wait);
  EXPECT(count.advance(policy, random, 0) == Step::Wait && count.next_at() > 0);
}

UNIT_MAIN("retry policy", cmocka_unit_test(n_retries_are_n_intervals_after_the_first_attempt),
          cmocka_unit_test(without_a_limit_nothing_is_counted_and_nobody_is_woken),
          cmocka_unit_test(jitter_stays_within_its_bound_and_is_spread),
          cmocka_unit_test(backoff_grows_as_said_and_stops_at_its_cap),
          cmocka_unit_test(the_largest_values_do_not_overflow),
          cmocka_unit_test(a_callback_is_asked_by_number_gets_no_jitter_and_may_refuse),
          cmocka_unit_test(a_callback_that_always_says_at_once_does_not_hold_the_thread))
