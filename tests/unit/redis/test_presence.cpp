// SPDX-License-Identifier: MIT
// Who says that he lives, who is found dead, and who flushes what the dead left behind, in a world whose time is moved
// by hand.
#include "lives.hpp"

using namespace unit;

UNIT_TEST(an_instance_says_that_it_lives_once_per_interval_and_nothing_is_searched) {
  Lives s;
  s.hold(s.a, "k");
  s.world.run_ms(900);
  EXPECT(s.listed() == 0);  // who comes and goes costs nothing more
  s.world.run_ms(200);
  EXPECT(s.listed() == 1 && s.node.ask({"PTTL", kList}).integer > 86'000'000);
  const uint64_t before = s.node.script_calls();
  s.world.run_ms(100'000);
  const uint64_t calls = s.node.script_calls() - before;
  EXPECT(calls >= 10 && calls <= 12);
  EXPECT(s.node.count("scan") == 0 && s.node.ask({"EXISTS", kTurn}).is(0));
  EXPECT(s.status(s.a).runs == calls + 1 && s.status(s.a).last_run_us > 0);
  EXPECT(s.status(s.a).enabled == 1 && s.status(s.a).interval_ms == 10'000);
}

UNIT_TEST(what_a_killed_process_held_is_free_soon_after_it_counts_as_silent) {
  Lives s;
  Wanted &live = s.hold(s.b, "live");
  s.hold(s.a, "left");
  s.hold(s.a, "behind");
  s.world.run_ms(5'000);
  s.a.host().kill();
  s.world.run_ms(33'000);
  EXPECT(!s.is_free("left"));  // a's last sign of life was in its sixth second at the earliest
  s.world.run_ms(30'000);
  EXPECT(s.is_free("left") && s.is_free("behind") && s.listed() == 1);
  EXPECT(s.b.holds(live.grant().handle) && live.losses == 0);
  const liblock_zombies_status status = s.status(s.b);
  EXPECT(status.flushes == 1 && status.instances == 1 && status.locks == 2 && status.flushing == 0);
  EXPECT(status.last_failure == LIBLOCK_OK && s.node.ask({"EXISTS", kTurn}).is(0));
  const uint64_t scans = s.node.count("scan");
  s.world.run_ms(60'000);
  EXPECT(s.node.count("scan") == scans);
}

UNIT_TEST(a_flush_is_told_with_the_number_of_its_locks) {
  Lives s;
  std::vector<liblock_event> told;
  s.hold(s.b, "live");
  s.b.instance().events.instruments()->events().listen(
      uint64_t{1} << LIBLOCK_EVENT_DEAD_CLEARED,
      [](const liblock_event *event, void *user_data) {
        static_cast<std::vector<liblock_event> *>(user_data)->push_back(*event);
      },
      &told, nullptr);
  s.hold(s.a, "left");
  s.world.run_ms(2'000);
  s.a.host().kill();
  s.world.run_ms(80'000);
  EXPECT(told.size() == 1 && told[0].count == 1 && told[0].elapsed_us >= 0);
}

UNIT_TEST(waiters_of_the_dead_leave_the_queue) {
  Lives s;
  s.hold(s.b, "k");
  s.forge(1);
  const auto time = s.node.ask({"TIME"});
  s.node.ask({"ZADD", "ll1:q:{liblock:k}", "1", std::string(32, 'a')});
  s.node.ask({"HSET", "ll1:e:{liblock:k}", std::string(32, 'a'),
              "1|" + time.items.at(0).text + "000000|3000|0|0|x0@far|x0@far/1/o|1|0|"});
  s.world.run_ms(60'000);
  EXPECT(s.node.ask({"EXISTS", "ll1:q:{liblock:k}"}).is(0));
  EXPECT(s.status(s.b).waiters == 1 && s.status(s.b).instances == 1 && s.status(s.b).locks == 0);
}

UNIT_TEST(a_stopped_process_is_silent_and_is_not_flushed_while_it_is_connected) {
  Lives s;
  s.hold(s.b, "live");
  Wanted &kept = s.hold(s.a, "kept");
  s.world.run_ms(2'000);
  s.a.host().pause();
  s.world.run_ms(300'000);
  EXPECT(!s.is_free("kept") && s.status(s.b).flushes == 0 && s.node.count("scan") == 0 && s.listed() == 2);
  const std::vector<InstanceInfo> shown = s.list(s.b, false);
  EXPECT(shown.size() == 2 && shown[0].id == "a" && shown[0].listens == 1 && !shown[0].is_zombie);
  EXPECT(shown[0].silent_ms > 280'000);
  s.a.host().go_on();
  s.world.run_ms(5'000);
  EXPECT(s.a.holds(kept.grant().handle) && kept.losses == 0);
}

UNIT_TEST(who_comes_back_within_alive_ms_keeps_what_it_holds) {
  Lives s;
  s.hold(s.b, "live");
  Wanted &kept = s.hold(s.a, "kept");
  s.world.run_ms(2'000);
  s.a.host().cut();
  s.node.end_connections(true);
  EXPECT(s.world.run_until([&] { return s.whose_turn() == "b"; }, 80'000));
  s.a.host().mend();
  s.world.run_ms(30'000);
  EXPECT(!s.is_free("kept") && s.a.holds(kept.grant().handle) && kept.losses == 0);
  EXPECT(s.status(s.b).flushes == 0 && s.listed() == 2);
}

UNIT_TEST(of_all_who_hear_of_the_dead_one_flushes_them) {
  Lives s;
  std::vector<std::unique_ptr<Process>> more;
  for (int n = 0; n < 8; ++n)
    more.push_back(std::make_unique<Process>(s.world, "p" + std::to_string(n), s.node, with_interval()));
  for (const auto &process : more) s.hold(*process, "of " + process->instance().id);
  s.hold(s.a, "left");
  s.world.run_ms(2'000);
  s.a.host().kill();
  s.world.run_ms(90'000);
  EXPECT(s.is_free("left") && s.listed() == 8);
  uint64_t flushes = 0;
  for (const auto &process : more) flushes += s.status(*process).flushes;
  EXPECT(flushes == 1 && s.node.count("scan") == 2);  // queues, locks
}

UNIT_TEST(the_dead_are_flushed_once_also_where_a_sign_of_life_is_under_way_when_they_have_been) {
  for (int locks = 200; locks <= 1'600; locks += 100) {
    Lives s;
    s.hold(s.b, "live");
    for (int i = 0; i < locks; ++i) s.hold(s.a, "left" + std::to_string(i));
    s.world.run_ms(2'000);
    s.a.host().kill();
    s.world.link(s.b.host(), s.node).set_delay(480 * kMillisecond, 480 * kMillisecond);
    s.world.run_ms(160'000);
    EXPECT(s.listed() == 1 && s.status(s.b).flushes == 1 && s.status(s.b).instances == 1);
  }
}

UNIT_TEST(a_turn_whose_taker_dies_passes_on) {
  Lives s;
  Process c(s.world, "c", s.node, with_interval());
  s.hold(s.b, "of b");
  s.hold(c, "of c");
  s.hold(s.a, "of a");
  s.world.run_ms(2'000);
  s.a.host().kill();
  EXPECT(s.world.run_until([&] { return !s.whose_turn().empty(); }, 80'000));
  Process &taker = s.whose_turn() == "b" ? s.b : c;
  Process &other = s.whose_turn() == "b" ? c : s.b;
  const std::string taken = "of " + taker.instance().id;
  taker.host().kill();
  EXPECT(!s.is_free("of a"));
  s.world.run_ms(120'000);
  EXPECT(s.is_free("of a") && s.is_free(taken) && s.status(other).instances == 2 && s.listed() == 1);
}

UNIT_TEST(who_says_nothing_is_flushed_by_nobody_and_flushes_nobody) {
  Lives s;
  Process quiet(s.world, "quiet", s.node, with_interval(-1));
  s.hold(quiet, "quiet");
  s.hold(s.b, "live");
  s.world.run_ms(20'000);
  EXPECT(s.listed() == 1 && s.status(quiet).enabled == 0 && s.status(quiet).interval_ms == -1);
  quiet.host().kill();
  s.world.run_ms(200'000);
  EXPECT(!s.is_free("quiet") && s.status(s.b).flushes == 0);
  Process other(s.world, "other", s.node, with_interval(-1));
  s.hold(other, "other");
  s.hold(s.a, "left");
  s.world.run_ms(2'000);
  s.b.end();
  s.a.host().kill();
  s.world.run_ms(200'000);
  EXPECT(!s.is_free("left") && s.status(other).runs == 0);
}

UNIT_TEST(a_context_that_closes_goes_from_the_list_whether_it_leaves_its_locks_or_not) {
  Lives s;
  s.hold(s.b, "live");
  s.hold(s.a, "left");
  s.world.run_ms(2'000);
  EXPECT(s.listed() == 2);
  bool closed = false;
  run_once(s.a.host(), [&] { s.a.instance().close(true, [&] { closed = true; }); });
  EXPECT(s.world.run_until([&] { return closed; }, 5'000));
  EXPECT(s.listed() == 1);
  s.world.run_ms(200'000);
  EXPECT(!s.is_free("left") && s.status(s.b).flushes == 0);  // it was meant to stay
  s.b.end();
  EXPECT(s.listed() == 0);
}

UNIT_TEST(a_context_closes_while_it_waits_for_the_dead_to_come_back_and_while_it_flushes) {
  for (const bool flushing : {false, true}) {
    Lives s;
    for (int n = 0; n < 3'000; ++n) s.node.ask({"SET", "liblock:foreign" + std::to_string(n), "v"});
    s.hold(s.b, "live");
    s.forge(1);
    EXPECT(s.world.run_until([&] { return flushing ? s.status(s.b).flushing == 1 : s.whose_turn() == "b"; },
                             60'000));
    s.b.end();
    EXPECT(s.listed() == 1);  // the dead one
  }
}

UNIT_TEST(many_dead_are_flushed_in_bounded_portions) {
  Lives s;
  s.hold(s.b, "live");
  s.forge(1'000);
  for (int n = 0; n < 1'000; n += 10)
    s.node.ask({"SET", "liblock:k" + std::to_string(n),
                "ll1|" + std::string(32, 'f') + "|00000000|77|o|x" + std::to_string(n) + "@far|v"});
  s.world.run_ms(100'000);
  const liblock_zombies_status status = s.status(s.b);
  EXPECT(status.instances == 1'000 && status.flushes == 4 && status.locks == 100 && s.listed() == 1);
}

UNIT_TEST(those_who_are_stopped_do_not_hide_the_dead_behind_them) {
  Lives s;
  s.hold(s.b, "live");
  s.forge(600, "stopped");
  s.forge(1, "y");
  s.node.ask({"ZADD", kList, "1700000000999999", "y0@far|10000"});  // behind all the others
  const auto numsub = s.node.server().on_numsub;
  s.node.server().on_numsub = [&](std::string_view channel) {
    return channel.find("stopped") != std::string_view::npos ? 1 : numsub(channel);
  };
  s.world.run_ms(60'000);
  EXPECT(s.status(s.b).instances == 1 && s.listed() == 601);
}

UNIT_TEST(where_the_server_does_not_tell_who_listens_nobody_is_dead_and_old_entries_go) {
  Lives s;
  s.hold(s.b, "live");
  s.forge(3);
  const int64_t hour_us = 3'600'000'000;
  s.node.ask({"ZADD", kList, std::to_string(s.now_us() - 25 * hour_us), "old@far|10000"});
  s.node.ask({"ZADD", kList, std::to_string(s.now_us() - 23 * hour_us), "newer@far|10000"});
  s.node.server().on_numsub = [](std::string_view) { return -1; };
  s.world.run_ms(60'000);
  EXPECT(s.status(s.b).flushes == 0 && s.listed() == 5);  // b, and those of less than a day ago
}

UNIT_TEST(a_server_that_fails_is_noted_and_asked_again) {
  Lives s;
  s.hold(s.b, "live");
  s.node.ask({"SET", kList, "no list"});
  s.world.run_ms(15'000);
  EXPECT(s.status(s.b).runs == 0 && s.status(s.b).last_failure == LIBLOCK_WRONG_TYPE);
  EXPECT(s.status(s.b).last_failure_us > 0);
  s.node.ask({"DEL", kList});
  s.world.run_ms(15'000);
  EXPECT(s.status(s.b).runs >= 1 && s.listed() == 1);
}

UNIT_TEST(who_fails_to_flush_gives_the_turn_to_others) {
  Lives s;
  s.hold(s.b, "live");
  s.forge(1);
  s.node.ask({"SET", "liblock:k", "ll1|" + std::string(32, 'f') + "|00000000|77|o|x0@far|v"});
  s.hold(s.a, "other");
  s.world.run_ms(5'000);
  EXPECT(s.world.run_until([&] { return s.status(s.b).flushing + s.status(s.a).flushing == 1; }, 60'000));
  Process &first = s.status(s.b).flushing == 1 ? s.b : s.a;
  Process &second = s.status(s.b).flushing == 1 ? s.a : s.b;
  first.host().break_connections();
  s.world.run_ms(2'000);
  EXPECT(s.status(first).last_failure != LIBLOCK_OK && s.status(first).flushing == 0);
  EXPECT(s.whose_turn() != first.instance().id && !s.is_free("k"));
  s.world.run_ms(40'000);
  EXPECT(s.status(first).flushes == 0 && s.status(second).flushes == 1 && s.is_free("k"));
  s.forge(1);
  second.end();
  s.world.run_ms(160'000);
  EXPECT(s.status(first).flushes == 1);  // it tries again in the end
}

UNIT_TEST(who_has_just_connected_gives_others_the_time_to_come_back) {
  Lives s;
  s.forge(1);
  s.hold(s.b, "live");
  s.world.run_ms(39'000);
  EXPECT(s.whose_turn().empty() && s.status(s.b).runs >= 4 && s.node.count("scan") == 0);
  s.b.host().break_connections();
  s.world.run_ms(39'000);
  EXPECT(s.whose_turn().empty() && s.node.count("scan") == 0);
  s.world.run_ms(20'000);
  EXPECT(s.status(s.b).flushes == 1);
}

UNIT_TEST(who_dies_while_another_is_looked_at_again_is_looked_at_twice_as_well) {
  Lives s;
  s.hold(s.b, "live");
  s.world.run_ms(45'000);
  s.forge(1, "x");
  EXPECT(s.world.run_until([&] { return s.whose_turn() == "b"; }, 20'000));
  s.forge(1, "y");
  EXPECT(s.world.run_until([&] { return s.status(s.b).flushes == 1; }, 20'000));
  EXPECT(s.status(s.b).instances == 1);
  s.world.run_ms(20'000);
  EXPECT(s.status(s.b).flushes == 2 && s.status(s.b).instances == 2);
}

UNIT_TEST(who_was_flushed_and_came_back_is_flushed_again) {
  Lives s;
  s.hold(s.b, "live");
  s.world.run_ms(45'000);
  for (uint64_t round = 1; round <= 3; ++round) {
    s.forge(1);
    s.node.ask({"SET", "liblock:k", "ll1|" + std::string(32, 'f') + "|00000000|77|o|x0@far|v"});
    s.world.run_ms(20'000);
    EXPECT(s.status(s.b).flushes == round && s.status(s.b).locks == round && s.is_free("k"));
  }
}

UNIT_TEST(a_server_that_goes_while_the_dead_are_looked_at_again_only_delays_that) {
  Lives s;
  s.hold(s.b, "live");
  s.world.run_ms(45'000);
  s.forge(1);
  EXPECT(s.world.run_until([&] { return s.whose_turn() == "b"; }, 20'000));
  s.node.stop(Node::Data::Kept);
  s.world.run_ms(10'000);
  s.node.start();
  EXPECT(s.status(s.b).flushes == 0);
  s.world.run_ms(80'000);
  EXPECT(s.status(s.b).flushes == 1 && s.listed() == 1);
}

UNIT_TEST(a_sign_of_life_without_an_answer_is_given_again_on_the_next_connection) {
  Lives s;
  s.hold(s.b, "live");
  s.world.run_ms(2'000);
  EXPECT(s.status(s.b).runs == 1);
  s.node.freeze();
  s.world.run_ms(12'000);
  s.node.thaw();
  EXPECT(s.world.run_until([&] { return s.status(s.b).runs >= 2; }, 2'500));
  EXPECT(s.status(s.b).last_failure == LIBLOCK_CONNECT);
}

UNIT_TEST(the_end_of_a_flush_takes_nobody_off_the_list_who_lives_and_no_turn_of_another) {
  Lives s;
  const std::string body(liblock::scripts::presence.body);
  s.forge(1, "dead");
  s.node.ask({"ZADD", kList, std::to_string(s.now_us() + 30'000'000), "back@far|10000"});
  s.node.ask({"SET", kTurn, "another"});
  const auto answer = s.node.ask({"EVAL", body, "2", kList, kTurn, "me|10000", "40000000", "1000", "0", "256",
                                  "dead0@far|10000", "back@far|10000"});
  EXPECT(answer.items.size() == 3 && answer.items[1].is(0) && s.whose_turn() == "another");
  EXPECT(s.listed() == 2 && !s.node.ask({"ZSCORE", kList, "back@far|10000"}).text.empty());
}

UNIT_TEST(after_an_outage_the_next_connection_says_at_once_that_it_lives) {
  Lives s;
  s.hold(s.b, "live");
  s.world.run_ms(5'000);
  s.node.stop(Node::Data::Kept);
  s.world.run_ms(30'000);
  s.node.start();
  const uint64_t runs = s.status(s.b).runs;
  s.world.run_ms(2'500);
  EXPECT(s.status(s.b).runs == runs + 1);
}

UNIT_MAIN("presence",
          cmocka_unit_test(an_instance_says_that_it_lives_once_per_interval_and_nothing_is_searched),
          cmocka_unit_test(what_a_killed_process_held_is_free_soon_after_it_counts_as_silent),
          cmocka_unit_test(a_flush_is_told_with_the_number_of_its_locks),
          cmocka_unit_test(waiters_of_the_dead_leave_the_queue),
          cmocka_unit_test(a_stopped_process_is_silent_and_is_not_flushed_while_it_is_connected),
          cmocka_unit_test(who_comes_back_within_alive_ms_keeps_what_it_holds),
          cmocka_unit_test(of_all_who_hear_of_the_dead_one_flushes_them),
          cmocka_unit_test(the_dead_are_flushed_once_also_where_a_sign_of_life_is_under_way_when_they_have_been),
          cmocka_unit_test(a_turn_whose_taker_dies_passes_on),
          cmocka_unit_test(who_says_nothing_is_flushed_by_nobody_and_flushes_nobody),
          cmocka_unit_test(a_context_that_closes_goes_from_the_list_whether_it_leaves_its_locks_or_not),
          cmocka_unit_test(a_context_closes_while_it_waits_for_the_dead_to_come_back_and_while_it_flushes),
          cmocka_unit_test(many_dead_are_flushed_in_bounded_portions),
          cmocka_unit_test(those_who_are_stopped_do_not_hide_the_dead_behind_them),
          cmocka_unit_test(where_the_server_does_not_tell_who_listens_nobody_is_dead_and_old_entries_go),
          cmocka_unit_test(a_server_that_fails_is_noted_and_asked_again),
          cmocka_unit_test(who_fails_to_flush_gives_the_turn_to_others),
          cmocka_unit_test(who_has_just_connected_gives_others_the_time_to_come_back),
          cmocka_unit_test(who_dies_while_another_is_looked_at_again_is_looked_at_twice_as_well),
          cmocka_unit_test(who_was_flushed_and_came_back_is_flushed_again),
          cmocka_unit_test(a_server_that_goes_while_the_dead_are_looked_at_again_only_delays_that),
          cmocka_unit_test(a_sign_of_life_without_an_answer_is_given_again_on_the_next_connection),
          cmocka_unit_test(the_end_of_a_flush_takes_nobody_off_the_list_who_lives_and_no_turn_of_another),
          cmocka_unit_test(after_an_outage_the_next_connection_says_at_once_that_it_lives))
