// SPDX-License-Identifier: MIT
// Words of nodes that a holder does not hear, or hears before the grant that they are about: what he believes all the
// same is what the nodes have.
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

UNIT_MAIN("words of nodes that are missed, or come first",
          cmocka_unit_test(a_lock_that_was_taken_away_before_its_votes_were_heard_of_is_not_believed),
          cmocka_unit_test(a_lock_that_was_taken_away_while_nobody_could_hear_of_it_is_not_believed_for_long),
          cmocka_unit_test(what_was_missed_is_asked_for_until_nodes_can_be_asked))
