// SPDX-License-Identifier: MIT
// Many leases of one process: each is renewed when a third of it is over, and they never leave as a heap. What counts
// is how many come due in a second, so that few short leases stand for many long ones: 5,000 of 1.5 s for 100,000 of
// 30 s.
#include "support/crowd.hpp"

#include "stage.hpp"

using namespace unit;

namespace {

constexpr uint64_t kFewCalls = 8;  // of 64 renewals; at an even pace one comes in 6 ms

struct OneServer : Stage, Crowd<Process> {
  OneServer() : Crowd(Stage::world, a, Stage::node, 5'000, 1'500, kFewCalls) {}
};

}  // namespace

UNIT_TEST(each_of_many_leases_is_renewed_when_a_third_of_it_is_over) { OneServer().keeps_an_even_pace(); }

UNIT_TEST(a_loop_that_turns_late_makes_up_for_it) {
  OneServer crowd;
  crowd.turn_ms = 15;
  crowd.keeps_an_even_pace();
}

UNIT_TEST(those_that_were_taken_all_at_once_are_spread_over_the_time_that_they_may_wait) {
  OneServer().spreads_its_first_renewals();
}

UNIT_TEST(a_process_that_stood_still_makes_no_flood_of_what_fell_due_meanwhile) {
  OneServer().makes_no_flood_behind_a_standstill();
}

UNIT_MAIN("the pace of renewals", cmocka_unit_test(each_of_many_leases_is_renewed_when_a_third_of_it_is_over),
          cmocka_unit_test(a_loop_that_turns_late_makes_up_for_it),
          cmocka_unit_test(those_that_were_taken_all_at_once_are_spread_over_the_time_that_they_may_wait),
          cmocka_unit_test(a_process_that_stood_still_makes_no_flood_of_what_fell_due_meanwhile))
