// SPDX-License-Identifier: MIT
// Other nodes, votes and observers for a quorum whose locks are held; and contexts that were opened with others.
#include "changes.hpp"

using namespace unit;

namespace {

// Three nodes, and a server that whoever opens them feeds.
struct Observed {
  Observed()
      : nodes{&world.add_node("n0"), &world.add_node("n1"), &world.add_node("n2")},
        observer(world.add_node("o")),
        a(world, "a", over(nodes, [this] {
            liblock::QuorumOptions options = brief();
            options.observers = over({&observer}).nodes;
            return options;
          }())) {
    world.run_ms(50);
    a.found();
    world.run_ms(50);
  }
  World world{1};
  const std::vector<Node *> nodes;
  Node &observer;
  Process a;
};

}  // namespace

UNIT_TEST(a_node_is_replaced_while_a_lock_is_held_and_others_learn_of_it) {
  Stage s(3, 1, true, brief());
  const uint64_t epoch = s.a->instance().membership.configuration().epoch;
  Wanted &held = s.a->take("k", brief_lease());
  Node &fresh = s.world.add_node("fresh");
  s.nodes[2]->stop(Node::Data::Lost);
  const auto changed = set_nodes(*s.a, {s.nodes[0], s.nodes[1], &fresh});
  s.world.run_ms(30'000);
  EXPECT(changed->is(Status::OK));
  EXPECT(s.a->holds(held.grant().handle) && held.losses == 0);
  EXPECT(fresh.ask({"EXISTS", "liblock:k"}).is(1));
  const uint64_t token = held.grant().token;
  s.a->release(held.grant().handle);
  // One of the old ones goes as well: the new one makes up for it.
  s.nodes[0]->stop(Node::Data::Kept);
  s.world.run_ms(500);
  Wanted &next = s.b->take("k", brief_lease());
  EXPECT(next.grant().token > token);
  EXPECT(s.b->instance().membership.configuration().epoch == epoch + 2);
}

UNIT_TEST(tokens_go_on_though_none_of_the_nodes_that_stay_and_answer_has_seen_the_last_ones) {
  Stage s(5, 1, true, brief());
  // Without a time of day, from which tokens are taken else.
  constexpr int64_t kNoTime = -1'700'000'000'000'000;
  s.a = std::make_unique<Process>(s.world, "without", over(s.nodes, brief()), kNoTime);
  s.b = std::make_unique<Process>(s.world, "neither", over(s.nodes, brief()), kNoTime);
  s.world.run_ms(50);
  for (const size_t n : {3, 4}) s.world.link(s.a->host(), *s.nodes[n]).cut();
  uint64_t token = 0;
  for (int turn = 0; turn < 100; ++turn) {
    Wanted &held = s.a->take("k", brief_lease());
    token = held.grant().token;
    s.a->release(held.grant().handle);
    s.world.run_ms(10);
  }
  for (const size_t n : {3, 4}) s.world.link(s.a->host(), *s.nodes[n]).mend();
  s.world.run_ms(20'000);
  const auto changed = set_nodes(*s.a, {s.nodes[2], s.nodes[3], s.nodes[4]});
  s.world.run_ms(30'000);
  EXPECT(changed->is(Status::OK));
  s.nodes[2]->stop(Node::Data::Kept);
  s.world.run_ms(500);
  Wanted &next = s.b->take("k", brief_lease());
  EXPECT(next.grant().token > token);
}

UNIT_TEST(whoever_dies_in_the_middle_of_a_change_has_it_taken_up_by_another) {
  for (int64_t ms = 1; ms < 14'000; ms = ms * 3 + 1) {
    Stage s(3, static_cast<uint64_t>(ms), true, brief());
    Node &fresh = s.world.add_node("fresh");
    set_nodes(*s.a, {s.nodes[0], s.nodes[1], &fresh});
    s.world.run_ms(ms);
    s.a->host().kill();
    s.world.run_ms(1'000);
    const auto changed = set_nodes(*s.b, {s.nodes[0], s.nodes[1], &fresh});
    s.world.run_ms(40'000);
    EXPECT(changed->is(Status::OK));
    EXPECT(s.b->instance().membership.configuration().find_address("redis://sim:4/0") != nullptr);
    EXPECT(!s.b->instance().membership.configuration().is_joint());
    s.b->take("k", brief_lease());
  }
}

UNIT_TEST(votes_of_two_configurations_are_not_added_up) {
  Stage s(3, 1, true, brief());
  Process c(s.world, "c", over(s.nodes, brief()));
  Wanted &other = s.a->take("other", brief_lease());
  s.b->acquire({"other"}, brief_lease());
  s.world.run_ms(50);  // it listens from now on
  // c has the second node for as long as it waits for the others.
  for (const size_t n : {0, 2}) s.world.link(c.host(), *s.nodes[n]).cut();
  c.acquire({"k"}, without_waiting());
  s.world.run_ms(50);
  // b has the first, stands in the line of the second, and hears nothing of the third.
  s.world.link(s.b->host(), *s.nodes[2]).cut();
  Wanted &wanted = s.b->acquire({"k"}, waiting_ms(60'000, 5'000));
  s.world.run_ms(20);
  Node &one = s.world.add_node("one"), &two = s.world.add_node("two");
  for (Node *fresh : {&one, &two}) s.world.link(s.b->host(), *fresh).cut();
  set_nodes(*s.a, {s.nodes[0], &one, &two});
  const auto &configuration = [](Process &of) -> const liblock::quorum::Configuration & {
    return of.instance().membership.configuration();
  };
  EXPECT(s.world.run_until([&] { return configuration(*s.a).is_joint(); }, 100));
  run_once(s.b->host(), [&] { s.b->instance().membership.adopt(configuration(*s.a)); });
  s.world.run_ms(1'000);
  EXPECT(!wanted.ended());  // most of the new ones have never heard of it
  for (Node *node : {&one, &two, s.nodes[2]}) s.world.link(s.b->host(), *node).mend();
  EXPECT(s.world.run_until([&] { return wanted.is(Status::OK); }, 30'000));
  s.a->release(other.grant().handle);
}

UNIT_TEST(an_id_that_a_node_had_is_not_given_to_another_whose_votes_would_count_as_its_own) {
  Stage s(3, 1, true, brief());
  liblock::quorum::Configuration::Identity was;
  Node &gone = s.world.add_node("gone");
  Node &fresh = s.world.add_node("fresh");
  std::vector<Node *> with_gone = s.nodes, with_fresh = s.nodes;
  with_gone.push_back(&gone);
  with_fresh.push_back(&fresh);
  for (const auto &nodes : {with_gone, s.nodes, with_fresh}) {
    const auto changed = set_nodes(*s.a, nodes);
    s.world.run_ms(30'000);
    EXPECT(changed->is(Status::OK));
  }
  s.nodes[0]->freeze();
  s.b->take("k", brief_lease());
  EXPECT(gone.ask({"EXISTS", "liblock:k"}).is(0) && fresh.ask({"EXISTS", "liblock:k"}).is(1));
  const std::string id_before =
      liblock::quorum::Configuration::parse_who(gone.ask({"HGET", "ll1:node", "who"}).text, was) ? was.node
                                                                                                 : "none";
  EXPECT(s.a->instance().membership.configuration().find_id(id_before) == nullptr);
}

UNIT_TEST(a_node_that_was_removed_is_looked_at_again_a_few_times_a_second_and_not_all_the_time) {
  Stage s(4, 1, true, brief());
  const auto changed = set_nodes(*s.a, {s.nodes[0], s.nodes[1], s.nodes[2]});
  s.world.run_ms(30'000);
  EXPECT(changed->is(Status::OK));
  const uint64_t before = s.world.connections;
  s.world.run_ms(10'000);
  EXPECT(s.world.connections - before < 2 * 60);  // of two contexts
}

UNIT_TEST(a_context_that_closes_in_the_middle_of_a_change_ends_it) {
  Stage s(3, 1, true, brief());
  Node &fresh = s.world.add_node("fresh");
  const auto changed = set_nodes(*s.a, {s.nodes[0], s.nodes[1], &fresh});
  s.world.run_ms(2'000);
  s.a->end();
  EXPECT(changed->is(Status::CLOSED));
  s.world.run_ms(1'000);
}

UNIT_TEST(more_votes_are_needed_when_they_are_asked_for) {
  Stage s(3, 1, true, brief());
  const auto changed = set_nodes(*s.a, {}, LIBLOCK_VOTES_ALL);
  s.world.run_ms(15'000);
  EXPECT(changed->is(Status::OK));
  s.b->release(s.b->take("k", brief_lease()).grant().handle);
  s.nodes[1]->stop(Node::Data::Kept);
  s.world.run_ms(500);
  Wanted &lock = s.b->acquire({"k"}, without_waiting(5'000));
  s.world.run_ms(1'000);
  EXPECT(lock.is(Status::NO_QUORUM));
}

UNIT_TEST(a_change_without_enough_of_the_new_nodes_is_refused_and_nothing_has_changed) {
  Stage s(3, 1, true, brief());
  Node &gone = s.world.add_node("gone");
  Node &too = s.world.add_node("too");
  const auto before = s.a->instance().membership.configuration();
  gone.stop(Node::Data::Lost);
  too.stop(Node::Data::Lost);
  const auto changed = set_nodes(*s.a, {s.nodes[0], &gone, &too});
  for (int ms = 0; ms < 5'000 && !changed->is(Status::NO_QUORUM); ++ms) s.world.run_ms(1);
  EXPECT(changed->is(Status::NO_QUORUM));
  EXPECT(s.a->instance().membership.configuration() == before);
  std::string ignored;
  EXPECT(s.a->instance().board.view(s.a->instance().clock.now(), ignored)->nodes.size() == 3);
  s.b->take("k", brief_lease());
}

UNIT_TEST(another_change_waits_for_the_end_of_one_that_was_begun) {
  Stage s(3, 1, true, brief());
  Node &fresh = s.world.add_node("fresh");
  const auto first = set_nodes(*s.a, {s.nodes[0], s.nodes[1], &fresh});
  s.world.run_ms(2'000);
  const auto second = set_nodes(*s.b, {s.nodes[0], s.nodes[2], &fresh});
  s.world.run_ms(500);
  EXPECT(second->is(Status::NODES_MISMATCH));
  s.world.run_ms(20'000);
  EXPECT(first->is(Status::OK));
}

// An even number of old nodes: two halves of them would be a quorum of neither.
UNIT_TEST(of_two_changes_at_once_one_is_made_and_the_other_says_which) {
  for (uint64_t seed = 1; seed <= 24 / slowness(); ++seed) {
    Stage s(4, seed, true, brief());
    Node &x = s.world.add_node("x");
    Node &y = s.world.add_node("y");
    s.world.delay_most = static_cast<Nanos>(seed) * kMillisecond;
    const std::vector<Node *> with_x = {s.nodes[0], s.nodes[1], s.nodes[2], &x};
    const std::vector<Node *> with_y = {s.nodes[1], s.nodes[2], s.nodes[3], &y};
    const auto of_a = set_nodes(*s.a, with_x), of_b = set_nodes(*s.b, with_y);
    s.world.run_ms(30'000);
    EXPECT(of_a->times == 1 && of_b->times == 1);
    const bool a_won = of_a->is(Status::OK);
    EXPECT((a_won ? *of_b : *of_a).is(Status::NODES_MISMATCH));
    EXPECT((a_won ? *of_a : *of_b).is(Status::OK));
    EXPECT(a_won ? of_b->names(x) : of_a->names(y));
    const auto &now = (a_won ? s.a : s.b)->instance().membership.configuration();
    EXPECT(!now.is_joint() && now.find_address(url(a_won ? x : y) + "/0") != nullptr);
    const auto again = set_nodes(a_won ? *s.b : *s.a, a_won ? with_y : with_x);
    s.world.run_ms(30'000);
    EXPECT(again->is(Status::OK));
    s.b->release(s.b->take("k", brief_lease()).grant().handle);
  }
}

UNIT_TEST(two_who_make_the_same_change_at_once_both_succeed) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Stage s(3, seed, true, brief());
    Node &fresh = s.world.add_node("fresh");
    s.world.delay_most = 5 * kMillisecond;
    const auto one = set_nodes(*s.a, {s.nodes[0], s.nodes[1], &fresh});
    const auto other = set_nodes(*s.b, {&fresh, s.nodes[1], s.nodes[0]});
    s.world.run_ms(40'000);
    EXPECT(one->is(Status::OK) && other->is(Status::OK));
  }
}

UNIT_TEST(a_change_that_others_have_finished_and_gone_on_from_comes_to_an_end) {
  Stage s(3, 1, true, brief());
  Node &fresh = s.world.add_node("fresh");
  const auto changed = set_nodes(*s.a, {s.nodes[0], s.nodes[1], &fresh});
  s.world.run_ms(2'000);  // it waits for leases to end
  s.a->host().cut();
  const auto again = set_nodes(*s.b, {s.nodes[0], s.nodes[1], &fresh});
  s.world.run_ms(30'000);
  EXPECT(again->is(Status::OK));
  const auto others =
      set_nodes(*s.b, {&s.world.add_node("x"), &s.world.add_node("y"), &s.world.add_node("z")});
  s.world.run_ms(60'000);
  EXPECT(others->is(Status::OK) && changed->times == 0);
  s.a->host().mend();
  s.world.run_ms(30'000);
  EXPECT(changed->is(Status::NODES_MISMATCH));
}

UNIT_TEST(a_change_whose_operator_dies_is_finished_with_the_nodes_that_the_next_one_is_told) {
  for (int64_t ms = 1; ms < 2'000; ms += ms < 40 ? 3 : 200) {
    Stage s(4, static_cast<uint64_t>(ms), true, brief());
    Node &x = s.world.add_node("x");
    Node &y = s.world.add_node("y");
    s.world.delay_most = 3 * kMillisecond;
    const std::vector<Node *> with_x = {s.nodes[0], s.nodes[1], s.nodes[2], &x};
    const std::vector<Node *> with_y = {s.nodes[1], s.nodes[2], s.nodes[3], &y};
    set_nodes(*s.a, with_x);
    s.world.run_ms(ms);
    s.a->host().kill();
    auto changed = set_nodes(*s.b, with_y);
    s.world.run_ms(30'000);
    if (!changed->is(Status::OK)) {
      EXPECT(changed->is(Status::NODES_MISMATCH) && changed->names(x));
      changed = set_nodes(*s.b, with_x);
      s.world.run_ms(30'000);
      EXPECT(changed->is(Status::OK));
    }
    s.b->release(s.b->take("k", brief_lease()).grant().handle);
  }
}

UNIT_TEST(a_context_that_names_the_old_nodes_finds_the_new_ones) {
  Stage s(3, 1, true, brief());
  Node &fresh = s.world.add_node("fresh");
  const auto changed = set_nodes(*s.a, {s.nodes[0], s.nodes[1], &fresh});
  s.world.run_ms(20'000);
  EXPECT(changed->is(Status::OK));
  Process late(s.world, "late", over(s.nodes, brief()));
  s.world.run_ms(100);
  late.take("k", brief_lease());
  s.world.run_ms(10);
  EXPECT(fresh.ask({"EXISTS", "liblock:k"}).is(1));
}

UNIT_TEST(an_observer_has_what_was_agreed_on_and_never_votes) {
  Observed s;
  auto &[world, nodes, observer, a] = s;
  Wanted &lock = a.take("k", brief_lease());
  world.run_ms(300);
  EXPECT(observer.ask({"EXISTS", "liblock:k"}).is(1));
  observer.stop(Node::Data::Lost);
  world.run_ms(2'000);
  observer.start();
  world.run_ms(6'000);
  EXPECT(observer.ask({"EXISTS", "liblock:k"}).is(1));  // the renewal has brought it again
  a.release(lock.grant().handle);
  world.run_ms(300);
  EXPECT(observer.ask({"EXISTS", "liblock:k"}).is(0));
  for (int n = 0; n < 2; ++n) nodes[n]->stop(Node::Data::Kept);
  world.run_ms(300);
  Wanted &second = a.acquire({"k"}, without_waiting(5'000));
  world.run_ms(1'000);
  EXPECT(second.is(Status::NO_QUORUM));
}

UNIT_TEST(an_observer_becomes_a_node_and_a_node_an_observer) {
  Observed s;
  auto &[world, nodes, observer, a] = s;
  Wanted &ended = a.take("ended", brief_lease());
  Wanted &lock = a.take("k", brief_lease());
  const uint64_t token = ended.grant().token;
  a.release(ended.grant().handle);
  world.run_ms(300);
  const auto changed = set_nodes(a, {nodes[0], nodes[1], &observer}, 0, {nodes[2]});
  world.run_ms(30'000);
  EXPECT(changed->is(Status::OK) && a.holds(lock.grant().handle));
  // Without one of the old ones the new one decides.
  nodes[0]->stop(Node::Data::Kept);
  world.run_ms(500);
  EXPECT(a.take("ended", brief_lease()).grant().token > token);
  a.release(lock.grant().handle);
  world.run_ms(300);
  EXPECT(a.take("k", brief_lease()).grant().token > lock.grant().token);
  world.run_ms(300);
  EXPECT(nodes[2]->ask({"EXISTS", "liblock:k"}).is(1));
}

UNIT_TEST(a_server_that_becomes_a_node_is_told_nothing_by_those_who_name_it_as_an_observer) {
  for (const char *host : {"sim", "alias"}) {
    Stage s(3, 1, true, brief());
    Node &observer = s.world.add_node("o");
    auto options = over(s.nodes, brief());
    options.observers = over({&observer}).nodes;
    options.observers.front().address.target.host = host;
    Process by(s.world, "by", options);
    s.world.run_ms(100);
    by.take("told", brief_lease());
    s.world.run_ms(300);
    EXPECT(observer.ask({"EXISTS", "liblock:told"}).is(1));
    const auto changed = set_nodes(by, {s.nodes[0], s.nodes[1], &observer});
    s.world.run_ms(30'000);
    EXPECT(changed->is(Status::OK));
    s.a->take("hears of it", brief_lease());
    s.world.run_ms(1'000);
    const auto alone_on = [](const Node &node) {
      AcquireParams params = brief_lease();
      params.nodes = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{url(node) + "/0"});
      return params;
    };
    s.a->take("k", alone_on(observer));
    const std::string ours = observer.ask({"GET", "liblock:k"}).text.substr(0, 40);
    Wanted &elsewhere = by.take("k", alone_on(*s.nodes[0]));
    s.world.run_ms(1'000);
    EXPECT(ours.starts_with("ll1|") && observer.ask({"GET", "liblock:k"}).text.substr(0, 40) == ours);
    by.release(elsewhere.grant().handle);
    s.world.run_ms(1'000);
    EXPECT(observer.ask({"GET", "liblock:k"}).text.substr(0, 40) == ours);
  }
}

UNIT_TEST(nodes_that_lost_their_data_are_silent_for_the_quorums_leases_whoever_marks_them_first) {
  liblock::QuorumOptions lasting;
  lasting.max_ttl = 60'000 * kMillisecond;
  Stage s(3, 1, true, lasting);
  Wanted &held = s.a->take("k", waiting_ms(10'000, 50'000, false));
  for (Process *cut_off : {s.a.get(), s.b.get()}) {
    for (Node *node : s.nodes) s.world.link(cut_off->host(), *node).cut();
  }
  for (Node *node : s.nodes) node->stop(Node::Data::Lost);
  for (Node *node : s.nodes) node->start();
  Process hasty(s.world, "hasty", over(s.nodes, brief()));
  s.world.run_ms(2'000);
  for (Node *node : s.nodes) s.world.link(s.b->host(), *node).mend();
  s.world.run_ms(30'000);
  EXPECT(s.a->holds(held.grant().handle));
  Wanted &tried = hasty.acquire({"k"}, without_waiting(5'000));
  s.world.run_ms(1'000);
  EXPECT(tried.ended() && !tried.is(Status::OK));
  s.world.run_ms(60'000);
  hasty.take("k", brief_lease());
}

// What becomes of opening, and why.
std::pair<Status, std::string> opening(World &world, const liblock::QuorumOptions &options) {
  Process p(world, "p" + std::to_string(world.now()), options);
  std::pair<Status, std::string> seen(Status::CLOSED, "");
  run_once(p.host(), [&] {
    p.instance().when_opened([&](Status status, const std::string &text) { seen = {status, text}; });
  });
  world.run_ms(2'000);
  return seen;
}

UNIT_TEST(one_server_under_two_names_is_refused_also_where_others_answer) {
  Stage s(3, 1, true, brief());
  liblock::QuorumOptions twice = over(s.nodes, brief());
  twice.nodes[2].address.target.port = s.nodes[1]->port();
  EXPECT(opening(s.world, twice).first == Status::INVALID_ARGUMENT);
}

UNIT_TEST(a_replica_a_proxy_and_an_evicting_server_are_refused_unless_enough_others_answer) {
  Stage s(3, 1, true, brief());
  const auto expect = [&](Status wanted, const char *says) {
    const auto [status, text] = opening(s.world, over(s.nodes, brief()));
    EXPECT(status == wanted && text.find(says) != std::string::npos);
  };
  for (const bool others_answer : {true, false}) {
    if (!others_answer) s.nodes[2]->stop(Node::Data::Kept);
    auto &server = s.nodes[0]->server();
    server.maxmemory = 1'000'000;
    server.maxmemory_policy = "allkeys-lru";
    expect(others_answer ? Status::OK : Status::INVALID_ARGUMENT, "noeviction");
    server.maxmemory = 0;
    server.hides_run_id = true;
    expect(others_answer ? Status::OK : Status::UNSUPPORTED, "run_id");
    server.hides_run_id = false;
    s.nodes[0]->set_replica(true);
    expect(others_answer ? Status::OK : Status::READ_ONLY, "replica");
    s.nodes[0]->set_replica(false);
  }
}

UNIT_TEST(a_server_with_a_copy_of_another_ones_data_is_no_node_until_it_is_emptied) {
  Stage s(3, 1, true, brief());
  s.nodes[2]->become_another(s.nodes[0]);
  s.world.run_ms(3'000);
  const auto &nodes = s.b->instance().nodes();
  EXPECT(nodes.size() == 3 && nodes[0]->is_ready());
  EXPECT(nodes[2]->state() == liblock::quorum::Node::State::Refused);
  const auto [opened, why] = opening(s.world, over(s.nodes, brief()));
  EXPECT(opened == Status::INVALID_ARGUMENT && why.find("a copy of another node's") != std::string::npos);
  s.nodes[2]->flush_data();
  s.world.run_ms(30'000);
  EXPECT(nodes[2]->is_ready() && !nodes[2]->is_silent(s.b->host().clock().now()));
}

// Otherwise the two that are left would do for one that has forgotten the largest token.
UNIT_TEST(who_has_never_heard_of_a_node_counts_it_among_those_that_may_know_more) {
  liblock::QuorumOptions options;
  options.max_ttl = 2'000 * kMillisecond;
  Stage s(5, 1, true, options);
  Process ahead(s.world, "ahead", over(s.nodes, options), 9'000'000);
  s.world.run_ms(50);
  for (const int n : {0, 1}) s.nodes[n]->freeze();
  const uint64_t token = ahead.take("k", brief_lease_of_ms(1'000)).grant().token;
  ahead.host().cut();
  s.world.run_ms(1'500);
  for (const int n : {0, 1}) s.nodes[n]->thaw();
  for (const int n : {3, 4}) s.nodes[n]->stop(Node::Data::Kept);
  s.nodes[2]->stop(Node::Data::Lost);
  s.nodes[2]->start();
  Process late(s.world, "late", over(s.nodes, options));
  s.world.run_ms(4'000);
  Wanted &early = late.acquire({"k"}, without_waiting(1'000));
  s.world.run_ms(500);
  EXPECT(early.is(Status::QUARANTINED));
  for (const int n : {3, 4}) s.nodes[n]->start();
  s.world.run_ms(8'000);
  EXPECT(late.take("k", brief_lease_of_ms(1'000)).grant().token > token);
}

UNIT_MAIN(
    "quorum nodes", cmocka_unit_test(a_node_is_replaced_while_a_lock_is_held_and_others_learn_of_it),
    cmocka_unit_test(tokens_go_on_though_none_of_the_nodes_that_stay_and_answer_has_seen_the_last_ones),
    cmocka_unit_test(whoever_dies_in_the_middle_of_a_change_has_it_taken_up_by_another),
    cmocka_unit_test(votes_of_two_configurations_are_not_added_up),
    cmocka_unit_test(more_votes_are_needed_when_they_are_asked_for),
    cmocka_unit_test(a_change_without_enough_of_the_new_nodes_is_refused_and_nothing_has_changed),
    cmocka_unit_test(another_change_waits_for_the_end_of_one_that_was_begun),
    cmocka_unit_test(of_two_changes_at_once_one_is_made_and_the_other_says_which),
    cmocka_unit_test(two_who_make_the_same_change_at_once_both_succeed),
    cmocka_unit_test(a_change_that_others_have_finished_and_gone_on_from_comes_to_an_end),
    cmocka_unit_test(a_change_whose_operator_dies_is_finished_with_the_nodes_that_the_next_one_is_told),
    cmocka_unit_test(a_context_that_names_the_old_nodes_finds_the_new_ones),
    cmocka_unit_test(an_observer_has_what_was_agreed_on_and_never_votes),
    cmocka_unit_test(an_observer_becomes_a_node_and_a_node_an_observer),
    cmocka_unit_test(a_server_that_becomes_a_node_is_told_nothing_by_those_who_name_it_as_an_observer),
    cmocka_unit_test(nodes_that_lost_their_data_are_silent_for_the_quorums_leases_whoever_marks_them_first),
    cmocka_unit_test(one_server_under_two_names_is_refused_also_where_others_answer),
    cmocka_unit_test(a_replica_a_proxy_and_an_evicting_server_are_refused_unless_enough_others_answer),
    cmocka_unit_test(a_server_with_a_copy_of_another_ones_data_is_no_node_until_it_is_emptied),
    cmocka_unit_test(who_has_never_heard_of_a_node_counts_it_among_those_that_may_know_more),
    cmocka_unit_test(an_id_that_a_node_had_is_not_given_to_another_whose_votes_would_count_as_its_own),
    cmocka_unit_test(a_node_that_was_removed_is_looked_at_again_a_few_times_a_second_and_not_all_the_time),
    cmocka_unit_test(a_context_that_closes_in_the_middle_of_a_change_ends_it))
