// SPDX-License-Identifier: MIT
// What is shown of a quorum and its nodes without asking anybody: states, causes, cures.
#include "stage.hpp"

using namespace unit;

namespace {

struct Seen {
  std::unique_ptr<liblock::QuorumView> view;
  std::string message;
};
Seen look(Process &by) {
  Seen seen;
  seen.view = by.instance().board.view(by.instance().clock.now(), seen.message);
  return seen;
}

}  // namespace

UNIT_TEST(a_node_that_is_down_is_shown_with_cause_and_cure) {
  Stage s;
  s.nodes[1]->stop(Node::Data::Kept);
  s.world.run_ms(300);
  const Seen seen = look(*s.b);
  EXPECT(seen.view->nodes.size() == 5 && seen.view->nodes[1].state == LIBLOCK_NODE_DOWN);
  EXPECT(!seen.view->nodes[1].why.empty() && seen.view->nodes[1].quarantine_left_ms == 0);
  EXPECT(seen.message.find("4 of 5 nodes vote, 3 must") == 0);
}

UNIT_TEST(a_node_that_was_restarted_is_quarantined_then_needs_a_floor_and_then_is_up) {
  Stage s;
  s.nodes[2]->stop(Node::Data::Lost);
  s.nodes[2]->start();
  s.world.run_ms(2'000);
  const auto state = [&] { return look(*s.b).view->nodes[2].state; };
  EXPECT(state() == LIBLOCK_NODE_QUARANTINED);
  const int64_t left_ms = look(*s.b).view->nodes[2].quarantine_left_ms;
  EXPECT(left_ms > 50'000 && left_ms <= 60'600);
  // Too few others are there to tell it a floor.
  for (int n = 0; n < 5; ++n) {
    if (n != 2) s.nodes[n]->stop(Node::Data::Kept);
  }
  s.world.run_ms(62'000);
  EXPECT(state() == LIBLOCK_NODE_NEEDS_FLOOR);
  EXPECT(look(*s.b).view->nodes[2].why.find("told it theirs") != std::string::npos);
}

UNIT_TEST(a_clock_that_jumps_is_shown) {
  Stage s;
  s.b->take("k");
  s.nodes[0]->step_clock_ms(5'000);
  s.world.run_ms(3'000);
  const Seen seen = look(*s.b);
  EXPECT(seen.view->nodes[0].state == LIBLOCK_NODE_STEPPED && seen.view->nodes[0].quarantine_left_ms > 0);
  EXPECT(seen.view->nodes[0].clock_offset_ms > 4'000 && seen.view->nodes[1].clock_offset_ms < 1'000);
}

UNIT_TEST(a_clock_that_jumped_before_the_quorum_had_said_what_it_is_counts_again_after_its_longest_lease) {
  liblock::QuorumOptions options;
  options.max_ttl = 5'000 * kMillisecond;
  Stage s(5, 1, false, options);
  Process c(s.world, "c", over(s.nodes));  // for which it would be 60 s
  s.world.run_ms(1'000);
  s.nodes[0]->step_clock_ms(5'000);
  s.world.run_ms(1'500);
  const auto founded = s.a->found();
  s.world.run_ms(300);
  EXPECT(founded->is(Status::OK));
  c.take("k");
  s.world.run_ms(300);
  const Seen seen = look(c);
  EXPECT(seen.view->nodes[0].state == LIBLOCK_NODE_STEPPED);
  EXPECT(seen.view->nodes[0].quarantine_left_ms > 0 && seen.view->nodes[0].quarantine_left_ms <= 5'050);
}

UNIT_TEST(a_server_of_another_quorum_is_refused) {
  Stage s;
  Node &other = s.world.add_node("other");
  other.ask({"HSET", "ll1:node", "who", std::string(32, '1') + "|1|0123456789abcdef|n1", "record",
             "ll1c|" + std::string(32, '1') + "|1|60000|0|1 n1=redis%3a||"});
  Process c(s.world, "c", over({s.nodes[0], s.nodes[1], &other}));
  s.world.run_ms(300);
  const Seen seen = look(c);
  EXPECT(seen.view->nodes[2].state == LIBLOCK_NODE_REFUSED && !seen.view->nodes[2].why.empty());
}

UNIT_TEST(a_refused_node_that_dies_is_shown_as_one_that_is_down_and_refused_again_when_it_is_back) {
  Stage s;
  Node &evicts = *s.nodes[1];
  evicts.stop(Node::Data::Kept);
  evicts.server().maxmemory = 1'000'000;
  evicts.server().maxmemory_policy = "allkeys-lru";
  evicts.start();
  s.world.run_ms(3'000);
  const auto node = [&] { return std::move(look(*s.b).view->nodes[1]); };
  EXPECT(node().state == LIBLOCK_NODE_REFUSED && node().why.find("allkeys-lru") != std::string::npos);
  evicts.stop(Node::Data::Kept);
  s.world.run_ms(5'000);
  EXPECT(node().state == LIBLOCK_NODE_DOWN && node().why.find("allkeys-lru") == std::string::npos);
  evicts.start();
  s.world.run_ms(5'000);
  EXPECT(node().state == LIBLOCK_NODE_REFUSED && node().why.find("allkeys-lru") != std::string::npos);
}

UNIT_TEST(all_that_is_known_is_shown_when_all_is_well) {
  Stage s;
  s.b->take("k");
  const Seen seen = look(*s.b);
  EXPECT(seen.message.empty() && seen.view->votes == 3 && seen.view->max_ttl_ms == 60'000);
  EXPECT(seen.view->epoch >= 1 && seen.view->cluster_id.size() == 32 && seen.view->config_hash.size() == 16);
  for (const auto &node : seen.view->nodes) {
    EXPECT(node.state == LIBLOCK_NODE_UP && node.why.empty() && !node.id.empty() && !node.is_observer);
    EXPECT(node.round_trip_us >= 100 && node.address.find("redis://sim") == 0);
  }
}

UNIT_TEST(what_is_asked_before_the_nodes_have_answered_waits_for_them) {
  Stage s(3);
  Process early(s.world, "early", over(s.nodes));
  const Question &ping = early.question(Ask::What::Ping, [](Ask &) {});
  const Question &locked = early.about("k", Ask::What::IsLocked);
  s.world.run_ms(50);
  EXPECT(ping.is(Status::OK) && locked.is(Status::OK) && locked.count == 0);
}

UNIT_TEST(what_is_asked_before_it_is_known_that_no_node_answers_says_so_then) {
  Stage s(3);
  for (Node *node : s.nodes) node->stop(Node::Data::Kept);
  Process early(s.world, "early", over(s.nodes));
  const Question &ping = early.question(Ask::What::Ping, [](Ask &) {});
  s.world.run_ms(10'000);
  EXPECT(ping.is(Status::CONNECT) && ping.message.find("connection refused") != std::string::npos);
}

// Else it would happen behind what was asked for later; and the look that follows the end of an acquire has no time.
UNIT_TEST(what_would_change_something_before_the_nodes_have_answered_does_not_wait_for_them) {
  Stage s(3);
  Process early(s.world, "early", over(s.nodes));
  for (Node *node : s.nodes) s.world.link(early.host(), *node).cut();
  const Question &force = early.about("k", Ask::What::ForceRelease);
  const Question &look =
      early.about("k", Ask::What::Inspect, [](Ask &ask) { ask.waits_for_servers = false; });
  const Question &other = early.about("k", Ask::What::Inspect);
  s.world.run_ms(400);
  EXPECT(force.ends == 1 && force.status != Status::OK);
  EXPECT(look.ends == 1 && look.status != Status::OK);
  EXPECT(other.ends == 0);
}

UNIT_TEST(what_is_asked_early_of_a_context_that_closes_ends_with_it) {
  Stage s(3);
  Process early(s.world, "early", over(s.nodes));
  for (Node *node : s.nodes) s.world.link(early.host(), *node).cut();
  const Question &ping = early.question(Ask::What::Ping, [](Ask &) {});
  bool closed = false;
  run_once(early.host(), [&] { early.instance().close(false, [&] { closed = true; }); });
  s.world.run_ms(2'000);
  EXPECT(ping.is(Status::CLOSED) && closed);
}

UNIT_MAIN(
    "the status of a quorum", cmocka_unit_test(a_node_that_is_down_is_shown_with_cause_and_cure),
    cmocka_unit_test(a_node_that_was_restarted_is_quarantined_then_needs_a_floor_and_then_is_up),
    cmocka_unit_test(a_clock_that_jumps_is_shown),
    cmocka_unit_test(a_clock_that_jumped_before_the_quorum_had_said_what_it_is_counts_again_after_its_longest_lease),
    cmocka_unit_test(a_server_of_another_quorum_is_refused),
    cmocka_unit_test(a_refused_node_that_dies_is_shown_as_one_that_is_down_and_refused_again_when_it_is_back),
    cmocka_unit_test(what_is_asked_before_the_nodes_have_answered_waits_for_them),
    cmocka_unit_test(what_is_asked_before_it_is_known_that_no_node_answers_says_so_then),
    cmocka_unit_test(what_would_change_something_before_the_nodes_have_answered_does_not_wait_for_them),
    cmocka_unit_test(what_is_asked_early_of_a_context_that_closes_ends_with_it),
    cmocka_unit_test(all_that_is_known_is_shown_when_all_is_well))
