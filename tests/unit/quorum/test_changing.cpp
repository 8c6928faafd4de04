// SPDX-License-Identifier: MIT
// Values of locks over a quorum: promised, written, torn by faults, and never two at once.
#include <set>

#include "values.hpp"

using namespace unit;

namespace {

using Scene = ValueScene;

}  // namespace

UNIT_TEST(a_value_of_a_key_that_nobody_holds_is_not_changed) {
  Scene s;
  Question &missing = s.change(*s.b, "", "new");
  s.world.run_ms(600);
  EXPECT(missing.is(Status::NOT_HELD));
  s.write({0, 1}, "k", Stage::record('a', 7, "old"));
  Question &too_few = s.change(*s.b, "old", "new");
  s.world.run_ms(600);
  EXPECT(too_few.is(Status::NOT_HELD) && s.nodes_with("new") == 0);
}

UNIT_TEST(another_value_than_expected_is_left_alone) {
  Scene s;
  s.a->take("k", carrying("old"));
  Question &wrong = s.change(*s.b, "older", "new");
  s.world.run_ms(600);
  EXPECT(wrong.is(Status::NOT_OWNER) && s.is_read("old"));
  for (Node *node : s.nodes) EXPECT(node->ask({"EXISTS", "ll1:p:{liblock:k}"}).is(0));
}

UNIT_TEST(without_a_quorum_nothing_is_promised_and_nothing_changes) {
  Scene s;
  Wanted &held = s.a->take("k", carrying("old"));
  for (int n = 0; n < 3; ++n) s.nodes[n]->stop(Node::Data::Kept);
  s.world.run_ms(50);
  Question &by_value = s.change(*s.b, "old", "new");
  const auto by_handle = s.a->update(held.grant().handle, "new");
  s.world.run_ms(1'500);
  EXPECT(by_value.is(Status::NO_QUORUM) && by_handle->is(Status::NO_QUORUM));
  EXPECT(s.nodes_with("new") == 0);
}

UNIT_TEST(nodes_that_do_not_vote_promise_nothing_that_counts) {
  Scene s;
  Wanted &held = s.a->take("k", carrying("old"));
  for (int n = 0; n < 3; ++n) {
    s.nodes[n]->stop(Node::Data::Kept);
    s.nodes[n]->start();
  }
  s.world.run_ms(1'500);
  EXPECT(s.a->holds(held.grant().handle));
  const auto refused = s.a->update(held.grant().handle, "new");
  s.world.run_ms(1'000);
  EXPECT(refused->is(Status::QUARANTINED) && s.nodes_with("new") == 0);
}

UNIT_TEST(the_holder_of_what_was_taken_away_cannot_write) {
  Scene s;
  Wanted &held = s.a->take("k", carrying("old"));
  for (Node *node : s.nodes) node->ask({"DEL", "liblock:k"});
  const auto update = s.a->update(held.grant().handle, "new");
  s.world.run_ms(500);
  EXPECT(update->is(Status::LOST) && held.losses == 1 && s.held_on("k") == 0);
}

UNIT_TEST(a_holder_changes_his_value_on_all_nodes) {
  Scene s;
  Wanted &held = s.a->take("k", carrying("one"));
  for (const char *value : {"two", "three"}) {
    const auto updated = s.a->update(held.grant().handle, value);
    s.world.run_ms(10);
    EXPECT(updated->is(Status::OK) && s.nodes_with(value) == 5 && s.is_read(value));
  }
  for (Node *node : s.nodes) EXPECT(node->ask({"EXISTS", "ll1:p:{liblock:k}"}).is(0));
  s.a->release(held.grant().handle);
  s.world.run_ms(10);
  EXPECT(s.held_on("k") == 0);
}

UNIT_TEST(all_keys_of_a_lock_get_the_value) {
  Scene s;
  AcquireParams params = carrying("one");
  Wanted &both = s.a->acquire({"k", "other"}, params);
  s.world.run_ms(100);
  EXPECT(both.is(Status::OK));
  const auto updated = s.a->update(both.grant().handle, "two");
  s.world.run_ms(10);
  EXPECT(updated->is(Status::OK));
  for (size_t n = 0; n < 5; ++n) EXPECT(s.value_on(n, "k") == "two" && s.value_on(n, "other") == "two");
}

UNIT_TEST(a_value_that_is_changed_by_another_process_is_kept_by_the_holders_renewals) {
  Scene s;
  Wanted &held = s.a->take("k", carrying("one"));
  Question &changed = s.change(*s.b, "one", "two");
  s.world.run_ms(10);
  EXPECT(changed.is(Status::OK) && changed.votes >= 3 && changed.nodes == 5);
  s.nodes[1]->stop(Node::Data::Lost);
  s.nodes[1]->start();
  s.world.run_ms(25'000);
  EXPECT(s.nodes_with("two") == 5 && s.a->holds(held.grant().handle));
  const auto updated = s.a->update(held.grant().handle, "three");
  s.world.run_ms(10);
  EXPECT(updated->is(Status::OK) && s.is_read("three"));
}

UNIT_TEST(a_change_reaches_nodes_that_were_away_by_renewal) {
  Scene s;
  Wanted &held = s.a->take("k", carrying("one"));
  s.nodes[0]->stop(Node::Data::Kept);
  s.nodes[3]->stop(Node::Data::Kept);
  s.world.run_ms(300);
  const auto updated = s.a->update(held.grant().handle, "two");
  s.world.run_ms(300);
  EXPECT(updated->is(Status::OK) && s.nodes_with("one") == 2);
  s.nodes[0]->start();
  s.nodes[3]->start();
  s.world.run_ms(15'000);
  EXPECT(s.nodes_with("two") == 5);
}

UNIT_TEST(of_two_who_change_one_value_at_once_one_succeeds) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Scene s(5, seed);
    s.world.delay_most = 5 * kMillisecond;
    s.a->take("k", carrying("old"));
    s.world.run_ms(50);
    Question &first = s.change(*s.a, "old", "first");
    Question &second = s.change(*s.b, "old", "second");
    s.world.run_ms(1'000);
    const bool first_won = first.is(Status::OK), second_won = second.is(Status::OK);
    EXPECT(first_won != second_won);
    EXPECT((first_won ? second : first).status == Status::NOT_OWNER ||
           (first_won ? second : first).status == Status::BUSY);
    EXPECT(s.is_read(first_won ? "first" : "second"));
  }
}

UNIT_TEST(a_promise_that_outlives_its_coordinator_ends_by_time) {
  Scene s;
  Wanted &held = s.a->take("k", carrying("old"));
  s.promise({0, 1, 2}, 800);
  Question &early = s.change(*s.b, "old", "new");
  const auto by_holder = s.a->update(held.grant().handle, "new");
  s.world.run_ms(500);
  EXPECT(early.is(Status::BUSY) && by_holder->is(Status::BUSY) && s.nodes_with("new") == 0);
  s.world.run_ms(400);
  Question &late = s.change(*s.b, "old", "new");
  s.world.run_ms(50);
  EXPECT(late.is(Status::OK) && s.is_read("new"));
}

UNIT_TEST(a_promise_on_fewer_nodes_does_not_stop_a_change) {
  Scene s;
  s.a->take("k", carrying("old"));
  s.promise({0, 4}, 60'000);
  Question &changed = s.change(*s.b, "old", "new");
  s.world.run_ms(50);
  EXPECT(changed.is(Status::OK) && s.is_read("new"));
}

UNIT_TEST(answers_that_are_lost_while_it_is_written_leave_a_doubt_that_a_read_ends) {
  Scene s;
  Wanted &held = s.a->take("k", carrying("old"));
  s.world.run_ms(5'000);
  const auto updated = s.a->update(held.grant().handle, "new");
  // It is promised, and being written: from now on nobody hears.
  EXPECT(s.world.run_until([&] { return s.nodes_with("new") == 1; }, 50));
  for (Node *node : s.nodes) node->lose_answers();
  s.world.run_ms(2'000);
  EXPECT(updated->times == 1 && (updated->is(Status::OK) || updated->is(Status::IN_DOUBT)));
  EXPECT(s.a->holds(held.grant().handle));
  s.read(*s.b);  // b's connections are found lost by that
  EXPECT(s.nodes_with("new") == 5 && s.is_read("new"));
}

UNIT_TEST(what_few_nodes_have_written_is_in_doubt_until_the_holder_brings_it_to_all) {
  Scene s;
  Wanted &held = s.a->take("k", carrying("old"));
  s.world.run_ms(5'000);
  const auto updated = s.a->update(held.grant().handle, "new");
  EXPECT(s.world.run_until([&] { return s.nodes_with("new") != 0; }, 50));
  const size_t had = s.nodes_with("new");
  for (size_t n = 0; n < 5; ++n) {
    if (s.value_on(n, "k") == "old") s.nodes[n]->freeze();
  }
  s.world.run_ms(1'000);
  if (had < 3) EXPECT(updated->is(Status::IN_DOUBT));
  for (Node *node : s.nodes) {
    if (node->is_frozen()) node->thaw();
  }
  s.world.run_ms(12'000);
  EXPECT(s.nodes_with("new") == 5 && s.is_read("new") && s.a->holds(held.grant().handle));
}

UNIT_TEST(a_write_that_comes_after_its_promise_changes_nothing) {
  Scene s;
  s.a->take("k", carrying("old"));
  s.world.run_ms(5'000);
  Question &changed = s.change(*s.b, "old", "late");
  EXPECT(s.world.run_until([&] { return s.nodes[0]->ask({"EXISTS", "ll1:p:{liblock:k}"}).is(1); }, 50));
  for (Node *node : s.nodes) node->freeze();
  s.world.run_ms(1'500);
  EXPECT(changed.ends == 1 && !changed.is(Status::OK));
  for (Node *node : s.nodes) node->thaw();
  s.world.run_ms(3'000);
  EXPECT(s.nodes_with("late") == 0 && s.is_read("old"));
}

UNIT_TEST(a_change_that_few_have_written_does_not_come_back_after_a_later_one) {
  Scene s;
  Wanted &held = s.a->take("k", carrying("old"));
  // A coordinator with a fast clock had promises of a quorum, wrote to one node, and died.
  const int64_t now_us = s.nodes[0]->clock_us() + 9'000'000;
  for (size_t n = 0; n < 3; ++n)
    s.nodes[n]->ask({"SET", "ll1:p:{liblock:k}", std::to_string(now_us) + "|0|" + std::string(32, 'e')});
  std::string half = s.nodes[4]->ask({"GET", "liblock:k"}).text;
  half.replace(half.find(",c,1,"), 5, ",c," + std::to_string(now_us) + ",");
  half.replace(half.rfind("|old"), 4, "|half");
  s.nodes[4]->ask({"SET", "liblock:k", half, "KEEPTTL"});
  s.nodes[4]->freeze();
  Question &changed = s.change(*s.b, "old", "new");
  s.world.run_ms(1'000);
  EXPECT(changed.is(Status::OK));
  s.nodes[4]->thaw();
  s.world.run_ms(20'000);
  EXPECT(s.nodes_with("new") == 5 && s.nodes_with("half") == 0 && s.a->holds(held.grant().handle));
}

UNIT_TEST(many_changes_in_a_bad_network_are_each_seen_or_not_and_never_both) {
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    Scene s(5, seed);
    s.a->take("k", carrying("0"));
    s.world.delay_most = 20 * kMillisecond;
    std::string value = "0";
    std::set<std::string> doubtful;
    for (int i = 1; i <= 12; ++i) {
      const size_t sick = s.world.random.up_to(5) % 5;
      s.nodes[sick]->end_connections(false);
      if (i % 4 == 0) s.nodes[sick]->lose_answers();
      const std::string next = std::to_string(i);
      Question &changed = s.change(i % 2 == 0 ? *s.a : *s.b, value, next);
      s.world.run_ms(1'500);
      EXPECT(changed.ends == 1);
      if (changed.is(Status::IN_DOUBT)) doubtful.insert(next);
      Question &seen = s.read(*s.b);
      if (changed.is(Status::OK)) EXPECT(!seen.is(Status::OK) || seen.infos.front()->value == next);
      if (!seen.is(Status::OK)) s.world.run_ms(12'000);
      Question &again = seen.is(Status::OK) ? seen : s.read(*s.b);
      EXPECT(again.is(Status::OK));
      const std::string &now = again.infos.front()->value;
      EXPECT(changed.is(Status::OK) ? now == next : now == value || doubtful.contains(now));
      value = now;
    }
  }
}

UNIT_MAIN("values over a quorum", cmocka_unit_test(a_value_of_a_key_that_nobody_holds_is_not_changed),
          cmocka_unit_test(another_value_than_expected_is_left_alone),
          cmocka_unit_test(without_a_quorum_nothing_is_promised_and_nothing_changes),
          cmocka_unit_test(nodes_that_do_not_vote_promise_nothing_that_counts),
          cmocka_unit_test(the_holder_of_what_was_taken_away_cannot_write),
          cmocka_unit_test(a_holder_changes_his_value_on_all_nodes),
          cmocka_unit_test(all_keys_of_a_lock_get_the_value),
          cmocka_unit_test(a_value_that_is_changed_by_another_process_is_kept_by_the_holders_renewals),
          cmocka_unit_test(a_change_reaches_nodes_that_were_away_by_renewal),
          cmocka_unit_test(of_two_who_change_one_value_at_once_one_succeeds),
          cmocka_unit_test(a_promise_that_outlives_its_coordinator_ends_by_time),
          cmocka_unit_test(a_promise_on_fewer_nodes_does_not_stop_a_change),
          cmocka_unit_test(answers_that_are_lost_while_it_is_written_leave_a_doubt_that_a_read_ends),
          cmocka_unit_test(what_few_nodes_have_written_is_in_doubt_until_the_holder_brings_it_to_all),
          cmocka_unit_test(a_write_that_comes_after_its_promise_changes_nothing),
          cmocka_unit_test(a_change_that_few_have_written_does_not_come_back_after_a_later_one),
          cmocka_unit_test(many_changes_in_a_bad_network_are_each_seen_or_not_and_never_both))
