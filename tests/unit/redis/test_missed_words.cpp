// SPDX-License-Identifier: MIT
// The server's words that a key is free: those of ANY order, of which there is one for each time that a key is left
// free, and which somebody uses or passes on; and those that come where nobody can hear of them yet.
#include <algorithm>

#include "redis/clearing.hpp"
#include "stage.hpp"

using namespace unit;

namespace {

AcquireParams in_order(int32_t order) {
  AcquireParams params = waiting_ms(60'000);
  params.order = order;
  return params;
}
AcquireParams any() { return in_order(LIBLOCK_ORDER_ANY); }

// Another one than those who wait holds two keys. None who waits looks by himself for almost a second.
struct TwoHeld : Stage {
  TwoHeld() : c(world, "c", node), k1(c.take("k1")), k2(c.take("k2")) {}
  Process c;
  Wanted &k1, &k2;
};

// What the server answers next to something that `b` asks about a key takes so long; it is on its way when `then` is
// called.
void slow_down_answer(Stage &s, const std::string &key, Nanos time, const std::function<void()> &then) {
  s.node.on_answer = [&s, key, time, then, was_slowed = false](const auto &words, const auto &) mutable {
    const auto names_b = [](const auto &word) { return word == "b" || word.ends_with("|b"); };
    const bool is_of_b = std::any_of(words.begin(), words.end(), names_b);
    if (was_slowed || !is_of_b || std::find(words.begin(), words.end(), "liblock:" + key) == words.end()) return;
    was_slowed = true;
    liblock_test::sim::Link &link = s.world.link(s.b.host(), s.node);
    link.set_delay(liblock_test::sim::Way::ToHost, time, time);
    s.world.after(1, [&link, then] {
      link.set_delay_of_world();
      then();
    });
  };
}

void goes_on_where_another_key_is_lacking(TwoHeld &s, Process &other) {
  Wanted &both = s.a.acquire({"k1", "k2"}, any());
  s.world.run_ms(5);
  Wanted &one = other.acquire({"k1"}, any());
  s.world.run_ms(100);
  s.c.release(s.k1.grant().handle);
  s.world.run_ms(5);
  EXPECT(one.is(Status::OK) && !both.ended());
  // And who passed it on is woken for what he lacks.
  other.release(one.grant().handle);
  s.world.run_ms(5);
  EXPECT(!both.ended());
  s.c.release(s.k2.grant().handle);
  s.world.run_ms(5);
  EXPECT(both.is(Status::OK));
}

// Who waits in `b` for a key and for replicas has his turn in more than half a second when the key is left free.
struct TurnTaken : Stage {
  TurnTaken() : held(a.take("k")), c(world, "c", node) {}
  static AcquireParams for_replicas(int32_t interval_ms) {
    AcquireParams params = any();
    params.replicas = 1;
    params.replicas_timeout = 700 * kMillisecond;
    params.retry.interval_ms = interval_ms;
    return params;
  }
  // With the first his attempt is under way then, as far as the line of those who wait for their turn.
  static constexpr int32_t kIntervals[] = {10, 1'000};
  void leave_free() {
    world.run_ms(50);
    b.acquire({"slow"}, for_replicas(1'000));
    world.run_ms(50);
    a.release(held.grant().handle);
    world.run_ms(5);
  }
  Wanted &held;
  Process c;
};

}  // namespace

UNIT_TEST(a_word_goes_to_one_who_can_use_it_at_once_and_not_to_one_who_waits_for_his_turn_of_replicas) {
  for (const int32_t interval_ms : TurnTaken::kIntervals) {
    for (const bool is_of_same_process : {true, false}) {
      TurnTaken s;
      Wanted &in_turn = s.b.acquire({"k"}, TurnTaken::for_replicas(interval_ms));
      s.world.run_ms(5);
      Wanted &other = (is_of_same_process ? s.b : s.c).acquire({"k"}, any());
      s.leave_free();
      EXPECT(other.is(Status::OK) && !in_turn.ended());
    }
  }
}

UNIT_TEST(one_who_waits_for_his_turn_of_replicas_comes_for_a_key_that_nobody_else_can_use_until_then) {
  for (const int32_t interval_ms : TurnTaken::kIntervals) {
    for (const bool gives_up : {false, true}) {
      TurnTaken s;
      Wanted &first = s.b.acquire({"k"}, TurnTaken::for_replicas(interval_ms));
      s.world.run_ms(5);
      Wanted &second = s.b.acquire({"k"}, TurnTaken::for_replicas(interval_ms));
      s.leave_free();
      if (gives_up) s.b.cancel(first);
      s.world.run_ms(700);
      EXPECT(!s.is_free("k"));
      s.world.run_ms(700);
      EXPECT((gives_up ? second : first).is(Status::OK));
    }
  }
}

UNIT_TEST(a_word_that_overtakes_an_answer_goes_on_where_it_would_be_used_in_a_turn_of_replicas_only) {
  TurnTaken s;
  s.b.acquire({"first"}, TurnTaken::for_replicas(1'000));
  s.world.run_ms(50);
  s.b.acquire({"slow"}, TurnTaken::for_replicas(1'000));
  Wanted &in_turn = s.b.acquire({"k"}, TurnTaken::for_replicas(1'000));
  Wanted *other = nullptr;
  slow_down_answer(s, "k", 10 * kMillisecond, [&] {
    other = &s.c.acquire({"k"}, any());
    s.world.after(kMillisecond, [&s] { s.a.release(s.held.grant().handle); });
  });
  EXPECT(s.world.run_until([&] { return other != nullptr; }, 1'000));
  s.world.run_ms(15);
  EXPECT(other->is(Status::OK) && !in_turn.ended());
}

UNIT_TEST(a_word_is_not_kept_by_one_who_has_the_key_and_waits_for_replicas) {
  TurnTaken s;
  Wanted &first = s.b.acquire({"k"}, TurnTaken::for_replicas(1'000));
  s.world.run_ms(5);
  Wanted &second = s.b.acquire({"k"}, TurnTaken::for_replicas(1'000));
  s.world.run_ms(50);
  s.a.release(s.held.grant().handle);
  s.world.run_ms(5);
  EXPECT(!s.is_free("k") && !first.ended());
  run_once(s.c.host(), [&s] {
    force_away(s.c.instance(), {"liblock:k", {}, false}, [](Status, const std::string &) {});
  });
  s.world.run_ms(720);
  EXPECT(!s.is_free("k") && !second.ended());
  s.world.run_ms(700);
  EXPECT(second.is(Status::OK));
}

UNIT_TEST(a_word_that_goes_back_slowly_leaves_one_to_be_woken_whose_attempt_came_to_the_server_before_it) {
  TurnTaken s;
  Wanted &in_turn = s.b.acquire({"k"}, TurnTaken::for_replicas(1'000));
  s.world.run_ms(950);
  s.b.acquire({"slow"}, TurnTaken::for_replicas(1'000));
  s.world.run_ms(100);  // he has looked again
  liblock_test::sim::Link &link = s.world.link(s.b.host(), s.node);
  link.set_delay(liblock_test::sim::Way::ToNode, 800 * kMillisecond, 800 * kMillisecond);
  s.a.release(s.held.grant().handle);
  s.world.run_ms(5);
  link.set_delay_of_world();
  Wanted &other = s.c.take("k");
  s.world.run_ms(900);
  s.c.release(other.grant().handle);
  s.world.run_ms(5);
  EXPECT(!s.is_free("k"));
  s.world.run_ms(700);
  EXPECT(in_turn.is(Status::OK));
}

UNIT_TEST(a_word_is_not_passed_round_among_those_who_look_all_the_time_and_lack_another_key) {
  TwoHeld s;
  s.world.link(s.a.host(), s.node).set_delay(kMillisecond, kMillisecond);
  AcquireParams params = any();
  params.retry.interval_ms = 10;
  params.retry.jitter_ms = 0;
  for (int i = 0; i < 96; ++i) {
    s.a.acquire({"k1", "k2"}, params);
    s.world.run_for(kMillisecond / 4);  // some are always under way
  }
  Wanted &one = s.b.acquire({"k1"}, any());
  s.world.run_ms(100);
  s.c.release(s.k1.grant().handle);
  s.world.run_ms(50);
  EXPECT(one.is(Status::OK));
}

UNIT_TEST(a_word_goes_on_to_another_process_where_the_one_that_it_came_to_lacks_another_key) {
  TwoHeld s;
  goes_on_where_another_key_is_lacking(s, s.b);
}

UNIT_TEST(a_word_goes_on_within_the_process_where_the_one_that_it_came_to_lacks_another_key) {
  TwoHeld s;
  goes_on_where_another_key_is_lacking(s, s.a);
}

UNIT_TEST(a_word_that_nobody_can_use_comes_to_each_who_waits_once_and_to_nobody_again) {
  TwoHeld s;
  s.c.take("k3");
  std::vector<Wanted *> waiters;
  for (int i = 0; i < 3; ++i) {
    waiters.push_back(&s.a.acquire({"k1", "k2"}, any()));
    waiters.push_back(&s.b.acquire({"k1", "k3"}, any()));
    s.world.run_ms(2);
  }
  s.world.run_ms(100);
  const uint64_t before = s.node.script_calls();
  s.c.release(s.k1.grant().handle);
  s.world.run_ms(50);
  const uint64_t after = s.node.script_calls();
  EXPECT(after - before == 1 + waiters.size() + 2);  // who asks, and two processes that have nobody left
  s.world.run_ms(500);
  EXPECT(s.node.script_calls() == after && s.is_free("k1"));
  s.c.release(s.k2.grant().handle);
  s.world.run_ms(5);
  EXPECT(std::count_if(waiters.begin(), waiters.end(), [](const Wanted *one) { return one->is(Status::OK); }) == 1);
}

UNIT_TEST(a_word_goes_on_within_the_process_where_the_one_that_it_came_to_was_closed) {
  Stage s;
  Wanted &held = s.a.take("k");
  const auto owner = s.b.owner("o");
  Wanted &first = s.b.acquire({"k"}, any(), owner);
  s.world.run_ms(1);
  Wanted &second = s.b.acquire({"k"}, any());
  s.world.run_ms(100);
  owner->closed.store(true);
  s.a.release(held.grant().handle);
  s.world.run_ms(5);
  EXPECT(first.is(Status::CLOSED) && second.is(Status::OK));
}

UNIT_TEST(a_word_goes_on_where_the_one_that_it_came_to_ends_before_there_was_room_for_its_attempt) {
  Stage s;
  Wanted &held = s.a.take("k");
  Wanted &first = s.b.acquire({"k"}, any());
  s.world.run_ms(1);
  Wanted &second = s.b.acquire({"k"}, any());
  s.world.run_ms(100);
  s.node.set_work(kMillisecond);
  for (int i = 0; i < 190; ++i) {
    std::vector<std::string> keys;
    for (int n = 0; n < 10; ++n) keys.push_back(std::to_string(i) + "." + std::to_string(n));
    s.b.acquire(keys, without_waiting());
  }
  s.world.run_ms(1);
  const uint64_t messages = s.node.messages;
  s.a.release(held.grant().handle);
  EXPECT(s.world.run_until([&] { return s.node.messages > messages; }, 200));
  s.world.run_for(kMillisecond / 2);
  EXPECT(s.b.instance().link.commands_waiting() > 0);
  s.b.cancel(first);
  s.world.run_ms(300);
  EXPECT(first.is(Status::CANCELED) && second.is(Status::OK));
}

UNIT_TEST(a_word_goes_on_where_the_one_that_it_came_to_reenters_the_key_by_then) {
  TwoHeld s;
  const auto owner = s.a.owner("o");
  Wanted &both = s.a.acquire({"k1", "k2"}, any(), owner);
  s.world.run_ms(5);
  Wanted &next = s.a.acquire({"k1"}, any());
  s.c.release(s.k2.grant().handle);
  s.world.run_ms(100);
  liblock_test::sim::Link &link = s.world.link(s.a.host(), s.node);
  link.set_delay(liblock_test::sim::Way::ToHost, 50 * kMillisecond, 50 * kMillisecond);
  s.c.release(s.k1.grant().handle);
  s.world.run_ms(5);
  link.set_delay_of_world();
  Wanted &first = s.a.acquire({"k1"}, in_order(LIBLOCK_ORDER_FIFO), owner);
  s.world.run_ms(5);
  EXPECT(first.is(Status::OK) && both.is(Status::OK));
  s.world.run_ms(60);
  EXPECT(!next.ended());
  s.a.release(both.grant().handle);
  s.a.release(first.grant().handle);
  s.world.run_ms(10);
  EXPECT(next.is(Status::OK));
}

UNIT_TEST(a_word_that_overtakes_the_answer_of_an_attempt_is_kept_for_the_one_that_made_it) {
  Stage s;
  s.a.take("other");
  Wanted &held = s.a.take("k");
  s.b.acquire({"other"}, any());  // messages come to b from now on
  s.world.run_ms(50);
  slow_down_answer(s, "k", 10 * kMillisecond, [&] { s.a.release(held.grant().handle); });
  Wanted &waiter = s.b.acquire({"k"}, any());
  s.world.run_ms(20);
  EXPECT(waiter.is(Status::OK));
}

UNIT_TEST(a_word_that_overtakes_an_answer_brings_nobody_to_ask_again_and_again_who_lacks_another_key) {
  TwoHeld s;
  s.c.take("other");
  s.b.acquire({"other"}, any());
  s.world.run_ms(50);
  slow_down_answer(s, "k1", 10 * kMillisecond, [&] { s.c.release(s.k1.grant().handle); });
  Wanted &both = s.b.acquire({"k1", "k2"}, any());
  s.world.run_ms(30);
  const uint64_t calls = s.node.script_calls();
  s.world.run_ms(500);
  EXPECT(s.node.script_calls() == calls && !both.ended());
  s.c.release(s.k2.grant().handle);
  s.world.run_ms(5);
  EXPECT(both.is(Status::OK));
}

UNIT_TEST(one_who_gives_up_leaves_his_process_to_be_woken_for_another_whose_attempt_is_under_way) {
  Stage s;
  Wanted &held = s.a.take("k");
  Wanted &first = s.b.acquire({"k"}, any());
  s.world.run_ms(50);
  slow_down_answer(s, "k", 10 * kMillisecond, [&] { s.b.cancel(first); });
  Wanted &second = s.b.acquire({"k"}, any());
  s.world.run_ms(50);
  EXPECT(first.is(Status::CANCELED));
  s.a.release(held.grant().handle);
  s.world.run_ms(5);
  EXPECT(second.is(Status::OK));
}

UNIT_TEST(a_release_ahead_of_the_subscription_wakes_a_waiter_whose_answer_comes_behind_that) {
  for (const int32_t order : {LIBLOCK_ORDER_FIFO, LIBLOCK_ORDER_ANY}) {
    for (Nanos moment = 0; moment <= 2 * kMillisecond; moment += kMillisecond / 20) {
      Stage s;
      s.a.take("other");
      Wanted &held = s.a.take("k");
      s.b.acquire({"other"}, without_waiting());  // b has spoken with the server, and does not listen
      s.world.run_ms(50);
      s.b.acquire({"other"}, waiting_ms(60'000));  // b subscribes once it has heard that this one is not free
      s.world.run_for(moment);
      slow_down_answer(s, "k", 10 * kMillisecond, [&] { s.a.release(held.grant().handle); });
      Wanted &waiter = s.b.acquire({"k"}, in_order(order));
      s.world.run_ms(20);
      EXPECT(waiter.is(Status::OK));
    }
  }
}

UNIT_TEST(a_grant_that_nobody_heard_of_is_found_also_where_messages_come_again_while_a_look_is_under_way) {
  int looks = 0;
  for (int64_t moment_ms = 970; moment_ms <= 1'000; ++moment_ms) {
    Stage s;
    Wanted &held = s.a.take("k");
    Wanted &waiter = s.b.acquire({"k"}, waiting_ms(60'000));
    s.world.run_ms(moment_ms);
    s.node.end_connections(true);
    slow_down_answer(s, "k", 40 * kMillisecond, [&] {
      ++looks;
      s.a.release(held.grant().handle);
    });
    s.world.run_ms(90);
    EXPECT(waiter.is(Status::OK));
  }
  EXPECT(looks == 31);
}

UNIT_MAIN(
    "words of a server that come to the wrong one, too early or to nobody",
    cmocka_unit_test(a_word_goes_to_one_who_can_use_it_at_once_and_not_to_one_who_waits_for_his_turn_of_replicas),
    cmocka_unit_test(one_who_waits_for_his_turn_of_replicas_comes_for_a_key_that_nobody_else_can_use_until_then),
    cmocka_unit_test(a_word_that_overtakes_an_answer_goes_on_where_it_would_be_used_in_a_turn_of_replicas_only),
    cmocka_unit_test(a_word_is_not_kept_by_one_who_has_the_key_and_waits_for_replicas),
    cmocka_unit_test(a_word_that_goes_back_slowly_leaves_one_to_be_woken_whose_attempt_came_to_the_server_before_it),
    cmocka_unit_test(a_word_is_not_passed_round_among_those_who_look_all_the_time_and_lack_another_key),
    cmocka_unit_test(a_word_goes_on_to_another_process_where_the_one_that_it_came_to_lacks_another_key),
    cmocka_unit_test(a_word_goes_on_within_the_process_where_the_one_that_it_came_to_lacks_another_key),
    cmocka_unit_test(a_word_that_nobody_can_use_comes_to_each_who_waits_once_and_to_nobody_again),
    cmocka_unit_test(a_word_goes_on_within_the_process_where_the_one_that_it_came_to_was_closed),
    cmocka_unit_test(a_word_goes_on_where_the_one_that_it_came_to_ends_before_there_was_room_for_its_attempt),
    cmocka_unit_test(a_word_goes_on_where_the_one_that_it_came_to_reenters_the_key_by_then),
    cmocka_unit_test(a_word_that_overtakes_the_answer_of_an_attempt_is_kept_for_the_one_that_made_it),
    cmocka_unit_test(a_word_that_overtakes_an_answer_brings_nobody_to_ask_again_and_again_who_lacks_another_key),
    cmocka_unit_test(one_who_gives_up_leaves_his_process_to_be_woken_for_another_whose_attempt_is_under_way),
    cmocka_unit_test(a_release_ahead_of_the_subscription_wakes_a_waiter_whose_answer_comes_behind_that),
    cmocka_unit_test(a_grant_that_nobody_heard_of_is_found_also_where_messages_come_again_while_a_look_is_under_way))
