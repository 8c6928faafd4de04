// SPDX-License-Identifier: MIT
// Which servers are nodes of a quorum, and which are not: after all data were lost, after nodes were exchanged, and
// where those that are named are the wrong ones.
#include "openings.hpp"

using namespace unit;

UNIT_TEST(servers_that_have_all_lost_a_quorum_begin_no_new_one_unless_by_force) {
  Stage s(3);
  Wanted &held = s.a->take("k");
  for (Node *node : s.nodes) node->stop(Node::Data::Lost);
  s.a->host().cut();
  for (Node *node : s.nodes) node->start();
  s.world.run_ms(2'000);
  EXPECT(s.a->holds(held.grant().handle));
  EXPECT(shown(*s.b).find("liblock_quorum_init") == std::string::npos);
  Process late(s.world, "late", over(s.nodes));
  const auto opened = open(late, s.world);
  EXPECT(opened->status == Status::OK && opened->says("do not vote yet"));
  EXPECT(!opened->says("liblock_quorum_init"));
  for (Process *by : {s.b.get(), &late}) {
    const auto founded = by->found();
    s.world.run_ms(100);
    EXPECT(founded->is(Status::NODES_MISMATCH));
  }
  const auto forced = late.found(true);
  s.world.run_ms(100);
  EXPECT(forced->is(Status::OK));
}

UNIT_TEST(a_quorum_that_has_begun_is_not_begun_again_and_it_is_said_what_helps_where_few_vote) {
  Stage s(3);
  const auto founded = s.b->found();
  s.world.run_ms(100);
  EXPECT(founded->is(Status::NODES_MISMATCH));
  EXPECT(founded->why.find("part of a quorum already, and needs no init") != std::string::npos);
  EXPECT(founded->why.find("wait in a process that stays") != std::string::npos);
}

UNIT_TEST(who_has_seen_a_server_vote_that_has_lost_its_mark_begins_no_quorum_with_it) {
  liblock::QuorumOptions options = brief();
  Stage s(3, 1, false, options);
  s.b->end();
  s.world.run_ms(20'000);  // nobody has made a quorum of them: they vote when their silence is over
  s.a->take("k", brief_lease());
  for (Node *node : s.nodes) {
    node->stop(Node::Data::Lost);
    node->start();
  }
  s.world.run_ms(3'000);
  const auto founded = s.a->found();
  s.world.run_ms(100);
  EXPECT(founded->is(Status::NODES_MISMATCH));
}

UNIT_TEST(of_new_servers_it_is_said_that_a_quorum_of_them_can_begin) {
  Stage s(3, 1, false);
  Process late(s.world, "late", over(s.nodes));
  EXPECT(open(late, s.world)->says("liblock_quorum_init"));
  EXPECT(shown(late).find("liblock_quorum_init") != std::string::npos);
}

UNIT_TEST(nodes_that_nobody_can_tell_the_largest_token_name_those_that_are_missing) {
  Stage s(5, 1, true, brief());
  s.nodes[0]->stop(Node::Data::Lost);
  s.nodes[0]->start();
  for (const int n : {3, 4}) s.nodes[n]->stop(Node::Data::Kept);
  s.world.run_ms(20'000);
  std::string why;
  run_once(s.b->host(), [&] {
    why =
        s.b->instance().why_quarantined(s.b->instance().membership.rule(liblock::quorum::kEveryNode, 0)).text;
  });
  s.world.run_ms(10);
  EXPECT(why.find("for which 3 nodes must answer") != std::string::npos);
  EXPECT(why.find(url(*s.nodes[3])) != std::string::npos && why.find(url(*s.nodes[4])) != std::string::npos);
  EXPECT(why.find(" 0 ms") == std::string::npos && why.find("liblock_quorum_init") == std::string::npos);
  EXPECT(why.find(url(*s.nodes[1])) == std::string::npos);
}

UNIT_TEST(a_node_that_was_removed_and_is_brought_back_votes_again) {
  Stage s(3, 1, true, brief());
  Node &fresh = s.world.add_node("fresh");
  Wanted &held = s.a->take("k", brief_lease());
  const std::vector<Node *> without = {s.nodes[0], s.nodes[1], &fresh};
  const auto removed = set_nodes(*s.a, without);
  s.world.run_ms(30'000);
  EXPECT(removed->is(Status::OK));
  const auto back = set_nodes(*s.a, s.nodes);
  s.world.run_ms(30'000);
  EXPECT(back->is(Status::OK) && s.a->holds(held.grant().handle));
  const std::string mark = s.nodes[2]->ask({"HGET", "ll1:node", "who"}).text;
  EXPECT(!mark.empty() && !mark.ends_with("|n3"));
  EXPECT(s.nodes[2]->ask({"EXISTS", "liblock:k"}).is(1));
  const uint64_t token = held.grant().token;
  s.a->release(held.grant().handle);
  s.nodes[0]->stop(Node::Data::Kept);
  s.world.run_ms(500);
  EXPECT(s.b->take("k", brief_lease()).grant().token > token);
}

UNIT_TEST(a_node_that_comes_back_is_silent_as_a_new_one_is) {
  Stage s(3, 1, true, brief());
  Node &fresh = s.world.add_node("fresh");
  EXPECT((set_nodes(*s.a, {s.nodes[0], s.nodes[1], &fresh}), s.world.run_ms(30'000), true));
  const auto back = set_nodes(*s.a, s.nodes);
  s.world.run_ms(2'000);
  EXPECT(back->times == 0 && s.nodes[2]->ask({"HGET", "ll1:node", "needs_floor"}).is("1"));
  s.world.run_ms(28'000);
  EXPECT(back->is(Status::OK) && s.nodes[2]->ask({"HGET", "ll1:node", "needs_floor"}).is("0"));
}

UNIT_TEST(a_context_that_still_names_a_node_that_was_removed_opens_and_shows_it_as_refused) {
  Stage s(3, 1, true, brief());
  Node &fresh = s.world.add_node("fresh");
  EXPECT((set_nodes(*s.a, {s.nodes[0], s.nodes[1], &fresh}), s.world.run_ms(30'000), true));
  Process late(s.world, "late", over(s.nodes, brief()));
  const auto opened = open(late, s.world);
  EXPECT(opened->times == 1 && opened->status == Status::OK);
  EXPECT(opened->says("not part of the quorum any more; name its present nodes") && opened->says(url(*s.nodes[2])));
  std::string message;
  const auto view = late.instance().board.view(late.instance().clock.now(), message);
  EXPECT(view->nodes[2].state == LIBLOCK_NODE_REFUSED);
  late.take("k", brief_lease());
}

UNIT_TEST(a_node_that_was_exchanged_and_is_back_without_its_data_hinders_nobody_who_still_names_it) {
  Stage s(3, 1, true, brief());
  Node &fresh = s.world.add_node("fresh");
  EXPECT((set_nodes(*s.a, {s.nodes[0], s.nodes[1], &fresh}), s.world.run_ms(30'000), true));
  s.nodes[2]->flush_data();
  Process late(s.world, "late", over(s.nodes, brief()));
  const auto opened = open(late, s.world);
  EXPECT(opened->times == 1 && opened->status == Status::OK);
  EXPECT(opened->says("it is no node of the quorum's configuration") && opened->says(url(*s.nodes[2])));
  EXPECT(s.nodes[2]->ask({"EXISTS", "ll1:node"}).is(0));
  late.take("k", brief_lease());
}

UNIT_TEST(empty_servers_that_are_named_beside_a_node_of_another_quorum_are_a_mistake) {
  Stage s(3, 1, true, brief());
  Node &one = s.world.add_node("one"), &other = s.world.add_node("other");
  Process late(s.world, "late", over({s.nodes[0], &one, &other}, brief()));
  const auto opened = open(late, s.world);
  EXPECT(opened->times == 1 && opened->status == Status::INVALID_ARGUMENT);
  EXPECT(opened->says("it is no node of the quorum's configuration") && opened->says(url(other)));
}

UNIT_TEST(whoever_begins_a_quorum_with_servers_that_were_looked_at_with_others_is_told_how) {
  World world(1);
  std::vector<Node *> nodes;
  for (int i = 0; i < 4; ++i) nodes.push_back(&world.add_node("n" + std::to_string(i)));
  Process looking(world, "looking", over({nodes[0], nodes[1], nodes[2]}));
  open(looking, world);
  looking.end();
  Process right(world, "right", over({nodes[0], nodes[1], nodes[3]}));
  open(right, world);
  const auto refused = right.found();
  world.run_ms(100);
  EXPECT(refused->is(Status::NODES_MISMATCH));
  for (const int n : {0, 1, 2}) nodes[n]->ask({"DEL", "ll1:node"});
  Process again(world, "again", over({nodes[0], nodes[1], nodes[3]}));
  right.end();
  open(again, world);
  const auto founded = again.found();
  world.run_ms(100);
  EXPECT(founded->is(Status::OK));
  again.take("k");
}

UNIT_TEST(whoever_names_servers_one_of_which_was_looked_at_alone_is_told_how_to_take_its_mark_away) {
  World world(1);
  std::vector<Node *> nodes;
  for (int i = 0; i < 3; ++i) nodes.push_back(&world.add_node("n" + std::to_string(i)));
  Process looking(world, "looking", over({nodes[0]}));
  open(looking, world);
  looking.end();
  Process right(world, "right", over(nodes));
  const auto opened = open(right, world);
  EXPECT(opened->status == Status::INVALID_ARGUMENT);
  EXPECT(opened->says("closed, DEL ll1:node there: redis://"));
  right.end();
  nodes[0]->ask({"DEL", "ll1:node"});
  Process again(world, "again", over(nodes));
  open(again, world);
  const auto founded = again.found();
  world.run_ms(100);
  EXPECT(founded->is(Status::OK));
}

UNIT_TEST(whoever_begins_a_quorum_one_node_of_which_is_unfit_is_told_what_is_wrong_with_it) {
  World world(1);
  std::vector<Node *> nodes;
  for (int i = 0; i < 3; ++i) nodes.push_back(&world.add_node("n" + std::to_string(i)));
  nodes[2]->stop(Node::Data::Kept);
  Process early(world, "early", over(nodes));
  open(early, world);
  EXPECT(nodes[0]->ask({"EXISTS", "ll1:node"}).is(1));
  nodes[2]->set_replica(true);
  nodes[2]->start();
  world.run_ms(5'000);
  const auto founded = early.found();
  world.run_ms(100);
  EXPECT(founded->is(Status::NO_QUORUM) && founded->why.find("replica") != std::string::npos);
}

UNIT_TEST(nodes_that_were_emptied_are_not_begun_without_another_of_their_quorum_that_votes) {
  Stage s(3, 1, false, brief());
  s.world.run_ms(30'000);
  s.a->take("k", brief_lease());
  for (const int n : {1, 2}) s.nodes[n]->flush_data();
  s.world.run_ms(1'000);
  Process part(s.world, "part", over({s.nodes[1], s.nodes[2]}, brief()));
  open(part, s.world);
  const auto refused = part.found();
  s.world.run_ms(100);
  EXPECT(refused->is(Status::NODES_MISMATCH));
  EXPECT(refused->why.find("it votes in the quorum that the named servers are part of") != std::string::npos);
}

UNIT_TEST(an_exchanged_node_that_is_back_empty_hinders_nobody_either_while_another_is_down) {
  Stage s(3, 1, true, brief());
  Node &fresh = s.world.add_node("fresh");
  EXPECT((set_nodes(*s.a, {s.nodes[0], s.nodes[1], &fresh}), s.world.run_ms(30'000), true));
  s.nodes[2]->flush_data();
  s.nodes[1]->stop(Node::Data::Kept);
  Process late(s.world, "late", over(s.nodes, brief()));
  const auto opened = open(late, s.world, 10'000);
  EXPECT(opened->times == 1 && opened->status == Status::OK);
  EXPECT(opened->says("of the 3 servers that are named, 1 belong to the quorum that answers"));
}

UNIT_TEST(a_server_that_is_refused_leaves_no_mark_on_the_others_that_were_named_with_it) {
  World world(1);
  std::vector<Node *> nodes;
  for (int i = 0; i < 4; ++i) nodes.push_back(&world.add_node("n" + std::to_string(i)));
  nodes[2]->set_replica(true);
  Process wrong(world, "wrong", over({nodes[0], nodes[1], nodes[2]}));
  EXPECT(open(wrong, world)->status == Status::READ_ONLY);
  for (const int n : {0, 1}) EXPECT(nodes[n]->ask({"EXISTS", "ll1:node"}).is(0));
  wrong.end();
  Process right(world, "right", over({nodes[0], nodes[1], nodes[3]}));
  EXPECT(open(right, world)->status == Status::OK);
  const auto founded = right.found();
  world.run_ms(100);
  EXPECT(founded->is(Status::OK));
  right.take("k");
}

namespace {

// Whoever comes late reaches none but a node that has just lost its data, by names that are not those which the quorum
// was begun with: a mark of theirs would be another quorum's.
struct Alone {
  Alone() : nodes(s.nodes) {
    nodes[2] = &s.world.add_node("fresh");
    set_nodes(*s.a, nodes);
    s.world.run_ms(30'000);
    for (Process *by : {s.a.get(), s.b.get()}) by->host().cut();
    nodes[2]->flush_data();
    late = std::make_unique<Process>(s.world, "late", over(nodes, brief()));
    for (const int n : {0, 1}) s.world.link(late->host(), *nodes[n]).cut();
  }
  Stage s{3, 1, true, brief()};
  std::vector<Node *> nodes;
  std::unique_ptr<Process> late;
};

}  // namespace

UNIT_TEST(a_node_that_lost_its_data_is_not_marked_by_whoever_reaches_it_alone) {
  Alone scene;
  Process &late = *scene.late;
  Node &node = *scene.nodes[2];
  const auto opened = open(late, scene.s.world);
  EXPECT(opened->status == Status::OK && opened->says("without a mark") && opened->says(url(node)));
  EXPECT(shown(late).find("as many answer as must vote") != std::string::npos);
  EXPECT(node.ask({"EXISTS", "ll1:node"}).is(0));
  Wanted &lock = late.acquire({"k"}, without_waiting(1'000));
  scene.s.world.run_ms(1'000);
  EXPECT(lock.is(Status::NO_QUORUM));
  for (const int n : {0, 1}) scene.s.world.link(late.host(), *scene.nodes[n]).mend();
  scene.s.world.run_ms(30'000);
  late.take("k", brief_lease());
  EXPECT(node.ask({"HGET", "ll1:node", "needs_floor"}).is("0"));
}

UNIT_TEST(what_was_said_before_the_others_answered_is_asked_anew) {
  Alone scene;
  Stage &s = scene.s;
  s.world.run_ms(2'000);
  for (Process *by : {s.a.get(), s.b.get()}) by->host().mend();
  s.a->take("k", brief_lease());
  s.world.run_ms(30'000);
  EXPECT(!scene.nodes[2]->ask({"HGET", "ll1:node", "who"}).text.empty());
  // It hears of another one that has no mark, and of none that has.
  for (Process *by : {s.a.get(), s.b.get()}) by->host().cut();
  scene.nodes[1]->flush_data();
  s.world.link(scene.late->host(), *scene.nodes[1]).mend();
  s.world.run_ms(30'000);
  EXPECT(scene.late->instance().membership.configuration() == s.a->instance().membership.configuration());
}

// It would count as two, and as one that never answers.
UNIT_TEST(a_server_that_has_another_ones_data_while_that_is_down_is_known_once) {
  Stage s(5, 1, true, brief());
  s.nodes[1]->stop(Node::Data::Kept);
  s.nodes[3]->become_another(s.nodes[1]);
  Process late(s.world, "late", over(s.nodes, brief()));
  s.world.run_ms(2'000);
  EXPECT(late.instance().nodes().size() == 5);
  EXPECT(std::popcount(late.instance().membership.knowing_rule().nodes()) == 5);
}

UNIT_TEST(servers_with_marks_go_on_while_one_that_is_named_is_down_or_refused) {
  Stage s(3, 1, true, brief());
  s.nodes[2]->stop(Node::Data::Kept);
  Process late(s.world, "late", over(s.nodes, brief()));
  EXPECT(open(late, s.world)->status == Status::OK);
  late.release(late.take("k", brief_lease()).grant().handle);
  s.nodes[2]->set_replica(true);
  s.nodes[2]->start();
  s.world.run_ms(2'000);
  late.take("k", brief_lease());
}

UNIT_TEST(observers_that_one_context_names_are_fed_and_read_by_all) {
  Stage s(3, 1, true, brief());
  Node &observer = s.world.add_node("o");
  const auto changed = set_nodes(*s.a, s.nodes, 0, {&observer});
  s.world.run_ms(30'000);
  EXPECT(changed->is(Status::OK) && s.a->instance().observers.all().size() == 1);
  // An idle one hears of it with its next call, at the latest.
  s.b->take("k", brief_lease());
  s.world.run_ms(1'000);
  EXPECT(s.b->instance().observers.all().size() == 1);
  s.b->take("of b", brief_lease());
  Process late(s.world, "late", over(s.nodes, brief()));
  s.world.run_ms(300);
  late.take("of late", brief_lease());
  s.world.run_ms(300);
  for (const char *key : {"of b", "of late"})
    EXPECT(observer.ask({"EXISTS", std::string("liblock:") + key}).is(1));
  const auto none = set_nodes(*s.b, s.nodes);
  s.world.run_ms(30'000);
  EXPECT(none->is(Status::OK) && s.b->instance().observers.all().empty());
  late.take("again", brief_lease());
  s.world.run_ms(300);
  EXPECT(late.instance().observers.all().empty());
}

UNIT_TEST(who_only_reads_hears_of_new_observers) {
  Stage s(3, 1, true, brief());
  Node &observer = s.world.add_node("o");
  const auto changed = set_nodes(*s.a, s.nodes, 0, {&observer});
  s.world.run_ms(30'000);
  EXPECT(changed->is(Status::OK));
  s.b->about("k", Ask::What::Read, [](Ask &ask) { ask.from = Ask::From::Nearest; });
  s.world.run_ms(1'000);
  EXPECT(s.b->instance().observers.all().size() == 1);
}

UNIT_TEST(nodes_that_were_removed_are_shown_no_more_but_those_that_the_url_names) {
  Stage s(3, 1, true, brief());
  std::vector<Node *> nodes = s.nodes;
  for (int i = 0; i < 2; ++i) {
    nodes[2] = &s.world.add_node("fresh" + std::to_string(i));
    const auto changed = set_nodes(*s.a, nodes);
    s.world.run_ms(2'000);
    std::string ignored;
    EXPECT(s.a->instance().board.view(s.a->instance().clock.now(), ignored)->nodes.size() >= 4);
    s.world.run_ms(28'000);
    EXPECT(changed->is(Status::OK));
  }
  std::string message;
  const auto view = s.a->instance().board.view(s.a->instance().clock.now(), message);
  EXPECT(view->nodes.size() == 4 && view->nodes[2].state == LIBLOCK_NODE_REFUSED && view->nodes[2].is_in_vain);
  EXPECT(message.find("3 of 3 nodes vote") == 0 && !view->nodes[3].is_in_vain);
  EXPECT(view->nodes[3].address == url(*nodes[2]) + "/0" && view->nodes[3].state == LIBLOCK_NODE_UP);
}

UNIT_TEST(another_name_of_a_node_is_refused_as_a_new_one_before_anything_is_changed) {
  Stage s(3, 1, true, brief());
  const auto before = s.a->instance().membership.configuration();
  auto answered = std::make_shared<Told>();
  for (const int down : {0, 1}) {
    run_once(s.a->host(), [&] {
      liblock::NodesChange change;
      for (Node *node : s.nodes) change.servers.push_back(url(*node));
      change.servers.push_back("redis://alias:" + std::to_string(s.nodes[2]->port()));
      liblock::quorum::reconfigure(s.a->instance(), change,
                                   [answered](Status status, const std::string &why) {
                                     ++answered->times;
                                     answered->status = status;
                                     answered->why = why;
                                   });
    });
    s.world.run_ms(20'000);
    EXPECT(answered->is(Status::INVALID_ARGUMENT) && answered->names(*s.nodes[2]));
    EXPECT(answered->why.find("the same server") != std::string::npos);
    EXPECT(s.a->instance().membership.configuration() == before);
    answered->times = 0;
    if (down == 0) s.nodes[0]->stop(Node::Data::Kept);
  }
}

UNIT_TEST(a_new_server_that_does_not_answer_is_named_when_it_has_become_a_node) {
  Stage s(3, 1, true, brief());
  Node &gone = s.world.add_node("gone");
  gone.stop(Node::Data::Lost);
  std::vector<Node *> nodes = s.nodes;
  nodes.push_back(&gone);
  const auto changed = set_nodes(*s.a, nodes);
  s.world.run_ms(30'000);
  EXPECT(changed->is(Status::OK) && changed->names(gone));
}

UNIT_TEST(new_servers_that_answer_are_not_said_to_be_down_when_they_have_become_nodes) {
  Stage s(3, 1, true, brief());
  const auto changed = set_nodes(*s.a, {s.nodes[0], &s.world.add_node("first"), &s.world.add_node("second")});
  s.world.run_ms(60'000);
  EXPECT(changed->is(Status::OK) && changed->why.empty());
}

UNIT_TEST(a_context_that_has_known_too_many_servers_says_so) {
  Stage s(3, 1, true, brief());
  const auto before = s.a->instance().membership.configuration();
  for (int i = 0; i < 3; ++i) {
    std::vector<Node *> nodes = s.nodes;
    for (int n = 0; n < 10; ++n) nodes.push_back(&s.world.add_node(std::to_string(i * 10 + n)));
    for (size_t n = 3; n < nodes.size(); ++n) nodes[n]->stop(Node::Data::Lost);
    const auto changed = set_nodes(*s.a, nodes);
    s.world.run_ms(20'000);
    EXPECT(changed->is(i < 2 ? Status::NO_QUORUM : Status::LIMIT));
  }
  EXPECT(s.a->instance().membership.configuration() == before);
  s.a->take("k", brief_lease());
}

UNIT_MAIN("the members of a quorum",
          cmocka_unit_test(servers_that_have_all_lost_a_quorum_begin_no_new_one_unless_by_force),
          cmocka_unit_test(a_quorum_that_has_begun_is_not_begun_again_and_it_is_said_what_helps_where_few_vote),
          cmocka_unit_test(who_has_seen_a_server_vote_that_has_lost_its_mark_begins_no_quorum_with_it),
          cmocka_unit_test(nodes_that_nobody_can_tell_the_largest_token_name_those_that_are_missing),
          cmocka_unit_test(a_node_that_was_removed_and_is_brought_back_votes_again),
          cmocka_unit_test(a_node_that_comes_back_is_silent_as_a_new_one_is),
          cmocka_unit_test(a_context_that_still_names_a_node_that_was_removed_opens_and_shows_it_as_refused),
          cmocka_unit_test(a_node_that_was_exchanged_and_is_back_without_its_data_hinders_nobody_who_still_names_it),
          cmocka_unit_test(empty_servers_that_are_named_beside_a_node_of_another_quorum_are_a_mistake),
          cmocka_unit_test(whoever_begins_a_quorum_with_servers_that_were_looked_at_with_others_is_told_how),
          cmocka_unit_test(whoever_names_servers_one_of_which_was_looked_at_alone_is_told_how_to_take_its_mark_away),
    cmocka_unit_test(whoever_begins_a_quorum_one_node_of_which_is_unfit_is_told_what_is_wrong_with_it),
          cmocka_unit_test(nodes_that_were_emptied_are_not_begun_without_another_of_their_quorum_that_votes),
          cmocka_unit_test(an_exchanged_node_that_is_back_empty_hinders_nobody_either_while_another_is_down),
          cmocka_unit_test(of_new_servers_it_is_said_that_a_quorum_of_them_can_begin),
          cmocka_unit_test(a_server_that_is_refused_leaves_no_mark_on_the_others_that_were_named_with_it),
          cmocka_unit_test(a_node_that_lost_its_data_is_not_marked_by_whoever_reaches_it_alone),
          cmocka_unit_test(what_was_said_before_the_others_answered_is_asked_anew),
          cmocka_unit_test(a_server_that_has_another_ones_data_while_that_is_down_is_known_once),
          cmocka_unit_test(servers_with_marks_go_on_while_one_that_is_named_is_down_or_refused),
          cmocka_unit_test(observers_that_one_context_names_are_fed_and_read_by_all),
          cmocka_unit_test(who_only_reads_hears_of_new_observers),
          cmocka_unit_test(nodes_that_were_removed_are_shown_no_more_but_those_that_the_url_names),
          cmocka_unit_test(another_name_of_a_node_is_refused_as_a_new_one_before_anything_is_changed),
          cmocka_unit_test(a_new_server_that_does_not_answer_is_named_when_it_has_become_a_node),
          cmocka_unit_test(new_servers_that_answer_are_not_said_to_be_down_when_they_have_become_nodes),
          cmocka_unit_test(a_context_that_has_known_too_many_servers_says_so))
