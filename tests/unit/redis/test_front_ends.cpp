// SPDX-License-Identifier: MIT
// What ends a line of the front, or a hand in it: losses, administrators, time-outs, owners, contexts and processes
// that go, locks that leave the process, connections that break; and what others see of it.
#include "front_scene.hpp"

using namespace unit;
using namespace unit::front;

namespace {

// What an administrator takes away; `text` is whose, dead_ms how long one may wait.
void clear(Stage &s, liblock::Engine::Whom whom, const std::string &text, int64_t dead_ms = 86'400'000) {
  const Question &cleared = s.b.question(Ask::What::Clear, [&](Ask &ask) {
    ask.number = static_cast<uint64_t>(whom);
    ask.text = text;
    ask.batch = 100;
    ask.dead_after = liblock::nanos_from_ms(dead_ms);
  });
  EXPECT(s.world.run_until([&] { return cleared.ends == 1; }, 20'000) && cleared.is(Status::OK));
  s.world.run_ms(5);
}

// Nobody goes from the line to the server to look for a deadlock.
liblock::InstanceOptions with_front_alone() {
  liblock::InstanceOptions options = with_front();
  options.deadlock_delay = liblock::kNever;
  return options;
}

}  // namespace

UNIT_TEST(a_lost_lock_is_lost_for_its_holder_and_the_next_asks_the_server) {
  Scene s;
  std::vector<Wanted *> line = line_of(s, 2);
  s.force(s.b, false);
  EXPECT(s.held.losses == 1 && line[0]->is(Status::OK) && !line[1]->ended());
  EXPECT(line[0]->grant().token > s.held.grant().token);
  const auto late = s.a.release(s.held.grant().handle);
  s.world.run_ms(5);
  EXPECT(late->is(Status::LOST) && s.a.holds(line[0]->grant().handle) && !line[1]->ended());
}

UNIT_TEST(who_learns_behind_a_hand_over_that_the_lock_was_gone_has_lost_it) {
  Scene s;
  std::vector<Wanted *> line = line_of(s, 2);
  s.node.ask({"DEL", "liblock:k"});  // by hand: nobody is told
  Wanted &other = s.b.take("k");
  s.a.release(s.held.grant().handle);
  s.world.run_ms(7);
  EXPECT(line[0]->losses == 1 && !line[1]->ended() && s.b.holds(other.grant().handle));
  s.b.release(other.grant().handle);
  s.world.run_ms(5);
  EXPECT(line[1]->is(Status::OK) && line[1]->grant().token > other.grant().token);
}

UNIT_TEST(an_administrator_of_another_process_sends_away_who_stands_here) {
  Scene s;
  std::vector<Wanted *> line = line_of(s, 3);
  s.force(s.b, true);
  EXPECT(s.held.losses == 1);
  for (Wanted *waiter : line) EXPECT(waiter->is(Status::DEQUEUED));
  EXPECT(s.is_free("k"));
}

UNIT_TEST(whoever_stands_behind_an_owner_who_is_sent_away_keeps_the_place_he_came_for) {
  Stage s(1, with_front_alone());
  Process c(s.world, "c", s.node, with_front_alone());
  const auto owner = s.a.owner("worker"), colleague = s.a.owner("colleague");
  Wanted &held = s.b.take("k");
  Wanted &leads = s.a.acquire({"k"}, waiting_ms(60'000), owner);
  s.world.run_ms(2);
  Wanted &stands = s.a.acquire({"k"}, waiting_ms(60'000), owner);
  s.world.run_ms(1);
  Wanted &behind = s.a.acquire({"k"}, waiting_ms(60'000), colleague);
  s.world.run_ms(1);
  Wanted &unnamed = s.a.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(20);
  Wanted &outsider = c.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(20);
  EXPECT(s.node.ask({"ZCARD", kQueue}).is(2));
  clear(s, liblock::Engine::Whom::Owner, owner->id());
  EXPECT(leads.is(Status::DEQUEUED) && stands.is(Status::DEQUEUED));
  EXPECT(!behind.ended() && !unnamed.ended() && !outsider.ended() && s.b.holds(held.grant().handle));
  s.b.release(held.grant().handle);
  s.world.run_ms(5);
  EXPECT(behind.is(Status::OK) && !unnamed.ended() && !outsider.ended());
  s.a.release(behind.grant().handle);
  s.world.run_ms(5);
  EXPECT(unnamed.is(Status::OK) && !outsider.ended());
  s.a.release(unnamed.grant().handle);
  s.world.run_ms(5);
  EXPECT(outsider.is(Status::OK));
}

UNIT_TEST(an_owner_is_sent_away_from_a_line_wherever_the_key_is_held) {
  enum class Holder : uint8_t { AnotherProcess, ForeignClient, OwnProcess };
  for (const Holder holder : {Holder::AnotherProcess, Holder::ForeignClient, Holder::OwnProcess}) {
    for (const bool is_named : {true, false}) {
      Stage s(1, with_front_alone());
      const auto named = s.a.owner("worker"), other = s.a.owner("colleague");
      const auto owner = is_named ? named : nullptr;
      const std::string id = is_named ? named->id() : s.a.instance().id;
      const bool is_foreign = holder == Holder::ForeignClient, is_own = holder == Holder::OwnProcess;
      Process &by = is_own ? s.a : s.b;
      Wanted *const held = is_foreign ? nullptr : &by.acquire({"k"}, waiting_ms(10'000), by.owner("holder"));
      if (is_foreign) s.node.ask({"SET", "liblock:k", "theirs"});
      s.world.run_ms(50);
      Wanted &leads = s.a.acquire({"k"}, waiting_ms(60'000), other);
      s.world.run_ms(2);
      Wanted &stands = s.a.acquire({"k"}, waiting_ms(60'000), owner);
      s.world.run_ms(1);
      Wanted &behind = s.a.acquire({"k"}, waiting_ms(60'000), other);
      s.world.run_ms(20);
      EXPECT(s.node.ask({"ZCARD", kQueue}).is(is_own ? 0 : 1));
      clear(s, liblock::Engine::Whom::Owner, id);
      EXPECT(stands.is(Status::DEQUEUED) && !leads.ended() && !behind.ended());
      if (is_foreign) {
        s.node.ask({"DEL", "liblock:k"});
      } else {
        by.release(held->grant().handle);
      }
      s.world.run_ms(200);
      EXPECT(leads.is(Status::OK));
      s.a.release(leads.grant().handle);
      s.world.run_ms(5);
      EXPECT(behind.is(Status::OK));
    }
  }
}

UNIT_TEST(those_who_have_waited_for_too_long_leave_a_line_and_who_came_later_goes_on_in_it) {
  Stage s(1, with_front_alone());
  Wanted &held = s.b.take("k", waiting_ms(600'000));
  Wanted &leads = s.a.acquire({"k"}, waiting_ms(600'000));
  s.world.run_ms(2);
  Wanted &stands = s.a.acquire({"k"}, waiting_ms(600'000));
  s.world.run_ms(20'000);
  Wanted &later = s.a.acquire({"k"}, waiting_ms(600'000));
  s.world.run_ms(5);
  clear(s, liblock::Engine::Whom::Dead, "", 10'000);
  EXPECT(leads.is(Status::DEQUEUED) && stands.is(Status::DEQUEUED) && !later.ended());
  EXPECT(s.node.ask({"ZCARD", kQueue}).is(1));
  s.b.release(held.grant().handle);
  s.world.run_ms(5);
  EXPECT(later.is(Status::OK));
}

UNIT_TEST(when_the_one_that_asks_gives_up_the_next_asks_in_its_place) {
  for (int how = 0; how < 2; ++how) {
    Stage s(1, with_front());
    Wanted &held = s.b.take("k");
    AcquireParams first_params = waiting_ms(how == 0 ? 60'000 : 200);
    Wanted &first = s.a.acquire({"k"}, first_params);
    s.world.run_ms(2);
    Wanted &second = s.a.acquire({"k"}, waiting_ms(60'000)), &third = s.a.acquire({"k"}, waiting_ms(60'000));
    s.world.run_ms(20);
    EXPECT(s.node.ask({"ZCARD", kQueue}).is(1));
    if (how == 0) s.a.cancel(first);
    s.world.run_ms(200);
    EXPECT(first.is(how == 0 ? Status::CANCELED : Status::TIMEOUT));
    EXPECT(s.node.ask({"ZCARD", kQueue}).is(1));
    s.b.release(held.grant().handle);
    s.world.run_ms(5);
    EXPECT(second.is(Status::OK) && !third.ended());
    s.a.release(second.grant().handle);
    s.world.run_for(kMillisecond / 100);
    EXPECT(third.is(Status::OK));
  }
}

UNIT_TEST(who_stands_can_time_out_be_canceled_and_be_closed_with_his_owner) {
  Scene s;
  const auto owner = s.a.owner("worker");
  Wanted &late = s.a.acquire({"k"}, waiting_ms(50));
  s.world.run_ms(1);
  Wanted &unwanted = s.a.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(1);
  Wanted &orphan = s.a.acquire({"k"}, waiting_ms(60'000), owner);
  s.world.run_ms(1);
  Wanted &last = s.a.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(60);
  EXPECT(late.is(Status::TIMEOUT) && late.grant().queue_position == 0 && late.grant().queue_length == 4);
  s.a.cancel(unwanted);
  s.world.run_ms(1);
  EXPECT(unwanted.is(Status::CANCELED) && unwanted.grant().queue_position == 0);
  owner->closed.store(true);
  s.a.release(s.held.grant().handle);
  s.world.run_for(kMillisecond / 100);
  EXPECT(orphan.is(Status::CLOSED) && last.is(Status::OK));
}

UNIT_TEST(a_context_that_closes_ends_all_who_stand_and_gives_the_key_back) {
  Scene s;
  std::vector<Wanted *> line = line_of(s, 3);
  Wanted &outsider = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(5);
  bool closed = false;
  run_once(s.a.host(), [&] { s.a.instance().close(false, [&] { closed = true; }); });
  s.world.run_ms(20);
  for (Wanted *waiter : line) EXPECT(waiter->is(Status::CLOSED));
  EXPECT(closed && outsider.is(Status::OK));
}

UNIT_TEST(a_killed_process_takes_its_line_with_it_and_the_key_comes_free_with_its_lease) {
  Scene s(with_front(0, -1), waiting_ms(10'000, 1'000, false));
  line_of(s, 3, waiting_ms(60'000, 1'000, false));
  s.a.release(s.held.grant().handle);
  s.world.run_ms(40);
  Wanted &outsider = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(5);
  s.a.host().kill();
  s.world.run_ms(1'100);
  EXPECT(outsider.is(Status::OK));
}

UNIT_TEST(whoever_inspects_sees_the_holder_of_the_moment_and_how_many_stand) {
  Scene s;
  const auto owner = s.a.owner("worker");
  Wanted &next = s.a.acquire({"k"}, waiting_ms(60'000), owner);
  s.world.run_ms(1);
  line_of(s, 4);
  s.a.release(s.held.grant().handle);
  auto here = inspected(s, s.a);
  EXPECT(here->owner == owner->id() && here->token == next.grant().token && here->waiter_count() == 4);
  EXPECT(here->waiters.size() == 4);
  auto there = inspected(s, s.b);
  EXPECT(there->owner == owner->id() && there->token == next.grant().token && there->waiter_count() == 4);
  line_of(s, 3);
  s.world.run_ms(60);
  EXPECT(inspected(s, s.b)->waiter_count() == 7);
}

UNIT_TEST(who_has_gone_from_the_line_to_the_server_is_not_counted_in_both) {
  Scene s;
  line_of(s, 1);
  s.world.run_ms(100);  // the server knows how many stand
  Wanted &outsider = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(100);
  const auto info = inspected(s, s.b);
  EXPECT(!outsider.ended() && info->waiters.size() + info->waiters_unnamed == 2);
}

UNIT_TEST(a_lock_that_was_passed_on_leaves_the_process_as_it_is_and_who_stands_behind_it_asks_the_server) {
  struct Exporting final : liblock::Ask {
    void ended() override {}
  };
  Scene s;
  const std::vector<Wanted *> line = line_of(s, 2);
  s.a.release(s.held.grant().handle);
  s.world.run_ms(10);
  Exporting ask;
  ask.lock = line[0]->grant().handle;
  ask.number = 8'192;
  run_once(s.a.host(), [&] {
    EXPECT(export_lock(s.a.instance(), ask, [](const liblock::Lease &) { return std::string(); }) ==
           Status::OK);
  });
  s.world.run_ms(1);  // it is run
  s.world.run_ms(50);
  EXPECT(s.a.state_of(ask.lock) == Status::NOT_HELD && !line[1]->ended() && s.queued() == 1);
  const std::string token = std::to_string(line[0]->grant().token);
  EXPECT(s.record().starts_with("ll1|" + ask.text.substr(0, 32)));
  EXPECT(s.record().find("|" + token + "|") != std::string::npos);
  EXPECT(ask.text.find("|" + token + "|") != std::string::npos);
  s.world.run_ms(40'000);  // nobody adopts it: its lease ends, which nobody here renews
  EXPECT(line[1]->is(Status::OK) && line[1]->grant().token > line[0]->grant().token);
}

UNIT_TEST(a_line_outlives_a_broken_connection) {
  Scene s;
  std::vector<Wanted *> line = line_of(s, 4);
  const Wanted *last = &s.held;
  for (Wanted *next : line) {
    s.a.host().break_connections();
    s.world.run_ms(1);
    s.a.release(last->grant().handle);
    EXPECT(s.world.run_until([&] { return next->ended(); }, 5'000));
    EXPECT(next->is(Status::OK) && next->grant().token > last->grant().token);
    last = next;
  }
}

// One request waits for an extend of what it reentered, another stands behind the hold that this keeps: the end of the
// first gives the lock back, and makes it the other's turn.
UNIT_TEST(an_owner_that_closes_ends_each_of_his_requests_once_whatever_the_end_of_one_brings) {
  Scene s;
  const auto owner = s.a.owner("worker");
  s.a.release(s.held.grant().handle);
  s.world.run_ms(10);
  Wanted &outer = s.a.acquire({"k"}, waiting_ms(10'000), owner);
  s.world.run_ms(50);
  AcquireParams extends = waiting_ms(10'000, 50'000), waits = waiting_ms(10'000);
  extends.on_conflict = LIBLOCK_ON_CONFLICT_REENTER_EXTEND;
  waits.on_conflict = LIBLOCK_ON_CONFLICT_WAIT;
  Wanted &inner = s.a.acquire({"k"}, extends, owner), &rival = s.a.acquire({"k"}, waits, owner);
  s.world.run_for(kMillisecond / 100);
  EXPECT(outer.is(Status::OK) && !inner.ended() && !rival.ended());
  s.a.release(outer.grant().handle);
  owner->closed.store(true);
  const Question &closed = s.a.question(Ask::What::CloseOwner, [&](Ask &ask) { ask.owner = owner; });
  s.world.run_ms(20);
  EXPECT(inner.is(Status::CLOSED) && rival.is(Status::CLOSED) && closed.is(Status::OK));
  EXPECT(s.is_free("k"));
}

UNIT_TEST(who_stands_ends_by_his_own_time_whatever_befell_another_that_asked_before) {
  Scene s;
  Wanted &other = s.a.acquire({"k"}, waiting_ms(60'000), s.a.owner("worker"));  // asks after the delay of its search
  s.world.run_ms(90);
  s.node.stop(Node::Data::Kept);
  s.world.run_ms(50);
  s.a.cancel(other);
  s.node.start();
  s.world.run_ms(2'000);
  EXPECT(other.is(Status::CANCELED) && s.a.holds(s.held.grant().handle));
  Wanted &late = s.a.acquire({"k"}, waiting_ms(500));
  s.world.run_ms(600);
  EXPECT(late.is(Status::TIMEOUT));
}

UNIT_MAIN("front_ends", cmocka_unit_test(a_lost_lock_is_lost_for_its_holder_and_the_next_asks_the_server),
          cmocka_unit_test(who_learns_behind_a_hand_over_that_the_lock_was_gone_has_lost_it),
          cmocka_unit_test(an_administrator_of_another_process_sends_away_who_stands_here),
          cmocka_unit_test(whoever_stands_behind_an_owner_who_is_sent_away_keeps_the_place_he_came_for),
          cmocka_unit_test(an_owner_is_sent_away_from_a_line_wherever_the_key_is_held),
          cmocka_unit_test(those_who_have_waited_for_too_long_leave_a_line_and_who_came_later_goes_on_in_it),
          cmocka_unit_test(when_the_one_that_asks_gives_up_the_next_asks_in_its_place),
          cmocka_unit_test(who_stands_can_time_out_be_canceled_and_be_closed_with_his_owner),
          cmocka_unit_test(a_context_that_closes_ends_all_who_stand_and_gives_the_key_back),
          cmocka_unit_test(a_killed_process_takes_its_line_with_it_and_the_key_comes_free_with_its_lease),
          cmocka_unit_test(whoever_inspects_sees_the_holder_of_the_moment_and_how_many_stand),
          cmocka_unit_test(who_has_gone_from_the_line_to_the_server_is_not_counted_in_both),
          cmocka_unit_test(
              a_lock_that_was_passed_on_leaves_the_process_as_it_is_and_who_stands_behind_it_asks_the_server),
          cmocka_unit_test(a_line_outlives_a_broken_connection),
    cmocka_unit_test(an_owner_that_closes_ends_each_of_his_requests_once_whatever_the_end_of_one_brings),
    cmocka_unit_test(who_stands_ends_by_his_own_time_whatever_befell_another_that_asked_before))
