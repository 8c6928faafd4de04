// SPDX-License-Identifier: MIT
// Whoever wants thousands of locks over a quorum at once gets them over the connections that there are; and those who
// hold something are kept meanwhile.
#include "support/burst.hpp"

#include "stage.hpp"

using namespace unit;

namespace {

struct ThreeServers : Stage, Burst<Process> {
  ThreeServers() : Stage(3), Burst(world, *a, nodes) { servers_take(kMillisecond / 2); }
};

}  // namespace

UNIT_TEST(the_last_of_many_acquires_takes_longer_than_the_command_time_out_and_each_node_stays) {
  ThreeServers().is_served_over_one_connection(1'000, 3'000);
}

UNIT_TEST(nodes_that_take_long_over_each_are_asked_for_less_at_once) {
  ThreeServers s;
  s.servers_take(3 * kMillisecond);
  s.is_served_over_one_connection(300, 4'000, false);
}

UNIT_TEST(a_lease_is_renewed_on_the_nodes_while_thousands_of_acquires_wait_for_their_turn) {
  ThreeServers().keeps_who_holds_a_lock(4'000, 1'200, 1'800);
}

UNIT_TEST(whoever_waits_for_his_turn_when_his_time_is_over_is_told_so_and_no_node_hears_of_him) {
  ThreeServers s;
  s.acquire(2'000, waiting_ms(100));
  s.world.run_ms(110);
  s.ends_without_a_word(Status::TIMEOUT, 3 * 400 + 100, 2'000);
}

UNIT_TEST(those_who_wait_for_their_turn_get_it_though_a_node_answers_nothing) {
  ThreeServers s;
  s.nodes[2]->freeze();
  s.is_granted(1'000, 5'000);
}

UNIT_TEST(a_node_that_takes_long_over_each_does_not_set_the_pace_of_all) {
  ThreeServers s;
  s.nodes[2]->set_work(20 * kMillisecond);
  s.is_granted(2'000, 6'000);
}

UNIT_TEST(a_lease_is_renewed_on_the_other_nodes_while_one_takes_long_over_each) {
  ThreeServers s;
  s.nodes[2]->set_work(20 * kMillisecond);
  s.keeps_who_holds_a_lock(8'000, 600, 2'500);
}

// The second node answers, with so much before it that others are asked instead.
struct OneFarBehind : ThreeServers {
  OneFarBehind() { nodes[1]->set_work(2 * kMillisecond); }
  void falls_behind() {
    is_granted(700, 2'000);
    EXPECT(a->instance().nodes()[1]->is_ready() && a->instance().nodes()[1]->link.commands_waiting() > 256);
  }
};

UNIT_TEST(a_lease_that_only_a_node_far_behind_can_keep_is_extended_there) {
  OneFarBehind s;
  s.write({2}, "held", Stage::record('d', 7, ""), 100);
  auto &held = s.a->take("held", waiting_ms(0, 30'000));
  s.world.run_ms(200);
  auto &other = s.b->acquire({"held"}, without_waiting());
  s.world.run_ms(100);
  EXPECT(other.is(Status::BUSY));  // the third had it to give, and knows of a later token since
  s.falls_behind();
  const auto extended = s.a->extend(held.grant().handle, 20'000);
  s.world.run_ms(2'000);
  EXPECT(extended->is(Status::OK));
}

UNIT_TEST(a_key_that_is_free_but_for_what_one_node_kept_is_had_over_a_node_far_behind) {
  for (const size_t keeps : {0, 2}) {  // it answers before the other one, or behind it
    OneFarBehind s;
    s.write({keeps}, "k", Stage::record('d', 7, ""));
    s.falls_behind();
    const auto &wanted = s.a->acquire({"k"}, without_waiting());
    s.world.run_ms(2'000);
    EXPECT(wanted.is(Status::OK));
  }
}

UNIT_TEST(a_lease_that_can_be_kept_without_a_node_far_behind_asks_it_nothing) {
  OneFarBehind s;
  const auto &held = s.a->take("held", waiting_ms(0, 30'000));
  s.falls_behind();
  const auto extended = s.a->extend(held.grant().handle, 20'000);
  s.world.run_ms(20);
  EXPECT(extended->is(Status::OK));
}

UNIT_TEST(first_ones_in_line_that_wait_for_a_holder_keep_no_others_from_their_turn) {
  ThreeServers s;
  s.servers_take(0);
  s.is_granted(300, 300);
  for (int i = 0; i < 300; ++i) s.b->acquire({"k" + std::to_string(i)}, waiting_ms(60'000));
  s.world.run_ms(300);
  EXPECT(s.b->take("another").is(Status::OK));
}

UNIT_MAIN("bursts over a quorum",
          cmocka_unit_test(the_last_of_many_acquires_takes_longer_than_the_command_time_out_and_each_node_stays),
          cmocka_unit_test(nodes_that_take_long_over_each_are_asked_for_less_at_once),
          cmocka_unit_test(a_lease_is_renewed_on_the_nodes_while_thousands_of_acquires_wait_for_their_turn),
          cmocka_unit_test(whoever_waits_for_his_turn_when_his_time_is_over_is_told_so_and_no_node_hears_of_him),
          cmocka_unit_test(those_who_wait_for_their_turn_get_it_though_a_node_answers_nothing),
          cmocka_unit_test(a_node_that_takes_long_over_each_does_not_set_the_pace_of_all),
          cmocka_unit_test(a_lease_is_renewed_on_the_other_nodes_while_one_takes_long_over_each),
          cmocka_unit_test(a_lease_that_only_a_node_far_behind_can_keep_is_extended_there),
          cmocka_unit_test(a_lease_that_can_be_kept_without_a_node_far_behind_asks_it_nothing),
          cmocka_unit_test(a_key_that_is_free_but_for_what_one_node_kept_is_had_over_a_node_far_behind),
          cmocka_unit_test(first_ones_in_line_that_wait_for_a_holder_keep_no_others_from_their_turn))
