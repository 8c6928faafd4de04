// SPDX-License-Identifier: MIT
// What ends a line of the front over a quorum, or a hand in it: losses, administrators, time-outs, owners and contexts
// that go, locks that leave the process, connections that break; and what others see of it.
#include "front_scene.hpp"

using namespace unit;
using namespace unit::front;

UNIT_TEST(a_lost_lock_is_lost_for_its_holder_and_the_next_asks_the_nodes) {
  Scene s;
  const std::vector<Wanted *> line = s.line_of(2);
  Question &forced = s.b->about("k", What::ForceRelease);
  s.world.run_ms(50);
  EXPECT(forced.is(Status::OK) && s.held.losses == 1 && line[0]->is(Status::OK) && !line[1]->ended());
  EXPECT(line[0]->grant().token > s.held.grant().token);
  const auto late = s.a->release(s.held.grant().handle);
  s.world.run_ms(5);
  EXPECT(late->is(Status::LOST) && s.a->holds(line[0]->grant().handle) && !line[1]->ended());
}

UNIT_TEST(who_learns_behind_a_hand_over_that_the_lock_was_gone_has_lost_it) {
  Scene s;
  const std::vector<Wanted *> line = s.line_of(2);
  for (Node *node : s.nodes) node->ask({"DEL", "liblock:k"});  // by hand: nobody is told
  Wanted &other = s.b->take("k");
  s.a->release(s.held.grant().handle);
  s.world.run_ms(10);
  EXPECT(line[0]->losses == 1 && !line[1]->ended() && s.b->holds(other.grant().handle));
  s.b->release(other.grant().handle);
  s.world.run_ms(50);
  EXPECT(line[1]->is(Status::OK) && line[1]->grant().token > other.grant().token);
}

UNIT_TEST(a_lease_that_ran_out_is_passed_on_to_nobody) {
  Scene s;
  const std::vector<Wanted *> line = s.line_of(2);
  for (Node *node : s.nodes) node->freeze();
  s.world.run_ms(31'000);
  EXPECT(s.held.losses == 1 && !line[0]->ended());
  s.a->release(s.held.grant().handle);
  s.world.run_ms(10);
  EXPECT(!line[0]->ended() && s.passed_on() == 0);
  for (Node *node : s.nodes) node->thaw();
  EXPECT(s.world.run_until([&] { return line[0]->ended(); }, 5'000) && line[0]->is(Status::OK));
}

UNIT_TEST(an_administrator_of_another_process_sends_away_who_stands_here) {
  for (const bool holds : {true, false}) {
    Scene s;
    Wanted *theirs = nullptr;
    if (!holds) {
      s.a->release(s.held.grant().handle);
      s.world.run_ms(5);
      theirs = &s.b->take("k");
    }
    const std::vector<Wanted *> line = s.line_of(3);
    s.world.run_ms(60);
    Question &forced = s.b->about("k", What::ForceRelease, [](Ask &ask) { ask.flag = true; });
    s.world.run_ms(50);
    EXPECT(forced.is(Status::OK) && (holds ? s.held : *theirs).losses == 1);
    for (Wanted *waiter : line) EXPECT(waiter->is(Status::DEQUEUED));
    EXPECT(s.held_on("k") == 0);
  }
}

UNIT_TEST(who_clears_an_owner_sends_away_what_stands_of_him) {
  Scene s;
  const auto owner = s.a->owner("worker");
  Wanted &his = s.a->acquire({"k"}, waiting_ms(60'000), owner);
  s.world.run_ms(1);
  Wanted &other = *s.line_of(1)[0];
  Question &cleared = s.b->question(What::Clear, [&](Ask &ask) {
    ask.number = static_cast<uint64_t>(liblock::Engine::Whom::Owner);
    ask.text = owner->id();
  });
  s.world.run_ms(200);
  EXPECT(cleared.is(Status::OK) && his.is(Status::DEQUEUED) && !other.ended());
}

UNIT_TEST(when_the_one_that_asks_gives_up_the_next_asks_in_its_place) {
  for (const bool cancels : {true, false}) {
    Stage s(5, 1, true, with_front());
    Wanted &held = s.b->take("k");
    Wanted &first = s.a->acquire({"k"}, waiting_ms(cancels ? 60'000 : 200));
    s.world.run_ms(2);
    Wanted &second = s.a->acquire({"k"}, waiting_ms(60'000)),
           &third = s.a->acquire({"k"}, waiting_ms(60'000));
    s.world.run_ms(20);
    EXPECT(s.nodes[0]->ask({"ZCARD", "ll1:k:{liblock:k}"}).is(1));
    if (cancels) s.a->cancel(first);
    s.world.run_ms(200);
    EXPECT(first.is(cancels ? Status::CANCELED : Status::TIMEOUT));
    EXPECT(s.nodes[0]->ask({"ZCARD", "ll1:k:{liblock:k}"}).is(1));
    s.b->release(held.grant().handle);
    s.world.run_ms(5);
    EXPECT(second.is(Status::OK) && !third.ended());
    s.a->release(second.grant().handle);
    s.world.run_for(kMillisecond / 100);
    EXPECT(third.is(Status::OK));
  }
}

UNIT_TEST(who_stands_can_time_out_be_canceled_and_be_closed_with_his_owner) {
  Scene s;
  const auto owner = s.a->owner("worker");
  Wanted &late = s.a->acquire({"k"}, waiting_ms(50));
  s.world.run_ms(1);
  Wanted &unwanted = s.a->acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(1);
  Wanted &orphan = s.a->acquire({"k"}, waiting_ms(60'000), owner);
  s.world.run_ms(1);
  Wanted &last = s.a->acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(60);
  EXPECT(late.is(Status::TIMEOUT) && late.grant().queue_position == 0 && late.grant().queue_length == 4);
  s.a->cancel(unwanted);
  s.world.run_ms(1);
  EXPECT(unwanted.is(Status::CANCELED) && unwanted.grant().queue_position == 0);
  owner->closed.store(true);
  s.a->release(s.held.grant().handle);
  s.in_no_time();
  EXPECT(orphan.is(Status::CLOSED) && last.is(Status::OK));
}

UNIT_TEST(who_stands_where_no_quorum_answers_hears_of_it_at_the_end_of_his_time) {
  Stage s(5, 1, true, with_front());
  for (const size_t n : {0, 1, 2}) s.nodes[n]->stop(Node::Data::Kept);
  s.world.run_ms(500);
  Wanted &first = s.a->acquire({"k"}, waiting_ms(2'000));
  s.world.run_ms(5);
  Wanted &second = s.a->acquire({"k"}, waiting_ms(1'000));
  s.world.run_ms(3'000);
  EXPECT(first.is(Status::NO_QUORUM) && second.is(Status::NO_QUORUM));
}

UNIT_TEST(a_context_that_closes_ends_all_who_stand_and_gives_the_key_back) {
  Scene s;
  const std::vector<Wanted *> line = s.line_of(3);
  Wanted &outsider = s.b->acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(5);
  bool closed = false;
  run_once(s.a->host(), [&] { s.a->instance().close(false, [&] { closed = true; }); });
  s.world.run_ms(50);
  for (Wanted *waiter : line) EXPECT(waiter->is(Status::CLOSED));
  EXPECT(closed && outsider.is(Status::OK));
}

UNIT_TEST(a_killed_process_takes_its_line_with_it_and_the_key_comes_free_with_its_lease) {
  Scene s(with_front(), waiting_ms(10'000, 1'000, false));
  s.line_of(3, waiting_ms(60'000, 1'000, false));
  s.a->release(s.held.grant().handle);
  s.world.run_ms(40);
  Wanted &outsider = s.b->acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(5);
  s.a->host().kill();
  s.world.run_ms(4'500);  // its waiters count as alive for three seconds
  EXPECT(outsider.is(Status::OK));
}

UNIT_TEST(whoever_inspects_sees_the_holder_of_the_moment_and_how_many_stand) {
  Scene s;
  const auto owner = s.a->owner("worker");
  Wanted &next = s.a->acquire({"k"}, waiting_ms(60'000), owner);
  s.world.run_ms(1);
  s.line_of(4);
  const auto seen = [&](Process &by) -> Question & {
    Question &asked = by.about("k", What::Inspect, [](Ask &ask) { ask.flag = true; });
    s.world.run_ms(30);
    EXPECT(asked.is(Status::OK));
    return asked;
  };
  s.a->release(s.held.grant().handle);
  const auto &here = *seen(*s.a).infos.front();
  EXPECT(here.owner == owner->id() && here.token == next.grant().token);
  EXPECT(here.waiters.size() == 4 && here.waiter_count() == 4);
  s.world.run_ms(100);
  const auto &there = *seen(*s.b).infos.front();
  EXPECT(there.owner == owner->id() && there.token == next.grant().token && there.waiter_count() == 4);
  Question &listed = s.a->question(What::List, [](Ask &ask) {
    ask.which = Ask::Which::Queues;
    ask.batch = 100;
  });
  s.world.run_ms(30);
  EXPECT(listed.is(Status::OK) && listed.infos.size() == 1 && listed.infos.front()->waiter_count() == 4);
}

UNIT_TEST(who_waits_for_a_release_hears_of_a_hand_over) {
  Scene s;
  const std::vector<Wanted *> line = s.line_of(1);
  Question &wait = s.b->about("k", What::WaitReleased, [](Ask &ask) { ask.wait = 60'000 * kMillisecond; });
  s.world.run_ms(200);
  EXPECT(wait.ends == 0);
  s.a->release(s.held.grant().handle);
  s.world.run_ms(200);
  EXPECT(wait.is(Status::OK) && s.a->holds(line[0]->grant().handle));
}

UNIT_TEST(a_lock_that_was_passed_on_leaves_the_process_as_it_is_and_who_stands_behind_it_asks_the_nodes) {
  Scene s;
  const std::vector<Wanted *> line = s.line_of(2);
  s.a->release(s.held.grant().handle);
  s.world.run_ms(10);
  Question &exported = s.a->question(What::Export, [&](Ask &ask) {
    ask.lock = line[0]->grant().handle;
    ask.number = 1'024;
  });
  s.world.run_ms(1);  // it is run
  s.world.run_ms(50);
  EXPECT(exported.is(Status::OK) && !line[1]->ended() && s.queued() == 1);
  const AcquireParams params = waiting_ms(1'000);
  Question &adopted = s.b->question(What::Adopt, [&](Ask &ask) {
    ask.text = exported.text;
    ask.params = &params;
  });
  s.world.run_ms(100);
  EXPECT(adopted.is(Status::OK) && s.b->holds(adopted.lock) && !line[1]->ended());
  s.b->release(adopted.lock);
  s.world.run_ms(20);
  EXPECT(line[1]->is(Status::OK) && line[1]->grant().token > line[0]->grant().token);
}

UNIT_TEST(a_line_outlives_broken_connections) {
  Scene s;
  const std::vector<Wanted *> line = s.line_of(4);
  const Wanted *last = &s.held;
  for (Wanted *next : line) {
    s.a->host().break_connections();
    s.world.run_ms(1);
    s.a->release(last->grant().handle);
    EXPECT(s.world.run_until([&] { return next->ended(); }, 5'000));
    EXPECT(next->is(Status::OK) && next->grant().token > last->grant().token);
    last = next;
  }
}

UNIT_TEST(an_observer_is_told_whose_the_lock_is) {
  liblock::QuorumOptions options = with_front();
  Stage s(5, 1, true, options);
  Node *const observer = &s.world.add_node("o");
  options.observers = over({observer}).nodes;
  Process c(s.world, "c", over(s.nodes, options));
  s.world.run_ms(50);
  Wanted &held = c.take("k");
  Wanted &next = c.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(100);
  c.release(held.grant().handle);
  s.world.run_ms(500);
  const std::string record = observer->ask({"GET", "liblock:k"}).text;
  EXPECT(next.is(Status::OK) && c.instance().counts.passed_on.load() == 1);
  EXPECT(record.find("|" + std::to_string(next.grant().token) + "|") != std::string::npos);
}

// One request waits for an extend of what it reentered, another stands behind the hold that this keeps: the end of the
// first gives the lock back, and makes it the other's turn.
UNIT_TEST(an_owner_that_closes_ends_each_of_his_requests_once_whatever_the_end_of_one_brings) {
  Scene s;
  const auto owner = s.a->owner("worker");
  s.a->release(s.held.grant().handle);
  s.world.run_ms(10);
  Wanted &outer = s.a->acquire({"k"}, waiting_ms(10'000), owner);
  s.world.run_ms(50);
  AcquireParams extends = waiting_ms(10'000, 50'000), waits = waiting_ms(10'000);
  extends.on_conflict = LIBLOCK_ON_CONFLICT_REENTER_EXTEND;
  waits.on_conflict = LIBLOCK_ON_CONFLICT_WAIT;
  Wanted &inner = s.a->acquire({"k"}, extends, owner), &rival = s.a->acquire({"k"}, waits, owner);
  s.world.run_for(kMillisecond / 100);
  EXPECT(outer.is(Status::OK) && !inner.ended() && !rival.ended());
  s.a->release(outer.grant().handle);
  owner->closed.store(true);
  const Question &closed = s.a->question(Ask::What::CloseOwner, [&](Ask &ask) { ask.owner = owner; });
  s.world.run_ms(20);
  EXPECT(inner.is(Status::CLOSED) && rival.is(Status::CLOSED) && closed.is(Status::OK));
  EXPECT(s.recorded("ll1|") == 0);
}

UNIT_MAIN("quorum_front_ends",
          cmocka_unit_test(a_lost_lock_is_lost_for_its_holder_and_the_next_asks_the_nodes),
          cmocka_unit_test(who_learns_behind_a_hand_over_that_the_lock_was_gone_has_lost_it),
          cmocka_unit_test(a_lease_that_ran_out_is_passed_on_to_nobody),
          cmocka_unit_test(an_administrator_of_another_process_sends_away_who_stands_here),
          cmocka_unit_test(who_clears_an_owner_sends_away_what_stands_of_him),
          cmocka_unit_test(when_the_one_that_asks_gives_up_the_next_asks_in_its_place),
          cmocka_unit_test(who_stands_can_time_out_be_canceled_and_be_closed_with_his_owner),
          cmocka_unit_test(who_stands_where_no_quorum_answers_hears_of_it_at_the_end_of_his_time),
          cmocka_unit_test(a_context_that_closes_ends_all_who_stand_and_gives_the_key_back),
          cmocka_unit_test(a_killed_process_takes_its_line_with_it_and_the_key_comes_free_with_its_lease),
          cmocka_unit_test(whoever_inspects_sees_the_holder_of_the_moment_and_how_many_stand),
          cmocka_unit_test(who_waits_for_a_release_hears_of_a_hand_over),
          cmocka_unit_test(
              a_lock_that_was_passed_on_leaves_the_process_as_it_is_and_who_stands_behind_it_asks_the_nodes),
          cmocka_unit_test(a_line_outlives_broken_connections),
          cmocka_unit_test(an_observer_is_told_whose_the_lock_is),
    cmocka_unit_test(an_owner_that_closes_ends_each_of_his_requests_once_whatever_the_end_of_one_brings))
