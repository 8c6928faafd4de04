// SPDX-License-Identifier: MIT
// Many leases of one process over a quorum: each is renewed when a third of it is over, and their rounds never leave as
// a heap.
#include "support/crowd.hpp"

#include "stage.hpp"

using namespace unit;

namespace {

constexpr uint64_t kFewCalls = 6;  // of 16 renewals; at an even pace one comes in 8 ms

struct ThreeServers : Stage, Crowd<Process> {
  ThreeServers() : Stage(3), Crowd(Stage::world, *a, *nodes[0], 1'000, 1'500, kFewCalls) {}
};

}  // namespace

UNIT_TEST(each_of_many_leases_over_a_quorum_is_renewed_when_a_third_of_it_is_over) {
  ThreeServers().keeps_an_even_pace();
}

UNIT_TEST(a_loop_that_turns_late_makes_up_for_it) {
  ThreeServers crowd;
  crowd.turn_ms = 15;
  crowd.keeps_an_even_pace();
}

UNIT_TEST(those_that_were_taken_all_at_once_are_spread_over_the_time_that_they_may_wait) {
  ThreeServers().spreads_its_first_renewals();
}

UNIT_TEST(a_process_that_stood_still_makes_no_flood_of_what_fell_due_meanwhile) {
  ThreeServers().makes_no_flood_behind_a_standstill();
}

UNIT_MAIN("the pace of renewals over a quorum",
          cmocka_unit_test(each_of_many_leases_over_a_quorum_is_renewed_when_a_third_of_it_is_over),
          cmocka_unit_test(a_loop_that_turns_late_makes_up_for_it),
          cmocka_unit_test(those_that_were_taken_all_at_once_are_spread_over_the_time_that_they_may_wait),
          cmocka_unit_test(a_process_that_stood_still_makes_no_flood_of_what_fell_due_meanwhile))
