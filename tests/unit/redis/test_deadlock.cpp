// SPDX-License-Identifier: MIT
// Cycles of owners that wait for each other in different processes of one server. Time and network are moved by hand;
// the server runs the real scripts.
#include "stage.hpp"

using namespace unit;

namespace {

AcquireParams waits(int32_t on_deadlock = LIBLOCK_ON_DEADLOCK_FAIL_SELF) {
  AcquireParams params = waiting_ms(60'000);
  params.on_deadlock = on_deadlock;
  return params;
}

// Two owners, each of a process of its own, that hold a key each.
struct Pair {
  Pair() {
    EXPECT(own_x.ended() == false);
    s.world.run_ms(20);
    EXPECT(own_x.is(Status::OK) && own_y.is(Status::OK));
  }
  Stage s;
  std::shared_ptr<liblock::RemoteOwner> a = s.a.owner("a"), b = s.b.owner("b");
  Wanted &own_x = s.a.acquire({"x"}, without_waiting(), a);
  Wanted &own_y = s.b.acquire({"y"}, without_waiting(), b);
};

}  // namespace

UNIT_TEST(the_wait_that_closes_a_cycle_over_two_processes_ends_within_the_delay) {
  Pair p;
  Wanted &first = p.s.a.acquire({"y"}, waits(), p.a);
  p.s.world.run_ms(500);
  EXPECT(!first.ended());
  Wanted &second = p.s.b.acquire({"x"}, waits(), p.b);
  p.s.world.run_ms(99);
  EXPECT(!second.ended());
  p.s.world.run_ms(3);
  EXPECT(second.is(Status::DEADLOCK) && !first.ended());
  p.s.b.release(p.own_y.grant().handle);
  p.s.world.run_ms(5);
  EXPECT(first.is(Status::OK));
}

UNIT_TEST(two_waits_that_close_a_cycle_together_do_not_both_end) {
  Pair p;
  Wanted &first = p.s.a.acquire({"y"}, waits(), p.a);
  Wanted &second = p.s.b.acquire({"x"}, waits(), p.b);
  p.s.world.run_ms(150);
  EXPECT(first.ended() != second.ended());
  EXPECT((first.ended() ? first : second).is(Status::DEADLOCK));
}

UNIT_TEST(the_youngest_wait_of_a_cycle_is_reached_in_its_process_by_a_message) {
  Pair p;
  Wanted &oldest = p.s.a.acquire({"y"}, waits(LIBLOCK_ON_DEADLOCK_FAIL_YOUNGEST), p.a);
  p.s.world.run_ms(500);
  Wanted &youngest = p.s.b.acquire({"x"}, waits(LIBLOCK_ON_DEADLOCK_REPORT_ONLY), p.b);
  p.s.world.run_ms(150);
  EXPECT(p.s.b.instance().counts.deadlocks.load() == 1);
  EXPECT(!oldest.ended() && !youngest.ended());
  p.s.world.run_ms(1'000);  // it looks again three times in alive_ms
  EXPECT(youngest.is(Status::DEADLOCK) && !oldest.ended());
}

UNIT_TEST(a_cycle_of_three_processes_is_found_by_the_last_wait) {
  Pair p;
  Process c(p.s.world, "c", p.s.node);
  const auto third = c.owner("c");
  Wanted &own_z = c.acquire({"z"}, without_waiting(), third);
  p.s.world.run_ms(10);
  EXPECT(own_z.is(Status::OK));
  Wanted &one = p.s.a.acquire({"y"}, waits(), p.a);
  Wanted &two = p.s.b.acquire({"z"}, waits(), p.b);
  p.s.world.run_ms(500);
  EXPECT(!one.ended() && !two.ended());
  Wanted &last = c.acquire({"x"}, waits(), third);
  p.s.world.run_ms(105);
  EXPECT(last.is(Status::DEADLOCK) && !one.ended() && !two.ended());
}

UNIT_TEST(a_chain_that_is_no_cycle_is_never_reported) {
  Pair p;
  Process c(p.s.world, "c", p.s.node);
  Wanted &one = p.s.b.acquire({"x"}, waits(), p.b);
  Wanted &two = c.acquire({"y"}, waits(), c.owner("c"));
  Wanted &three = c.acquire({"x"}, waits(), c.owner("d"));
  p.s.world.run_ms(5'000);
  EXPECT(!one.ended() && !two.ended() && !three.ended());
  p.s.a.release(p.own_x.grant().handle);
  p.s.world.run_ms(5);
  EXPECT(one.is(Status::OK));
}

UNIT_TEST(a_cycle_through_those_who_stand_ahead_is_found) {
  Pair p;
  Process c(p.s.world, "c", p.s.node);
  const auto third = c.owner("c");
  Wanted &own_z = c.acquire({"z"}, without_waiting(), third);
  Wanted &nobody = p.s.a.take("k");  // of no owner
  Wanted &ahead = c.acquire({"k"}, waits(), third);
  p.s.world.run_ms(10);
  EXPECT(own_z.is(Status::OK));
  Wanted &behind = p.s.a.acquire({"k"}, waits(), p.a);
  p.s.world.run_ms(300);
  EXPECT(!ahead.ended() && !behind.ended());
  // c waits for k, and for what a holds; a waits behind c.
  Wanted &closing = c.acquire({"x"}, waits(), third);
  p.s.world.run_ms(105);
  EXPECT(closing.is(Status::DEADLOCK) && !ahead.ended() && !behind.ended());
  p.s.a.release(nobody.grant().handle);
  p.s.world.run_ms(5);
  EXPECT(ahead.is(Status::OK));
}

UNIT_TEST(what_is_kept_while_waiting_for_a_later_key_counts_as_held) {
  Stage s;
  const auto a = s.a.owner("a"), b = s.b.owner("b");
  Wanted &own_z = s.a.acquire({"z"}, without_waiting(), a);
  s.world.run_ms(10);
  Wanted &several = s.b.acquire({"y", "z"}, waits(), b);  // keeps y
  s.world.run_ms(300);
  EXPECT(own_z.is(Status::OK) && !several.ended());
  Wanted &closing = s.a.acquire({"y"}, waits(), a);
  s.world.run_ms(105);
  EXPECT(closing.is(Status::DEADLOCK) && !several.ended());
}

UNIT_TEST(a_message_about_a_deadlock_that_was_lost_is_made_up_for) {
  Pair p;
  Wanted &first = p.s.a.acquire({"y"}, waits(), p.a);
  p.s.world.run_ms(500);
  Wanted &second = p.s.b.acquire({"x"}, waits(LIBLOCK_ON_DEADLOCK_FAIL_YOUNGEST), p.b);
  p.s.b.host().cut();
  p.s.world.run_ms(2'500);
  p.s.b.host().break_connections();
  p.s.b.host().mend();
  p.s.world.run_ms(2'500);
  EXPECT(first.ended() || second.ended());
}

UNIT_TEST(a_chain_longer_than_the_bound_ends_the_search_and_not_the_server) {
  Stage s;
  std::vector<std::shared_ptr<liblock::RemoteOwner>> owners;
  std::vector<Wanted *> waiting;
  constexpr int kLength = 80;
  for (int i = 0; i < kLength; ++i) {
    owners.push_back(s.a.owner("o" + std::to_string(i)));
    s.a.acquire({"k" + std::to_string(i)}, without_waiting(), owners.back());
  }
  s.world.run_ms(20);
  for (int i = 0; i < kLength; ++i)
    waiting.push_back(
        &s.a.acquire({"k" + std::to_string((i + 1) % kLength)}, waits(), owners[static_cast<size_t>(i)]));
  s.world.run_ms(500);
  for (const Wanted *wanted : waiting) EXPECT(!wanted->ended());  // docs/guide/owners.md says so
}

UNIT_MAIN("deadlocks over processes",
          cmocka_unit_test(the_wait_that_closes_a_cycle_over_two_processes_ends_within_the_delay),
          cmocka_unit_test(two_waits_that_close_a_cycle_together_do_not_both_end),
          cmocka_unit_test(the_youngest_wait_of_a_cycle_is_reached_in_its_process_by_a_message),
          cmocka_unit_test(a_cycle_of_three_processes_is_found_by_the_last_wait),
          cmocka_unit_test(a_chain_that_is_no_cycle_is_never_reported),
          cmocka_unit_test(a_cycle_through_those_who_stand_ahead_is_found),
          cmocka_unit_test(what_is_kept_while_waiting_for_a_later_key_counts_as_held),
          cmocka_unit_test(a_message_about_a_deadlock_that_was_lost_is_made_up_for),
          cmocka_unit_test(a_chain_longer_than_the_bound_ends_the_search_and_not_the_server))
