// SPDX-License-Identifier: MIT
// The life of an acquire on a server: attempts, waiting, being woken, ends of every kind. Time and network are
// moved by hand; the server runs the real scripts.
#include <algorithm>

#include "stage.hpp"

using namespace unit;

AcquireParams replicated(AcquireParams params, int64_t timeout_ms) {
  params.replicas = 1;
  params.replicas_timeout = timeout_ms * kMillisecond;
  return params;
}

UNIT_TEST(a_free_key_costs_one_script_call_and_its_release_one) {
  Stage s;
  s.a.release(s.a.take("k").grant().handle);  // the server knows the scripts now
  s.world.run_ms(10);
  Wanted &lock = s.a.take("k");
  const uint64_t calls = s.node.script_calls();
  EXPECT(s.a.release(lock.grant().handle)->times == 0);  // not before the server said so
  s.world.run_ms(10);
  Wanted &again = s.a.take("k");
  EXPECT(s.node.script_calls() == calls + 2);
  EXPECT(again.grant().token > lock.grant().token);
  EXPECT(again.grant().attempts == 1);
}

UNIT_TEST(a_key_that_is_held_is_busy_for_one_try) {
  Stage s;
  s.a.take("k");
  Wanted &second = s.b.acquire({"k"}, without_waiting());
  s.world.run_ms(10);
  EXPECT(second.is(Status::BUSY));
}

UNIT_TEST(a_release_wakes_the_waiter_without_a_poll) {
  Stage s;
  Wanted &held = s.a.take("k");
  Wanted &waiter = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(5'500);  // between two polls
  EXPECT(!waiter.ended());
  s.a.release(held.grant().handle);
  s.world.run_ms(2);  // one way to the server, one to the waiter, and there and back again
  EXPECT(waiter.is(Status::OK));
  EXPECT((waiter.grant().flags & LIBLOCK_RESULT_WAITED) != 0);
}

UNIT_TEST(a_lease_that_ends_by_itself_frees_the_key_without_a_poll) {
  Stage s;
  Wanted &held = s.a.take("k", waiting_ms(1'000, 2'500, false));
  Wanted &waiter = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(2'498);
  EXPECT(!waiter.ended());
  EXPECT(held.losses == 1);  // 1 % and 2 ms before the server thinks so
  s.world.run_ms(6);
  EXPECT(waiter.is(Status::OK));
}

UNIT_TEST(a_wake_up_that_overtakes_the_answer_of_an_attempt_is_not_lost) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Stage s(seed);
    Wanted &held = s.a.take("k");
    s.b.acquire({"k"}, waiting_ms(10));  // messages come to b from now on
    s.world.run_ms(50);
    s.world.delay_least = 0;
    s.world.delay_most = 10 * kMillisecond;
    Wanted &waiter = s.b.acquire({"k"}, waiting_ms(60'000));
    s.world.run_for(s.world.random.up_to(12) * kMillisecond);
    s.a.release(held.grant().handle);
    s.world.run_ms(60);
    EXPECT(waiter.is(Status::OK));
  }
}

UNIT_TEST(a_message_that_nobody_heard_costs_no_more_than_the_safety_net) {
  Stage s;
  Wanted &held = s.a.take("k");
  Wanted &waiter = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(100);
  s.b.host().cut();
  s.a.release(held.grant().handle);
  s.world.run_ms(50);
  s.b.host().break_connections();  // and with them, what was on its way
  s.b.host().mend();
  s.world.run_ms(1'200);
  EXPECT(waiter.is(Status::OK));
}

UNIT_TEST(a_subscription_that_ends_is_made_again_and_the_key_looked_at) {
  Stage s;
  Wanted &held = s.a.take("k");
  Wanted &waiter = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(100);
  s.node.end_connections(true);
  s.a.release(held.grant().handle);
  s.world.run_ms(60);  // the first pause is 25 ms at most
  EXPECT(waiter.is(Status::OK));
}

// Of the second process, what reaches the server: 'a' an attempt, 's' a subscription.
std::string attempts_and_subscriptions(Stage &s, int64_t ms) {
  std::string order;
  s.node.on_answer = [&](const auto &words, const auto &) {
    if (words.front() == "SUBSCRIBE" && words.at(1) == "ll1:i:b") order += 's';
    const auto names_b = [](const auto &word) { return word == "b" || word.ends_with("|b"); };
    const bool is_of_b = std::any_of(words.begin(), words.end(), names_b);
    if (is_of_b && std::find(words.begin(), words.end(), "liblock:k") != words.end()) order += 'a';
  };
  s.world.run_ms(ms);
  s.node.on_answer = nullptr;
  return order;
}

UNIT_TEST(the_attempt_on_whose_answer_a_waiter_waits_comes_after_its_subscription) {
  Stage s;
  s.a.take("k");
  s.b.acquire({"k"}, waiting_ms(60'000));
  // The first tells that the key is not free, without which nobody has to subscribe; and it takes the place in line.
  EXPECT(attempts_and_subscriptions(s, 100) == "asa");
  // Those that come later find it subscribed: their only attempt comes after that.
  s.b.acquire({"k"}, waiting_ms(60'000));
  EXPECT(attempts_and_subscriptions(s, 100) == "a");
}

UNIT_TEST(every_subscription_that_is_made_again_is_followed_by_an_attempt) {
  Stage s;
  s.a.take("k");
  s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(100);
  for (int cut = 0; cut < 10; ++cut) {
    s.node.end_connections(true);
    EXPECT(attempts_and_subscriptions(s, 900) == "sa");
  }
}

UNIT_TEST(a_release_at_any_moment_around_a_subscription_wakes_the_waiter_without_a_poll) {
  for (Nanos moment = 0; moment <= 4 * kMillisecond; moment += kMillisecond / 50) {
    Stage s;
    Wanted &held = s.a.take("k");
    Wanted &waiter = s.b.acquire({"k"}, waiting_ms(60'000));
    s.world.run_for(moment);
    s.a.release(held.grant().handle);
    s.world.run_ms(10);  // a tenth of what the shortest poll takes
    EXPECT(waiter.is(Status::OK));
  }
}

UNIT_TEST(a_foreign_lock_that_is_deleted_is_noticed_by_looking) {
  Stage s;
  s.node.ask({"SET", "liblock:k", "theirs", "PX", "60000", "NX"});
  Wanted &waiter = s.a.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(3'000);
  EXPECT(!waiter.ended());
  s.node.ask({"DEL", "liblock:k"});
  s.world.run_ms(102);
  EXPECT(waiter.is(Status::OK));
}

UNIT_TEST(a_waiter_times_out_to_the_millisecond_and_leaves_nothing_behind) {
  Stage s;
  Wanted &held = s.a.take("k");
  Wanted &waiter = s.b.acquire({"k"}, waiting_ms(700));
  s.world.run_ms(699);
  EXPECT(!waiter.ended());
  s.world.run_ms(2);
  EXPECT(waiter.is(Status::TIMEOUT));
  s.a.release(held.grant().handle);
  s.world.run_ms(10);
  EXPECT(s.is_free("k"));
  EXPECT(s.node.ask({"EXISTS", "ll1:q:{liblock:k}", "ll1:e:{liblock:k}"}).is(0));
}

UNIT_TEST(a_grant_that_comes_after_its_request_was_canceled_is_undone) {
  Stage s;
  s.world.delay_least = s.world.delay_most = 5 * kMillisecond;
  s.a.release(s.a.take("warm-up").grant().handle);
  s.world.run_ms(50);
  Wanted &wanted = s.a.acquire({"k"}, waiting_ms(10'000));
  s.world.run_ms(6);  // the server has granted it; the answer is on its way
  EXPECT(!s.is_free("k"));
  s.a.cancel(wanted);
  s.world.run_ms(1);
  EXPECT(wanted.is(Status::CANCELED));
  s.world.run_ms(30);
  EXPECT(s.is_free("k"));
}

UNIT_TEST(a_request_that_reaches_the_server_after_its_end_is_refused_there) {
  Stage s;
  s.a.release(s.a.take("warm-up").grant().handle);
  s.world.run_ms(50);
  s.node.freeze();
  Wanted &wanted = s.a.acquire({"k"}, waiting_ms(800));
  s.world.run_ms(900);
  EXPECT(wanted.is(Status::TIMEOUT) || wanted.is(Status::IN_DOUBT) || wanted.is(Status::CONNECT));
  s.world.run_ms(4'000);
  s.node.thaw();  // it arrives now, and so does what was sent to undo it
  s.world.run_ms(500);
  EXPECT(s.is_free("k"));
}

UNIT_TEST(scripts_that_the_server_forgot_are_sent_again_once) {
  Stage s;
  s.a.release(s.a.take("k").grant().handle);
  s.world.run_ms(5);
  s.node.ask({"SCRIPT", "FLUSH"});
  const uint64_t bodies = s.node.count("eval"), hashes = s.node.count("evalsha");
  s.a.release(s.a.take("k").grant().handle);
  s.world.run_ms(5);
  EXPECT(s.node.count("eval") == bodies + 2);
  EXPECT(s.node.count("evalsha") == hashes + 2);
}

UNIT_TEST(waiters_of_one_process_queue_once_each_and_are_heard_of_together) {
  Stage s;
  Wanted &held = s.a.take("k");
  s.b.release(s.b.take("warm-up").grant().handle);
  std::vector<Wanted *> waiters;
  const uint64_t before = s.node.script_calls();
  for (int i = 0; i < 50; ++i) waiters.push_back(&s.b.acquire({"k"}, waiting_ms(60'000)));
  s.world.run_ms(500);
  EXPECT(s.node.script_calls() <= before + 55);  // what each tried as it came, and the head until it is woken
  const uint64_t asked = s.node.script_calls();
  s.world.run_ms(3'000);
  EXPECT(s.node.script_calls() <= asked + 5);  // three looks, and a renewal by a script that was not known
  s.a.release(held.grant().handle);
  for (Wanted *waiter : waiters) {
    EXPECT(s.world.run_until([&] { return waiter->ended(); }, 50));
    EXPECT(waiter->is(Status::OK));  // in the order in which they came
    s.b.release(waiter->grant().handle);
  }
}

UNIT_TEST(several_keys_are_granted_together_and_only_those_before_a_busy_one_are_kept_meanwhile) {
  Stage s;
  Wanted &held = s.a.take("k2");
  Wanted &tried = s.b.acquire({"k1", "k2", "k3"}, without_waiting());
  Wanted &waiter = s.b.acquire({"k3", "k2", "k1"}, waiting_ms(10'000));
  s.world.run_ms(50);
  EXPECT(tried.is(Status::BUSY));
  EXPECT(!s.is_free("k1") && s.is_free("k3"));
  s.a.release(held.grant().handle);
  s.world.run_ms(5);
  EXPECT(waiter.is(Status::OK));
  EXPECT(!s.is_free("k1") && !s.is_free("k2") && !s.is_free("k3"));
}

UNIT_TEST(a_grant_does_not_time_out_while_replicas_are_waited_for) {
  Stage s;
  Wanted &lock = s.a.acquire({"k"}, replicated(waiting_ms(100), 1'000));
  s.world.run_ms(1'010);
  EXPECT(lock.is(Status::OK) && lock.grant().replicas == 0);
  EXPECT((lock.grant().flags & LIBLOCK_RESULT_FEWER_REPLICAS) != 0);
}

UNIT_TEST(waiting_for_replicas_leaves_half_of_a_short_lease) {
  Stage s;
  Wanted &lock = s.a.acquire({"k"}, replicated(without_waiting(500), 1'000));
  s.world.run_ms(260);
  EXPECT(lock.is(Status::OK) && lock.grant().remaining > 200 * kMillisecond);
  s.world.run_ms(5'000);
  EXPECT(s.a.holds(lock.grant().handle));
}

UNIT_TEST(a_canceled_grant_that_waits_for_replicas_frees_its_key_at_once) {
  Stage s;
  Wanted &lock = s.a.acquire({"k"}, replicated(waiting_ms(60'000), 10'000));
  s.world.run_ms(100);
  EXPECT(!s.is_free("k"));
  s.a.cancel(lock);
  s.world.run_ms(5);
  EXPECT(lock.is(Status::CANCELED) && s.is_free("k"));
}

// Arrivals in b, each of which gives up after wait_ms, one every so many milliseconds; how many were granted.
int granted_while_they_give_up(Stage &s, const AcquireParams &params, int64_t every_ms, int64_t for_ms) {
  std::vector<Wanted *> all;
  for (int64_t at = 0; at < for_ms; at += every_ms) {
    all.push_back(&s.b.acquire({"k"}, params));
    s.world.run_ms(every_ms);
  }
  int granted = 0;
  for (const Wanted *wanted : all) granted += wanted->is(Status::OK);
  return granted;
}

UNIT_TEST(a_free_key_is_granted_however_often_waiters_give_up) {
  for (const int32_t order : {LIBLOCK_ORDER_FIFO, LIBLOCK_ORDER_LIFO, LIBLOCK_ORDER_PRIORITY}) {
    Stage s;
    s.a.take("k", without_waiting(2'000, false));  // nobody will say that it is free
    AcquireParams params = waiting_ms(450);
    params.order = order;
    EXPECT(granted_while_they_give_up(s, params, 200, 3'000) > 0);
  }
}

UNIT_TEST(a_release_wakes_those_who_are_still_there_however_often_waiters_gave_up) {
  Stage s;
  Wanted &held = s.a.take("k");
  EXPECT(granted_while_they_give_up(s, waiting_ms(450), 200, 12'000) == 0);
  s.a.release(held.grant().handle);
  s.world.run_ms(3);
  EXPECT(!s.is_free("k"));
}

UNIT_TEST(a_cancel_takes_nobody_elses_place) {
  for (uint64_t seed = 1; seed <= 80; ++seed) {
    Stage s(seed);
    Wanted &held = s.a.take("k");
    s.b.acquire({"k"}, waiting_ms(10));
    s.world.run_ms(50);
    s.world.delay_most = kMillisecond;
    Wanted &canceled = s.b.acquire({"k"}, waiting_ms(60'000));
    Wanted &waiter = s.b.acquire({"k"}, waiting_ms(60'000));
    s.world.run_for(s.world.random.up_to(3 * kMillisecond));
    s.b.cancel(canceled);
    s.world.run_ms(10);
    s.a.release(held.grant().handle);
    s.world.run_ms(8);
    EXPECT(waiter.is(Status::OK));
  }
}

UNIT_TEST(nothing_of_a_canceled_request_stays_whenever_that_was) {
  for (uint64_t seed = 1; seed <= 80; ++seed) {
    Stage s(seed);
    s.a.take("k");
    AcquireParams params = waiting_ms(60'000);
    params.retry.retries_max = 1'000'000;
    params.retry.interval_ms = params.retry.jitter_ms = 2;
    Wanted &wanted = s.a.acquire({"k"}, params);
    s.world.run_for(s.world.random.up_to(20 * kMillisecond));
    s.a.cancel(wanted);
    s.world.run_ms(5);
    EXPECT(wanted.is(Status::CANCELED));
    EXPECT(s.node.ask({"EXISTS", "ll1:q:{liblock:k}", "ll1:e:{liblock:k}"}).is(0));
  }
}

UNIT_TEST(the_next_one_is_woken_when_a_canceled_grant_is_undone) {
  for (uint64_t seed = 1; seed <= 80; ++seed) {
    Stage s(seed);
    Wanted &held = s.a.take("k");
    Wanted &canceled = s.b.acquire({"k"}, waiting_ms(60'000));
    s.world.run_ms(10);
    Wanted &waiter = s.b.acquire({"k"}, waiting_ms(60'000));
    s.world.run_ms(50);
    s.world.delay_least = s.world.delay_most = kMillisecond;
    s.a.release(held.grant().handle);
    s.world.run_for(s.world.random.up_to(5 * kMillisecond));
    s.b.cancel(canceled);
    s.world.run_ms(20);
    EXPECT(waiter.is(Status::OK) || (canceled.is(Status::OK) && !waiter.ended()));
  }
}

UNIT_TEST(a_lock_on_several_keys_takes_nobody_elses_place_on_one_of_them) {
  Stage s;
  Wanted &held = s.a.acquire({"x", "y"}, without_waiting());
  s.world.run_ms(5);
  Wanted &both = s.b.acquire({"x", "y"}, waiting_ms(60'000));
  s.world.run_ms(5);
  Wanted &one = s.b.acquire({"y"}, waiting_ms(60'000));
  s.world.run_ms(50);
  s.a.release(held.grant().handle);
  s.world.run_ms(5);
  Wanted &first = both.ended() ? both : one;
  EXPECT(first.is(Status::OK));
  s.b.release(first.grant().handle);
  s.world.run_ms(5);
  EXPECT(both.is(Status::OK) && one.is(Status::OK));
}

UNIT_TEST(a_grant_that_waited_for_replicas_takes_no_token_of_its_owner_back) {
  Stage s;
  const auto owner = s.a.owner("o");
  s.a.acquire({"k"}, waiting_ms(1'000), owner);
  s.world.run_ms(20);
  Wanted &slow = s.a.acquire({"k", "x"}, replicated(waiting_ms(60'000), 300), owner);
  s.world.run_ms(20);
  Wanted &fast = s.a.acquire({"k", "y"}, waiting_ms(1'000), owner);
  s.world.run_ms(20);
  EXPECT(fast.is(Status::OK) && !slow.ended());
  s.a.release(fast.grant().handle);  // its token stays with what he holds
  s.world.run_ms(2'000);
  EXPECT(slow.is(Status::OK) && slow.grant().token > fast.grant().token);
}

UNIT_TEST(a_request_for_replicas_that_was_canceled_before_its_answer_leaves_nothing) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Stage s(seed);
    s.a.acquire({"warm-up"}, replicated(without_waiting(), 1));
    s.world.run_ms(50);
    s.world.delay_least = s.world.delay_most = 5 * kMillisecond;
    AcquireParams params = replicated(waiting_ms(60'000), 10'000);
    params.ttl = liblock::kNever;
    Wanted &wanted = s.a.acquire({"k"}, params);
    s.world.run_for(s.world.random.up_to(12 * kMillisecond));
    s.a.cancel(wanted);
    s.world.run_ms(40);
    EXPECT(wanted.is(Status::CANCELED) && s.is_free("k"));
  }
}

UNIT_TEST(an_owner_that_was_closed_asks_in_vain_and_at_once) {
  Stage s;
  s.a.take("k");
  s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(5);
  const auto owner = s.b.owner("me");
  owner->closed.store(true);
  Wanted &wanted = s.b.acquire({"k"}, waiting_ms(60'000), owner);
  s.world.run_ms(1);
  EXPECT(wanted.is(Status::CLOSED));
}

UNIT_TEST(closing_ends_a_thousand_waiters_and_frees_what_is_held) {
  Stage s;
  Wanted &held = s.a.take("k");
  s.b.take("mine");
  std::vector<Wanted *> waiters;
  for (int i = 0; i < 1'000; ++i) waiters.push_back(&s.b.acquire({"k"}, waiting_ms(600'000)));
  s.world.run_ms(100);
  bool closed = false;
  run_once(s.b.host(), [&] { s.b.instance().close(false, [&] { closed = true; }); });
  s.world.run_ms(20);
  EXPECT(closed);
  for (const Wanted *waiter : waiters) EXPECT(waiter->is(Status::CLOSED));
  EXPECT(s.is_free("mine"));
  s.a.release(held.grant().handle);
  s.world.run_ms(10);
  EXPECT(s.is_free("k"));
}

UNIT_MAIN(
    "waiting on a server", cmocka_unit_test(a_free_key_costs_one_script_call_and_its_release_one),
    cmocka_unit_test(a_key_that_is_held_is_busy_for_one_try),
    cmocka_unit_test(a_release_wakes_the_waiter_without_a_poll),
    cmocka_unit_test(a_lease_that_ends_by_itself_frees_the_key_without_a_poll),
    cmocka_unit_test(a_wake_up_that_overtakes_the_answer_of_an_attempt_is_not_lost),
    cmocka_unit_test(a_message_that_nobody_heard_costs_no_more_than_the_safety_net),
    cmocka_unit_test(a_subscription_that_ends_is_made_again_and_the_key_looked_at),
    cmocka_unit_test(the_attempt_on_whose_answer_a_waiter_waits_comes_after_its_subscription),
    cmocka_unit_test(every_subscription_that_is_made_again_is_followed_by_an_attempt),
    cmocka_unit_test(a_release_at_any_moment_around_a_subscription_wakes_the_waiter_without_a_poll),
    cmocka_unit_test(a_foreign_lock_that_is_deleted_is_noticed_by_looking),
    cmocka_unit_test(a_waiter_times_out_to_the_millisecond_and_leaves_nothing_behind),
    cmocka_unit_test(a_grant_that_comes_after_its_request_was_canceled_is_undone),
    cmocka_unit_test(a_request_that_reaches_the_server_after_its_end_is_refused_there),
    cmocka_unit_test(scripts_that_the_server_forgot_are_sent_again_once),
    cmocka_unit_test(waiters_of_one_process_queue_once_each_and_are_heard_of_together),
    cmocka_unit_test(several_keys_are_granted_together_and_only_those_before_a_busy_one_are_kept_meanwhile),
    cmocka_unit_test(a_grant_does_not_time_out_while_replicas_are_waited_for),
    cmocka_unit_test(waiting_for_replicas_leaves_half_of_a_short_lease),
    cmocka_unit_test(a_canceled_grant_that_waits_for_replicas_frees_its_key_at_once),
    cmocka_unit_test(a_free_key_is_granted_however_often_waiters_give_up),
    cmocka_unit_test(a_release_wakes_those_who_are_still_there_however_often_waiters_gave_up),
    cmocka_unit_test(a_cancel_takes_nobody_elses_place),
    cmocka_unit_test(nothing_of_a_canceled_request_stays_whenever_that_was),
    cmocka_unit_test(the_next_one_is_woken_when_a_canceled_grant_is_undone),
    cmocka_unit_test(a_lock_on_several_keys_takes_nobody_elses_place_on_one_of_them),
    cmocka_unit_test(a_grant_that_waited_for_replicas_takes_no_token_of_its_owner_back),
    cmocka_unit_test(a_request_for_replicas_that_was_canceled_before_its_answer_leaves_nothing),
    cmocka_unit_test(an_owner_that_was_closed_asks_in_vain_and_at_once),
    cmocka_unit_test(closing_ends_a_thousand_waiters_and_frees_what_is_held))
