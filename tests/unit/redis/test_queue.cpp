// SPDX-License-Identifier: MIT
// Wait queues on a server: who is next, how the lock comes to him, and what happens to those who are not there any
// more. Time and network are moved by hand; the server runs the real scripts.
#include "redis/clearing.hpp"
#include "stage.hpp"

using namespace unit;

namespace {

AcquireParams in_order(int32_t order, int32_t priority = 0) {
  AcquireParams params = waiting_ms(60'000);
  params.order = order;
  params.priority = priority;
  return params;
}

constexpr const char *kQueue = "ll1:q:{liblock:k}", *kEntries = "ll1:e:{liblock:k}";

}  // namespace

UNIT_TEST(a_release_hands_the_lock_over_in_one_message_and_one_call) {
  Stage s;
  Wanted &held = s.a.take("k");
  Wanted &waiter = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(50);
  s.a.release(held.grant().handle);   // its script goes with it
  s.world.run_for(kMillisecond / 4);  // one way to the server, and one to the waiter
  EXPECT(waiter.is(Status::OK));
  EXPECT(waiter.grant().token > held.grant().token);
  EXPECT(!s.is_free("k") && s.node.ask({"EXISTS", kQueue, kEntries}).is(0));
  const uint64_t calls = s.node.script_calls();
  s.world.run_ms(200);
  EXPECT(s.node.script_calls() == calls);  // nothing more until the lease is renewed
  s.world.run_ms(20'000);
  EXPECT(s.b.holds(waiter.grant().handle));
}

UNIT_TEST(waiters_of_several_processes_are_served_as_the_server_heard_of_them) {
  Stage s;
  Process c(s.world, "c", s.node);
  Wanted *held = &s.a.take("k");
  std::vector<std::pair<Process *, Wanted *>> waiters;
  for (int i = 0; i < 12; ++i) {
    Process &process = i % 3 == 0 ? s.a : i % 3 == 1 ? s.b : c;
    waiters.emplace_back(&process, &process.acquire({"k"}, waiting_ms(60'000)));
    s.world.run_ms(2);
  }
  Process *holder = &s.a;
  for (auto &[process, waiter] : waiters) {
    for (const auto &[other, later] : waiters) EXPECT(later != waiter || !waiter->ended());
    holder->release(held->grant().handle);
    s.world.run_ms(30);
    EXPECT(waiter->is(Status::OK));
    EXPECT(waiter->grant().token > held->grant().token);
    holder = process;
    held = waiter;
  }
}

UNIT_TEST(orders_hold_between_processes) {
  Stage s;
  Wanted &held = s.a.take("k");
  Wanted &fifo = s.a.acquire({"k"}, in_order(LIBLOCK_ORDER_FIFO));
  s.world.run_ms(2);
  Wanted &low = s.b.acquire({"k"}, in_order(LIBLOCK_ORDER_PRIORITY, -100));
  s.world.run_ms(2);
  Wanted &high = s.b.acquire({"k"}, in_order(LIBLOCK_ORDER_PRIORITY, 100));
  s.world.run_ms(2);
  Wanted &lifo = s.b.acquire({"k"}, in_order(LIBLOCK_ORDER_LIFO));
  s.world.run_ms(2);
  Wanted *last = &held;
  Process *holder = &s.a;
  for (Wanted *next : {&lifo, &high, &fifo, &low}) {
    holder->release(last->grant().handle);
    s.world.run_ms(30);
    EXPECT(next->is(Status::OK));
    last = next;
    holder = next == &fifo ? &s.a : &s.b;
  }
}

UNIT_TEST(a_try_overtakes_nobody_who_waits_and_any_order_does) {
  Stage s;
  s.a.take("k", without_waiting(1'000, false));  // ends by itself, and nobody says so
  Wanted &waiter = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(900);
  s.b.host().pause();
  s.world.run_ms(102);
  EXPECT(s.is_free("k"));
  Wanted &barging = s.a.acquire({"k"}, [] {
    AcquireParams params = without_waiting();
    params.order = LIBLOCK_ORDER_ANY;
    return params;
  }());
  s.world.run_ms(2);
  EXPECT(barging.is(Status::OK));
  s.a.release(barging.grant().handle);
  s.world.run_ms(1);
  Wanted &tried = s.a.acquire({"k"}, without_waiting());
  s.world.run_ms(2);
  EXPECT(tried.is(Status::BUSY));
  s.b.host().mend_if_alive();
  s.world.run_ms(5);
  EXPECT(waiter.is(Status::OK));
}

UNIT_TEST(dead_waiters_hold_up_the_next_one_together_and_not_one_after_the_other) {
  Stage s;
  Wanted &held = s.a.take("k");
  std::vector<std::unique_ptr<Process>> dead;
  for (int i = 0; i < 10; ++i) {
    dead.push_back(std::make_unique<Process>(s.world, "dead" + std::to_string(i), s.node));
    dead.back()->acquire({"k"}, waiting_ms(60'000));
    s.world.run_ms(5);
  }
  Wanted &live = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(5);
  for (const auto &process : dead) process->host().pause();  // their connections stay
  s.a.release(held.grant().handle);
  s.world.run_ms(2'900);
  EXPECT(!live.ended());
  s.world.run_ms(200);
  EXPECT(live.is(Status::OK));
  for (const auto &process : dead) process->host().kill();
}

UNIT_TEST(a_killed_waiter_is_passed_over_at_once) {
  Stage s;
  Process c(s.world, "c", s.node);
  Wanted &held = s.a.take("k");
  c.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(5);
  Wanted &live = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(5);
  c.host().kill();
  s.world.run_ms(5);
  s.a.release(held.grant().handle);
  s.world.run_ms(1);
  EXPECT(live.is(Status::OK));
}

UNIT_TEST(a_handed_lease_never_counts_for_longer_than_on_the_server) {
  for (const int64_t after_ms : {0, 400, 990, 1'500, 2'990}) {
    Stage s;
    Wanted &held = s.a.take("k");
    Wanted &waiter = s.b.acquire({"k"}, waiting_ms(60'000));
    s.world.run_ms(20 + after_ms);
    s.a.release(held.grant().handle);
    s.world.run_for(kMillisecond / 4);
    EXPECT(waiter.is(Status::OK));
    const int64_t there = s.node.ask({"PTTL", "liblock:k"}).integer;
    EXPECT(waiter.grant().remaining < there * kMillisecond);
    EXPECT(waiter.grant().remaining > 1'800 * kMillisecond);  // heard of within a second
  }
}

UNIT_TEST(a_lock_that_is_not_renewed_is_set_to_its_time_to_live_behind_the_hand_over) {
  Stage s;
  Wanted &held = s.a.take("k");
  Wanted &waiter = s.b.acquire({"k"}, waiting_ms(60'000, 20'000, false));
  AcquireParams forever = waiting_ms(60'000);
  forever.ttl = liblock::kNever;
  forever.renew = false;
  s.world.run_ms(500);
  s.a.release(held.grant().handle);
  s.world.run_ms(30);
  EXPECT(waiter.is(Status::OK));
  EXPECT(s.node.ask({"PTTL", "liblock:k"}).integer > 19'900);
  EXPECT(s.b.instance().holds.view(waiter.grant().handle).deadline >
         s.b.host().now() + 19'000 * kMillisecond);
  Wanted &last = s.a.acquire({"k"}, forever);
  s.world.run_ms(50);
  s.b.release(waiter.grant().handle);
  s.world.run_ms(50);
  EXPECT(last.is(Status::OK) && s.node.ask({"PTTL", "liblock:k"}).is(-1));
  EXPECT(s.a.instance().holds.view(last.grant().handle).deadline == liblock::kNever);
}

UNIT_TEST(value_and_metadata_come_with_the_hand_over) {
  Stage s;
  Wanted &held = s.a.take("k");
  const liblock_metadata metadata[] = {{{"job", 3}, {"a|b", 3}}, {{"", 0}, {"4:x", 3}}};
  AcquireParams params = waiting_ms(60'000);
  params.value = "v|1";
  params.metadata = metadata;
  Wanted &waiter = s.b.acquire({"k"}, params);
  s.world.run_ms(50);
  s.a.release(held.grant().handle);
  s.world.run_ms(1);
  EXPECT(waiter.is(Status::OK));
  const std::string record = s.node.ask({"GET", "liblock:k"}).text;
  EXPECT(record.find("|b|@") != std::string::npos && record.ends_with("|v|1"));
  EXPECT(s.node.ask({"HGET", "ll1:m:{liblock:k}", "job"}).is("a|b"));
  EXPECT(s.node.ask({"HGET", "ll1:m:{liblock:k}", ""}).is("4:x"));
  EXPECT(s.node.ask({"PTTL", "ll1:m:{liblock:k}"}).integer > 0);
}

UNIT_TEST(after_its_time_in_the_queue_a_waiter_goes_to_the_end) {
  Stage s;
  Wanted &held = s.a.take("k");
  AcquireParams params = waiting_ms(60'000);
  params.queue_ttl = 500 * kMillisecond;
  Wanted &first = s.b.acquire({"k"}, params);
  s.world.run_ms(100);
  Wanted &second = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(300);
  s.a.release(held.grant().handle);
  s.world.run_ms(1);
  EXPECT(first.is(Status::OK) && !second.ended());  // in time
  Wanted &third = s.a.acquire({"k"}, params);
  s.world.run_ms(10);
  Wanted &fourth = s.a.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(600);
  s.b.release(first.grant().handle);
  s.world.run_ms(20);
  EXPECT(second.is(Status::OK));
  s.b.release(second.grant().handle);
  s.world.run_ms(20);
  EXPECT(fourth.is(Status::OK) && !third.ended());
}

// Releases every ten milliseconds from hand to hand, and a foreign client that tries every millisecond: how often it
// had the key, and how often one of us.
std::pair<int, int> foreign_turns(int64_t gap_ms) {
  liblock::InstanceOptions options;
  options.foreign_gap_ms = gap_ms;
  Stage s(1, options);
  Wanted *held = &s.a.take("k");
  s.world.delay_least = s.world.delay_most = kMillisecond;
  Process *holder = &s.a, *next = &s.b;
  int turns = 0, ours = 0;
  Wanted *waiter = &next->acquire({"k"}, waiting_ms(60'000));
  for (int ms = 0; ms < 2'000; ++ms) {
    s.world.run_ms(1);
    if (s.node.ask({"SET", "liblock:k", "theirs", "NX", "PX", "1000"}).is_ok()) {
      ++turns;
      s.world.run_ms(1);
      s.node.ask({"DEL", "liblock:k"});
    }
    if (waiter->ended()) {
      ++ours;
      std::swap(holder, next);
      held = waiter;
      waiter = &next->acquire({"k"}, waiting_ms(60'000));
      s.world.run_ms(10);
      holder->release(held->grant().handle);
    }
    if (ms == 10) holder->release(held->grant().handle);
  }
  return {turns, ours};
}

UNIT_TEST(a_key_that_goes_from_hand_to_hand_is_left_free_for_foreign_clients_now_and_then) {
  EXPECT(foreign_turns(-1).first == 0);
  const auto [theirs, ours] = foreign_turns(100);
  EXPECT(theirs >= 5 && ours >= 20);
}

UNIT_TEST(whoever_holds_the_first_key_gets_the_second_before_one_that_waits_for_both) {
  Stage s;
  Wanted &first = s.a.take("x");
  Wanted &both = s.b.acquire({"x", "y"}, waiting_ms(60'000));
  s.world.run_ms(10);
  Wanted &second = s.a.acquire({"y"}, without_waiting());
  s.world.run_ms(10);
  EXPECT(second.is(Status::OK));
  s.a.release(first.grant().handle);
  s.world.run_ms(10);
  EXPECT(!both.ended() && !s.is_free("x"));  // it keeps the first, and waits for the second
  s.world.run_ms(10'000);
  EXPECT(!both.ended() && !s.is_free("x"));
  s.a.release(second.grant().handle);
  s.world.run_ms(10);
  EXPECT(both.is(Status::OK));
  EXPECT(both.grant().token > second.grant().token && both.grant().token > first.grant().token);
  const std::string x = s.node.ask({"GET", "liblock:x"}).text, y = s.node.ask({"GET", "liblock:y"}).text;
  EXPECT(x == y);
}

UNIT_TEST(a_kept_key_that_was_taken_away_is_asked_for_again) {
  Stage s;
  Wanted &held = s.a.take("y");
  Wanted &both = s.b.acquire({"x", "y"}, waiting_ms(60'000));
  s.world.run_ms(50);
  s.node.ask({"SET", "liblock:x", "theirs", "PX", "5000"});
  s.a.release(held.grant().handle);
  s.world.run_ms(3'000);
  EXPECT(!both.ended() && s.is_free("y"));  // it waits for the first again, and keeps nothing behind it
  s.world.run_ms(3'000);
  EXPECT(both.is(Status::OK));
}

UNIT_TEST(every_failing_end_of_a_wait_gives_all_back) {
  for (const bool is_cancel : {false, true}) {
    Stage s;
    s.a.take("y");
    Wanted &both = s.b.acquire({"x", "y"}, waiting_ms(2'000));
    s.world.run_ms(1'000);
    EXPECT(!s.is_free("x"));
    if (is_cancel) s.b.cancel(both);
    s.world.run_ms(1'010);
    EXPECT(both.is(is_cancel ? Status::CANCELED : Status::TIMEOUT));
    EXPECT(s.is_free("x"));
    EXPECT(s.node.ask({"EXISTS", "ll1:q:{liblock:y}", "ll1:e:{liblock:y}"}).is(0));
  }
}

UNIT_TEST(waiters_who_do_not_hear_messages_yet_keep_their_places) {
  Stage s;
  Wanted &held = s.a.take("k");
  Wanted &first = s.b.acquire({"k"}, waiting_ms(60'000));
  Wanted &second = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_for(kMillisecond /
                  2);  // the server has heard of them; the connection for messages is being made
  s.a.release(held.grant().handle);
  s.world.run_ms(10);
  EXPECT(first.is(Status::OK) && !second.ended());
}

UNIT_TEST(a_grant_whose_message_was_lost_is_found_within_a_poll) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Stage s(seed);
    Wanted &held = s.a.take("k");
    Wanted &waiter = s.b.acquire({"k"}, waiting_ms(60'000));
    s.world.run_for(50 * kMillisecond + s.world.random.up_to(1'000 * kMillisecond));
    s.a.release(held.grant().handle);
    s.world.run_for(kMillisecond / 10 + kMillisecond / 20);
    s.node.end_connections(true);  // with the message on its way
    s.world.run_ms(1'200);
    EXPECT(waiter.is(Status::OK));
  }
}

UNIT_TEST(whoever_is_sent_away_leaves_and_whoever_is_taken_from_makes_room) {
  Stage s;
  Wanted &held = s.a.take("k");
  Wanted &waiter = s.b.acquire({"k"}, waiting_ms(60'000));
  Wanted &behind = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(50);
  const auto force = [&](bool drops_queue) {
    run_once(s.a.host(), [&s, drops_queue] {
      force_away(s.a.instance(), {"liblock:k", {}, drops_queue}, [](Status, const std::string &) {});
    });
    s.world.run_ms(5);
  };
  force(false);
  EXPECT(held.losses == 1 && waiter.is(Status::OK) && !behind.ended());
  force(true);
  EXPECT(waiter.losses == 1 && behind.is(Status::DEQUEUED) && s.is_free("k"));
  EXPECT(s.node.ask({"EXISTS", kQueue, kEntries}).is(0));
}

UNIT_TEST(a_thousand_waiters_are_heard_of_in_few_calls) {
  Stage s;
  s.a.take("k");
  for (int i = 0; i < 1'000; ++i) s.b.acquire({"k"}, waiting_ms(600'000));
  s.world.run_ms(2'000);
  const uint64_t calls = s.node.script_calls();
  s.world.run_ms(10'000);
  EXPECT(s.node.script_calls() - calls <= 200);  // sixteen a second, and a renewal
}

// Priorities far from zero make numbers so large that they do not grow by one.
UNIT_TEST(who_goes_to_the_end_of_the_queue_is_at_its_end_also_among_the_lowest_of_priorities) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Stage s(seed);
    Wanted &held = s.a.take("k", waiting_ms(0));
    AcquireParams lowest = waiting_ms(60'000);
    lowest.order = LIBLOCK_ORDER_PRIORITY;
    lowest.priority = -1'000'000;
    lowest.age_step = 86'400'000 * kMillisecond;
    AcquireParams first_params = lowest;
    first_params.queue_ttl = 1'000 * kMillisecond;
    s.b.release(s.b.take("other").grant().handle);
    Wanted &first = s.b.acquire({"k"}, first_params);
    s.world.run_ms(100);
    Wanted &second = s.a.acquire({"k"}, lowest);
    s.world.run_ms(1'500);
    s.a.release(held.grant().handle);
    s.world.run_ms(20);
    EXPECT(second.is(Status::OK) && !first.ended());
  }
}

UNIT_MAIN("wait queues on a server",
          cmocka_unit_test(a_release_hands_the_lock_over_in_one_message_and_one_call),
          cmocka_unit_test(waiters_of_several_processes_are_served_as_the_server_heard_of_them),
          cmocka_unit_test(orders_hold_between_processes),
          cmocka_unit_test(a_try_overtakes_nobody_who_waits_and_any_order_does),
          cmocka_unit_test(dead_waiters_hold_up_the_next_one_together_and_not_one_after_the_other),
          cmocka_unit_test(a_killed_waiter_is_passed_over_at_once),
          cmocka_unit_test(a_handed_lease_never_counts_for_longer_than_on_the_server),
          cmocka_unit_test(a_lock_that_is_not_renewed_is_set_to_its_time_to_live_behind_the_hand_over),
          cmocka_unit_test(value_and_metadata_come_with_the_hand_over),
          cmocka_unit_test(after_its_time_in_the_queue_a_waiter_goes_to_the_end),
          cmocka_unit_test(a_key_that_goes_from_hand_to_hand_is_left_free_for_foreign_clients_now_and_then),
          cmocka_unit_test(whoever_holds_the_first_key_gets_the_second_before_one_that_waits_for_both),
          cmocka_unit_test(a_kept_key_that_was_taken_away_is_asked_for_again),
          cmocka_unit_test(every_failing_end_of_a_wait_gives_all_back),
          cmocka_unit_test(waiters_who_do_not_hear_messages_yet_keep_their_places),
          cmocka_unit_test(a_grant_whose_message_was_lost_is_found_within_a_poll),
          cmocka_unit_test(whoever_is_sent_away_leaves_and_whoever_is_taken_from_makes_room),
          cmocka_unit_test(a_thousand_waiters_are_heard_of_in_few_calls),
    cmocka_unit_test(who_goes_to_the_end_of_the_queue_is_at_its_end_also_among_the_lowest_of_priorities))
