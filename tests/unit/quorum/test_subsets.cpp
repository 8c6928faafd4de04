// SPDX-License-Identifier: MIT
// Locks on some of the nodes, and what an owner may add to what he holds.
#include <algorithm>

#include "stage.hpp"

using namespace unit;
using What = Ask::What;

namespace {

AcquireParams on(const std::vector<std::string> &nodes, AcquireParams params = without_waiting()) {
  params.nodes = std::make_shared<const std::vector<std::string>>(nodes);
  return params;
}

Wanted &ended(Stage &s, Wanted &wanted) {
  EXPECT(s.world.run_until([&] { return wanted.ended(); }, 5'000));
  return wanted;
}

std::string address(const Node &node) { return "redis://sim:" + std::to_string(node.port()) + "/0"; }

}  // namespace

UNIT_TEST(a_lock_on_some_nodes_is_on_those_alone) {
  Stage s;
  Wanted &lock = ended(s, s.a->acquire({"k"}, on({"n1", address(*s.nodes[1])})));
  s.world.run_ms(5);
  EXPECT(lock.is(Status::OK) && lock.grant().nodes == 2 && lock.grant().votes == 2);
  EXPECT(s.held_on("k") == 2);
  s.world.run_ms(30'000);  // renewals stay on them
  EXPECT(s.a->holds(lock.grant().handle) && s.held_on("k") == 2);
  s.a->release(lock.grant().handle);
  s.world.run_ms(10);
  EXPECT(s.held_on("k") == 0);
}

UNIT_TEST(a_lock_on_nodes_that_do_not_answer_is_none) {
  Stage s;
  s.nodes[1]->stop(Node::Data::Kept);
  s.world.run_ms(300);
  EXPECT(ended(s, s.a->acquire({"k"}, on({"n1", "n2"}))).is(Status::NO_QUORUM));
  s.world.run_ms(300);
  EXPECT(s.held_on("k") == 0);
  EXPECT(ended(s, s.a->acquire({"k"}, on({"nowhere"}))).is(Status::INVALID_ARGUMENT));
}

UNIT_TEST(whoever_asks_for_nodes_that_are_away_keeps_nobody_from_those_that_are_there) {
  Stage s;
  for (Node *node : s.nodes) s.world.link(s.a->host(), *node).set_delay(5 * kMillisecond, 5 * kMillisecond);
  Wanted &kept = ended(s, s.a->acquire({"kept"}, waiting_ms(0, 20'000)));
  s.nodes[4]->stop(Node::Data::Kept);
  s.world.run_ms(300);
  Wanted &all = s.a->acquire({"all"}, on({"n1", "n2", "n3", "n4", "n5"}, waiting_ms(5'000, 20'000)));
  for (int i = 0; i < 200; ++i) {
    Wanted &held = ended(s, s.a->acquire({"k"}, without_waiting()));
    EXPECT(held.is(Status::OK));
    const auto released = s.a->release(held.grant().handle);
    Question &read = s.a->about("kept", What::Read, [](Ask &ask) { ask.from = Ask::From::Quorum; });
    const auto extended = s.a->extend(kept.grant().handle, 20'000);
    s.world.run_for((20 + i % 7) * kMillisecond);
    EXPECT(released->is(Status::OK) && read.is(Status::OK) && extended->is(Status::OK));
  }
  EXPECT(all.is(Status::NO_QUORUM) || all.is(Status::TIMEOUT));
}

UNIT_TEST(however_many_wait_for_a_quorum_that_is_away_whoever_does_not_wait_is_told_so) {
  Stage s;
  for (Node *node : s.nodes) s.world.link(s.a->host(), *node).set_delay(20 * kMillisecond, 20 * kMillisecond);
  s.world.run_ms(100);
  for (const size_t n : {1, 2, 3}) s.nodes[n]->stop(Node::Data::Kept);
  s.world.run_ms(500);
  std::vector<Wanted *> waiting;
  for (int i = 0; i < 40; ++i) waiting.push_back(&s.a->acquire({"w" + std::to_string(i)}, waiting_ms(60'000)));
  s.world.run_ms(200);
  for (int i = 0; i < 10; ++i) {
    Wanted &tries = s.a->acquire({"t"}, without_waiting());
    EXPECT(s.world.run_until([&] { return tries.ended(); }, 1'000));
    EXPECT(tries.is(Status::NO_QUORUM));
  }
  for (const Wanted *wanted : waiting) EXPECT(!wanted->ended());
}

UNIT_TEST(what_a_lost_attempt_gets_late_is_out_of_the_way_of_what_its_client_asks_next) {
  Stage s;
  ended(s, s.a->acquire({"k"}, on({"n1"})));
  s.world.link(s.a->host(), *s.nodes[1]).set_delay(20 * kMillisecond, 20 * kMillisecond);
  EXPECT(ended(s, s.a->acquire({"k"}, on({"n1", "n2"}))).is(Status::BUSY));
  // The promise of the second node is still on its way.
  EXPECT(ended(s, s.a->acquire({"k"}, on({"n2"}))).is(Status::OK));
  s.world.run_ms(100);
  EXPECT(s.held_on("k") == 2);
}

UNIT_TEST(a_lock_on_some_nodes_is_seen_and_waited_for_by_everybody) {
  Stage s;
  AcquireParams params = on({"n1", "n2"});
  params.value = "leader";
  Wanted &lock = ended(s, s.a->acquire({"k"}, params));
  s.world.run_ms(10);
  Question &read = s.b->about("k", What::Read, [](Ask &ask) { ask.from = Ask::From::Quorum; });
  Question &is_locked = s.b->about("k", What::IsLocked);
  Question &gone = s.b->about("k", What::WaitReleased);
  s.world.run_ms(100);
  EXPECT(read.is(Status::OK) && read.infos.front()->value == "leader" &&
         read.infos.front()->remaining_ms > 0);
  EXPECT(is_locked.is(Status::OK) && is_locked.count == 1 && gone.ends == 0);
  // One of its nodes says nothing: nobody knows whether it is there.
  s.nodes[1]->freeze();
  Question &unknown = s.b->about("k", What::IsLocked);
  s.world.run_ms(600);
  EXPECT(unknown.is(Status::NO_QUORUM) && gone.ends == 0);
  s.nodes[1]->thaw();
  s.world.run_ms(1'000);
  s.a->release(lock.grant().handle);
  s.world.run_ms(200);
  EXPECT(gone.is(Status::OK));
}

UNIT_TEST(what_is_left_of_a_lock_on_fewer_of_its_nodes_than_it_needs_is_none) {
  Stage s;
  std::string half = Stage::record('a', 7, "old");
  half.replace(half.find(",5,0|"), 5, ",5,2|");
  s.write({0}, "k", half);
  Question &free = s.b->about("k", What::IsLocked);
  s.world.run_ms(100);
  EXPECT(free.is(Status::OK) && free.count == 0);
  s.write({1}, "k", half);
  Question &held = s.b->about("k", What::IsLocked);
  s.world.run_ms(100);
  EXPECT(held.is(Status::OK) && held.count == 1);
}

UNIT_TEST(who_knows_the_value_of_a_lock_on_some_nodes_changes_it_there_alone) {
  Stage s;
  AcquireParams params = on({"n1", "n2"});
  params.value = "old";
  Wanted &lock = ended(s, s.a->acquire({"k"}, params));
  s.world.run_ms(10);
  Question &update = s.b->about("k", What::UpdateKey, [](Ask &ask) {
    ask.text = "old";
    ask.value = "new";
  });
  EXPECT(s.world.run_until([&] { return update.ends == 1; }, 2'000));
  EXPECT(update.is(Status::OK) && update.votes == 2 && update.nodes == 2);
  EXPECT(s.held_on("k") == 2 && s.value_on(0, "k") == "new" && s.value_on(1, "k") == "new");
  Question &extend = s.b->about("k", What::ExtendKey, [](Ask &ask) {
    ask.text = "new";
    ask.ttl = 50'000 * kMillisecond;
  });
  s.world.run_ms(100);
  EXPECT(extend.is(Status::OK) && s.held_on("k") == 2 && s.a->holds(lock.grant().handle));
  Question &release = s.b->about("k", What::ReleaseKey, [](Ask &ask) { ask.text = "new"; });
  s.world.run_ms(100);
  EXPECT(release.is(Status::OK) && release.votes == 2 && release.nodes == 2 && s.held_on("k") == 0);
}

UNIT_TEST(locks_on_nodes_that_overlap_exclude_each_other_and_others_do_not) {
  Stage s;
  EXPECT(ended(s, s.a->acquire({"k"}, on({"n1", "n2"}))).is(Status::OK));
  EXPECT(ended(s, s.b->acquire({"k"}, on({"n2", "n3"}))).is(Status::BUSY));
  EXPECT(ended(s, s.b->acquire({"k"}, on({"n4", "n5"}))).is(Status::OK));
}

UNIT_TEST(tokens_rise_over_locks_on_nodes_that_overlap) {
  Stage s;
  Wanted &one = ended(s, s.a->acquire({"k"}, on({"n1", "n2"})));
  const uint64_t first = one.grant().token;
  s.a->release(one.grant().handle);
  s.world.run_ms(10);
  Wanted &two = ended(s, s.b->acquire({"k"}, on({"n2", "n3"})));
  EXPECT(two.is(Status::OK) && two.grant().token > first);
}

UNIT_TEST(what_is_held_on_other_nodes_is_reentered_as_asked_for) {
  Stage s;
  const auto owner = s.a->owner("o");
  EXPECT(ended(s, s.a->acquire({"k"}, on({"n1", "n2"}), owner)).is(Status::OK));
  const auto again = [&](const std::vector<std::string> &nodes, int32_t policy) -> Status {
    AcquireParams params = on(nodes);
    params.on_nodes_mismatch = policy;
    return ended(s, s.a->acquire({"k"}, params, owner)).grant().status;
  };
  EXPECT(again({"n2", "n1"}, LIBLOCK_NODES_MISMATCH_FAIL) == Status::OK);
  EXPECT(again({"n1", "n3"}, LIBLOCK_NODES_MISMATCH_FAIL) == Status::NODES_MISMATCH);
  EXPECT(again({"n1", "n3"}, LIBLOCK_NODES_MISMATCH_FAIL_IF_DISJOINT) == Status::OK);
  EXPECT(again({"n3", "n4"}, LIBLOCK_NODES_MISMATCH_FAIL_IF_DISJOINT) == Status::NODES_MISMATCH);
  EXPECT(again({"n3", "n4"}, LIBLOCK_NODES_MISMATCH_IGNORE) == Status::OK);
  EXPECT(again({"n1", "n3"}, LIBLOCK_NODES_MISMATCH_FAIL_IF_MINORITY_OVERLAP) == Status::NODES_MISMATCH);
  EXPECT(again({"n1", "n2", "n3"}, LIBLOCK_NODES_MISMATCH_FAIL_IF_MINORITY_OVERLAP) == Status::OK);
}

UNIT_TEST(what_an_owner_adds_to_his_keys_has_one_token_with_them) {
  Stage s;
  const auto owner = s.a->owner("o");
  Wanted &first = ended(s, s.a->acquire({"x"}, waiting_ms(1'000), owner));
  const uint64_t before = first.grant().token;
  Wanted &more = ended(s, s.a->acquire({"x", "y"}, waiting_ms(1'000), owner));
  EXPECT(more.is(Status::OK) && more.grant().token > before);
  EXPECT(s.a->instance().holds.view(first.grant().handle).token == more.grant().token);
  s.world.run_ms(5);
  const std::string token = "|" + std::to_string(more.grant().token) + "|";
  const auto has_it = [&](Node *node) {
    return node->ask({"GET", "liblock:x"}).text.find(token) != std::string::npos;
  };
  EXPECT(std::count_if(s.nodes.begin(), s.nodes.end(), has_it) >= 3);
  s.a->release(more.grant().handle);
  s.world.run_ms(10);
  EXPECT(s.held_on("x") == 5 && s.held_on("y") == 0);
  s.a->release(first.grant().handle);
  s.world.run_ms(10);
  EXPECT(s.held_on("x") == 0);
  Wanted &next = s.b->take("x");
  EXPECT(next.grant().token > more.grant().token);
}

UNIT_TEST(what_is_held_on_other_nodes_cannot_be_added_to_and_nobody_is_sent_to_found_a_quorum) {
  Stage s;
  const auto owner = s.a->owner("o");
  AcquireParams params = on({"n1", "n2"});
  EXPECT(ended(s, s.a->acquire({"x"}, params, owner)).is(Status::OK));
  params = without_waiting();
  EXPECT(ended(s, s.a->acquire({"x", "y"}, params, owner)).is(Status::NO_QUORUM));
  EXPECT(s.a->instance().last_trouble().find("one token") != std::string::npos);
}

UNIT_TEST(a_ttl_longer_than_the_quorum_allows_is_refused_and_a_lasting_hold_is_not) {
  liblock::QuorumOptions options;
  options.max_ttl = 5'000 * kMillisecond;
  Stage s(3, 1, true, options);
  EXPECT(ended(s, s.a->acquire({"k"}, without_waiting(6'000, false))).is(Status::INVALID_ARGUMENT));
  Wanted &lasting = ended(s, s.a->acquire({"k"}, without_waiting()));
  EXPECT(lasting.is(Status::OK));
  s.world.run_ms(30'000);
  EXPECT(s.a->holds(lasting.grant().handle));
}

UNIT_TEST(what_lives_as_long_as_its_process_is_granted_however_short_the_longest_lease_is) {
  liblock::QuorumOptions options;
  options.max_ttl = 1'000 * kMillisecond;
  Stage s(3, 1, true, options);
  AcquireParams params = without_waiting();
  for (const liblock::Bytes value : {"", "v"}) {
    params.value = value;
    Wanted &lasting = ended(s, s.a->acquire({"k"}, params));
    EXPECT(lasting.is(Status::OK));
    s.world.run_ms(5'000);
    EXPECT(s.a->holds(lasting.grant().handle));
    s.a->release(lasting.grant().handle);
    s.world.run_ms(50);
  }
}

UNIT_TEST(votes_that_could_grant_twice_or_never_are_refused_with_those_that_can) {
  Stage s;
  for (const int32_t votes : {1, 2, 6}) {
    AcquireParams params = without_waiting();
    params.votes = votes;
    EXPECT(ended(s, s.a->acquire({"k"}, params)).is(Status::INVALID_ARGUMENT));
  }
  AcquireParams params = without_waiting();
  params.votes = 4;
  EXPECT(ended(s, s.a->acquire({"k"}, params)).is(Status::OK));
}

UNIT_MAIN(
    "quorum subsets", cmocka_unit_test(a_lock_on_some_nodes_is_on_those_alone),
    cmocka_unit_test(a_lock_on_nodes_that_do_not_answer_is_none),
    cmocka_unit_test(whoever_asks_for_nodes_that_are_away_keeps_nobody_from_those_that_are_there),
    cmocka_unit_test(however_many_wait_for_a_quorum_that_is_away_whoever_does_not_wait_is_told_so),
    cmocka_unit_test(what_a_lost_attempt_gets_late_is_out_of_the_way_of_what_its_client_asks_next),
    cmocka_unit_test(a_lock_on_some_nodes_is_seen_and_waited_for_by_everybody),
    cmocka_unit_test(what_is_left_of_a_lock_on_fewer_of_its_nodes_than_it_needs_is_none),
    cmocka_unit_test(who_knows_the_value_of_a_lock_on_some_nodes_changes_it_there_alone),
    cmocka_unit_test(locks_on_nodes_that_overlap_exclude_each_other_and_others_do_not),
    cmocka_unit_test(tokens_rise_over_locks_on_nodes_that_overlap),
    cmocka_unit_test(what_is_held_on_other_nodes_is_reentered_as_asked_for),
    cmocka_unit_test(what_an_owner_adds_to_his_keys_has_one_token_with_them),
    cmocka_unit_test(what_lives_as_long_as_its_process_is_granted_however_short_the_longest_lease_is),
    cmocka_unit_test(votes_that_could_grant_twice_or_never_are_refused_with_those_that_can),
    cmocka_unit_test(what_is_held_on_other_nodes_cannot_be_added_to_and_nobody_is_sent_to_found_a_quorum),
    cmocka_unit_test(a_ttl_longer_than_the_quorum_allows_is_refused_and_a_lasting_hold_is_not))
