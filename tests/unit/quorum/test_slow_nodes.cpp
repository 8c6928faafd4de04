// SPDX-License-Identifier: MIT
// Nodes that answer late or not at all: what they cost, and what comes of answers that are worth nothing any more.
#include "stage.hpp"

using namespace unit;

namespace {

using liblock_test::sim::Way;

struct Scene : Stage {
  using Stage::Stage;
  // How long one try takes, in ms.
  int64_t try_once(const AcquireParams &params, Status expected) {
    const Nanos began = world.now();
    Wanted &wanted = a->acquire({"k"}, params);
    EXPECT(world.run_until([&] { return wanted.ended(); }, 5'000));
    EXPECT(wanted.is(expected));
    const int64_t took_ms = (world.now() - began) / kMillisecond;
    if (expected == Status::OK) a->release(wanted.grant().handle);
    world.run_ms(20);
    return took_ms;
  }
  void set_delay_ms(Process &of, Way way, int64_t ms) {
    for (Node *node : nodes)
      world.link(of.host(), *node).set_delay(way, ms * kMillisecond, ms * kMillisecond);
  }
};

AcquireParams with_all_votes() {
  AcquireParams params = without_waiting();
  params.votes = LIBLOCK_VOTES_ALL;
  return params;
}

AcquireParams carrying(AcquireParams params) {
  params.value = "v";
  return params;
}

}  // namespace

UNIT_TEST(a_node_that_says_nothing_costs_one_time_out_where_it_is_needed_and_nothing_after_that) {
  Scene s;
  s.nodes[4]->freeze();
  EXPECT(s.try_once(with_all_votes(), Status::IN_DOUBT) >= 200);  // it may have granted it
  EXPECT(s.try_once(with_all_votes(), Status::NO_QUORUM) <= 2);
  EXPECT(s.try_once(without_waiting(), Status::OK) <= 5);
}

UNIT_TEST(a_lock_takes_as_long_as_the_slowest_of_those_that_it_needs) {
  Scene s;
  for (int n = 3; n < 5; ++n)
    s.world.link(s.a->host(), *s.nodes[n]).set_delay(60 * kMillisecond, 60 * kMillisecond);
  EXPECT(s.try_once(without_waiting(), Status::OK) <= 5);
  EXPECT(s.try_once(with_all_votes(), Status::OK) >= 120);
}

UNIT_TEST(a_value_that_a_quorum_has_only_when_its_lease_is_over_is_no_grant) {
  Scene s;
  s.set_delay_ms(*s.a, Way::ToNode, 80);
  s.set_delay_ms(*s.a, Way::ToHost, 80);
  Wanted &wanted = s.a->acquire({"k"}, carrying(without_waiting(170, false)));
  s.world.run_ms(165);  // it is promised by now, and the value is on its way
  s.set_delay_ms(*s.a, Way::ToHost, 110);
  EXPECT(s.world.run_until([&] { return wanted.ended(); }, 1'000));
  EXPECT(wanted.is(Status::IN_DOUBT));
  s.world.run_ms(500);
  EXPECT(s.held_on("k") == 0);
}

UNIT_TEST(a_value_that_a_quorum_has_with_less_left_than_is_wanted_is_undone) {
  Scene s;
  s.set_delay_ms(*s.a, Way::ToNode, 80);
  s.set_delay_ms(*s.a, Way::ToHost, 80);
  AcquireParams params = carrying(without_waiting(400, false));
  params.min_remaining = 300 * kMillisecond;
  Wanted &wanted = s.a->acquire({"k"}, params);
  EXPECT(s.world.run_until([&] { return wanted.ended(); }, 1'000));
  EXPECT(wanted.is(Status::TOO_LATE));
  s.world.run_ms(500);
  EXPECT(s.held_on("k") == 0);
}

// Whenever the call comes between two looks of its own.
UNIT_TEST(a_lock_with_a_value_that_was_won_by_a_call_ends_once_however_long_its_value_takes) {
  for (int64_t waited_ms = 200; waited_ms < 1'200; waited_ms += 50) {
    Scene s;
    Wanted &before = s.b->take("k");
    Wanted &waits = s.a->acquire({"k"}, carrying(waiting_ms(20'000)));
    s.world.run_ms(waited_ms);
    s.set_delay_ms(*s.a, Way::ToHost, 90);
    s.set_delay_ms(*s.a, Way::ToNode, 90);
    s.b->release(before.grant().handle);
    s.world.run_ms(3'000);
    EXPECT(waits.is(Status::OK) && s.a->holds(waits.grant().handle));
    EXPECT(s.value_on(0, "k") == "v");
  }
}

UNIT_MAIN(
    "quorum slow nodes",
    cmocka_unit_test(a_node_that_says_nothing_costs_one_time_out_where_it_is_needed_and_nothing_after_that),
    cmocka_unit_test(a_lock_takes_as_long_as_the_slowest_of_those_that_it_needs),
    cmocka_unit_test(a_value_that_a_quorum_has_only_when_its_lease_is_over_is_no_grant),
    cmocka_unit_test(a_value_that_a_quorum_has_with_less_left_than_is_wanted_is_undone),
    cmocka_unit_test(a_lock_with_a_value_that_was_won_by_a_call_ends_once_however_long_its_value_takes))
