// SPDX-License-Identifier: MIT
// Locks over five servers that run the real scripts, in a simulated world: granted, given back, waited for, lost.
#include "stage.hpp"

using namespace unit;

UNIT_TEST(a_free_key_costs_one_call_to_each_node_and_its_release_one) {
  Stage s;
  s.a->release(s.a->take("k").grant().handle);  // the nodes know the scripts now
  s.world.run_ms(10);
  std::vector<uint64_t> before;
  for (size_t n = 0; n < 5; ++n) before.push_back(s.calls_of(n));
  Wanted &lock = s.a->take("k");
  s.world.run_ms(5);
  EXPECT(s.held_on("k") == 5);
  EXPECT(lock.grant().votes >= 3 && lock.grant().nodes == 5);
  const auto released = s.a->release(lock.grant().handle);
  s.world.run_ms(5);
  EXPECT(released->is(Status::OK));
  EXPECT(s.held_on("k") == 0);
  for (size_t n = 0; n < 5; ++n) EXPECT(s.calls_of(n) == before[n] + 2);
}

UNIT_TEST(tokens_rise_from_lock_to_lock) {
  Stage s;
  uint64_t last = 0;
  for (int i = 0; i < 10; ++i) {
    Process &by = i % 2 == 0 ? *s.a : *s.b;
    Wanted &lock = by.take("k");
    EXPECT(lock.grant().token > last);
    last = lock.grant().token;
    by.release(lock.grant().handle);
    s.world.run_ms(i);
  }
}

UNIT_TEST(a_key_that_is_held_is_busy_for_one_try) {
  Stage s;
  s.a->take("k");
  Wanted &second = s.b->acquire({"k"}, without_waiting());
  s.world.run_ms(50);
  EXPECT(second.is(Status::BUSY));
  s.world.run_ms(10);
  EXPECT(s.held_on("k") == 5);
}

UNIT_TEST(a_key_that_is_held_is_busy_also_for_who_asks_for_all_votes) {
  Stage s;
  s.a->take("k");
  AcquireParams all = without_waiting();
  all.votes = LIBLOCK_VOTES_ALL;
  Wanted &second = s.b->acquire({"k"}, all);
  s.world.run_ms(50);
  EXPECT(second.is(Status::BUSY));
}

UNIT_TEST(a_lease_that_is_longer_than_any_may_be_is_refused_also_where_nodes_are_missing) {
  Stage s;
  for (int n = 0; n < 2; ++n) s.nodes[n]->stop(Node::Data::Kept);
  s.world.run_ms(500);
  Wanted &lock = s.a->acquire({"k"}, without_waiting(61'000));
  s.world.run_ms(500);
  EXPECT(lock.is(Status::INVALID_ARGUMENT));
}

UNIT_TEST(an_owner_that_holds_all_keys_already_gets_one_token_for_them) {
  Stage s;
  const auto owner = s.a->owner("o");
  s.a->acquire({"x"}, waiting_ms(1'000), owner);
  s.world.run_ms(50);
  Wanted &other = s.a->acquire({"y"}, waiting_ms(1'000), owner);
  s.world.run_ms(50);
  Wanted &both = s.a->acquire({"x", "y"}, waiting_ms(1'000), owner);
  s.world.run_ms(50);
  EXPECT(both.is(Status::OK) && both.grant().token >= other.grant().token);
  EXPECT((both.grant().flags & LIBLOCK_RESULT_REENTERED) != 0);
}

UNIT_TEST(keys_that_an_owner_takes_together_and_holds_already_leave_nothing_to_renew_behind) {
  Stage s;
  const auto owner = s.a->owner("o");
  std::vector<Wanted *> locks;
  for (const std::vector<std::string> &keys : {std::vector<std::string>{"x"}, {"y"}, {"x", "y"}}) {
    locks.push_back(&s.a->acquire(keys, waiting_ms(1'000, 1'000), owner));
    s.world.run_ms(50);
    EXPECT(locks.back()->is(Status::OK));
  }
  for (Wanted *lock : locks) s.a->release(lock->grant().handle);
  s.world.run_ms(50);
  EXPECT(s.held_on("x") == 0 && s.held_on("y") == 0);
  const uint64_t renewals = s.a->instance().counts.renewals;
  s.world.run_ms(10'000);
  EXPECT(s.a->instance().counts.renewals == renewals);
}

UNIT_TEST(a_release_calls_the_one_who_waits) {
  Stage s;
  Wanted &held = s.a->take("k");
  Wanted &waiter = s.b->acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(5'500);
  EXPECT(!waiter.ended());
  s.a->release(held.grant().handle);
  s.world.run_ms(3);
  EXPECT(waiter.is(Status::OK));
}

UNIT_TEST(a_lock_is_held_for_long_by_renewal_and_nobody_else_gets_it) {
  Stage s;
  Wanted &held = s.a->take("k");
  s.world.run_ms(120'000);
  EXPECT(s.a->holds(held.grant().handle) && held.losses == 0);
  Wanted &second = s.b->acquire({"k"}, without_waiting());
  s.world.run_ms(50);
  EXPECT(second.is(Status::BUSY));
}

UNIT_TEST(a_lock_survives_the_loss_of_two_nodes_and_is_granted_without_them) {
  Stage s;
  Wanted &held = s.a->take("k");
  s.nodes[0]->stop(Node::Data::Lost);
  s.nodes[3]->stop(Node::Data::Lost);
  s.world.run_ms(40'000);
  EXPECT(s.a->holds(held.grant().handle));
  const auto released = s.a->release(held.grant().handle);
  s.world.run_ms(10);
  EXPECT(released->is(Status::OK));
  s.b->take("k");
}

UNIT_TEST(
    a_node_that_comes_back_without_its_data_gets_the_lock_again_by_renewal_and_votes_after_its_silence) {
  Stage s;
  Wanted &held = s.a->take("k");
  s.nodes[0]->stop(Node::Data::Lost);
  s.world.run_ms(1'000);
  s.nodes[0]->start();
  s.world.run_ms(15'000);
  EXPECT(s.held_on("k") == 5 && s.a->holds(held.grant().handle));
  EXPECT(s.b->instance().nodes()[0]->hello().needs_floor);
  s.world.run_ms(50'000);
  EXPECT(!s.b->instance().nodes()[0]->hello().needs_floor);
  EXPECT(s.a->instance().counts_quorum.floors.load() + s.b->instance().counts_quorum.floors.load() >= 1);
}

UNIT_TEST(two_nodes_that_forgot_do_not_help_a_second_holder) {
  Stage s;
  Wanted &held = s.a->take("k");
  s.a->host().cut();  // it does not hear, and does not renew
  for (int n = 0; n < 3; ++n) {
    s.nodes[n]->stop(Node::Data::Lost);
    s.nodes[n]->start();
  }
  s.world.run_ms(500);
  Wanted &second = s.b->acquire({"k"}, without_waiting());
  s.world.run_ms(500);
  EXPECT(second.ended() && !second.is(Status::OK));
  EXPECT(s.a->holds(held.grant().handle));
}

UNIT_TEST(without_a_quorum_nothing_is_granted_and_the_cause_is_said) {
  Stage s;
  for (int n = 0; n < 3; ++n) s.nodes[n]->stop(Node::Data::Kept);
  s.world.run_ms(500);
  Wanted &lock = s.a->acquire({"k"}, without_waiting());
  s.world.run_ms(2'500);
  EXPECT(lock.is(Status::NO_QUORUM));
  EXPECT(s.a->instance().last_trouble().find("2 of 5 nodes answer, 3 are needed") != std::string::npos);
}

UNIT_TEST(servers_that_nobody_founded_are_silent_and_serve_after_that) {
  Stage s(5, 1, false);
  Wanted &early = s.a->acquire({"k"}, without_waiting());
  s.world.run_ms(100);
  EXPECT(early.is(Status::QUARANTINED));
  s.world.run_ms(62'000);
  s.a->take("k");
  EXPECT(s.a->instance().counts_quorum.clock_derived.load() +
             s.b->instance().counts_quorum.clock_derived.load() >
         0);
}

UNIT_TEST(several_keys_are_taken_and_given_back_as_one) {
  Stage s;
  Wanted &both = s.a->acquire({"x", "y"}, waiting_ms(1'000));
  s.world.run_ms(50);
  EXPECT(both.is(Status::OK) && s.held_on("x") == 5 && s.held_on("y") == 5);
  Wanted &other = s.b->acquire({"y", "z"}, waiting_ms(10'000));
  s.world.run_ms(500);
  EXPECT(!other.ended() && s.held_on("z") == 0);
  s.a->release(both.grant().handle);
  s.world.run_ms(1'500);
  EXPECT(other.is(Status::OK));
}

UNIT_TEST(many_who_want_one_key_get_it_in_their_order) {
  Stage s;
  Wanted &held = s.a->take("k");
  std::vector<Wanted *> waiting;
  std::vector<size_t> order;
  for (size_t i = 0; i < 10; ++i) {
    Process &by = i % 2 == 0 ? *s.a : *s.b;
    waiting.push_back(&by.acquire({"k"}, waiting_ms(60'000)));
    waiting.back()->on_end = [&by, &order, i](Wanted &ended) {
      if (!ended.is(Status::OK)) return;
      order.push_back(i);
      by.release(ended.grant().handle);
    };
    s.world.run_ms(5);
  }
  s.a->release(held.grant().handle);
  s.world.run_ms(100);
  EXPECT(order.size() == 10);
  for (size_t i = 0; i < order.size(); ++i) EXPECT(order[i] == i);
}

UNIT_TEST(a_cancelled_wait_leaves_nothing_behind) {
  Stage s;
  Wanted &held = s.a->take("k");
  Wanted &waiter = s.b->acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(100);
  s.b->cancel(waiter);
  s.world.run_ms(100);
  EXPECT(waiter.is(Status::CANCELED));
  s.a->release(held.grant().handle);
  s.world.run_ms(100);
  for (Node *node : s.nodes) {
    EXPECT(node->ask({"EXISTS", "liblock:k", "ll1:k:{liblock:k}", "ll1:a:{liblock:k}", "ll1:c:{liblock:k}"})
               .is(0));
  }
}

UNIT_TEST(a_context_that_closes_while_no_node_answers_ends_once_and_leaves_no_timer) {
  Stage s;
  s.a->take("k");
  s.a->take("l");
  for (Node *node : s.nodes) node->stop(Node::Data::Kept);
  s.world.run_ms(100);
  s.a->end();
  s.world.run_ms(1'000);
}

UNIT_TEST(what_is_granted_after_its_attempt_was_given_up_is_undone) {
  Stage s;
  for (size_t n = 0; n < 3; ++n) s.nodes[n]->ask({"SET", "liblock:k", "another client's", "PX", "60000"});
  for (size_t n = 3; n < 5; ++n)
    s.world.link(s.a->host(), *s.nodes[n]).set_delay(20 * kMillisecond, 20 * kMillisecond);
  Wanted &lock = s.a->acquire({"k"}, without_waiting());
  s.world.run_ms(10);
  EXPECT(lock.is(Status::BUSY));
  s.world.run_ms(100);
  for (size_t n = 3; n < 5; ++n) EXPECT(s.nodes[n]->ask({"EXISTS", "liblock:k"}).is(int64_t{0}));
}

UNIT_TEST(a_change_that_is_answered_late_does_not_outlive_a_later_shorter_one) {
  Stage s;
  Wanted &lock = s.a->take("k", waiting_ms(1'000, 10'000, false));
  // The longer one reaches two nodes at once, one never, and the others late; the shorter one reaches all.
  s.world.link(s.a->host(), *s.nodes[2])
      .set_delay(liblock_test::sim::Way::ToNode, 5 * kMillisecond, 5 * kMillisecond);
  for (size_t n = 3; n < 5; ++n)
    s.world.link(s.a->host(), *s.nodes[n])
        .set_delay(liblock_test::sim::Way::ToHost, 80 * kMillisecond, 80 * kMillisecond);
  const auto longer = s.a->extend(lock.grant().handle, 20'000, false);
  s.world.run_ms(1);
  s.world.link(s.a->host(), *s.nodes[2]).break_connections();
  s.world.link(s.a->host(), *s.nodes[2]).set_delay_of_world();
  s.world.run_ms(60);
  const auto shorter = s.a->extend(lock.grant().handle, 150, false);
  s.world.run_ms(10);
  EXPECT(longer->times == 0 && shorter->is(Status::OK) && s.a->holds(lock.grant().handle));
  s.world.run_ms(400);
  EXPECT(longer->times == 1 && !s.a->holds(lock.grant().handle));
}

UNIT_TEST(a_release_that_too_few_nodes_confirm_is_partial_and_its_end_is_an_event) {
  Stage s;
  int ends = 0;
  const auto hear = [](const liblock_event *, void *count) { ++*static_cast<int *>(count); };
  s.a->instance().events.instruments()->events().listen(1u << LIBLOCK_EVENT_DOUBT_ENDED, hear, &ends,
                                                        s.a->host().shared());
  Wanted &lock = s.a->take("k");
  for (int n = 0; n < 3; ++n) s.nodes[n]->freeze();
  const auto released = s.a->release(lock.grant().handle);
  s.world.run_ms(500);
  EXPECT(released->is(Status::PARTIAL) && ends == 0);
  for (int n = 0; n < 3; ++n) s.nodes[n]->thaw();
  s.world.run_ms(5'000);
  EXPECT(s.held_on("k") == 0 && ends == 1);
}

UNIT_TEST(what_a_caller_did_wrong_is_told_apart_from_what_servers_did) {
  Stage s;
  const auto refused = [&](Status status, const AcquireParams &params, const char *why) {
    Wanted &wanted = s.a->acquire({"k"}, params);
    s.world.run_ms(1'000);
    return wanted.is(status) && s.a->instance().last_trouble(status).find(why) != std::string::npos;
  };
  EXPECT(refused(Status::INVALID_ARGUMENT, without_waiting(500'000, false), "max_ttl_ms, 60000"));
  EXPECT(refused(Status::INVALID_ARGUMENT, without_waiting(500'000, true), "max_ttl_ms, 60000"));
  AcquireParams elsewhere = without_waiting();
  elsewhere.nodes = std::make_shared<const std::vector<std::string>>(1, "nowhere");
  EXPECT(refused(Status::INVALID_ARGUMENT, elsewhere, "id nor the address"));
  s.b->take("k");
  AcquireParams backwards = waiting_ms(5'000);
  backwards.retry.callback = [](uint32_t, void *) -> int64_t { return -1; };
  EXPECT(refused(Status::INVALID_ARGUMENT, backwards, "negative interval"));
  for (int n = 0; n < 3; ++n) s.nodes[n]->stop(Node::Data::Kept);
  s.world.run_ms(300);
  EXPECT(refused(Status::NO_QUORUM, without_waiting(), "2 of 5 nodes answer"));
  EXPECT(refused(Status::INVALID_ARGUMENT, elsewhere, "id nor the address"));
}

UNIT_MAIN(
    "quorum locks", cmocka_unit_test(a_free_key_costs_one_call_to_each_node_and_its_release_one),
    cmocka_unit_test(tokens_rise_from_lock_to_lock), cmocka_unit_test(a_key_that_is_held_is_busy_for_one_try),
    cmocka_unit_test(a_key_that_is_held_is_busy_also_for_who_asks_for_all_votes),
    cmocka_unit_test(a_lease_that_is_longer_than_any_may_be_is_refused_also_where_nodes_are_missing),
    cmocka_unit_test(an_owner_that_holds_all_keys_already_gets_one_token_for_them),
          cmocka_unit_test(keys_that_an_owner_takes_together_and_holds_already_leave_nothing_to_renew_behind),
    cmocka_unit_test(a_context_that_closes_while_no_node_answers_ends_once_and_leaves_no_timer),
    cmocka_unit_test(what_is_granted_after_its_attempt_was_given_up_is_undone),
    cmocka_unit_test(a_change_that_is_answered_late_does_not_outlive_a_later_shorter_one),
    cmocka_unit_test(a_release_that_too_few_nodes_confirm_is_partial_and_its_end_is_an_event),
    cmocka_unit_test(a_release_calls_the_one_who_waits),
    cmocka_unit_test(a_lock_is_held_for_long_by_renewal_and_nobody_else_gets_it),
    cmocka_unit_test(a_lock_survives_the_loss_of_two_nodes_and_is_granted_without_them),
    cmocka_unit_test(
        a_node_that_comes_back_without_its_data_gets_the_lock_again_by_renewal_and_votes_after_its_silence),
    cmocka_unit_test(two_nodes_that_forgot_do_not_help_a_second_holder),
    cmocka_unit_test(without_a_quorum_nothing_is_granted_and_the_cause_is_said),
    cmocka_unit_test(servers_that_nobody_founded_are_silent_and_serve_after_that),
    cmocka_unit_test(several_keys_are_taken_and_given_back_as_one),
    cmocka_unit_test(many_who_want_one_key_get_it_in_their_order),
    cmocka_unit_test(a_cancelled_wait_leaves_nothing_behind),
    cmocka_unit_test(what_a_caller_did_wrong_is_told_apart_from_what_servers_did))
