// SPDX-License-Identifier: MIT
// Many leases of one process: each is renewed when a third of it is over, and they never leave as a heap. What counts
// is how many come due in a second, so that few short leases stand for many long ones: 5,000 of 1.5 s for 100,000 of
// 30 s.
#include "support/crowd.hpp"

#include "stage.hpp"

using namespace unit;

namespace {

constexpr int kCount = 5'000;
constexpr int64_t kTtlMs = 1'500, kPeriodMs = kTtlMs / 3;
constexpr uint64_t kFewCalls = 8;  // of 64 renewals; at an even pace one comes in 6 ms

struct OneServer : Stage, Crowd<Process> {
  OneServer() : Crowd(Stage::world, a, Stage::node, kCount, kTtlMs) {}
};

}  // namespace

UNIT_TEST(each_of_many_leases_is_renewed_when_a_third_of_it_is_over) {
  OneServer crowd;
  crowd.run_ms(3 * kPeriodMs);
  crowd.forget_figures();
  const uint64_t before = crowd.renewals();
  crowd.run_ms(8 * kPeriodMs);
  EXPECT(crowd.share_over() < 0.4);
  EXPECT(crowd.most_calls <= kFewCalls);
  // No more often than every 0.3 of a lease, either.
  EXPECT(crowd.renewals() - before <= 8 * kCount * 10 / 9);
  crowd.none_was_lost();
}

UNIT_TEST(a_loop_that_turns_late_makes_up_for_it) {
  OneServer crowd;
  crowd.turn_ms = 15;
  crowd.run_ms(3 * kPeriodMs);
  crowd.forget_figures();
  crowd.run_ms(8 * kPeriodMs);
  EXPECT(crowd.share_over() < 0.4);
  EXPECT(crowd.most_calls <= kFewCalls);
  crowd.none_was_lost();
}

UNIT_TEST(those_that_were_taken_all_at_once_are_spread_over_the_time_that_they_may_wait) {
  OneServer crowd;
  crowd.run_ms(kPeriodMs * 9 / 10);
  crowd.forget_figures();
  const uint64_t before = crowd.renewals();
  int64_t ms = 0;
  for (; crowd.renewals() - before < kCount; ++ms) crowd.run_ms(1);
  EXPECT(ms >= kPeriodMs / 2);
  EXPECT(crowd.most_calls <= kFewCalls);
  EXPECT(crowd.share_over() < 0.52);
  crowd.none_was_lost();
}

UNIT_TEST(a_process_that_stood_still_makes_no_flood_of_what_fell_due_meanwhile) {
  OneServer crowd;
  crowd.run_ms(5 * kPeriodMs);
  for (int i = 0; i < 4; ++i) {
    crowd.run_ms(kPeriodMs);
    crowd.a.host().pause();
    crowd.Stage::world.run_ms(kTtlMs / 10);
    crowd.a.host().go_on();
    crowd.forget_figures();
    crowd.run_ms(kPeriodMs);
    EXPECT(crowd.most_calls <= kFewCalls);
    EXPECT(crowd.share_over() < 0.52);
  }
  crowd.none_was_lost();
}

UNIT_MAIN("the pace of renewals", cmocka_unit_test(each_of_many_leases_is_renewed_when_a_third_of_it_is_over),
          cmocka_unit_test(a_loop_that_turns_late_makes_up_for_it),
          cmocka_unit_test(those_that_were_taken_all_at_once_are_spread_over_the_time_that_they_may_wait),
          cmocka_unit_test(a_process_that_stood_still_makes_no_flood_of_what_fell_due_meanwhile))
