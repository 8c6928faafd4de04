// SPDX-License-Identifier: MIT
// Many leases of one process over a quorum: each is renewed when a third of it is over, and their rounds never leave as
// a heap.
#include "support/crowd.hpp"

#include "stage.hpp"

using namespace unit;

namespace {

constexpr int kCount = 1'000;
constexpr int64_t kTtlMs = 1'500, kPeriodMs = kTtlMs / 3;
constexpr uint64_t kFewCalls = 6;  // of 16 renewals; at an even pace one comes in 8 ms

struct ThreeServers : Stage, Crowd<Process> {
  ThreeServers() : Stage(3), Crowd(Stage::world, *a, *nodes[0], kCount, kTtlMs) {}
};

}  // namespace

UNIT_TEST(each_of_many_leases_over_a_quorum_is_renewed_when_a_third_of_it_is_over) {
  for (const int64_t turn_ms : {1, 15}) {
    ThreeServers crowd;
    crowd.turn_ms = turn_ms;
    crowd.run_ms(3 * kPeriodMs);
    crowd.forget_figures();
    const uint64_t before = crowd.renewals();
    crowd.run_ms(8 * kPeriodMs);
    EXPECT(crowd.share_over() < 0.4);
    EXPECT(crowd.most_calls <= kFewCalls);
    EXPECT(crowd.renewals() - before <= 8 * kCount * 10 / 9);
    crowd.none_was_lost();
  }
}

UNIT_TEST(those_that_were_taken_all_at_once_are_spread_over_the_time_that_they_may_wait) {
  ThreeServers crowd;
  crowd.run_ms(kPeriodMs * 9 / 10 - 10);
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
  ThreeServers crowd;
  crowd.run_ms(5 * kPeriodMs);
  crowd.a->host().pause();
  crowd.Stage::world.run_ms(kTtlMs / 10);
  crowd.a->host().go_on();
  crowd.forget_figures();
  crowd.run_ms(2 * kPeriodMs);
  EXPECT(crowd.most_calls <= kFewCalls);
  EXPECT(crowd.share_over() < 0.52);
  crowd.none_was_lost();
}

UNIT_MAIN("the pace of renewals over a quorum",
          cmocka_unit_test(each_of_many_leases_over_a_quorum_is_renewed_when_a_third_of_it_is_over),
          cmocka_unit_test(those_that_were_taken_all_at_once_are_spread_over_the_time_that_they_may_wait),
          cmocka_unit_test(a_process_that_stood_still_makes_no_flood_of_what_fell_due_meanwhile))
