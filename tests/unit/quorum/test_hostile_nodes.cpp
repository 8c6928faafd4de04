// SPDX-License-Identifier: MIT
// What a quorum makes of nodes that go, of administrators that come in between, and of numbers that cannot be true.
#include <algorithm>

#include "quorum/reconfiguring.hpp"
#include "stage.hpp"

using namespace unit;
using What = Ask::What;

namespace {

constexpr const char *kImpossible = "9000000000000000";  // a token behind the last one

AcquireParams on(const std::vector<std::string> &nodes, AcquireParams params) {
  params.nodes = std::make_shared<const std::vector<std::string>>(nodes);
  return params;
}
liblock::QuorumOptions brief() {
  liblock::QuorumOptions options;
  options.max_ttl = 10'000 * kMillisecond;
  return options;
}
std::shared_ptr<Answered> set_nodes(Process &by, const std::vector<Node *> &nodes, int32_t votes = 0) {
  auto answered = std::make_shared<Answered>();
  run_once(by.host(), [&by, answered, nodes, votes] {
    liblock::NodesChange change;
    change.keeps_nodes = nodes.empty();
    change.votes = votes;
    for (const Node *node : nodes) change.servers.push_back("redis://sim:" + std::to_string(node->port()));
    liblock::quorum::reconfigure(by.instance(), change, [answered](Status status, const std::string &) {
      ++answered->times;
      answered->status = status;
    });
  });
  return answered;
}

struct Scene : Stage {
  explicit Scene(size_t servers = 3, const liblock::QuorumOptions &options = brief())
      : Stage(servers, 1, true, options) {}
  // The third node makes room for a new one.
  void replace_third() {
    fresh = &world.add_node("fresh");
    const auto changed = set_nodes(*a, {nodes[0], nodes[1], fresh});
    world.run_ms(30'000);
    EXPECT(changed->is(Status::OK));
  }
  void delay(Process &of, size_t node, int64_t ms) {
    world.link(of.host(), *nodes[node]).set_delay(ms * kMillisecond, ms * kMillisecond);
  }
  Node *fresh = nullptr;
};

Question &exported_by(Process &process, Handle handle) {
  return process.question(What::Export, [&](Ask &ask) {
    ask.lock = handle;
    ask.number = 1'024;
  });
}

}  // namespace

UNIT_TEST(who_wants_a_lock_on_a_node_that_was_removed_is_told_so) {
  Scene s;
  s.replace_third();
  Wanted &gone = s.a->acquire({"k"}, on({"n3"}, without_waiting(5'000)));
  Wanted &half = s.a->acquire({"k2"}, on({"n2", "n3"}, without_waiting(5'000)));
  s.world.run_ms(5'000);
  EXPECT(gone.is(Status::INVALID_ARGUMENT) && half.is(Status::INVALID_ARGUMENT));
}

UNIT_TEST(a_lock_on_nodes_that_were_all_removed_is_lost) {
  Scene s;
  Wanted &lock = s.a->acquire({"k"}, on({"n3"}, without_waiting(5'000)));
  s.world.run_ms(100);
  EXPECT(lock.is(Status::OK));
  s.replace_third();
  s.world.run_ms(60'000);
  EXPECT(!s.a->holds(lock.grant().handle) && lock.losses == 1);
}

UNIT_TEST(votes_that_no_majority_allows_are_refused_where_the_nodes_stay) {
  for (const int32_t votes : {1, 2, 7}) {
    Scene s(5);
    const auto changed = set_nodes(*s.a, {}, votes);
    s.world.run_ms(1'000);
    EXPECT(changed->is(Status::INVALID_ARGUMENT));
  }
}

UNIT_TEST(one_try_ends_though_a_candidate_was_left_behind) {
  Scene s;
  Node &fine = s.world.add_node("fine"), &gone = s.world.add_node("gone"), &too = s.world.add_node("too");
  gone.stop(Node::Data::Lost);
  too.stop(Node::Data::Lost);
  const auto changed = set_nodes(*s.a, {&fine, &gone, &too});
  s.world.run_ms(5'000);
  EXPECT(changed->is(Status::NO_QUORUM));
  for (size_t n = 1; n < 3; ++n) s.nodes[n]->stop(Node::Data::Kept);
  s.world.run_ms(1'000);
  Wanted &lock = s.a->acquire({"k"}, without_waiting(5'000));
  s.world.run_ms(60'000);
  EXPECT(lock.is(Status::NO_QUORUM));
}

UNIT_TEST(a_change_by_value_needs_the_new_nodes_as_well_while_there_are_both) {
  Scene s(5);
  Node &f0 = s.world.add_node("f0"), &f1 = s.world.add_node("f1");
  const auto changed = set_nodes(*s.a, {s.nodes[0], s.nodes[1], s.nodes[2], &f0, &f1});
  s.world.run_ms(7'000);
  AcquireParams params = without_waiting(10'000, false);
  params.value = "old";
  Wanted &lock = s.a->acquire({"k"}, params);
  s.world.run_ms(100);
  EXPECT(lock.is(Status::OK));
  s.b->about("k", What::Read, [](Ask &ask) { ask.from = Ask::From::Quorum; });
  s.world.run_ms(400);
  EXPECT(s.b->instance().membership.configuration().is_joint());
  for (size_t n = 0; n < 2; ++n) s.world.link(s.b->host(), *s.nodes[n]).cut();
  Question &update = s.b->about("k", What::UpdateKey, [](Ask &ask) {
    ask.text = "old";
    ask.value = "new";
  });
  s.world.run_ms(600);
  for (size_t n = 0; n < 2; ++n) s.world.link(s.b->host(), *s.nodes[n]).mend();
  EXPECT(update.ends == 1 && update.status != Status::OK);
  s.world.run_until([&] { return changed->times == 1; }, 9'000);
  s.world.run_ms(400);
  Question &read = s.b->about("k", What::Read, [](Ask &ask) { ask.from = Ask::From::Quorum; });
  s.world.run_ms(400);
  EXPECT(read.is(Status::OK) && read.infos.front()->value == "old");
}

UNIT_TEST(a_lock_is_not_lost_because_new_nodes_do_not_have_it_yet) {
  for (const bool updates : {false, true}) {
    Scene s;
    std::vector<Node *> fresh;
    for (int i = 0; i < 3; ++i) fresh.push_back(&s.world.add_node("f" + std::to_string(i)));
    AcquireParams params = without_waiting(10'000, false);
    params.value = "old";
    Wanted &lock = s.a->acquire({"k"}, params);
    s.world.run_ms(50);
    set_nodes(*s.a, fresh);
    s.world.run_ms(1'000);
    EXPECT(s.a->instance().membership.configuration().is_joint() && s.a->holds(lock.grant().handle));
    if (updates) s.a->update(lock.grant().handle, "new");
    if (!updates) s.a->question(What::Verify, [&](Ask &ask) { ask.lock = lock.grant().handle; });
    s.world.run_ms(1'000);
    EXPECT(s.a->holds(lock.grant().handle) && lock.losses == 0);
  }
}

UNIT_TEST(what_was_adopted_is_entered_again_and_given_back_without_a_quorum) {
  for (const bool reenters : {false, true}) {
    Scene s(3, {});
    Wanted &held = s.a->take("k", waiting_ms(1'000));
    Question &exported = exported_by(*s.a, held.grant().handle);
    s.world.run_ms(5);
    const AcquireParams params = waiting_ms(1'000);
    const auto owner = s.b->owner("o");
    Question &adopted = s.b->question(What::Adopt, [&](Ask &ask) {
      ask.text = exported.text;
      ask.params = &params;
      ask.owner = owner;
    });
    s.world.run_ms(500);
    EXPECT(adopted.is(Status::OK));
    if (reenters) {
      Wanted &again = s.b->acquire({"k"}, without_waiting(), owner);
      s.world.run_ms(500);
      EXPECT(again.is(Status::OK));
      continue;
    }
    for (size_t n = 1; n < 3; ++n) s.nodes[n]->stop(Node::Data::Kept);
    s.world.run_ms(500);
    const auto released = s.b->release(adopted.lock);
    s.world.run_ms(60'000);
    EXPECT(released->is(Status::PARTIAL));
  }
}

// Of two and three nodes that had it, it is taken away while one cannot hear of it.
UNIT_TEST(what_was_taken_away_goes_from_a_node_that_was_away_as_soon_as_it_is_back) {
  for (const bool by_force : {false, true}) {
    Scene s(5, {});
    AcquireParams params = on({"n1", "n2", "n3"}, without_waiting(50'000, false));
    params.votes = 2;
    params.value = "v";
    Wanted &lock = s.a->acquire({"k"}, params);
    s.world.run_ms(20);
    EXPECT(lock.is(Status::OK) && s.held_on("k") == 3);
    s.nodes[2]->stop(Node::Data::Kept);
    s.a->host().kill();
    s.world.run_ms(500);
    Question &taken = by_force ? s.b->about("k", What::ForceRelease)
                               : s.b->about("k", What::ReleaseKey, [](Ask &ask) { ask.text = "v"; });
    s.world.run_ms(1'000);
    s.nodes[2]->start();
    s.world.run_ms(5'000);
    EXPECT(taken.is(Status::OK) && s.held_on("k") == 0);
  }
}

// One vote is taken away before the others are there; another one is granted the key meanwhile.
UNIT_TEST(what_is_taken_away_while_it_is_being_granted_is_not_held_by_two) {
  for (const What what : {What::Clear, What::ForceRelease}) {
    Scene s(3, {});
    for (Process *p : {s.a.get(), s.b.get()}) {
      p->release(p->take("warm").grant().handle);
      s.world.run_ms(50);
    }
    Process admin(s.world, "admin", over(s.nodes));
    s.world.run_ms(50);
    s.delay(*s.a, 1, 20);
    s.delay(*s.a, 2, 100);
    s.delay(*s.b, 1, 60);
    Wanted &mine = s.a->acquire({"k"}, without_waiting(30'000, false));
    s.world.run_ms(1);
    Question &taken = admin.about("k", what, [](Ask &ask) { ask.number = 0; });
    EXPECT(s.world.run_until([&] { return taken.ends == 1; }, 15));
    Wanted &theirs = s.b->acquire({"k"}, without_waiting(30'000, false));
    s.world.run_ms(10'000);
    EXPECT(mine.ended() && mine.grant().status != Status::OK);
    EXPECT(theirs.is(Status::OK) && s.b->holds(theirs.grant().handle));
  }
}

UNIT_TEST(clocks_whose_rates_differ_by_less_than_a_hundredth_have_not_jumped) {
  for (const int64_t ppm : {100, 5'000}) {
    Scene s(3, {});
    for (Node *node : s.nodes) node->set_rate(ppm);
    s.a->release(s.a->take("k").grant().handle);
    s.world.run_ms(6'000'000);
    Wanted &lock = s.a->acquire({"k"}, without_waiting());
    s.world.run_ms(1'000);
    EXPECT(lock.is(Status::OK) && s.a->instance().counts_quorum.steps == 0);
  }
}

UNIT_TEST(a_token_that_no_node_can_have_given_out_does_not_spread) {
  Scene s(5);
  s.a->release(s.a->take("k").grant().handle);
  s.world.run_ms(50);
  const uint64_t before = s.a->instance().propose_token();
  s.nodes[0]->ask({"HSET", "ll1:node", "high", kImpossible});
  s.a->release(s.a->take("k").grant().handle);
  s.world.run_ms(50);
  EXPECT(s.a->instance().propose_token() < before + 60'000'000);
  s.nodes[1]->stop(Node::Data::Lost);
  s.world.run_ms(50);
  s.nodes[1]->start();
  s.world.run_ms(30'000);
  EXPECT(s.nodes[1]->ask({"HGET", "ll1:node", "needs_floor"}).is("0"));
  EXPECT(std::stoull(s.nodes[1]->ask({"HGET", "ll1:node", "high"}).text) < before + 60'000'000);
}

UNIT_TEST(a_node_whose_time_is_beyond_all_times_is_not_listened_to) {
  Scene s;
  s.nodes[0]->step_clock_ms(8'000'000'000'000);
  s.world.run_ms(1'000);
  Wanted &lock = s.a->acquire({"k"}, without_waiting(5'000));
  s.world.run_ms(1'000);
  EXPECT(lock.is(Status::OK) && s.nodes[0]->ask({"EXISTS", "liblock:k"}).is(0));
}

UNIT_TEST(a_lock_that_hardly_ever_ends_is_waited_for_like_any_other) {
  Scene s;
  const std::string forever = "9000000000000000000";
  for (Node *node : s.nodes) node->ask({"SET", "liblock:k", "foreign", "PX", forever});
  Wanted &lock = s.a->acquire({"k"}, waiting_ms(60'000, 5'000));
  Question &watched = s.b->about("k", What::WaitReleased, [](Ask &ask) { ask.wait = 60'000 * kMillisecond; });
  s.world.run_ms(2'000);
  EXPECT(!lock.ended() && watched.ends == 0);
  for (Node *node : s.nodes) node->ask({"DEL", "liblock:k"});
  s.world.run_ms(5'000);
  EXPECT(lock.is(Status::OK));
  s.write({0, 1, 2}, "long", Stage::record('a', 7, "v"), 9'000'000'000'000'000'000);
  Question &extended = s.b->about("long", What::ExtendKey, [&](Ask &ask) {
    ask.text = "v";
    ask.flag = true;
    ask.ttl = 1'000 * kMillisecond;
  });
  s.world.run_ms(1'000);
  EXPECT(extended.is(Status::INVALID_ARGUMENT));
}

// The third node votes, and has not heard of the lock.
UNIT_TEST(a_lock_is_not_lost_because_too_few_of_the_nodes_that_stay_have_it) {
  for (const What what : {What::Verify, What::Update, What::Release}) {
    Scene s(3, {});
    s.world.link(s.a->host(), *s.nodes[2]).cut();
    Wanted &lock = s.a->acquire({"k"}, without_waiting(10'000, false));
    s.world.run_ms(900);
    s.world.link(s.a->host(), *s.nodes[2]).mend();
    s.world.run_ms(1'000);
    EXPECT(lock.is(Status::OK) && s.held_on("k") == 2);
    Node &fresh = s.world.add_node("fresh");
    set_nodes(*s.a, {s.nodes[2], &fresh});
    s.world.run_ms(700);
    EXPECT(s.a->instance().membership.configuration().is_joint() && s.a->holds(lock.grant().handle));
    Question &asked = s.a->question(what, [&](Ask &ask) {
      ask.lock = lock.grant().handle;
      ask.text = "value";
    });
    s.world.run_ms(1'000);
    EXPECT(lock.losses == 0 && asked.status != Status::LOST);
    EXPECT(what == What::Release || s.a->holds(lock.grant().handle));
  }
}

UNIT_TEST(a_token_that_nobody_can_have_given_out_is_not_adopted) {
  Scene s(3, {});
  Wanted &held = s.a->take("k", waiting_ms(1'000));
  Question &exported = exported_by(*s.a, held.grant().handle);
  s.world.run_ms(5);
  const std::string token = std::to_string(held.grant().token);
  const AcquireParams params = waiting_ms(1'000);
  const auto adopt = [&](const std::string &bytes) -> Question & {
    return s.b->question(What::Adopt, [&](Ask &ask) {
      ask.text = bytes;
      ask.params = &params;
    });
  };
  for (const char *forged : {"5764607523034234", "4503599627370496", "4503599627370495", "4503599626370495"}) {
    std::string text = exported.text;
    text.replace(text.find(token), token.size(), forged);
    Question &refused = adopt(text);
    s.world.run_ms(50);
    EXPECT(refused.is(Status::INVALID_ARGUMENT));
  }
  Question &real = adopt(exported.text);
  s.world.run_ms(50);
  EXPECT(real.is(Status::OK) && s.b->take("other").grant().token > held.grant().token);
}

UNIT_TEST(a_grant_that_comes_behind_one_that_was_one_too_many_is_undone) {
  liblock::QuorumOptions options;
  options.locks_max = 1;
  Scene s(3, options);
  s.a->take("one", without_waiting(30'000, false));
  s.nodes[2]->freeze();
  Wanted &too_many = s.a->acquire({"k"}, without_waiting(30'000, false));
  s.world.run_ms(300);
  EXPECT(too_many.is(Status::LIMIT));
  s.nodes[2]->thaw();
  s.world.run_ms(2'000);
  EXPECT(s.held_on("k") == 0);
}

UNIT_TEST(a_late_word_of_the_process_that_gave_a_lock_away_does_not_make_it_the_holder_again) {
  liblock::QuorumOptions options;
  options.front_budget = 0;
  options.foreign_gap_ms = -1;
  Scene s(3, options);
  Wanted &first = s.a->take("k", waiting_ms(10'000));
  s.world.run_ms(50);
  Wanted &second = s.a->acquire({"k"}, waiting_ms(10'000));
  s.world.run_ms(200);
  for (Node *node : s.nodes) s.world.link(s.a->host(), *node).set_delay(100 * kMillisecond, 100 * kMillisecond);
  s.a->release(first.grant().handle);
  s.world.run_for(kMillisecond / 100);
  EXPECT(second.is(Status::OK));
  Question &exported = exported_by(*s.a, second.grant().handle);
  s.world.run_for(kMillisecond / 100);
  EXPECT(exported.is(Status::OK));
  const AcquireParams params = waiting_ms(1'000);
  Question &adopted = s.b->question(What::Adopt, [&](Ask &ask) {
    ask.text = exported.text;
    ask.params = &params;
  });
  s.world.run_ms(10);
  EXPECT(adopted.is(Status::OK));
  s.world.run_ms(500);
  int theirs = 0;
  for (Node *node : s.nodes)
    theirs += node->ask({"GET", "liblock:k"}).text.find("|" + s.b->instance().id + "|") != std::string::npos;
  EXPECT(theirs == 3 && s.b->holds(adopted.lock));
}

UNIT_TEST(a_server_that_takes_a_mark_and_does_not_keep_it_is_not_asked_as_fast_as_the_network_goes) {
  Scene s;
  Node &forgetful = *s.nodes[2];
  forgetful.on_answer = [&](const auto &words, const auto &) {
    if (std::find(words.begin(), words.end(), "join") != words.end()) forgetful.ask({"DEL", "ll1:node"});
  };
  forgetful.flush_data();
  forgetful.end_connections(false);
  const uint64_t before = forgetful.script_calls();
  s.world.run_ms(10'000);
  const uint64_t asked = forgetful.script_calls() - before;
  EXPECT(asked > 10 && asked < 10'000);
  EXPECT(s.a->take("k").is(Status::OK));
  forgetful.on_answer = nullptr;
  s.world.run_ms(40'000);
  s.a->take("m");
  s.world.run_ms(10);
  EXPECT(s.held_on("m") == 3);
}

UNIT_MAIN("quorum hostile nodes", cmocka_unit_test(who_wants_a_lock_on_a_node_that_was_removed_is_told_so),
          cmocka_unit_test(a_lock_on_nodes_that_were_all_removed_is_lost),
          cmocka_unit_test(votes_that_no_majority_allows_are_refused_where_the_nodes_stay),
          cmocka_unit_test(one_try_ends_though_a_candidate_was_left_behind),
          cmocka_unit_test(a_change_by_value_needs_the_new_nodes_as_well_while_there_are_both),
          cmocka_unit_test(a_lock_is_not_lost_because_new_nodes_do_not_have_it_yet),
          cmocka_unit_test(what_was_adopted_is_entered_again_and_given_back_without_a_quorum),
          cmocka_unit_test(what_was_taken_away_goes_from_a_node_that_was_away_as_soon_as_it_is_back),
          cmocka_unit_test(what_is_taken_away_while_it_is_being_granted_is_not_held_by_two),
          cmocka_unit_test(clocks_whose_rates_differ_by_less_than_a_hundredth_have_not_jumped),
          cmocka_unit_test(a_token_that_no_node_can_have_given_out_does_not_spread),
          cmocka_unit_test(a_node_whose_time_is_beyond_all_times_is_not_listened_to),
          cmocka_unit_test(a_lock_that_hardly_ever_ends_is_waited_for_like_any_other),
    cmocka_unit_test(a_lock_is_not_lost_because_too_few_of_the_nodes_that_stay_have_it),
    cmocka_unit_test(a_token_that_nobody_can_have_given_out_is_not_adopted),
    cmocka_unit_test(a_grant_that_comes_behind_one_that_was_one_too_many_is_undone),
    cmocka_unit_test(a_late_word_of_the_process_that_gave_a_lock_away_does_not_make_it_the_holder_again),
    cmocka_unit_test(a_server_that_takes_a_mark_and_does_not_keep_it_is_not_asked_as_fast_as_the_network_goes))
