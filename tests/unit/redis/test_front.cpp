// SPDX-License-Identifier: MIT
// The front of a process: locks that go from hand to hand within it, and whose turn it is when others want them. Time
// and network are moved by hand; the server runs the real scripts.
#include "front_scene.hpp"

using namespace unit;
using namespace unit::front;

UNIT_TEST(a_release_gives_the_lock_to_the_next_of_the_process_before_the_server_knows) {
  Scene s;
  Wanted &next = *line_of(s, 1)[0];
  EXPECT(s.queued() == 0 && !next.ended());
  const auto released = s.a.release(s.held.grant().handle);
  s.world.run_for(kMillisecond / 100);  // less than any way to the server
  EXPECT(next.is(Status::OK) && released->is(Status::OK));
  EXPECT(next.grant().token > s.held.grant().token);
  EXPECT((next.grant().flags & LIBLOCK_RESULT_WAITED) != 0);
  EXPECT(s.a.state_of(s.held.grant().handle) == Status::NOT_HELD && s.passed_on() == 1);
  s.world.run_ms(6);
  EXPECT(s.record().find("|" + std::to_string(next.grant().token) + "|") != std::string::npos);
  s.world.run_ms(60'000);
  EXPECT(s.a.holds(next.grant().handle));  // it is renewed as any lease
  s.a.release(next.grant().handle);
  s.world.run_ms(1);
  EXPECT(s.is_free("k"));
}

UNIT_TEST(who_stands_costs_the_server_nothing) {
  Scene s;
  line_of(
      s,
      1);  // the first of them asks whether outsiders wait, since nobody listened when the lock was granted
  s.world.run_ms(5'000);
  const uint64_t calls = s.node.script_calls();
  line_of(s, 500, waiting_ms(600'000));
  s.world.run_ms(60);
  EXPECT(s.node.script_calls() <= calls + 12);  // how many they are is told, now and then
  const uint64_t told = s.node.script_calls();
  s.world.run_ms(2'000);
  EXPECT(s.node.script_calls() == told);  // the lease, of 30 s, needs nothing yet
}

UNIT_TEST(tokens_rise_from_hand_to_hand_for_longer_than_a_block_lasts_and_beyond_it_for_others) {
  Scene s;
  const std::vector<Wanted *> line = line_of(s, 3'000, waiting_ms(600'000));
  const Wanted *last = &s.held;
  for (const Wanted *next : line) {
    s.a.release(last->grant().handle);
    s.world.run_for(kMillisecond / 20);
    if (!next->ended()) s.world.run_ms(3);
    EXPECT(next->is(Status::OK) && next->grant().token > last->grant().token);
    last = next;
  }
  EXPECT(s.passed_on() > 2'900);
  EXPECT(std::stoull(s.node.ask({"GET", kFence}).text) >= last->grant().token);
  s.a.release(last->grant().handle);
  EXPECT(s.b.take("k").grant().token > last->grant().token);
}

UNIT_TEST(an_outsider_comes_behind_those_who_were_there_before_him_and_before_those_who_came_later) {
  Scene s;
  std::vector<Wanted *> first = line_of(s, 3);
  Wanted &outsider = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(5);
  std::vector<Wanted *> later = line_of(s, 3);
  const Wanted *last = &s.held;
  const auto is_next = [&](Process &holder, Wanted &next) {
    holder.release(last->grant().handle);
    s.world.run_ms(5);
    EXPECT(next.is(Status::OK) && next.grant().token > last->grant().token);
    last = &next;
  };
  for (Wanted *next : first) is_next(s.a, *next);
  is_next(s.a, outsider);
  EXPECT(s.passed_on() == 0);
  is_next(s.b, *later[0]);
  // He is gone: what is left is a matter of the process again.
  s.a.release(last->grant().handle);
  s.world.run_for(kMillisecond / 100);
  EXPECT(later[1]->is(Status::OK) && s.passed_on() == 1);
}

UNIT_TEST(with_a_budget_an_outsider_waits_for_it_and_not_for_longer) {
  Scene s(with_front(50, -1));
  std::vector<Wanted *> line = line_of(s, 20);  // before him
  Wanted &outsider = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(1);
  for (int i = 0; i < 80; ++i) line.push_back(&s.a.acquire({"k"}, waiting_ms(60'000)));
  const Nanos from = s.world.now();
  const Wanted *last = &s.held;
  for (size_t i = 0; i < line.size() && !outsider.ended(); ++i) {
    s.a.release(last->grant().handle);
    s.world.run_ms(1);  // that each has it
    last = line[i];
  }
  const Nanos waited = s.world.now() - from;
  EXPECT(outsider.is(Status::OK) && waited >= 48 * kMillisecond && waited <= 53 * kMillisecond);
}

namespace {

// A process that passes a key on without end. How often foreign clients found it free.
int free_for_others(Scene &s, int turns, bool releases_another_first) {
  const Wanted *last = &s.held;
  int theirs = 0;
  for (int turn = 0; turn < turns; ++turn) {
    Wanted *const next = &s.a.acquire({"k"}, waiting_ms(60'000));
    s.world.run_ms(1);
    if (releases_another_first) {
      const Handle another = s.a.take("j").grant().handle;
      s.a.release(another);
    }
    if (s.a.holds(last->grant().handle)) s.a.release(last->grant().handle);
    for (int part = 0; part < 4 && !next->ended(); ++part) {
      s.world.run_for(kMillisecond);
      if (!s.node.ask({"SET", "liblock:k", "theirs", "NX", "PX", "1000"}).is_ok()) continue;
      ++theirs;
      s.node.ask({"DEL", "liblock:k"});
    }
    EXPECT(s.world.run_until([&] { return next->ended(); }, 1'000));
    EXPECT(next->is(Status::OK) && next->grant().token > last->grant().token);
    last = next;
  }
  return theirs;
}

}  // namespace

UNIT_TEST(a_process_that_passes_a_key_on_without_end_leaves_it_free_for_foreign_clients_all_the_same) {
  Scene s(with_front(0, 100));
  EXPECT(free_for_others(s, 3'000, false) >= 10 && s.passed_on() > 2'500);
}

UNIT_TEST(a_key_is_left_free_for_foreign_clients_also_where_another_is_released_before_it_in_the_same_turn) {
  Scene s(with_front(0, 100));
  EXPECT(free_for_others(s, 1'000, true) >= 5 && s.passed_on() > 800);
}

UNIT_TEST(a_lock_that_was_changed_or_is_wanted_on_other_terms_is_not_passed_on) {
  for (int how = 0; how < 3; ++how) {
    Scene s;
    Wanted &next = *line_of(s, 1, how == 0 ? waiting_ms(60'000, 5'000, false) : waiting_ms(60'000))[0];
    if (how == 1) s.a.extend(s.held.grant().handle, 50'000);
    if (how == 2) s.a.update(s.held.grant().handle, "a value");
    s.world.run_ms(2);
    s.a.release(s.held.grant().handle);
    s.world.run_ms(2);
    EXPECT(next.is(Status::OK) && s.passed_on() == 0 && next.grant().token > s.held.grant().token);
    EXPECT(s.record().find("a value") == std::string::npos);
  }
}

UNIT_TEST(who_gave_a_key_back_while_he_asked_for_more_does_not_reenter_it_in_the_hands_of_the_next) {
  Stage s(1, with_front(0, -1));
  const auto owner = s.a.owner("o");
  Wanted &first = s.a.acquire({"k"}, waiting_ms(10'000), owner);
  s.world.run_ms(50);
  Wanted &next = s.a.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(50);
  Wanted &both = s.a.acquire({"k", "z"}, waiting_ms(60'000), owner);  // asks for z alone
  s.world.run_for(kMillisecond / 100);
  s.a.release(first.grant().handle);
  s.world.run_ms(50);
  EXPECT(next.is(Status::OK) && !both.ended());
  s.a.release(next.grant().handle);
  s.world.run_ms(50);
  EXPECT(both.is(Status::OK) && both.grant().token > next.grant().token);
}

UNIT_TEST(what_could_not_be_passed_on_asks_the_server_itself) {
  Scene s;
  std::vector<std::function<void(AcquireParams &)>> changes{
      [](AcquireParams &p) { p.value = "v"; }, [](AcquireParams &p) { p.replicas = 1; },
      [](AcquireParams &p) { p.order = LIBLOCK_ORDER_ANY; },
      [](AcquireParams &p) { p.max_hold = 1'000 * kMillisecond; },
      [](AcquireParams &p) { p.queue_ttl = 1'000 * kMillisecond; }};
  for (const auto &change : changes) {
    AcquireParams params = waiting_ms(60'000);
    change(params);
    EXPECT(!liblock::Front::may_stand(params, 1));
  }
  EXPECT(!liblock::Front::may_stand(waiting_ms(60'000), 2) &&
         liblock::Front::may_stand(waiting_ms(60'000), 1));
  Wanted &both = s.a.acquire({"k", "l"}, waiting_ms(60'000));
  s.world.run_ms(5);
  EXPECT(s.queued() == 1);
  Wanted &next = *line_of(s, 1)[0];
  s.a.release(s.held.grant().handle);
  s.world.run_ms(5);
  EXPECT(both.is(Status::OK) && !next.ended());
  s.a.release(both.grant().handle);
  s.world.run_ms(5);
  EXPECT(next.is(Status::OK));
}

UNIT_TEST(a_lease_that_is_not_renewed_is_set_to_its_time_to_live_behind_each_hand_over) {
  Scene s(with_front(0, -1), waiting_ms(10'000, 2'000, false));
  std::vector<Wanted *> line = line_of(s, 3, waiting_ms(60'000, 2'000, false));
  const Wanted *last = &s.held;
  for (const Wanted *next : line) {
    s.world.run_ms(1'000);
    s.a.release(last->grant().handle);
    s.world.run_for(kMillisecond / 100);
    EXPECT(next->is(Status::OK));
    s.world.run_ms(30);
    EXPECT(s.node.ask({"PTTL", "liblock:k"}).integer > 1'950);
    last = next;
  }
  EXPECT(s.passed_on() == 3);
  s.world.run_ms(2'100);
  EXPECT(s.a.state_of(last->grant().handle) == Status::LOST && last->losses == 1 && s.is_free("k"));
}

UNIT_TEST(one_who_wants_more_of_a_lease_than_is_left_asks_the_server) {
  Scene s(with_front(0, -1), waiting_ms(10'000, 2'000, false));
  AcquireParams params = waiting_ms(60'000, 2'000, false);
  params.min_remaining = 1'500 * kMillisecond;
  Wanted &next = *line_of(s, 1, params)[0];
  s.world.run_ms(1'000);
  s.a.release(s.held.grant().handle);
  s.world.run_ms(2);
  EXPECT(next.is(Status::OK) && s.passed_on() == 0);
  EXPECT(next.grant().remaining > 1'500 * kMillisecond);
}

UNIT_TEST(orders_hold_among_those_who_stand) {
  Scene s;
  const auto wants = [&](int32_t order, int32_t priority) -> Wanted & {
    AcquireParams params = waiting_ms(60'000);
    params.order = order;
    params.priority = priority;
    Wanted &wanted = s.a.acquire({"k"}, params);
    s.world.run_ms(1);
    return wanted;
  };
  Wanted &fifo = wants(LIBLOCK_ORDER_FIFO, 0), &low = wants(LIBLOCK_ORDER_PRIORITY, -100),
         &high = wants(LIBLOCK_ORDER_PRIORITY, 100), &lifo = wants(LIBLOCK_ORDER_LIFO, 0);
  const Wanted *last = &s.held;
  for (const Wanted *next : {&lifo, &high, &fifo, &low}) {
    s.a.release(last->grant().handle);
    s.world.run_for(kMillisecond / 20);
    EXPECT(next->is(Status::OK));
    last = next;
  }
  EXPECT(s.passed_on() == 4);
}

UNIT_TEST(orders_hold_between_processes_whose_waiters_stand) {
  Scene s;
  const auto wants = [&](Process &process, int32_t order, int32_t priority) -> Wanted & {
    AcquireParams params = waiting_ms(60'000);
    params.order = order;
    params.priority = priority;
    Wanted &wanted = process.acquire({"k"}, params);
    s.world.run_ms(2);
    return wanted;
  };
  Wanted &fifo = wants(s.a, LIBLOCK_ORDER_FIFO, 0), &low = wants(s.b, LIBLOCK_ORDER_PRIORITY, -100),
         &high = wants(s.b, LIBLOCK_ORDER_PRIORITY, 100), &lifo = wants(s.b, LIBLOCK_ORDER_LIFO, 0);
  const Wanted *last = &s.held;
  Process *holder = &s.a;
  for (const Wanted *next : {&lifo, &high, &fifo, &low}) {
    holder->release(last->grant().handle);
    s.world.run_ms(5);
    EXPECT(next->is(Status::OK));
    last = next;
    holder = next == &fifo ? &s.a : &s.b;
  }
}

UNIT_TEST(a_circle_of_owners_who_stand_is_found_within_the_delay_and_never_where_a_hand_over_has_opened_it) {
  Scene s;
  const auto a = s.a.owner("a"), b = s.a.owner("b");
  Wanted &x = s.a.acquire({"x"}, without_waiting(), a), &y = s.a.acquire({"y"}, without_waiting(), b);
  s.world.run_ms(5);
  EXPECT(x.is(Status::OK) && y.is(Status::OK));
  Wanted &one = s.a.acquire({"y"}, waiting_ms(60'000), a);
  s.world.run_ms(50);
  Wanted &two = s.a.acquire({"x"}, waiting_ms(60'000), b);
  s.world.run_ms(103);
  EXPECT(one.ended() != two.ended());
  EXPECT((one.ended() ? one : two).is(Status::DEADLOCK));
}

UNIT_TEST(a_value_is_of_him_who_gave_it_whatever_the_server_hears_when) {
  Scene s;
  std::vector<Wanted *> line = line_of(s, 2);
  s.a.release(s.held.grant().handle);
  s.world.run_ms(10);
  s.a.release(line[0]->grant().handle);  // told a moment later
  s.world.run_for(kMillisecond / 100);
  s.a.update(line[1]->grant().handle, "mine");
  s.world.run_ms(100);
  EXPECT(s.record().ends_with("|mine"));
  line_of(s, 2);
  s.world.run_ms(60);  // how many they are
  EXPECT(s.record().ends_with("|mine") && inspected(s, s.b)->waiter_count() == 2);
}

UNIT_TEST(where_no_tokens_are_left_to_reserve_the_lock_goes_on_as_far_as_those_that_are) {
  Scene s;
  s.node.ask({"SET", kFence, "9007199254740990"});
  std::vector<Wanted *> line = line_of(s, 300, waiting_ms(600'000));
  const Wanted *last = &s.held;
  size_t hands = 0;
  for (const Wanted *next : line) {
    s.a.release(last->grant().handle);
    s.world.run_ms(3);
    if (!next->is(Status::OK)) break;
    EXPECT(next->grant().token > last->grant().token);
    last = next;
    ++hands;
  }
  EXPECT(hands == liblock::Front::kTokenBlock - 1);
  EXPECT(line[hands]->is(Status::SERVER));
}

// The token of a hold rises where its owner takes more keys along with it: it is in the same hands.
UNIT_TEST(a_value_and_the_time_of_a_lock_stay_where_the_token_of_its_holder_rises) {
  Stage s(1, with_front(0, -1));
  const auto owner = s.a.owner("worker");
  Wanted &first = s.a.acquire({"k"}, waiting_ms(10'000), owner);
  s.world.run_ms(50);
  s.a.update(first.grant().handle, "mine");
  s.world.run_ms(5);
  const auto since = [&] {
    const std::string record = s.node.ask({"GET", "liblock:k"}).text;
    return record.substr(record.find('@'), record.find(',') - record.find('@'));
  };
  const std::string before = since();
  Wanted &both = s.a.acquire({"k", "z"}, waiting_ms(10'000), owner);
  s.world.run_ms(20);
  EXPECT(both.is(Status::OK) && both.grant().token > first.grant().token);
  s.a.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(120);  // that somebody stands is told
  EXPECT(s.node.ask({"GET", "liblock:k"}).text.ends_with(",1|mine") && since() == before);
}

UNIT_TEST(word_of_an_outsider_that_comes_before_the_grant_it_belongs_to_is_not_lost) {
  Stage s(1, with_front(0, -1));
  s.a.release(s.a.take("other").grant().handle);
  s.world.run_ms(50);
  Wanted &first = s.a.acquire({"k"}, waiting_ms(10'000));
  s.world.run_for(kMillisecond / 100);
  run_once(s.a.host(), [&] { s.a.instance().passing_on.others_wait("liblock:k"); });
  s.world.run_ms(5);
  Wanted &next = s.a.acquire({"k"}, waiting_ms(10'000));
  s.world.run_ms(1);
  EXPECT(first.is(Status::OK) && !next.ended());
  s.a.release(first.grant().handle);
  s.world.run_ms(5);
  EXPECT(next.is(Status::OK) && s.a.instance().counts.passed_on.load() == 0);
}

UNIT_TEST(a_lease_that_goes_on_while_it_is_being_set_anew_is_set_once_more) {
  Scene s(with_front(0, -1), waiting_ms(10'000, 2'000, false));
  const std::vector<Wanted *> line = line_of(s, 2, waiting_ms(60'000, 2'000, false));
  s.world.delay_least = s.world.delay_most = 100 * kMillisecond;
  s.a.release(s.held.grant().handle);
  s.world.run_ms(150);  // the server has set it, and the answer is under way
  s.a.release(line[0]->grant().handle);
  s.world.run_ms(450);
  EXPECT(line[1]->is(Status::OK) && s.passed_on() == 2);
  EXPECT(s.node.ask({"PTTL", "liblock:k"}).integer > 1'650);
}

// Behind a key that was left free, the word of a request that waits is of one of this process.
UNIT_TEST(a_process_alone_goes_on_passing_on_however_short_its_holds_are) {
  Scene s(with_front(0, 20));
  const std::vector<Wanted *> line = line_of(s, 3'000, waiting_ms(600'000));
  const Wanted *last = &s.held;
  for (const Wanted *next : line) {
    s.a.release(last->grant().handle);
    EXPECT(s.world.run_until([&] { return next->ended(); }, 1'000));
    EXPECT(next->is(Status::OK));
    last = next;
    s.world.run_for(kMillisecond / 50);  // less than any way to the server
  }
  EXPECT(s.passed_on() > 2'900);
}

UNIT_MAIN(
    "front", cmocka_unit_test(a_release_gives_the_lock_to_the_next_of_the_process_before_the_server_knows),
    cmocka_unit_test(who_stands_costs_the_server_nothing),
    cmocka_unit_test(tokens_rise_from_hand_to_hand_for_longer_than_a_block_lasts_and_beyond_it_for_others),
    cmocka_unit_test(
        an_outsider_comes_behind_those_who_were_there_before_him_and_before_those_who_came_later),
    cmocka_unit_test(with_a_budget_an_outsider_waits_for_it_and_not_for_longer),
    cmocka_unit_test(
        a_process_that_passes_a_key_on_without_end_leaves_it_free_for_foreign_clients_all_the_same),
    cmocka_unit_test(
        a_key_is_left_free_for_foreign_clients_also_where_another_is_released_before_it_in_the_same_turn),
    cmocka_unit_test(a_lock_that_was_changed_or_is_wanted_on_other_terms_is_not_passed_on),
    cmocka_unit_test(
        who_gave_a_key_back_while_he_asked_for_more_does_not_reenter_it_in_the_hands_of_the_next),
    cmocka_unit_test(what_could_not_be_passed_on_asks_the_server_itself),
    cmocka_unit_test(a_lease_that_is_not_renewed_is_set_to_its_time_to_live_behind_each_hand_over),
    cmocka_unit_test(one_who_wants_more_of_a_lease_than_is_left_asks_the_server),
    cmocka_unit_test(orders_hold_among_those_who_stand),
    cmocka_unit_test(orders_hold_between_processes_whose_waiters_stand),
    cmocka_unit_test(
        a_circle_of_owners_who_stand_is_found_within_the_delay_and_never_where_a_hand_over_has_opened_it),
    cmocka_unit_test(a_value_is_of_him_who_gave_it_whatever_the_server_hears_when),
    cmocka_unit_test(where_no_tokens_are_left_to_reserve_the_lock_goes_on_as_far_as_those_that_are),
    cmocka_unit_test(a_value_and_the_time_of_a_lock_stay_where_the_token_of_its_holder_rises),
    cmocka_unit_test(word_of_an_outsider_that_comes_before_the_grant_it_belongs_to_is_not_lost),
    cmocka_unit_test(a_lease_that_goes_on_while_it_is_being_set_anew_is_set_once_more),
    cmocka_unit_test(a_process_alone_goes_on_passing_on_however_short_its_holds_are))
