// SPDX-License-Identifier: MIT
// What is released within one turn of the loop goes to each node as one call, and each release comes to its own end.
// Time and network are moved by hand; the nodes run the real scripts.
#include "stage.hpp"

using namespace unit;

namespace {

struct Releasing : Stage {
  explicit Releasing(size_t servers = 3) : Stage(servers) {}

  std::vector<Handle> hold(size_t count) {
    std::vector<Handle> held;
    for (size_t i = 0; i < count; ++i)
      held.push_back(a->take(key(i), waiting_ms(10'000, 20'000)).grant().handle);
    world.run_ms(50);
    for (size_t n = 0; n < nodes.size(); ++n) calls.push_back(calls_of(n));
    return held;
  }
  static std::string key(size_t i) { return "k" + std::to_string(i); }
  std::vector<std::shared_ptr<Answered>> release(const std::vector<Handle> &held) {
    std::vector<std::shared_ptr<Answered>> answers;
    for (const Handle handle : held) answers.push_back(a->release(handle));
    return answers;
  }
  bool has_had(uint64_t count) const {
    for (size_t n = 0; n < nodes.size(); ++n) {
      if (calls_of(n) != calls[n] + count) return false;
    }
    return true;
  }
  bool are_free(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      if (held_on(key(i)) != 0) return false;
    }
    return true;
  }

  std::vector<uint64_t> calls;
};

}  // namespace

UNIT_TEST(a_line_that_is_none_on_a_node_keeps_no_other_key_from_being_given_back_there) {
  Releasing s;
  const std::vector<Handle> held = s.hold(3);
  s.nodes[0]->ask({"SET", "ll1:k:{liblock:k1}", "no line"});
  const auto answers = s.release(held);
  s.world.run_ms(50);
  EXPECT(s.has_had(1) || s.calls_of(0) > s.calls[0]);
  for (const auto &answer : answers) EXPECT(answer->is(Status::OK));  // the others are a quorum
  EXPECT(s.held_on("k0") == 0 && s.held_on("k2") == 0);
  s.nodes[0]->ask({"DEL", "ll1:k:{liblock:k1}"});
  s.world.run_ms(3'000);  // what was in doubt is repeated
  EXPECT(s.are_free(3));
}

UNIT_TEST(of_many_released_at_once_who_had_lost_his_lock_is_told_so_alone) {
  Releasing s;
  const std::vector<Handle> held = s.hold(4);
  for (Node *node : s.nodes) node->ask({"DEL", "liblock:k2"});
  const auto answers = s.release(held);
  s.world.run_ms(50);
  EXPECT(s.has_had(1));
  for (size_t i = 0; i < answers.size(); ++i) EXPECT(answers[i]->is(i == 2 ? Status::LOST : Status::OK));
  EXPECT(s.are_free(4));
}

UNIT_TEST(what_is_wrong_with_one_key_is_not_told_of_another) {
  Releasing s;
  const std::vector<Handle> held = s.hold(2);
  for (Node *node : s.nodes) node->ask({"DEL", "liblock:k0"});
  for (const size_t n : {0, 1}) s.nodes[n]->ask({"SET", "ll1:k:{liblock:k1}", "no line"});
  const auto answers = s.release(held);
  s.world.run_ms(50);
  EXPECT(answers[0]->is(Status::LOST) && answers[0]->why.empty());
  EXPECT(answers[1]->is(Status::PARTIAL) && answers[1]->why.find("WRONGTYPE") != std::string::npos);
}

UNIT_TEST(a_majority_that_breaks_off_leaves_each_of_them_partial_and_all_are_given_back) {
  Releasing s;
  const std::vector<Handle> held = s.hold(4);
  for (const size_t n : {0, 1}) s.nodes[n]->freeze();
  const auto answers = s.release(held);
  s.world.run_ms(20);
  for (const size_t n : {0, 1}) s.nodes[n]->end_connections(false);
  for (const size_t n : {0, 1}) s.nodes[n]->thaw();
  s.world.run_ms(5'000);
  for (const auto &answer : answers) EXPECT(answer->is(Status::PARTIAL));
  EXPECT(s.are_free(4));
}

UNIT_TEST(a_node_that_is_down_gets_each_of_them_when_it_is_back) {
  Releasing s;
  const std::vector<Handle> held = s.hold(4);
  s.nodes[2]->stop(Node::Data::Kept);
  s.world.run_ms(10);
  const auto answers = s.release(held);
  s.world.run_ms(50);
  for (const auto &answer : answers) EXPECT(answer->is(Status::OK));
  s.nodes[2]->start();
  s.world.run_ms(5'000);
  EXPECT(s.are_free(4));
}

UNIT_TEST(what_is_given_back_while_all_nodes_are_just_saying_what_they_are_is_in_no_doubt) {
  Releasing s;
  const std::vector<Handle> held = s.hold(4);
  run_once(s.a->host(), [&] {
    for (const auto &node : s.a->instance().nodes()) node->look_again();
  });
  const auto answers = s.release(held);
  s.world.run_ms(50);
  for (const auto &answer : answers) EXPECT(answer->is(Status::OK));
  EXPECT(s.are_free(4));
}

UNIT_TEST(what_is_given_back_while_nodes_say_that_they_forgot_it_was_not_lost) {
  Releasing s;
  const std::vector<Handle> held = s.hold(4);
  for (Node *node : s.nodes) {
    s.world.link(s.a->host(), *node).set_delay(20 * kMillisecond, 20 * kMillisecond);
    node->stop(Node::Data::Lost);
  }
  s.world.run_ms(50);
  for (Node *node : s.nodes) node->start();
  bool are_saying = false;
  const auto says = [](const auto &node) { return node->is_saying(); };
  EXPECT(s.world.run_until(
      [&] {
        run_once(s.a->host(), [&] { are_saying = std::ranges::all_of(s.a->instance().nodes(), says); });
        return are_saying;
      },
      3'000));
  const auto answers = s.release(held);
  s.world.run_ms(1'000);
  for (const auto &answer : answers) EXPECT(answer->is(Status::OK));
}

UNIT_TEST(more_than_a_call_has_room_for_go_as_several) {
  Releasing s;
  const auto answers = s.release(s.hold(40));
  s.world.run_ms(50);
  EXPECT(s.has_had(3));
  for (const auto &answer : answers) EXPECT(answer->is(Status::OK));
  EXPECT(s.are_free(40));
}

UNIT_TEST(what_is_released_behind_an_extension_does_not_go_with_what_was_released_before_it) {
  Releasing s;
  const std::vector<Handle> held = s.hold(2);
  const auto first = s.a->release(held[0]);
  s.a->extend(held[1], 30'000);
  const auto second = s.a->release(held[1]);
  s.world.run_ms(50);
  EXPECT(first->is(Status::OK) && second->is(Status::OK));
  EXPECT(s.has_had(3));
}

UNIT_TEST(releases_before_and_behind_an_attempt_go_together_and_the_attempt_finds_their_keys_free) {
  Releasing s;
  const std::vector<Handle> held = s.hold(2);
  const auto first = s.a->release(held[0]);
  Wanted &wanted = s.a->acquire({"k0", "k1"}, without_waiting(20'000));
  const auto second = s.a->release(held[1]);
  s.world.run_ms(50);
  EXPECT(s.has_had(2) || s.has_had(3));  // its token may take another round
  EXPECT(first->is(Status::OK) && second->is(Status::OK));
  EXPECT(wanted.is(Status::OK));
}

UNIT_TEST(locks_of_other_nodes_are_released_by_calls_of_their_own) {
  Releasing s(5);
  AcquireParams few = waiting_ms(10'000, 20'000);
  few.nodes = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"n1", "n2", "n3"});
  const Handle some = s.a->take("some", few).grant().handle;
  const std::vector<Handle> held = s.hold(2);
  const auto first = s.a->release(held[0]);
  const auto other = s.a->release(some);
  const auto second = s.a->release(held[1]);
  s.world.run_ms(50);
  EXPECT(first->is(Status::OK) && other->is(Status::OK) && second->is(Status::OK));
  EXPECT(s.are_free(2) && s.held_on("some") == 0);
}

UNIT_TEST(a_reply_that_comes_before_the_call_is_sent_ends_the_connection_and_nothing_else) {
  Releasing s;
  const std::vector<Handle> held = s.hold(2);
  s.a->host().pause();
  for (Node *node : s.nodes) node->say_unasked("*3\r\n:1700000000000000\r\n:1\r\n:1\r\n");
  s.world.run_ms(20);
  const auto answers = s.release(held);
  s.a->host().go_on();
  s.world.run_ms(5'000);
  for (const auto &answer : answers) EXPECT(answer->is(Status::IN_DOUBT));
  EXPECT(s.are_free(2));
}

UNIT_TEST(keys_that_an_owner_gives_back_are_told_to_be_so_on_part_of_the_nodes_where_they_are) {
  Releasing s;
  const auto owner = s.a->owner("o");
  Wanted &lock = s.a->acquire({"k0", "k1"}, waiting_ms(10'000, 20'000), owner);
  s.world.run_ms(50);
  EXPECT(lock.is(Status::OK));
  s.nodes[1]->stop(Node::Data::Kept);
  s.nodes[2]->stop(Node::Data::Kept);
  s.world.run_ms(5);
  Question &released = s.a->question(Ask::What::ReleaseKeys, [&](Ask &ask) {
    ask.owner = owner;
    ask.keys = {"k0", "k1"};
  });
  s.world.run_ms(1'000);
  EXPECT(released.is(Status::PARTIAL) && released.votes == 1 && released.nodes == 3);
  EXPECT(!released.message.empty());
}

UNIT_TEST(a_round_that_ends_when_the_process_keeps_no_lease_any_more_plans_nothing_for_it) {
  Releasing s;
  Wanted &lock = s.a->take("k", waiting_ms(10'000, 3'000));
  s.world.run_ms(870);
  for (Node *node : s.nodes) node->freeze();
  s.world.run_ms(180);  // a renewal is under way
  auto &instance = s.a->instance();
  const liblock::LeaseRef lease = instance.holds.find(lock.grant().handle)->parts.front().lease;
  EXPECT(lease->changes_open == 1);
  run_once(s.a->host(), [&] { instance.keeper.stop(); });
  for (Node *node : s.nodes) node->thaw();
  s.world.run_ms(50);
  EXPECT(lease->changes_open == 0 && !s.a->host().cancel(*lease));
}

UNIT_MAIN(
    "what one turn of the loop releases over a quorum",
    cmocka_unit_test(a_line_that_is_none_on_a_node_keeps_no_other_key_from_being_given_back_there),
    cmocka_unit_test(of_many_released_at_once_who_had_lost_his_lock_is_told_so_alone),
    cmocka_unit_test(what_is_wrong_with_one_key_is_not_told_of_another),
    cmocka_unit_test(a_majority_that_breaks_off_leaves_each_of_them_partial_and_all_are_given_back),
    cmocka_unit_test(a_node_that_is_down_gets_each_of_them_when_it_is_back),
    cmocka_unit_test(what_is_given_back_while_all_nodes_are_just_saying_what_they_are_is_in_no_doubt),
    cmocka_unit_test(what_is_given_back_while_nodes_say_that_they_forgot_it_was_not_lost),
    cmocka_unit_test(more_than_a_call_has_room_for_go_as_several),
    cmocka_unit_test(what_is_released_behind_an_extension_does_not_go_with_what_was_released_before_it),
    cmocka_unit_test(releases_before_and_behind_an_attempt_go_together_and_the_attempt_finds_their_keys_free),
    cmocka_unit_test(locks_of_other_nodes_are_released_by_calls_of_their_own),
    cmocka_unit_test(a_reply_that_comes_before_the_call_is_sent_ends_the_connection_and_nothing_else),
    cmocka_unit_test(keys_that_an_owner_gives_back_are_told_to_be_so_on_part_of_the_nodes_where_they_are),
    cmocka_unit_test(a_round_that_ends_when_the_process_keeps_no_lease_any_more_plans_nothing_for_it))
