// SPDX-License-Identifier: MIT
// Words of nodes that a holder does not hear, or hears before the grant that they are about: what he believes all the
// same is what the nodes have.
#include "quorum/forcing.hpp"
#include "stage.hpp"

using namespace unit;

// Words and answers come on two connections: the words that a lock was taken away may be here before its votes.
UNIT_TEST(a_lock_that_was_taken_away_before_its_votes_were_heard_of_is_not_believed) {
  size_t granted = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Stage s(5, seed);
    s.a->take("o", waiting_ms(0, 30'000, false));
    s.b->release(s.b->take("p").grant().handle);
    s.world.run_ms(50);
    s.world.delay_most = kMillisecond;
    Wanted &mine = s.a->acquire({"k"}, waiting_ms(0, 30'000, false));
    bool was_there = false;
    for (int i = 0; i < 40 && !was_there; ++i) {
      s.world.run_for(kMillisecond / 10);
      s.b->question(Ask::What::ForceRelease, [](Ask &ask) { ask.keys = {"k"}; },
                    [&](Question &forced) { was_there = was_there || forced.is(Status::OK); });
    }
    s.world.run_ms(200);
    if (!mine.is(Status::OK)) continue;
    ++granted;
    EXPECT(!s.a->holds(mine.grant().handle) || s.held_on("k") >= 3);
  }
  EXPECT(granted >= 10);
}

UNIT_TEST(a_lock_that_was_taken_away_while_nobody_could_hear_of_it_is_not_believed_for_long) {
  for (const bool is_first : {true, false}) {
    Stage s;
    s.b->release(s.b->take("p").grant().handle);
    if (!is_first) s.a->take("o", waiting_ms(0, 60'000, false));
    s.world.run_ms(50);
    Wanted &mine = s.a->take("k", waiting_ms(0, 60'000, false));
    // It begins to listen now; or it is cut off.
    for (Node *node : s.nodes) {
      if (is_first) s.world.link(s.a->host(), *node).set_delay(50 * kMillisecond, 50 * kMillisecond);
    }
    if (!is_first) s.a->host().cut();
    Question &forced = s.b->about("k", Ask::What::ForceRelease);
    s.world.run_ms(is_first ? 20 : 4'000);
    EXPECT(forced.is(Status::OK) && mine.losses == 0);
    s.a->host().mend_if_alive();
    s.world.run_ms(5'000);
    EXPECT(mine.losses == 1 && !s.a->holds(mine.grant().handle));
  }
}

// What is under way breaks with the cut: the connections for messages are back first, and nobody can be asked then.
UNIT_TEST(what_was_missed_is_asked_for_until_nodes_can_be_asked) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Stage s(3, seed);
    s.b->release(s.b->take("p").grant().handle);
    std::vector<Wanted *> held;
    for (int n = 0; n < 200; ++n)
      held.push_back(&s.a->acquire({"k" + std::to_string(n)}, waiting_ms(0, 60'000, false)));
    s.world.run_ms(300);
    s.a->host().cut();
    s.a->acquire({"other"}, waiting_ms(10'000));
    s.world.run_ms(3'000);
    Question &forced = s.b->about("k7", Ask::What::ForceRelease);
    s.world.run_ms(200);
    s.a->host().mend_if_alive();
    s.world.run_ms(6'000);
    EXPECT(forced.is(Status::OK) && held[7]->losses == 1 && !s.a->holds(held[7]->grant().handle));
    for (int n = 0; n < 200; ++n) EXPECT(n == 7 || s.a->holds(held[static_cast<size_t>(n)]->grant().handle));
  }
}

namespace {

// Of all nodes word of its loss is at A; and three of them end their connections while the question is under way,
// whether it is true. Messages go on.
void hears_of_a_loss_and_cannot_ask(Stage &s) {
  for (Node *node : s.nodes) s.world.link(s.a->host(), *node).set_delay(5 * kMillisecond, 5 * kMillisecond);
  const Question &forced = s.b->about("k", Ask::What::ForceRelease);
  s.world.run_ms(7);
  EXPECT(forced.is(Status::OK));
  for (const size_t n : {0, 1, 2}) s.nodes[n]->end_connections(false);
  for (Node *node : s.nodes) s.world.link(s.a->host(), *node).set_delay_of_world();
}

// Beside another lock, that he holds on.
const Wanted &holds_what_was_lost_meanwhile(Stage &s, bool renews) {
  s.b->release(s.b->take("p").grant().handle);
  s.a->take("o", waiting_ms(0, 60'000, renews));
  s.world.run_ms(50);
  const Wanted &his = s.a->take("k", waiting_ms(0, 60'000, renews));
  s.world.run_ms(4'000);
  hears_of_a_loss_and_cannot_ask(s);
  return his;
}

}  // namespace

UNIT_TEST(what_too_few_nodes_could_tell_of_a_word_is_asked_for_again) {
  for (const bool renews : {false, true}) {
    Stage s;
    const Wanted &mine = holds_what_was_lost_meanwhile(s, renews);
    const Wanted &theirs = s.b->take("k", waiting_ms(10'000));
    EXPECT(s.world.run_until([&] { return mine.losses == 1; }, 1'500));
    EXPECT(!s.a->holds(mine.grant().handle) && s.b->holds(theirs.grant().handle));
  }
}

UNIT_TEST(words_of_other_locks_do_not_put_off_what_is_asked_again) {
  Stage s;
  const Wanted &mine = holds_what_was_lost_meanwhile(s, false);
  for (int i = 0; i < 10; ++i) {
    EXPECT(s.nodes[4]->ask({"PUBLISH", "ll1:i:" + s.a->instance().id, "lliblock:o"}).is(1));
    s.world.run_ms(300);
  }
  EXPECT(mine.losses == 1);
}

// The word was here before the votes.
UNIT_TEST(what_too_few_nodes_could_tell_beside_a_grant_is_asked_for_again) {
  Stage s;
  s.b->release(s.b->take("p").grant().handle);
  s.a->take("o", waiting_ms(0, 60'000, false));
  s.world.run_ms(50);
  for (Node *node : s.nodes) s.world.link(s.a->host(), *node).set_delay(5 * kMillisecond, 5 * kMillisecond);
  const Wanted &mine = s.a->acquire({"k"}, waiting_ms(0, 60'000, false));
  s.world.run_for(5 * kMillisecond + kMillisecond / 10);  // nodes have granted it
  for (Node *node : s.nodes) s.world.link(s.a->host(), *node).set_delay(2 * kMillisecond, 2 * kMillisecond);
  s.b->about("k", Ask::What::ForceRelease);
  EXPECT(s.world.run_until([&] { return mine.ended(); }, 20));
  s.world.run_for(kMillisecond / 10);
  for (const size_t n : {0, 1, 2}) s.nodes[n]->end_connections(false);
  s.world.run_ms(3'000);
  EXPECT(mine.is(Status::OK) && mine.losses == 1);
}

UNIT_MAIN("words of nodes that are missed, or come first",
          cmocka_unit_test(a_lock_that_was_taken_away_before_its_votes_were_heard_of_is_not_believed),
          cmocka_unit_test(a_lock_that_was_taken_away_while_nobody_could_hear_of_it_is_not_believed_for_long),
          cmocka_unit_test(what_was_missed_is_asked_for_until_nodes_can_be_asked),
          cmocka_unit_test(what_too_few_nodes_could_tell_of_a_word_is_asked_for_again),
          cmocka_unit_test(words_of_other_locks_do_not_put_off_what_is_asked_again),
          cmocka_unit_test(what_too_few_nodes_could_tell_beside_a_grant_is_asked_for_again))
