// SPDX-License-Identifier: MIT
// Leases on a server, from the grant to their end: renewal through faults, loss told once, ends set anew, and what
// is given back when nobody can know whether it was granted.
#include "stage.hpp"

using namespace unit;

UNIT_TEST(a_renewed_lease_outlives_its_time_to_live_by_far) {
  Stage s;
  Wanted &lock = s.a.take("k", waiting_ms(0, 3'000));
  s.world.run_ms(3'600'000);
  EXPECT(s.a.holds(lock.grant().handle) && lock.losses == 0);
  EXPECT(s.a.release(lock.grant().handle) != nullptr);
  s.world.run_ms(5);
  EXPECT(s.is_free("k"));
}

UNIT_TEST(a_first_lease_is_short_until_its_holder_has_shown_that_it_lives) {
  Stage s;
  s.a.take("k", waiting_ms(0, 60'000));
  EXPECT(s.node.ask({"PTTL", "liblock:k"}).integer <= 3'000);
  s.world.run_ms(1'100);
  EXPECT(s.node.ask({"PTTL", "liblock:k"}).integer > 58'000);
  s.a.host().kill();
  s.world.run_ms(60'000);
  EXPECT(s.is_free("k"));
}

UNIT_TEST(a_lease_that_is_not_renewed_ends_here_before_it_ends_there) {
  for (const int64_t ppm : {-9'000, 0, 9'000}) {
    Stage s;
    s.a.host().set_rate(ppm);
    Wanted &lock = s.a.take("k", waiting_ms(0, 20'000, false));
    EXPECT(!s.world.run_until([&] { return s.is_free("k"); }, 19'000));
    EXPECT(s.world.run_until([&] { return !s.a.holds(lock.grant().handle); }, 2'000));
    EXPECT(!s.is_free("k"));
    s.world.run_ms(1'000);
    EXPECT(s.is_free("k"));
    EXPECT(lock.losses == 1);
  }
}

// Of fewer under a sanitizer.
UNIT_TEST(ten_thousand_leases_are_renewed_in_batches_at_an_even_pace) {
  Stage s;
  std::vector<Wanted *> locks;
  for (uint64_t i = 0; i < 10'000 / slowness(); ++i)
    locks.push_back(&s.a.acquire({"k" + std::to_string(i)}, waiting_ms(0, 3'000)));
  s.world.run_ms(3'000);
  const uint64_t before = s.node.script_calls();
  uint64_t most = 0;
  for (int second = 0; second < 20; ++second) {
    for (int tenth = 0; tenth < 10; ++tenth) {
      const uint64_t calls = s.node.script_calls();
      s.world.run_ms(100);
      most = std::max(most, s.node.script_calls() - calls);
    }
  }
  EXPECT(s.node.script_calls() - before <= 20 * 400 / slowness());
  EXPECT(most <= 80 / slowness());  // in a tenth of a second
  for (const Wanted *lock : locks) EXPECT(lock->losses == 0 && s.a.holds(lock->grant().handle));
}

// Two that fall due together with different times to live go in different calls.
UNIT_TEST(a_lease_is_renewed_though_what_fell_due_with_it_has_gone) {
  Stage s;
  for (int i = 0; i < 100; ++i) {
    Wanted &first = s.a.take("first", waiting_ms(0, 3'000));
    Wanted &second = s.a.take("second", waiting_ms(0, 3'001));
    s.world.run_ms(1'200);
    s.a.release(first.grant().handle);
    s.world.run_ms(6'000);
    EXPECT(s.a.holds(second.grant().handle) && second.losses == 0);
    s.a.release(second.grant().handle);
    s.world.run_ms(10);
  }
}

UNIT_TEST(a_short_lease_is_renewed_in_time_behind_many_long_ones) {
  Stage s;
  for (int i = 0; i < 200; ++i) s.a.take("long" + std::to_string(i), waiting_ms(0, 600'000));
  s.world.run_ms(175'000);
  s.a.host().cut();
  s.world.run_ms(30'000);  // all of them fall due
  s.a.host().mend();
  s.world.run_ms(3'000);
  Wanted &lock = s.a.take("short", waiting_ms(0, 3'000));
  s.world.run_ms(30'000);
  EXPECT(s.a.holds(lock.grant().handle) && lock.losses == 0);
}

UNIT_TEST(a_lock_is_kept_through_a_connection_that_breaks_every_second) {
  Stage s;
  Wanted &lock = s.a.take("k", waiting_ms(0, 3'000));
  for (int i = 0; i < 300; ++i) {
    s.world.run_ms(700 + i);
    s.a.host().break_connections();
  }
  s.world.run_ms(1'000);
  EXPECT(s.a.holds(lock.grant().handle) && lock.losses == 0);
}

UNIT_TEST(a_lock_is_kept_through_answers_that_are_lost) {
  Stage s;
  Wanted &lock = s.a.take("k", waiting_ms(0, 6'000));
  for (int i = 0; i < 20; ++i) {
    s.world.run_ms(5'000);
    s.node.lose_answers();
  }
  s.world.run_ms(5'000);
  EXPECT(s.a.holds(lock.grant().handle) && lock.losses == 0);
}

UNIT_TEST(an_outage_that_is_longer_than_the_lease_loses_it_once_and_at_its_end) {
  Stage s;
  Wanted &lock = s.a.take("k", waiting_ms(0, 3'000));
  s.world.run_ms(10'000);
  s.a.host().cut();
  s.world.run_ms(1'900);
  EXPECT(s.a.holds(lock.grant().handle));
  s.world.run_ms(1'200);
  EXPECT(s.a.state_of(lock.grant().handle) == Status::LOST && lock.losses == 1);
  Wanted &next = s.b.take("k");
  s.a.host().mend();
  s.world.run_ms(60'000);
  EXPECT(lock.losses == 1 && s.b.holds(next.grant().handle) && next.losses == 0);
}

UNIT_TEST(a_process_that_was_paused_beyond_its_lease_knows_when_it_wakes) {
  Stage s;
  Wanted &lock = s.a.take("k", waiting_ms(0, 3'000));
  s.world.run_ms(1'000);
  s.a.host().pause();
  s.world.run_ms(10'000);
  Wanted &next = s.b.take("k");
  EXPECT(next.grant().token > lock.grant().token);
  s.a.host().go_on();
  s.world.run_ms(0);
  EXPECT(!s.a.holds(lock.grant().handle) && lock.losses == 1);
  s.world.run_ms(5'000);
  EXPECT(s.b.holds(next.grant().handle));
}

UNIT_TEST(a_server_that_forgot_is_found_out_by_the_next_renewal) {
  Stage s;
  Wanted &lock = s.a.take("k", waiting_ms(0, 3'000));
  s.node.ask({"FLUSHALL"});
  s.world.run_ms(1'100);
  EXPECT(s.a.state_of(lock.grant().handle) == Status::LOST && lock.losses == 1);
}

UNIT_TEST(a_renewal_never_prolongs_the_lease_of_somebody_else) {
  Stage s;
  Wanted &lock = s.a.take("k", waiting_ms(0, 3'000));
  s.node.ask({"FLUSHALL"});
  Wanted &next = s.b.take("k", waiting_ms(0, 2'500, false));
  s.world.run_ms(2'000);
  EXPECT(lock.losses == 1 && s.b.holds(next.grant().handle));
  EXPECT(s.node.ask({"PTTL", "liblock:k"}).integer <= 500);
}

UNIT_TEST(another_server_is_asked_before_a_lease_is_renewed_there) {
  Stage s;
  Wanted &kept = s.a.take("k", waiting_ms(0, 30'000));
  s.world.run_ms(2'000);
  s.node.stop(Node::Data::Kept);  // as a replica that was promoted and has everything
  s.node.start();
  s.world.run_ms(100);
  EXPECT(s.a.holds(kept.grant().handle) && kept.losses == 0);
  s.node.stop(Node::Data::Lost);
  s.node.start();
  s.world.run_ms(100);
  EXPECT(s.a.state_of(kept.grant().handle) == Status::LOST && kept.losses == 1);
}

UNIT_TEST(an_extension_counts_from_before_it_was_sent) {
  Stage s;
  s.world.delay_least = s.world.delay_most = 100 * kMillisecond;
  Wanted &lock = s.a.take("k", waiting_ms(0, 5'000, false));
  const auto extended = s.a.extend(lock.grant().handle, 20'000, false);
  s.world.run_ms(201);
  EXPECT(extended->is(Status::OK));
  const liblock::HoldView seen = s.a.instance().holds.view(lock.grant().handle);
  const int64_t left_here = (seen.deadline - s.a.host().now()) / kMillisecond;
  EXPECT(left_here <= s.node.ask({"PTTL", "liblock:k"}).integer - 100 - 200);
  EXPECT(left_here >= 20'000 - 201 - 203);
}

UNIT_TEST(a_shorter_lease_counts_at_once) {
  Stage s;
  Wanted &lock = s.a.take("k", waiting_ms(0, 60'000, false));
  s.a.host().cut();  // the server does not even hear of it
  s.a.extend(lock.grant().handle, 1'000, false);
  s.world.run_ms(989);
  EXPECT(!s.a.holds(lock.grant().handle));
}

UNIT_TEST(a_lock_that_is_renewed_still_is_when_it_was_extended) {
  for (const bool add : {false, true}) {
    Stage s;
    Wanted &lock = s.a.take("k", waiting_ms(0, 600));
    s.a.extend(lock.grant().handle, 1'000, false, add);
    for (int i = 0; i < 100; ++i) {
      s.world.run_ms(100);
      EXPECT(s.a.holds(lock.grant().handle) && lock.losses == 0);
      // A renewal takes nothing away of what was added.
      EXPECT(!add || i > 5 || s.node.ask({"PTTL", "liblock:k"}).integer > 1'400 - 100 * (i + 1));
    }
    EXPECT(s.node.ask({"PTTL", "liblock:k"}).integer <= (add ? 600 : 1'000));
  }
}

UNIT_TEST(a_lock_whose_expiry_was_taken_away_is_not_renewed_any_more) {
  Stage s;
  Wanted &lock = s.a.take("k", waiting_ms(0, 600));
  s.a.extend_for(lock.grant().handle, liblock::kNever, false, false);
  s.world.run_ms(10);
  const uint64_t calls = s.node.script_calls();
  s.world.run_ms(60'000);
  EXPECT(s.node.script_calls() == calls);
  EXPECT(s.a.holds(lock.grant().handle) && s.node.ask({"PTTL", "liblock:k"}).is(-1));
}

UNIT_TEST(an_extension_beyond_the_longest_hold_is_not_renewed) {
  Stage s;
  AcquireParams params = waiting_ms(0, 600);
  params.max_hold = 1'500 * kMillisecond;
  Wanted &lock = s.a.take("k", params);
  s.a.extend(lock.grant().handle, 5'000, false);
  s.world.run_ms(4'800);
  EXPECT(s.a.holds(lock.grant().handle));
  s.world.run_ms(300);
  EXPECT(lock.losses == 1);
}

UNIT_TEST(keys_are_counted_while_they_are_held) {
  Stage s;
  const std::atomic<int64_t> &held = s.a.instance().counts.keys_held;
  Wanted &two = s.a.acquire({"x", "y"}, without_waiting());
  Wanted &lost = s.a.take("k");
  s.world.run_ms(5);
  EXPECT(held == 3);
  s.node.ask({"DEL", "liblock:k"});
  s.world.run_ms(1'100);
  EXPECT(lost.losses == 1 && held == 2);
  s.a.release(lost.grant().handle);
  s.a.release(two.grant().handle);
  s.world.run_ms(5);
  EXPECT(held == 0);
}

UNIT_TEST(a_lease_that_was_added_to_never_counts_for_longer_than_on_the_server) {
  Stage s;
  Wanted &lock = s.a.take("k", waiting_ms(0, 1'000));
  s.a.extend(lock.grant().handle, 30'000, false, true);
  for (int i = 0; i < 400; ++i) {
    s.world.run_ms(100);
    const Nanos left = s.a.instance().holds.view(lock.grant().handle).deadline - s.a.host().now();
    EXPECT(left / kMillisecond <= s.node.ask({"PTTL", "liblock:k"}).integer);
    EXPECT(s.a.holds(lock.grant().handle));
  }
}

UNIT_TEST(a_change_that_was_carried_out_after_the_loss_leaves_nothing_behind) {
  for (const bool answered : {true, false}) {
    Stage s;
    Wanted &lock = s.a.take("k", waiting_ms(0, 900, false));
    s.a.extend(lock.grant().handle, 1'000, false);  // the server knows the script
    s.world.run_ms(900);
    if (answered) {
      s.world.delay_least = s.world.delay_most = 60 * kMillisecond;
    } else {
      s.node.lose_answers();
    }
    s.a.extend_for(lock.grant().handle, liblock::kNever, false, false);
    s.world.run_ms(70);
    EXPECT(s.node.ask({"PTTL", "liblock:k"}).is(-1));
    s.world.run_ms(5'000);
    EXPECT(lock.losses == 1 && s.is_free("k"));
  }
}

UNIT_TEST(changes_happen_in_the_order_in_which_they_were_asked_for) {
  for (const bool is_away : {true, false}) {
    Stage s;
    Wanted &lock = s.a.take("k", waiting_ms(0, 3'000, false));
    if (is_away) s.a.host().break_connections();
    s.node.ask({"SCRIPT", "FLUSH"});
    s.world.run_ms(1);
    const auto extended = s.a.extend(lock.grant().handle, 60'000, false);
    const auto updated = s.a.update(lock.grant().handle, "new");
    s.world.run_ms(100);
    if (is_away && extended->is(Status::CONNECT)) continue;
    EXPECT(extended->is(Status::OK) && updated->is(Status::OK));
    EXPECT(s.node.ask({"PTTL", "liblock:k"}).integer > 50'000);
    EXPECT(s.node.ask({"GET", "liblock:k"}).text.ends_with("|new"));
    s.world.run_ms(10'000);
    EXPECT(s.a.holds(lock.grant().handle));
  }
}

UNIT_TEST(a_server_that_still_loads_is_asked_again) {
  Stage s;
  Wanted &lock = s.a.take("k", waiting_ms(0, 10'000));
  s.world.run_ms(5'000);
  s.node.stop(Node::Data::Kept);
  s.node.start();
  s.node.server().loading = true;
  s.world.run_ms(2'000);
  s.node.server().loading = false;
  s.world.run_ms(30'000);
  EXPECT(s.a.holds(lock.grant().handle) && lock.losses == 0);
}

UNIT_TEST(an_extend_that_was_refused_changes_nothing) {
  for (const bool is_away : {true, false}) {
    Stage s;
    Wanted &renewed = s.a.take("r", waiting_ms(0, 6'000)),
           &plain = s.a.take("p", waiting_ms(0, 60'000, false));
    s.world.run_ms(2'500);
    if (is_away) s.node.stop(Node::Data::Kept);
    s.node.server().out_of_memory = true;
    s.world.run_ms(5);
    const auto first = s.a.extend(renewed.grant().handle, 1'000, false);
    const auto second = s.a.extend(plain.grant().handle, 1'000, false);
    s.world.run_ms(5);
    EXPECT(first->times == 1 && second->times == 1 && first->status != Status::OK &&
           second->status != Status::OK);
    s.node.server().out_of_memory = false;
    if (is_away) s.node.start();
    s.world.run_ms(20'000);
    EXPECT(s.a.holds(renewed.grant().handle) && s.a.holds(plain.grant().handle));
  }
}

UNIT_TEST(the_longest_hold_ends_a_lock_that_would_be_renewed_for_ever) {
  Stage s;
  AcquireParams params = waiting_ms(0, 3'000);
  params.max_hold = 20'000 * kMillisecond;
  Wanted &lock = s.a.take("k", params);
  s.world.run_ms(19'500);
  EXPECT(s.a.holds(lock.grant().handle));
  s.world.run_ms(600);
  EXPECT(lock.losses == 1);
  EXPECT(s.is_free("k"));
}

UNIT_TEST(a_release_that_was_not_confirmed_goes_on_until_it_is) {
  Stage s;
  Wanted &lock = s.a.take("k", waiting_ms(0, 60'000));
  s.world.run_ms(2'000);
  s.a.host().cut();
  const auto released = s.a.release(lock.grant().handle);
  s.world.run_ms(1'500);
  EXPECT(released->is(Status::IN_DOUBT));
  s.a.host().break_connections();
  s.a.host().mend();
  s.world.run_ms(2'100);
  EXPECT(s.is_free("k"));
  EXPECT(s.a.instance().cleaner.empty());
}

UNIT_TEST(no_renewal_follows_a_release) {
  for (int shift = 0; shift < 60; ++shift) {
    Stage s;
    s.world.delay_least = 0;
    s.world.delay_most = 30 * kMillisecond;
    Wanted &lock = s.a.take("k", waiting_ms(0, 1'000));
    s.world.run_ms(270 + shift * 2);  // around the first renewal
    s.a.release(lock.grant().handle);
    s.world.run_ms(200);
    EXPECT(s.is_free("k") && lock.losses == 0);
  }
}

UNIT_TEST(a_grant_with_too_little_left_is_given_back) {
  Stage s;
  AcquireParams params = waiting_ms(0, 1'000, false);
  params.min_remaining = 950 * kMillisecond;
  s.world.delay_least = s.world.delay_most = 50 * kMillisecond;
  Wanted &lock = s.a.acquire({"k"}, params);
  s.world.run_ms(500);
  EXPECT(lock.is(Status::TOO_LATE));
  s.world.run_ms(200);
  EXPECT(s.is_free("k"));
}

UNIT_TEST(what_a_closed_connection_left_in_doubt_is_undone_whether_it_arrived_or_not) {
  for (int seed = 1; seed <= 40; ++seed) {
    Stage s(static_cast<uint64_t>(seed));
    s.a.release(s.a.take("warm-up").grant().handle);
    s.world.run_ms(50);
    s.world.delay_most = 3 * kMillisecond;
    Wanted &wanted = s.a.acquire({"k"}, without_waiting());
    s.world.run_for(seed * kMillisecond / 8);
    s.a.host().break_connections();
    s.world.run_ms(500);
    EXPECT(wanted.ended());
    if (!wanted.is(Status::OK)) EXPECT(s.is_free("k"));
  }
}

UNIT_MAIN("keeping leases on a server", cmocka_unit_test(a_renewed_lease_outlives_its_time_to_live_by_far),
          cmocka_unit_test(a_first_lease_is_short_until_its_holder_has_shown_that_it_lives),
          cmocka_unit_test(a_lease_that_is_not_renewed_ends_here_before_it_ends_there),
          cmocka_unit_test(ten_thousand_leases_are_renewed_in_batches_at_an_even_pace),
          cmocka_unit_test(a_lease_is_renewed_though_what_fell_due_with_it_has_gone),
          cmocka_unit_test(a_short_lease_is_renewed_in_time_behind_many_long_ones),
          cmocka_unit_test(a_lock_is_kept_through_a_connection_that_breaks_every_second),
          cmocka_unit_test(a_lock_is_kept_through_answers_that_are_lost),
          cmocka_unit_test(an_outage_that_is_longer_than_the_lease_loses_it_once_and_at_its_end),
          cmocka_unit_test(a_process_that_was_paused_beyond_its_lease_knows_when_it_wakes),
          cmocka_unit_test(a_server_that_forgot_is_found_out_by_the_next_renewal),
          cmocka_unit_test(a_renewal_never_prolongs_the_lease_of_somebody_else),
          cmocka_unit_test(another_server_is_asked_before_a_lease_is_renewed_there),
          cmocka_unit_test(an_extension_counts_from_before_it_was_sent),
          cmocka_unit_test(a_shorter_lease_counts_at_once),
          cmocka_unit_test(a_lock_that_is_renewed_still_is_when_it_was_extended),
          cmocka_unit_test(a_lock_whose_expiry_was_taken_away_is_not_renewed_any_more),
          cmocka_unit_test(an_extension_beyond_the_longest_hold_is_not_renewed),
          cmocka_unit_test(keys_are_counted_while_they_are_held),
          cmocka_unit_test(a_lease_that_was_added_to_never_counts_for_longer_than_on_the_server),
          cmocka_unit_test(a_change_that_was_carried_out_after_the_loss_leaves_nothing_behind),
          cmocka_unit_test(changes_happen_in_the_order_in_which_they_were_asked_for),
          cmocka_unit_test(a_server_that_still_loads_is_asked_again),
          cmocka_unit_test(an_extend_that_was_refused_changes_nothing),
          cmocka_unit_test(the_longest_hold_ends_a_lock_that_would_be_renewed_for_ever),
          cmocka_unit_test(a_release_that_was_not_confirmed_goes_on_until_it_is),
          cmocka_unit_test(no_renewal_follows_a_release),
          cmocka_unit_test(a_grant_with_too_little_left_is_given_back),
          cmocka_unit_test(what_a_closed_connection_left_in_doubt_is_undone_whether_it_arrived_or_not))
