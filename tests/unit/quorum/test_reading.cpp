// SPDX-License-Identifier: MIT
// What a quorum says of a key, and what one node does: held, free, and nobody knows.
#include "stage.hpp"

using namespace unit;
using What = Ask::What;

namespace {

void with_waiters(Ask &ask) { ask.flag = true; }
void by_quorum(Ask &ask) { ask.from = Ask::From::Quorum; }

AcquireParams carrying(liblock::Bytes value) {
  AcquireParams params = waiting_ms(10'000);
  params.value = value;
  return params;
}

}  // namespace

UNIT_TEST(nobody_knows_while_too_few_nodes_answer) {
  Stage s;
  s.a->take("k");
  for (int n = 0; n < 3; ++n) s.nodes[n]->stop(Node::Data::Kept);
  s.world.run_ms(100);
  Question &locked = s.b->about("k", What::IsLocked);
  Question &seen = s.b->about("k", What::Inspect);
  s.world.run_ms(1'000);
  EXPECT(locked.is(Status::NO_QUORUM) && seen.is(Status::NO_QUORUM));
  EXPECT(seen.message.find("2 of 5 nodes answer, 3 are needed") != std::string::npos);
}

UNIT_TEST(a_key_on_fewer_nodes_than_a_quorum_is_not_held) {
  Stage s;
  s.write({0, 1}, "k", Stage::record('a', 7, "v"));
  Question &locked = s.b->about("k", What::IsLocked);
  Question &seen = s.b->about("k", What::Inspect);
  s.world.run_ms(10);
  EXPECT(locked.is(Status::OK) && locked.count == 0 && seen.is(Status::NOT_HELD));
}

UNIT_TEST(a_key_that_two_nodes_have_is_unknown_while_the_others_might_have_it_too) {
  Stage s;
  s.write({0, 1}, "k", Stage::record('a', 7, "v"));
  s.nodes[4]->stop(Node::Data::Kept);
  s.world.run_ms(100);
  Question &locked = s.b->about("k", What::IsLocked);
  s.world.run_ms(1'000);
  EXPECT(locked.is(Status::NO_QUORUM));
  s.write({3}, "k", Stage::record('a', 7, "v"));
  Question &now = s.b->about("k", What::IsLocked);
  s.world.run_ms(10);
  EXPECT(now.is(Status::OK) && now.count == 1);
}

UNIT_TEST(nodes_that_forgot_do_not_say_that_a_key_is_free) {
  Stage s;
  s.a->take("k");
  s.a->host().cut();
  for (int n = 0; n < 3; ++n) {
    s.nodes[n]->stop(Node::Data::Lost);
    s.nodes[n]->start();
  }
  s.world.run_ms(1'000);
  Question &locked = s.b->about("k", What::IsLocked);
  s.world.run_ms(1'000);
  EXPECT(locked.is(Status::QUARANTINED));
  EXPECT(locked.message.find("liblock_quorum_init") == std::string::npos);
}

UNIT_TEST(a_promise_is_no_lock_yet) {
  Stage s;
  std::string promised = Stage::record('a', 7, "");
  promised.replace(promised.find(",c,"), 3, ",p,");
  s.write({0, 1, 2, 3, 4}, "k", promised);
  Question &seen = s.b->about("k", What::Read, by_quorum);
  Question &dirty = s.b->about("k", What::Read);
  s.world.run_ms(10);
  EXPECT(seen.is(Status::NOT_HELD) && dirty.is(Status::NOT_HELD));
}

UNIT_TEST(a_lock_is_shown_with_owner_value_and_what_a_quorum_has_left_of_it) {
  Stage s;
  s.b->take("k", carrying("leader"));
  s.nodes[0]->ask({"PEXPIRE", "liblock:k", "500"});
  s.nodes[1]->ask({"PEXPIRE", "liblock:k", "700"});
  s.nodes[2]->ask({"PEXPIRE", "liblock:k", "900"});
  Question &seen = s.a->about("k", What::Read, by_quorum);
  s.world.run_ms(10);
  EXPECT(seen.is(Status::OK) && seen.infos.size() == 1);
  const liblock::KeyInfo &info = *seen.infos.front();
  EXPECT(info.key == "k" && info.is_held && info.value == "leader" && info.instance == "b");
  EXPECT(info.token > 0 && info.since_us > 0 && info.attempt_id.size() == 32 && !info.is_zombie);
  EXPECT(info.remaining_ms <= 900 && info.remaining_ms > 400);
}

UNIT_TEST(a_value_that_too_few_have_is_no_answer_and_one_that_a_quorum_has_is) {
  Stage s;
  s.write({0, 1}, "k", Stage::record('a', 7, "new", 2));
  s.write({2, 3}, "k", Stage::record('a', 7, "old", 1));
  Question &torn = s.b->about("k", What::Read, by_quorum);
  Question &locked = s.b->about("k", What::IsLocked);
  s.world.run_ms(1'000);
  EXPECT(torn.is(Status::NO_QUORUM) && locked.is(Status::OK) && locked.count == 1);
  s.write({4}, "k", Stage::record('a', 7, "new", 2));
  Question &seen = s.b->about("k", What::Read, by_quorum);
  s.world.run_ms(10);
  EXPECT(seen.is(Status::OK) && seen.infos.front()->value == "new");
}

UNIT_TEST(one_node_answers_for_itself) {
  Stage s;
  s.write({3}, "k", Stage::record('a', 7, "there"));
  const auto on = [&](const std::string &name) -> Question & {
    Question &asked = s.b->about("k", What::Read, [&](Ask &ask) { ask.node = name; });
    s.world.run_ms(10);
    return asked;
  };
  const auto &nodes = s.b->instance().nodes();
  EXPECT(on(nodes[3]->id).is(Status::OK) && on(nodes[3]->address).is(Status::OK));
  EXPECT(on(nodes[2]->id).is(Status::NOT_HELD));
  EXPECT(on("n77").is(Status::INVALID_ARGUMENT));
  s.nodes[3]->stop(Node::Data::Kept);
  s.world.run_ms(100);
  EXPECT(on("n4").is(Status::CONNECT));
}

UNIT_TEST(the_nearest_node_answers_and_another_one_where_it_is_gone) {
  Stage s;
  s.write({0, 1, 2, 3, 4}, "k", Stage::record('a', 7, "v"));
  Question &first = s.b->about("k", What::Read);
  s.world.run_ms(5);
  EXPECT(first.is(Status::OK) && first.infos.front()->value == "v");
  for (int n = 0; n < 4; ++n) s.nodes[n]->stop(Node::Data::Kept);
  Question &second = s.b->about("k", What::Read);
  s.world.run_ms(500);
  EXPECT(second.is(Status::OK));
  s.nodes[4]->stop(Node::Data::Kept);
  Question &none = s.b->about("k", What::Read);
  s.world.run_ms(500);
  EXPECT(none.is(Status::CONNECT));
}

UNIT_TEST(a_node_that_does_not_vote_is_no_master) {
  Stage s(1);
  s.write({0}, "k", Stage::record('a', 7, "v"));
  const auto read = [&](Ask::From from) -> Question & {
    Question &asked = s.b->about("k", What::Read, [&](Ask &ask) { ask.from = from; });
    s.world.run_ms(100);
    return asked;
  };
  EXPECT(read(Ask::From::Master).is(Status::OK));
  s.nodes[0]->stop(Node::Data::Kept);
  s.nodes[0]->start();
  s.world.run_ms(1'000);
  EXPECT(read(Ask::From::Master).is(Status::CONNECT));
  EXPECT(read(Ask::From::Nearest).is(Status::OK));
}

UNIT_TEST(those_who_wait_are_named_in_their_order) {
  Stage s;
  s.a->take("k");
  s.b->acquire({"k"}, waiting_ms(60'000), s.b->owner("first|%"));
  s.world.run_ms(20);
  s.a->acquire({"k"}, waiting_ms(60'000), s.a->owner("second"));
  s.world.run_ms(100);
  Question &seen = s.a->about("k", What::Inspect, with_waiters);
  Question &queued = s.a->about("k", What::IsQueued);
  Question &few = s.a->about("k", What::Inspect);
  s.world.run_ms(10);
  EXPECT(seen.is(Status::OK) && queued.count == 1 && few.is(Status::OK));
  const liblock::KeyInfo &info = *seen.infos.front();
  EXPECT(info.waiters.size() == 2 && info.waiters_unnamed == 0);
  EXPECT(info.waiters[0].instance == "b" && info.waiters[1].instance == "a");
  EXPECT(info.waiters[0].owner.find("first|%") != std::string::npos);
  EXPECT(info.waiters[0].waited_ms >= 100 && info.waiters[0].since_us < info.waiters[1].since_us);
  EXPECT(few.infos.front()->waiters.empty() && few.infos.front()->waiters_unnamed == 2);
}

UNIT_TEST(the_lock_of_one_whom_nobody_hears_is_a_zombie) {
  Stage s;
  s.a->take("k");
  s.world.run_ms(4'000);
  Question &alive = s.b->about("k", What::Inspect);
  s.world.run_ms(10);
  EXPECT(alive.is(Status::OK) && !alive.infos.front()->is_zombie);
  s.a->host().kill();
  s.world.run_ms(1'000);
  Question &dead = s.b->about("k", What::Inspect);
  s.world.run_ms(10);
  EXPECT(dead.is(Status::OK) && dead.infos.front()->is_zombie);
}

UNIT_TEST(a_wait_for_a_release_ends_with_it_and_never_while_nobody_knows) {
  Stage s;
  Wanted &held = s.a->take("k");
  Question &wait = s.b->about("k", What::WaitReleased);
  Question &free = s.b->about("j", What::WaitReleased);
  s.world.run_ms(100);
  EXPECT(wait.ends == 0 && free.is(Status::NOT_HELD));
  for (int n = 0; n < 3; ++n) s.nodes[n]->freeze();
  s.world.run_ms(1'500);
  EXPECT(wait.ends == 0);
  for (int n = 0; n < 3; ++n) s.nodes[n]->thaw();
  s.world.run_ms(2'000);
  EXPECT(wait.ends == 0 && s.a->holds(held.grant().handle));
  s.a->release(held.grant().handle);
  s.world.run_ms(100);
  EXPECT(wait.is(Status::OK));
}

UNIT_TEST(a_wait_for_a_holder_shows_his_value_on_a_quorum_or_on_one_node) {
  Stage s;
  Question &by_all = s.b->about("k", What::WaitHeld, [](Ask &ask) { ask.flag = true; });
  Question &on_one = s.b->about("k", What::WaitHeld, [](Ask &ask) {
    ask.flag = true;
    ask.node = "n5";
  });
  s.world.run_ms(200);
  EXPECT(by_all.ends == 0 && on_one.ends == 0);
  s.write({0, 1}, "k", Stage::record('a', 7, "v"));
  s.world.run_ms(400);
  EXPECT(by_all.ends == 0 && on_one.ends == 0);
  s.write({2}, "k", Stage::record('a', 7, "v"));
  s.world.run_ms(100);
  EXPECT(by_all.is(Status::OK) && by_all.infos.front()->value == "v" && on_one.ends == 0);
  s.write({4}, "k", Stage::record('a', 7, "v"));
  s.world.run_ms(100);
  EXPECT(on_one.is(Status::OK) && on_one.infos.front()->token == 7);
  Question &at_once = s.b->about("k", What::WaitHeld, [](Ask &ask) {
    ask.node = "n5";
    ask.wait = 0;
  });
  s.world.run_ms(5);
  EXPECT(at_once.is(Status::OK));
}

UNIT_TEST(a_lock_on_two_nodes_only_is_held_for_whoever_took_it) {
  Stage s;
  AcquireParams params = waiting_ms(10'000);
  const std::vector<std::string> names{"n1", "n2"};
  params.nodes = std::make_shared<const std::vector<std::string>>(names);
  s.a->take("k", params);
  EXPECT(s.held_on("k") == 2);
  Question &ours = s.a->about("k", What::IsLocked);
  s.world.run_ms(10);
  EXPECT(ours.is(Status::OK) && ours.count == 1);
}

UNIT_TEST(a_context_that_closes_ends_its_questions) {
  Stage s;
  s.write({0, 1}, "k", Stage::record('a', 7, "v"));
  s.nodes[4]->stop(Node::Data::Kept);
  s.world.run_ms(50);
  Question &asked = s.b->about("k", What::IsLocked);
  s.world.run_ms(10);
  s.b->end();
  EXPECT(asked.is(Status::CLOSED));
}

UNIT_TEST(the_token_that_a_quorum_has_is_shown_whoever_answers_first) {
  for (const size_t late : {0, 2}) {
    Stage s;
    // Nodes 3 and 4 granted it late, with a token that nobody took up.
    s.write({0, 1, 2}, "k", Stage::record('a', 7, "v"));
    s.write({3, 4}, "k", Stage::record('a', 8, "v"));
    for (size_t n = late; n < late + 2; ++n) s.nodes[n]->freeze();
    Question &seen = s.b->about("k", What::Inspect);
    s.world.run_ms(50);
    EXPECT(seen.ends == 0);
    for (size_t n = late; n < late + 2; ++n) s.nodes[n]->thaw();
    s.world.run_ms(50);
    EXPECT(seen.is(Status::OK) && seen.infos.front()->token == 7);
  }
}

UNIT_MAIN("reading over a quorum",
          cmocka_unit_test(the_token_that_a_quorum_has_is_shown_whoever_answers_first),
          cmocka_unit_test(nobody_knows_while_too_few_nodes_answer),
          cmocka_unit_test(a_key_on_fewer_nodes_than_a_quorum_is_not_held),
          cmocka_unit_test(a_key_that_two_nodes_have_is_unknown_while_the_others_might_have_it_too),
          cmocka_unit_test(nodes_that_forgot_do_not_say_that_a_key_is_free),
          cmocka_unit_test(a_promise_is_no_lock_yet),
          cmocka_unit_test(a_lock_is_shown_with_owner_value_and_what_a_quorum_has_left_of_it),
          cmocka_unit_test(a_value_that_too_few_have_is_no_answer_and_one_that_a_quorum_has_is),
          cmocka_unit_test(one_node_answers_for_itself),
          cmocka_unit_test(the_nearest_node_answers_and_another_one_where_it_is_gone),
          cmocka_unit_test(a_node_that_does_not_vote_is_no_master),
          cmocka_unit_test(those_who_wait_are_named_in_their_order),
          cmocka_unit_test(the_lock_of_one_whom_nobody_hears_is_a_zombie),
          cmocka_unit_test(a_wait_for_a_release_ends_with_it_and_never_while_nobody_knows),
          cmocka_unit_test(a_wait_for_a_holder_shows_his_value_on_a_quorum_or_on_one_node),
          cmocka_unit_test(a_lock_on_two_nodes_only_is_held_for_whoever_took_it),
          cmocka_unit_test(a_context_that_closes_ends_its_questions))
