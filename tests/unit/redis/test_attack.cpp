// SPDX-License-Identifier: MIT
// What was found by attacking the wait queues of a server: each of these failed once. Time and network are moved by
// hand; the server runs the real scripts.
#include "redis/clearing.hpp"
#include "stage.hpp"

using namespace unit;

UNIT_TEST(a_waiter_of_an_instance_that_has_only_asked_for_replicas_keeps_its_place) {
  Stage s;
  AcquireParams durable = waiting_ms(60'000);
  durable.replicas = 1;
  durable.replicas_timeout = 10 * kMillisecond;
  Wanted &held = s.a.take("k");
  Wanted &in_time = s.b.acquire({"k"}, [&] {
    AcquireParams params = durable;
    params.wait = 100 * kMillisecond;
    return params;
  }());
  Wanted &waiter = s.b.acquire({"k"}, durable);
  s.world.run_ms(200);
  EXPECT(in_time.is(Status::TIMEOUT));
  s.world.run_ms(10'000);
  s.a.release(held.grant().handle);
  s.world.run_ms(100);
  EXPECT(waiter.is(Status::OK));
}

UNIT_TEST(keys_of_which_all_were_reentered_when_they_were_asked_for_and_none_when_that_was_sent_are_asked_for_anew) {
  Stage s;
  const auto me = s.a.owner("me");
  Wanted &first = s.a.acquire({"k"}, waiting_ms(0, 10'000), me);
  s.world.run_ms(10);
  Wanted &second = s.a.acquire({"m"}, waiting_ms(0, 10'000), me);
  s.world.run_ms(10);
  s.node.freeze();
  for (int i = 0; i < 120; ++i) s.a.acquire({"burst" + std::to_string(i)}, waiting_ms(60'000));
  s.world.run_ms(1);
  Wanted &both = s.a.acquire({"k", "m"}, waiting_ms(2'000, 10'000), me);
  s.a.release(first.grant().handle);
  s.a.release(second.grant().handle);
  s.world.run_ms(5);
  s.node.thaw();
  s.world.run_ms(2'000);
  EXPECT(both.is(Status::OK) && s.a.holds(both.grant().handle));
  EXPECT(!s.is_free("k") && !s.is_free("m"));
  s.a.release(both.grant().handle);
  s.world.run_ms(100);
  EXPECT(s.is_free("k") && s.is_free("m"));
}

UNIT_TEST(the_place_of_a_key_that_came_to_be_reentered_is_given_up) {
  Stage s;
  const auto owner = s.b.owner("o");
  Wanted &first = s.a.take("k");
  Wanted &other = s.a.take("m");
  Wanted &alone = s.b.acquire({"k"}, waiting_ms(60'000), owner);
  s.world.run_ms(5);
  AcquireParams params = waiting_ms(60'000);
  params.queue_ttl = 500 * kMillisecond;
  Wanted &both = s.b.acquire({"k", "m"}, params, owner);
  s.world.run_ms(20);
  s.a.release(first.grant().handle);
  s.world.run_ms(20);
  EXPECT(alone.is(Status::OK) && !both.ended());
  s.world.run_ms(1'000);  // it asks again, reenters k, and waits for m
  EXPECT(s.node.ask({"EXISTS", "ll1:q:{liblock:k}"}).is(0));
  EXPECT(s.node.ask({"ZCARD", "ll1:q:{liblock:m}"}).is(1));
  s.a.release(other.grant().handle);
  s.world.run_ms(30);
  EXPECT(both.is(Status::OK));
  s.b.release(alone.grant().handle);
  s.b.release(both.grant().handle);
  s.world.run_ms(30);
  EXPECT(s.is_free("k") && s.is_free("m"));
}

UNIT_TEST(what_is_added_to_a_lock_just_handed_over_is_added_to_its_time_to_live) {
  Stage s;
  Wanted &held = s.a.take("k");
  Wanted &waiter = s.b.acquire({"k"}, waiting_ms(60'000, 20'000, false));
  s.world.run_ms(500);
  waiter.on_end = [&](Wanted &w) { s.b.extend(w.grant().handle, 5'000, false, true); };
  s.a.release(held.grant().handle);
  s.world.run_ms(300);
  EXPECT(waiter.is(Status::OK));
  EXPECT(s.node.ask({"PTTL", "liblock:k"}).integer > 24'000);
}

UNIT_TEST(a_cycle_of_two_is_found_behind_a_long_queue_of_nobody) {
  Stage s;
  const auto a = s.a.owner("a"), b = s.b.owner("b");
  Wanted &own_x = s.a.acquire({"x"}, without_waiting(), a);
  Wanted &own_y = s.b.acquire({"y"}, without_waiting(), b);
  s.world.run_ms(20);
  EXPECT(own_x.is(Status::OK) && own_y.is(Status::OK));
  for (int i = 0; i < 100; ++i) s.a.acquire({"y"}, waiting_ms(60'000));
  s.world.run_ms(20);
  Wanted &first = s.a.acquire({"y"}, waiting_ms(60'000), a);
  s.world.run_ms(20);
  Wanted &second = s.b.acquire({"x"}, waiting_ms(60'000), b);
  s.world.run_ms(2'500);
  EXPECT(first.is(Status::DEADLOCK) || second.is(Status::DEADLOCK));
}

UNIT_TEST(the_notes_of_an_owner_who_waits_again_and_again_do_not_pile_up) {
  Stage s;
  const auto owner = s.b.owner("o");
  Wanted &held = s.a.take("k");
  int64_t most = 0;
  const std::string note = "ll1:o:{" + owner->id() + "}";
  for (int i = 0; i < 400; ++i) {
    s.b.acquire({"k"}, waiting_ms(150), owner);
    s.world.run_ms(160);
    most = std::max<int64_t>(most, s.node.ask({"HLEN", note}).integer);
  }
  EXPECT(held.losses == 0);
  EXPECT(most > 0 && most <= 130);
}

UNIT_TEST(a_cycle_that_closes_with_a_later_key_is_found_within_the_delay) {
  Stage s;
  const auto a = s.a.owner("a"), b = s.b.owner("b");
  Wanted &held = s.a.take("k");
  Wanted &own_x = s.a.acquire({"x"}, without_waiting(), a);
  Wanted &own_y = s.b.acquire({"y"}, without_waiting(), b);
  s.world.run_ms(20);
  EXPECT(own_x.is(Status::OK) && own_y.is(Status::OK));
  Wanted &first = s.a.acquire({"y"}, waiting_ms(60'000), a);
  Wanted &moves = s.b.acquire({"k", "x"}, waiting_ms(60'000), b);
  s.world.run_ms(120);
  EXPECT(!first.ended() && !moves.ended());
  s.a.release(held.grant().handle);
  s.world.run_ms(10);
  EXPECT(s.node.ask({"ZCARD", "ll1:q:{liblock:x}"}).is(1));
  s.world.run_ms(110);
  EXPECT(first.is(Status::DEADLOCK) || moves.is(Status::DEADLOCK));
}

UNIT_TEST(a_wait_that_ends_behind_a_turn_of_replicas_gives_its_place_up_at_once) {
  Stage s;
  AcquireParams durable = waiting_ms(60'000);
  durable.replicas = 1;
  durable.replicas_timeout = 4'000 * kMillisecond;
  Wanted &held = s.a.take("k");
  AcquireParams short_wait = durable;
  short_wait.wait = 200 * kMillisecond;
  Wanted &waiter = s.b.acquire({"k"}, short_wait);
  s.world.run_ms(50);
  Wanted &slow = s.b.acquire({"other"}, durable);
  s.world.run_ms(20);
  Wanted &behind = s.a.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(20);
  s.a.release(held.grant().handle);
  s.world.run_ms(300);
  EXPECT(waiter.is(Status::TIMEOUT) && !slow.ended());
  EXPECT(behind.is(Status::OK));
}

UNIT_TEST(one_key_with_something_strange_beside_it_does_not_end_the_waits_for_others) {
  Stage s;
  s.a.take("k");
  s.a.take("odd");
  Wanted &waiter = s.b.acquire({"k"}, waiting_ms(60'000));
  Wanted &odd = s.b.acquire({"odd"}, waiting_ms(60'000));
  s.world.run_ms(50);
  s.node.ask({"DEL", "ll1:q:{liblock:odd}"});
  s.node.ask({"SET", "ll1:q:{liblock:odd}", "what"});
  s.world.run_ms(3'000);
  EXPECT(odd.is(Status::WRONG_TYPE));
  EXPECT(!waiter.ended());
}

UNIT_TEST(a_newcomer_does_not_make_the_first_in_line_look_later_for_a_foreign_lock) {
  Stage s;
  s.node.ask({"SET", "liblock:k", "theirs"});
  Wanted &first = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(30);
  s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(3);
  s.node.ask({"DEL", "liblock:k"});
  s.world.run_ms(150);
  EXPECT(first.is(Status::OK));
}

UNIT_TEST(instances_that_are_gone_do_not_pile_up_in_a_queue_that_is_never_empty) {
  Stage s;
  s.a.take("k");
  s.b.acquire({"k"}, waiting_ms(3'600'000));
  s.world.run_ms(5);
  int64_t most = 0;
  for (int i = 0; i < 300; ++i) {
    Process c(s.world, "c" + std::to_string(i), s.node);
    Wanted &wanted = c.acquire({"k"}, waiting_ms(50));
    s.world.run_ms(100);
    EXPECT(wanted.is(Status::TIMEOUT));
    c.end();
    most = std::max<int64_t>(most, s.node.ask({"HLEN", "ll1:e:{liblock:k}"}).integer);
  }
  EXPECT(most < 200);
}

UNIT_TEST(who_waits_is_sent_away_also_where_that_word_overtakes_the_answer_of_his_attempt) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Stage s(seed);
    s.a.take("k");
    s.b.acquire({"k"}, waiting_ms(10));  // messages come to b from now on
    s.world.run_ms(50);
    s.world.delay_least = 0;
    s.world.delay_most = 10 * kMillisecond;
    Wanted &waiter = s.b.acquire({"k"}, waiting_ms(60'000));
    EXPECT(s.world.run_until([&] { return s.node.ask({"ZCARD", "ll1:q:{liblock:k}"}).is(1); }, 100));
    run_once(s.a.host(), [&] {
      force_away(s.a.instance(), {"liblock:k", {}, true}, [](Status, const std::string &) {});
    });
    s.world.run_ms(1);
    s.world.run_ms(100);
    EXPECT(waiter.is(Status::DEQUEUED));
    EXPECT(s.node.ask({"ZCARD", "ll1:q:{liblock:k}"}).is(0));
  }
}

UNIT_TEST(whoever_came_after_the_others_were_sent_away_stays) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Stage s(seed);
    s.a.take("k");
    Wanted &before = s.b.acquire({"k"}, waiting_ms(60'000));
    s.world.run_ms(50);
    s.world.delay_most = 40 * kMillisecond;
    run_once(s.a.host(), [&s] {
      force_away(s.a.instance(), {"liblock:k", {}, true}, [](Status, const std::string &) {});
    });
    EXPECT(s.world.run_until([&] { return s.is_free("k"); }, 1'000));
    s.node.ask({"SET", "liblock:k", "theirs"});
    Wanted &after = s.b.acquire({"k"}, waiting_ms(60'000));
    s.world.run_ms(300);  // the message to b may be behind the answer
    EXPECT(before.is(Status::DEQUEUED) && !after.ended());
  }
}

UNIT_TEST(a_wait_that_only_reports_stays_visible_to_the_searches_of_others) {
  Stage s;
  const auto a = s.a.owner("a"), b = s.b.owner("b");
  Wanted &own_x = s.a.acquire({"x"}, without_waiting(), a);
  Wanted &own_y = s.b.acquire({"y"}, without_waiting(), b);
  s.world.run_ms(20);
  EXPECT(own_x.is(Status::OK) && own_y.is(Status::OK));
  AcquireParams reports = waiting_ms(600);
  reports.on_deadlock = LIBLOCK_ON_DEADLOCK_REPORT_ONLY;
  Wanted &once = s.b.acquire({"x"}, reports, b);
  s.world.run_ms(200);
  reports.wait = 60'000 * kMillisecond;
  Wanted &stays = s.a.acquire({"y"}, reports, a);
  s.world.run_ms(300);
  EXPECT(s.a.instance().counts.deadlocks.load() == 1);
  s.world.run_ms(5'000);
  EXPECT(once.is(Status::TIMEOUT) && !stays.ended());
  Wanted &again = s.b.acquire({"x"}, waiting_ms(60'000), b);
  s.world.run_ms(1'200);
  EXPECT(again.is(Status::DEADLOCK) && !stays.ended());
  EXPECT(s.a.instance().counts.deadlocks.load() == 1);  // told once
}

UNIT_MAIN("attacks on wait queues",
          cmocka_unit_test(a_waiter_of_an_instance_that_has_only_asked_for_replicas_keeps_its_place),
          cmocka_unit_test(
              keys_of_which_all_were_reentered_when_they_were_asked_for_and_none_when_that_was_sent_are_asked_for_anew),
          cmocka_unit_test(the_place_of_a_key_that_came_to_be_reentered_is_given_up),
          cmocka_unit_test(what_is_added_to_a_lock_just_handed_over_is_added_to_its_time_to_live),
          cmocka_unit_test(a_cycle_of_two_is_found_behind_a_long_queue_of_nobody),
          cmocka_unit_test(the_notes_of_an_owner_who_waits_again_and_again_do_not_pile_up),
          cmocka_unit_test(a_cycle_that_closes_with_a_later_key_is_found_within_the_delay),
          cmocka_unit_test(a_wait_that_ends_behind_a_turn_of_replicas_gives_its_place_up_at_once),
          cmocka_unit_test(one_key_with_something_strange_beside_it_does_not_end_the_waits_for_others),
          cmocka_unit_test(a_newcomer_does_not_make_the_first_in_line_look_later_for_a_foreign_lock),
          cmocka_unit_test(instances_that_are_gone_do_not_pile_up_in_a_queue_that_is_never_empty),
          cmocka_unit_test(who_waits_is_sent_away_also_where_that_word_overtakes_the_answer_of_his_attempt),
          cmocka_unit_test(whoever_came_after_the_others_were_sent_away_stays),
          cmocka_unit_test(a_wait_that_only_reports_stays_visible_to_the_searches_of_others))
