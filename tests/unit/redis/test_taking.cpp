// SPDX-License-Identifier: MIT
// Locks that are taken away, contexts that close, and grants that wait for replicas: what one instance does that
// others must hear of, and what it must not leave behind.
#include <set>
#include "redis/clearing.hpp"

#include "stage.hpp"

using namespace unit;

namespace {

std::shared_ptr<Answered> take_away(Process &by, const std::string &key, const std::string &attempt_id = {}) {
  auto answered = std::make_shared<Answered>();
  run_once(by.host(), [&by, key, attempt_id, answered] {
    force_away(by.instance(), {"liblock:" + key, attempt_id, false},
               [answered](Status status, const std::string &) {
                 ++answered->times;
                 answered->status = status;
               });
  });
  return answered;
}

}  // namespace

UNIT_TEST(a_holder_hears_at_once_that_somebody_took_his_lock_away) {
  Stage s;
  Wanted &lock = s.a.take("k", without_waiting(60'000, false));
  s.world.run_ms(5);
  const auto taken = take_away(s.b, "k");
  s.world.run_ms(2);
  EXPECT(taken->is(Status::OK));
  EXPECT(lock.losses == 1 && s.a.state_of(lock.grant().handle) == Status::LOST);
  EXPECT(s.is_free("k"));
}

UNIT_TEST(a_message_about_a_loss_that_was_missed_is_made_up_for) {
  Stage s;
  Wanted &lock = s.a.take("k", without_waiting(60'000, false));
  s.world.run_ms(5);
  s.node.end_connections(true);
  take_away(s.b, "k");
  s.world.run_ms(60);
  EXPECT(lock.losses == 1);
}

UNIT_TEST(a_lock_is_taken_from_the_holder_that_was_seen_and_from_nobody_else) {
  Stage s;
  s.a.release(s.a.take("k").grant().handle);
  s.world.run_ms(5);
  Wanted &next = s.b.take("k");
  s.world.run_ms(5);
  const auto taken = take_away(s.a, "k", std::string(32, 'a'));
  s.world.run_ms(5);
  EXPECT(taken->is(Status::NOT_HELD));
  EXPECT(s.b.holds(next.grant().handle) && next.losses == 0);
}

UNIT_TEST(nothing_is_left_of_attempts_that_were_under_way_when_the_context_closed) {
  for (int64_t after_ms = 0; after_ms < 50; ++after_ms) {
    Stage s;
    s.a.release(s.a.take("warm-up").grant().handle);
    s.world.run_ms(10);
    s.world.delay_least = s.world.delay_most = 20 * kMillisecond;
    AcquireParams params = waiting_ms(1'000, 1, false);
    params.ttl = liblock::kNever;
    Wanted &wanted = s.a.acquire({"k"}, params);
    s.world.run_ms(after_ms);
    bool closed = false;
    run_once(s.a.host(), [&] { s.a.instance().close(false, [&] { closed = true; }); });
    EXPECT(s.world.run_until([&] { return closed; }, 1'100));
    EXPECT(wanted.ended() && s.is_free("k"));
  }
}

UNIT_TEST(closing_takes_the_command_time_out_at_most_when_the_server_is_gone) {
  Stage s;
  s.a.take("k");
  s.node.freeze();
  bool closed = false;
  run_once(s.a.host(), [&] { s.a.instance().close(false, [&] { closed = true; }); });
  s.world.run_ms(998);
  EXPECT(!closed);
  s.world.run_ms(4);
  EXPECT(closed);
}

UNIT_TEST(many_grants_wait_for_replicas_together_and_not_one_after_the_other) {
  Stage s;
  AcquireParams params = waiting_ms(20'000);
  params.replicas = 1;
  params.replicas_timeout = 700 * kMillisecond;
  std::vector<Wanted *> all;
  for (int i = 0; i < 64; ++i) {
    all.push_back(&s.a.acquire({"k" + std::to_string(i)}, params));
    if (i % 8 == 0) s.world.run_ms(1);
  }
  s.world.run_ms(1'430);  // two turns
  for (const Wanted *one : all) EXPECT(one->is(Status::OK));
  EXPECT(s.node.count("wait") == 2);
}

UNIT_TEST(a_connection_to_what_became_a_replica_is_given_up_also_where_grants_wait) {
  Stage s;
  AcquireParams params = without_waiting();
  params.replicas = 1;
  params.replicas_timeout = 10 * kMillisecond;
  s.a.acquire({"k1"}, params);
  s.world.run_ms(50);
  s.node.server().read_only = true;
  Wanted &refused = s.a.acquire({"k2"}, params);
  s.world.run_ms(50);
  EXPECT(refused.is(Status::READ_ONLY));
  s.node.server().read_only = false;
  s.world.run_ms(2'100);
  Wanted &granted = s.a.acquire({"k3"}, params);
  s.world.run_ms(50);
  EXPECT(granted.is(Status::OK));
}

UNIT_TEST(what_must_be_left_of_a_lease_is_left_of_the_first_one_too) {
  Stage s;
  AcquireParams params = without_waiting(30'000);
  params.min_remaining = 20'000 * kMillisecond;
  Wanted &lock = s.a.acquire({"k"}, params);
  s.world.run_ms(5);
  EXPECT(lock.is(Status::OK) && lock.grant().remaining >= 20'000 * kMillisecond);
}

UNIT_TEST(a_lease_that_is_over_before_its_answer_comes_is_asked_for_again_with_a_pause) {
  Stage s;
  s.a.release(s.a.take("warm-up").grant().handle);
  s.world.run_ms(10);
  s.world.delay_least = s.world.delay_most = 30 * kMillisecond;
  const uint64_t calls = s.node.script_calls();
  Wanted &wanted = s.a.acquire({"k"}, waiting_ms(4'500, 40, false));
  s.world.run_ms(4'600);
  EXPECT(wanted.is(Status::TOO_LATE));
  EXPECT(s.node.script_calls() - calls <= 20);
}

UNIT_TEST(one_lock_more_than_the_bound_is_refused_and_given_back) {
  liblock::InstanceOptions options;
  options.locks_max = 2;
  Stage s(1, options);
  Wanted &first = s.a.take("k1");
  s.a.take("k2");
  Wanted &third = s.a.acquire({"k3"}, waiting_ms(1'000));
  s.world.run_ms(10);
  EXPECT(third.is(Status::LIMIT) && s.is_free("k3"));
  s.a.release(first.grant().handle);
  s.world.run_ms(5);
  s.a.take("k3");
}

UNIT_TEST(one_waiter_more_than_the_bound_is_refused) {
  liblock::InstanceOptions options;
  options.waiters_max = 2;
  Stage s(1, options);
  Wanted &held = s.a.take("k");
  Wanted &first = s.b.acquire({"k"}, waiting_ms(60'000)), &second = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(10);
  Wanted &third = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(10);
  EXPECT(third.is(Status::LIMIT) && !first.ended() && !second.ended());
  s.b.cancel(second);
  s.world.run_ms(5);
  Wanted &fourth = s.b.acquire({"k"}, waiting_ms(60'000));
  s.a.release(held.grant().handle);
  s.world.run_ms(5);
  EXPECT(first.is(Status::OK) && !fourth.ended());
}

UNIT_TEST(a_thousand_requests_of_one_turn_leave_in_one_write) {
  Stage s;
  s.a.release(s.a.take("warm-up").grant().handle);
  s.world.run_ms(50);
  const uint64_t before = s.world.writes;
  std::vector<Wanted *> all;
  for (int i = 0; i < 1'000; ++i) all.push_back(&s.a.acquire({"k" + std::to_string(i)}, without_waiting()));
  s.world.run_for(kMillisecond / 20);  // half the way to the server
  EXPECT(s.world.writes == before + 1);
  s.world.run_ms(20);
  for (const Wanted *wanted : all) EXPECT(wanted->is(Status::OK));
}

// How often it connects in a minute without the server, and how long after that it is there again.
std::pair<uint64_t, int64_t> outage(uint64_t seed) {
  Stage s(seed);
  s.a.release(s.a.take("warm-up").grant().handle);
  s.world.run_ms(50);
  s.node.stop(Node::Data::Kept);
  Wanted &wanted = s.a.acquire({"k"}, waiting_ms(600'000));
  const uint64_t before = s.world.connections;
  s.world.run_ms(60'000);
  const uint64_t tries = s.world.connections - before;
  s.node.start();
  const Nanos back_at = s.world.now();
  EXPECT(s.world.run_until([&] { return wanted.ended(); }, 10'000));
  EXPECT(wanted.is(Status::OK));
  return {tries, (s.world.now() - back_at) / kMillisecond};
}

UNIT_TEST(a_server_that_is_gone_is_asked_for_less_and_less_often_with_jitter_and_every_two_seconds_at_last) {
  std::set<int64_t> pauses;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const auto [tries, pause_ms] = outage(seed);
    EXPECT(tries >= 25 && tries <= 160);  // of two connections
    EXPECT(pause_ms <= 2'500);
    pauses.insert(pause_ms);
  }
  EXPECT(pauses.size() > 1);
}

UNIT_MAIN(
    "taking away and closing", cmocka_unit_test(a_thousand_requests_of_one_turn_leave_in_one_write),
    cmocka_unit_test(
        a_server_that_is_gone_is_asked_for_less_and_less_often_with_jitter_and_every_two_seconds_at_last),
    cmocka_unit_test(a_holder_hears_at_once_that_somebody_took_his_lock_away),
    cmocka_unit_test(a_message_about_a_loss_that_was_missed_is_made_up_for),
    cmocka_unit_test(a_lock_is_taken_from_the_holder_that_was_seen_and_from_nobody_else),
    cmocka_unit_test(nothing_is_left_of_attempts_that_were_under_way_when_the_context_closed),
    cmocka_unit_test(closing_takes_the_command_time_out_at_most_when_the_server_is_gone),
    cmocka_unit_test(many_grants_wait_for_replicas_together_and_not_one_after_the_other),
    cmocka_unit_test(a_connection_to_what_became_a_replica_is_given_up_also_where_grants_wait),
    cmocka_unit_test(one_lock_more_than_the_bound_is_refused_and_given_back),
    cmocka_unit_test(one_waiter_more_than_the_bound_is_refused),
    cmocka_unit_test(what_must_be_left_of_a_lease_is_left_of_the_first_one_too),
    cmocka_unit_test(a_lease_that_is_over_before_its_answer_comes_is_asked_for_again_with_a_pause))
