// SPDX-License-Identifier: MIT
// Servers of another quorum that stand in the place of nodes while a context opens: which of the two is meant, and by
// which nothing is granted.
#include "openings.hpp"

using namespace unit;

namespace {

// A node of another quorum, such as a backup of its, stands in the place of one, and is not taken for that by those who
// are there.
void replace(Stage &s, Node &node, const std::vector<std::string> &its_nodes, uint64_t epoch = 7) {
  node.stop(Node::Data::Lost);
  node.start();
  for (Process *by : {s.a.get(), s.b.get()}) s.world.link(by->host(), node).cut();
  auto other = liblock::quorum::Configuration::first(its_nodes, 0, 60'000, false);
  other.epoch = epoch;
  node.ask({"HSET", "ll1:node", "who", other.who("n1"), "record", other.to_text(), "boot", "1", "max_ttl_ms", "60000",
            "trusts_disk", "0", "silent_until", "0", "needs_floor", "0", "high", "7", "floor", "7"});
}

void replace_first(Stage &s, const std::vector<std::string> &its_nodes = {"redis://x", "redis://y", "redis://z"}) {
  replace(s, *s.nodes[0], its_nodes);
}

// How a try of the key ends.
bool ends_as(Process &process, World &world, Status status, AcquireParams params = without_waiting(1'000)) {
  Wanted &lock = process.acquire({"tried"}, std::move(params));
  world.run_ms(1'000);
  return lock.is(status);
}

}  // namespace

UNIT_TEST(whoever_comes_late_goes_by_the_quorum_of_most_of_the_servers_that_are_named) {
  Stage s(3, 1, true, brief());
  replace_first(s);
  Process late(s.world, "late", over(s.nodes, brief()));
  EXPECT(open(late, s.world)->says("belongs to another quorum"));
  s.world.run_ms(30'000);
  late.take("k", brief_lease());
}

UNIT_TEST(a_server_that_was_marked_for_a_quorum_which_never_began_is_given_to_another_without_its_data_being_lost) {
  Stage s(3, 1, true, brief());
  s.nodes[0]->flush_data();
  Node &x = s.world.add_node("x"), &y = s.world.add_node("y");
  for (Process *by : {s.a.get(), s.b.get()}) s.world.link(by->host(), *s.nodes[0]).cut();
  Process looking(s.world, "looking", over({s.nodes[0], &x, &y}, brief()));
  open(looking, s.world);
  looking.end();
  s.nodes[0]->ask({"SET", "somebody's", "data"});
  Process late(s.world, "late", over(s.nodes, brief()));
  EXPECT(open(late, s.world)->says("it has the mark of another quorum, in which it has not voted"));
  s.nodes[0]->ask({"DEL", "ll1:node"});
  s.world.run_ms(30'000);
  EXPECT(s.nodes[0]->ask({"HGET", "ll1:node", "who"}).text.substr(0, 16) ==
         s.nodes[1]->ask({"HGET", "ll1:node", "who"}).text.substr(0, 16));
  s.nodes[1]->stop(Node::Data::Kept);
  s.world.run_ms(500);
  late.take("k", brief_lease());
}

UNIT_TEST(whoever_has_met_a_server_of_another_quorum_alone_finds_his_own_when_more_are_there) {
  Stage s(3, 1, true, brief());
  replace_first(s);
  Process late(s.world, "late", over(s.nodes, brief()));
  for (const int n : {1, 2}) s.world.link(late.host(), *s.nodes[n]).cut();
  open(late, s.world);
  EXPECT(ends_as(late, s.world, Status::NO_QUORUM));
  for (const int n : {1, 2}) s.world.link(late.host(), *s.nodes[n]).mend();
  s.world.run_ms(30'000);
  late.take("k", brief_lease());
  s.nodes[0]->flush_data();
  for (Process *by : {s.a.get(), s.b.get()}) s.world.link(by->host(), *s.nodes[0]).mend();
  s.world.run_ms(30'000);
  s.nodes[1]->stop(Node::Data::Kept);
  s.world.run_ms(500);
  late.take("l", brief_lease());
}

UNIT_TEST(a_quorum_of_which_less_than_half_of_the_named_servers_are_grants_nothing) {
  Stage s(3, 1, true, brief());
  replace_first(s, {"redis://x"});
  Process late(s.world, "late", over(s.nodes, brief()));
  for (const int n : {1, 2}) s.world.link(late.host(), *s.nodes[n]).cut();
  open(late, s.world);
  EXPECT(ends_as(late, s.world, Status::NO_QUORUM));
  EXPECT(late.instance().membership.why_not_vouched_for().text.starts_with("of the 3 servers that are named, 1 "));
  EXPECT(s.nodes[0]->ask({"EXISTS", "liblock:tried"}).is(0));
  for (const int n : {1, 2}) s.world.link(late.host(), *s.nodes[n]).mend();
  s.world.run_ms(30'000);
  late.take("k", brief_lease());
  EXPECT(s.nodes[0]->ask({"EXISTS", "liblock:tried"}).is(0));
}

UNIT_TEST(two_copies_of_one_servers_data_speak_for_its_quorum_once) {
  Stage s(5, 1, true, brief());
  for (const int n : {0, 1}) replace(s, *s.nodes[n], {"redis://x"});
  Wanted &held = s.a->take("tried", brief_lease());
  Process late(s.world, "late", over({s.nodes[0], s.nodes[1], s.nodes[2]}, brief()));
  s.world.link(late.host(), *s.nodes[2]).cut();
  open(late, s.world);
  s.world.run_ms(80'000);
  EXPECT(s.a->holds(held.grant().handle));
  EXPECT(ends_as(late, s.world, Status::NO_QUORUM));
}

UNIT_TEST(one_server_that_stands_in_one_place_and_then_in_another_speaks_for_its_quorum_once) {
  Stage s(5, 1, true, brief());
  replace_first(s, {"redis://x"});
  s.nodes[1]->stop(Node::Data::Lost);
  Process late(s.world, "late", over({s.nodes[0], s.nodes[1], s.nodes[2]}, brief()));
  s.world.link(late.host(), *s.nodes[2]).cut();
  open(late, s.world);
  s.nodes[0]->stop(Node::Data::Lost);
  s.world.run_ms(1'000);
  replace(s, *s.nodes[1], {"redis://x"});
  s.world.run_ms(80'000);
  EXPECT(ends_as(late, s.world, Status::NO_QUORUM));
}

UNIT_TEST(of_two_quorums_of_as_many_of_the_named_servers_neither_grants) {
  Stage s(3, 1, true, brief());
  replace_first(s, {"redis://x"});
  Process late(s.world, "late", over({s.nodes[0], s.nodes[1]}, brief()));
  open(late, s.world);
  s.world.run_ms(30'000);
  EXPECT(ends_as(late, s.world, Status::NO_QUORUM));
}

// Those by which a node is reached first, and those that the url has, are one: half of the named servers are there.
UNIT_TEST(servers_that_are_named_by_other_names_than_the_quorum_knows_speak_for_it) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Stage s(3, seed, true, brief());
    auto options = over(s.nodes, brief());
    for (auto &node : options.nodes) node.address.target.host = "alias";
    for (Node *node : s.nodes) node->stop(Node::Data::Kept);
    Process late(s.world, "late", options);
    s.world.run_ms(seed % 2 == 0 ? 2'000 : 10'000);
    s.nodes[0]->start();
    s.world.run_ms(300);
    for (const int n : {1, 2}) s.nodes[n]->start();
    s.world.run_ms(60'000);
    EXPECT(ends_as(late, s.world, Status::OK));
  }
}

UNIT_TEST(a_server_that_is_named_alone_is_gone_by_again_when_it_is_back_in_its_place) {
  Stage s(3, 1, true, brief());
  Node &first = *s.nodes[0];
  replace_first(s);
  Process late(s.world, "late", over({&first}, brief()));
  open(late, s.world);
  EXPECT(ends_as(late, s.world, Status::NO_QUORUM));
  first.flush_data();
  for (Process *by : {s.a.get(), s.b.get()}) s.world.link(by->host(), first).mend();
  s.world.run_ms(40'000);
  EXPECT(ends_as(late, s.world, Status::OK));
}

UNIT_TEST(a_lock_on_some_nodes_needs_half_of_the_named_servers_once_and_says_which_are_missing) {
  Stage s(3, 1, true, brief());
  for (const int n : {1, 2}) s.nodes[n]->stop(Node::Data::Kept);
  Process late(s.world, "late", over(s.nodes, brief()));
  open(late, s.world);
  AcquireParams on_the_first = without_waiting(1'000);
  on_the_first.nodes = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"n1"});
  EXPECT(ends_as(late, s.world, Status::NO_QUORUM, on_the_first));
  const std::string why = late.instance().membership.why_not_vouched_for().text;
  for (const int n : {1, 2}) EXPECT(why.find(url(*s.nodes[n])) != std::string::npos);
  s.nodes[1]->start();
  s.world.run_ms(30'000);
  s.nodes[1]->stop(Node::Data::Kept);
  s.world.run_ms(1'000);
  EXPECT(ends_as(late, s.world, Status::OK, on_the_first));
}

UNIT_TEST(that_less_than_half_of_the_named_servers_are_left_is_told_when_opened_and_shown) {
  Stage s(3, 1, true, brief());
  Node &first = s.world.add_node("first new"), &second = s.world.add_node("second new");
  const auto changed = set_nodes(*s.a, {s.nodes[0], &first, &second});
  s.world.run_ms(30'000);
  EXPECT(changed->is(Status::OK));
  for (const int n : {1, 2}) s.nodes[n]->stop(Node::Data::Lost);
  Process late(s.world, "late", over(s.nodes, brief()));
  const auto opened = open(late, s.world);
  EXPECT(opened->status == Status::OK && opened->says("of the 3 servers that are named, 1 "));
  s.world.run_ms(20'000);
  EXPECT(ends_as(late, s.world, Status::NO_QUORUM));
  EXPECT(shown(late).starts_with("of the 3 servers that are named, 1 "));
  std::string message;
  EXPECT(!late.instance().board.view(late.instance().clock.now(), message)->why_none_counts.empty());
  late.end();
  Process informed(s.world, "informed", over({s.nodes[0], &first, &second}, brief()));
  EXPECT(open(informed, s.world)->why.empty() && ends_as(informed, s.world, Status::OK));
}

UNIT_TEST(whoever_has_met_a_stranger_alone_does_not_give_the_named_servers_to_its_quorum) {
  Stage s(3, 1, true, brief());
  Node &first = s.world.add_node("first new"), &second = s.world.add_node("second new");
  replace_first(s, {url(*s.nodes[0]) + "/0"});
  Process late(s.world, "late", over(s.nodes, brief()));
  for (const int n : {1, 2}) s.world.link(late.host(), *s.nodes[n]).cut();
  open(late, s.world);
  const auto changed = set_nodes(late, {s.nodes[0], &first, &second});
  s.world.run_ms(10'000);
  EXPECT(changed->is(Status::NO_QUORUM) && changed->why.starts_with("of the 3 servers that are named, 1 "));
  for (Node *node : {&first, &second}) EXPECT(node->ask({"EXISTS", "ll1:node"}).is(0));
}

UNIT_TEST(a_stranger_that_is_gone_for_good_stands_in_nobodys_way) {
  Stage s(3, 1, true, brief());
  replace(s, *s.nodes[1], {"redis://x"}, 1);
  Process late(s.world, "late", over({s.nodes[0], s.nodes[1]}, brief()));
  open(late, s.world);
  s.world.run_ms(30'000);
  EXPECT(ends_as(late, s.world, Status::NO_QUORUM));
  s.nodes[1]->stop(Node::Data::Lost);
  s.world.run_ms(30'000);
  EXPECT(ends_as(late, s.world, Status::OK));
}

// Servers of a quorum that is given up, or was only looked at, and of which some are named: the others answer first.
UNIT_TEST(whoever_has_begun_a_quorum_goes_by_it_whatever_nodes_of_the_one_before_say) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const bool was_begun = seed % 2 == 0;
    Stage s(5, seed, was_begun, brief());
    if (was_begun) s.a->take("before", brief_lease());
    s.a->end();
    s.b->end();
    Process founder(s.world, "founder", over({s.nodes[0], s.nodes[1]}, brief()));
    open(founder, s.world);
    EXPECT(std::popcount(founder.instance().membership.ready()) == 5);
    for (const int n : {0, 1})
      s.world.link(founder.host(), *s.nodes[n]).set_delay(10 * kMillisecond, 30 * kMillisecond);
    const auto founded = founder.found(was_begun);
    while (founded->times == 0) s.world.run_ms(1);
    EXPECT(founded->is(Status::OK));
    Wanted *held = nullptr;
    for (int n = 0; n < 20'000 && (held == nullptr || !held->is(Status::OK)); ++n) {
      if (held == nullptr || held->ended()) held = &founder.acquire({"tried"}, without_waiting(5'000));
      s.world.run_ms(1);
    }
    s.world.run_ms(20'000);
    EXPECT(founder.holds(held->grant().handle));
    EXPECT(std::popcount(founder.instance().membership.ready()) == 2);
    Process other(s.world, "other", over({s.nodes[0], s.nodes[1]}, brief()));
    open(other, s.world);
    EXPECT(ends_as(other, s.world, Status::BUSY));
  }
}

// Nobody who knew of the quorum came to a node before all of them had lost their data.
UNIT_TEST(whoever_goes_by_a_quorum_that_all_of_its_nodes_forgot_is_told_to_open_anew_and_has_its_locks_then) {
  Stage s(3, 1, true, brief());
  Node &first = s.world.add_node("first new"), &second = s.world.add_node("second new");
  const std::vector<Node *> nodes{s.nodes[0], &first, &second};
  const auto changed = set_nodes(*s.a, nodes);
  s.world.run_ms(30'000);
  EXPECT(changed->is(Status::OK));
  s.a->take("before", brief_lease());
  for (Node *node : s.nodes) node->flush_data();
  for (Node *node : nodes) node->flush_data();
  Process late(s.world, "late", over(nodes, brief()));
  open(late, s.world);
  s.world.run_ms(30'000);
  Wanted &held = late.take("tried", brief_lease());
  EXPECT(ends_as(*s.a, s.world, Status::NO_QUORUM));
  const std::string cure = "close the context, and open it with the nodes of the other one";
  EXPECT(s.a->instance().last_trouble().find(cure) != std::string::npos);
  EXPECT(late.holds(held.grant().handle));
  Process anew(s.world, "anew", over(nodes, brief()));
  open(anew, s.world);
  EXPECT(ends_as(anew, s.world, Status::BUSY));
  late.release(held.grant().handle);
  s.world.run_ms(100);
  EXPECT(ends_as(anew, s.world, Status::OK));
}

UNIT_TEST(a_node_that_is_refused_is_named_also_where_none_of_the_others_votes_yet) {
  Stage s(3, 1, true, brief());
  for (const int n : {1, 2}) {
    s.nodes[n]->stop(Node::Data::Kept);
    s.nodes[n]->start();
  }
  s.nodes[0]->set_replica(true);
  Process late(s.world, "late", over(s.nodes, brief()));
  const auto opened = open(late, s.world);
  EXPECT(opened->status == Status::OK && opened->says("replica") && opened->says("do not vote yet"));
}

UNIT_TEST(one_of_two_servers_that_somebody_looked_at_alone_is_no_quorum_where_the_other_one_is_refused) {
  World world(1);
  Node &one = world.add_node("one"), &other = world.add_node("other");
  Process looking(world, "looking", over({&one}));
  open(looking, world);
  looking.end();
  other.set_replica(true);
  Process both(world, "both", over({&one, &other}));
  EXPECT(open(both, world)->status == Status::READ_ONLY);
}

UNIT_MAIN("strangers among the servers of a quorum",
          cmocka_unit_test(a_node_that_is_refused_is_named_also_where_none_of_the_others_votes_yet),
          cmocka_unit_test(
              one_of_two_servers_that_somebody_looked_at_alone_is_no_quorum_where_the_other_one_is_refused),
          cmocka_unit_test(whoever_comes_late_goes_by_the_quorum_of_most_of_the_servers_that_are_named),
          cmocka_unit_test(
              a_server_that_was_marked_for_a_quorum_which_never_began_is_given_to_another_without_its_data_being_lost),
          cmocka_unit_test(whoever_has_met_a_server_of_another_quorum_alone_finds_his_own_when_more_are_there),
          cmocka_unit_test(a_quorum_of_which_less_than_half_of_the_named_servers_are_grants_nothing),
          cmocka_unit_test(two_copies_of_one_servers_data_speak_for_its_quorum_once),
          cmocka_unit_test(one_server_that_stands_in_one_place_and_then_in_another_speaks_for_its_quorum_once),
          cmocka_unit_test(of_two_quorums_of_as_many_of_the_named_servers_neither_grants),
          cmocka_unit_test(servers_that_are_named_by_other_names_than_the_quorum_knows_speak_for_it),
          cmocka_unit_test(a_server_that_is_named_alone_is_gone_by_again_when_it_is_back_in_its_place),
          cmocka_unit_test(a_lock_on_some_nodes_needs_half_of_the_named_servers_once_and_says_which_are_missing),
          cmocka_unit_test(whoever_has_met_a_stranger_alone_does_not_give_the_named_servers_to_its_quorum),
          cmocka_unit_test(a_stranger_that_is_gone_for_good_stands_in_nobodys_way),
          cmocka_unit_test(whoever_has_begun_a_quorum_goes_by_it_whatever_nodes_of_the_one_before_say),
          cmocka_unit_test(
              whoever_goes_by_a_quorum_that_all_of_its_nodes_forgot_is_told_to_open_anew_and_has_its_locks_then),
          cmocka_unit_test(that_less_than_half_of_the_named_servers_are_left_is_told_when_opened_and_shown))
