// SPDX-License-Identifier: MIT
// The front over a quorum where what goes from hand to hand meets outsiders, losses and other requests of its process:
// nobody is overtaken, and no lock goes on that may be lost.
#include "front_scene.hpp"
#include "quorum/forcing.hpp"

using namespace unit;
using namespace unit::front;

UNIT_TEST(with_a_budget_who_came_before_an_outsider_is_served_before_him) {
  Scene s(with_front(50));
  Wanted &before = *s.line_of(1)[0];
  s.world.run_ms(5);
  Wanted &outsider = s.b->acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(200);
  s.a->release(s.held.grant().handle);
  s.world.run_ms(10);
  EXPECT(before.is(Status::OK) && !outsider.ended());
}

UNIT_TEST(a_lock_of_whose_loss_word_has_come_is_not_handed_on_before_that_was_verified) {
  Scene s;
  Wanted &next = *s.line_of(1)[0];
  s.world.run_ms(200);
  for (Node *node : s.nodes) s.world.link(s.a->host(), *node).set_delay(5 * kMillisecond, 5 * kMillisecond);
  s.b->about("k", What::ForceRelease);
  s.world.run_ms(2);
  Wanted &theirs = s.b->acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(6);  // word of all nodes is here; the answer comes 10 ms after it
  const auto released = s.a->release(s.held.grant().handle);
  s.in_no_time();
  const bool two = s.b->holds(theirs.grant().handle) && next.is(Status::OK) && s.a->holds(next.grant().handle);
  s.world.run_ms(30);
  EXPECT(!two);
}

UNIT_TEST(word_of_an_outsider_that_comes_before_the_grant_is_not_lost) {
  Scene s;
  s.a->release(s.held.grant().handle);
  s.world.run_ms(50);
  // One node's register is ahead: a second round makes the token one.
  s.nodes[0]->ask({"SET", "ll1:f:{liblock:k}", std::to_string(s.fence(0) + 5'000'000)});
  Wanted &first = s.a->acquire({"k"}, waiting_ms(10'000));
  s.world.run_for(kMillisecond / 20);
  Wanted &outsider = s.b->acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(5);
  EXPECT(first.is(Status::OK) && !outsider.ended() && s.queued(0) == 1);
  s.world.run_ms(500);
  Wanted &second = s.a->acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(5);
  s.a->release(first.grant().handle);
  s.in_no_time();
  if (second.ended()) s.a->release(second.grant().handle);
  s.world.run_ms(10);
  EXPECT(outsider.is(Status::OK) && !second.ended());
}

UNIT_TEST(one_of_the_same_process_who_waits_at_the_nodes_is_not_overtaken_by_who_stands) {
  Scene s;
  Wanted &holder = *s.line_of(1)[0];
  s.world.run_ms(200);
  s.a->release(s.held.grant().handle);
  s.world.run_ms(200);
  EXPECT(holder.is(Status::OK) && s.passed_on() == 1);
  AcquireParams params = waiting_ms(60'000);
  params.value = "v";
  Wanted &valued = s.a->acquire({"k"}, params);
  s.world.run_ms(300);
  EXPECT(!valued.ended() && s.queued(0) == 1);
  Wanted &later = s.a->acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(5);
  s.a->release(holder.grant().handle);
  s.in_no_time();
  if (later.ended()) s.a->release(later.grant().handle);
  s.world.run_ms(20);
  EXPECT(valued.is(Status::OK) && !later.ended());
}

UNIT_TEST(a_try_does_not_barge_past_who_stands) {
  Scene s;
  Wanted &z = s.a->take("z");
  Wanted &next = *s.line_of(1, waiting_ms(60'000, 5'000, false))[0];
  s.world.run_ms(300);
  s.a->release(z.grant().handle);
  Wanted &tried = s.a->acquire({"k"}, without_waiting());
  s.a->release(s.held.grant().handle);
  s.world.run_ms(20);
  EXPECT(!tried.is(Status::OK) && next.is(Status::OK));
}

UNIT_MAIN("quorum_front_order",
    cmocka_unit_test(with_a_budget_who_came_before_an_outsider_is_served_before_him),
    cmocka_unit_test(a_lock_of_whose_loss_word_has_come_is_not_handed_on_before_that_was_verified),
    cmocka_unit_test(word_of_an_outsider_that_comes_before_the_grant_is_not_lost),
    cmocka_unit_test(one_of_the_same_process_who_waits_at_the_nodes_is_not_overtaken_by_who_stands),
    cmocka_unit_test(a_try_does_not_barge_past_who_stands))
