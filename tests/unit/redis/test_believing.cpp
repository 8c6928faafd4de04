// SPDX-License-Identifier: MIT
// What a holder believes of its lock is what the server has: also where messages were missed, where another server
// knows less of it, and where what a server says makes no sense. And nobody believes anything who has closed.
#include "redis/clearing.hpp"
#include "stage.hpp"

using namespace unit;

UNIT_TEST(a_lock_taken_away_while_nobody_could_say_so_is_found_out_whichever_connection_is_back_first) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Stage s(seed);
    Wanted &lock = s.a.take("k", waiting_ms(0, 60'000, false));
    s.world.run_ms(300);
    s.a.host().break_connections();
    s.node.ask({"DEL", "liblock:k"});
    s.world.run_ms(1'500);
    EXPECT(s.a.state_of(lock.grant().handle) == Status::LOST && lock.losses == 1);
  }
}

UNIT_TEST(a_lock_that_another_server_keeps_for_less_time_is_believed_for_no_longer_than_that) {
  Stage s;
  Wanted &lock = s.a.take("k", waiting_ms(0, 60'000, false));
  s.node.ask({"PEXPIRE", "liblock:k", "1500"});  // as a replica that has not heard of the last extension
  s.node.stop(Node::Data::Kept);
  s.node.start();
  s.world.run_ms(200);
  EXPECT(s.a.holds(lock.grant().handle));
  EXPECT(s.world.run_until([&] { return !s.a.holds(lock.grant().handle); }, 1'500));
  EXPECT(!s.is_free("k"));
  s.world.run_ms(200);
  EXPECT(s.is_free("k") && lock.losses == 1);
}

UNIT_TEST(a_lease_that_another_server_keeps_for_less_time_is_renewed_in_that_time) {
  Stage s;
  Wanted &lock = s.a.take("k", waiting_ms(0, 60'000));
  s.world.run_ms(5'000);
  s.node.ask({"PEXPIRE", "liblock:k", "1500"});
  s.node.stop(Node::Data::Kept);
  s.node.start();
  s.world.run_ms(3'000);
  EXPECT(s.a.holds(lock.grant().handle) && lock.losses == 0);
  EXPECT(s.node.ask({"PTTL", "liblock:k"}).integer > 50'000);
}

// The renewal of the first lease, a second after it was taken, is answered as no script of ours would.
UNIT_TEST(a_lease_of_nothing_ends_a_lock_and_one_that_there_is_not_ends_the_connection) {
  for (const bool is_nothing : {true, false}) {
    Stage s;
    Wanted &lock = s.a.take("k", waiting_ms(0, 60'000));
    s.world.run_ms(900);
    s.node.freeze();
    s.world.run_ms(200);
    const std::string now_us = std::to_string(s.node.clock_us());
    s.node.say_unasked("*3\r\n$2\r\nOK\r\n:" + now_us + "\r\n:" + (is_nothing ? "0" : "-2") + "\r\n");
    s.world.run_ms(50);
    EXPECT(s.a.holds(lock.grant().handle) == !is_nothing);
    s.node.thaw();
    s.world.run_ms(5'000);
    EXPECT(lock.losses == (is_nothing ? 1 : 0));
  }
}

UNIT_TEST(an_adopted_lock_is_nobodys_before_the_server_has_confirmed_it) {
  Stage s;
  const auto owner = s.b.owner("o");
  Wanted &held = s.a.take("k", waiting_ms(0, 60'000, false));
  Question &exported = s.a.question(Ask::What::Export, [&](Ask &ask) {
    ask.lock = held.grant().handle;
    ask.number = 1'024;
  });
  s.world.run_ms(5);
  EXPECT(exported.is(Status::OK));
  s.node.ask({"DEL", "liblock:k"});
  Wanted &other = s.a.take("k", waiting_ms(0, 60'000, false));
  s.node.freeze();
  const AcquireParams params = waiting_ms(1'000, 3'000);
  Question &adopted = s.b.question(Ask::What::Adopt, [&](Ask &ask) {
    ask.text = exported.text;
    ask.params = &params;
    ask.owner = owner;
  });
  s.world.run_ms(5);
  Wanted &again = s.b.acquire({"k"}, without_waiting(3'000), owner);
  s.world.run_ms(5);
  EXPECT(adopted.ends == 0 && !again.ended());
  s.node.thaw();
  s.world.run_ms(100);
  EXPECT(adopted.is(Status::LOST) && again.is(Status::BUSY) && s.a.holds(other.grant().handle));
}

UNIT_TEST(what_fails_behind_the_last_word_of_a_process_that_leaves_its_locks_begins_nothing_any_more) {
  liblock::InstanceOptions options;
  options.zombie_interval = 1'000 * kMillisecond;
  Stage s(1, options);
  Wanted &other = s.a.take("o", waiting_ms(0, 60'000, false));
  s.world.run_ms(3'000);  // by now it is known to live, and says when it leaves
  Wanted &lock = s.a.take("k", waiting_ms(0, 30'000));
  s.world.run_ms(500);
  s.node.freeze();
  s.a.extend(other.grant().handle, 60'000, false);  // the first that is not answered
  s.world.run_ms(200);
  bool closed = false;
  liblock::run_once(s.a.host(), [&] { s.a.instance().close(true, [&] { closed = true; }); });
  EXPECT(s.world.run_until([&] { return closed; }, 10'000));  // k fell due meanwhile, a second after it was taken
  EXPECT(s.a.host().next_wake() == liblock::kNever && lock.losses == 0);
  s.node.thaw();
}

// Words and answers come on two connections: the word that a lock was taken away may be here before the grant.
UNIT_TEST(a_lock_that_was_taken_away_before_its_grant_was_heard_of_is_not_believed) {
  int crossed = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Stage s(seed);
    Wanted &other = s.a.take("o", waiting_ms(0, 60'000, false));
    s.b.release(s.b.take("p").grant().handle);
    s.world.run_ms(50);
    s.world.delay_most = kMillisecond;
    Wanted &mine = s.a.acquire({"k"}, waiting_ms(0, 60'000, false));
    bool was_there = false;
    for (int i = 0; i < 40 && !was_there; ++i) {
      run_once(s.b.host(), [&] {
        force_away(s.b.instance(), {"liblock:k", {}, false},
                   [&](Status status, const std::string &) { was_there = was_there || status == Status::OK; });
      });
      s.world.run_for(kMillisecond / 10);
    }
    s.world.run_ms(50);
    EXPECT(was_there && mine.is(Status::OK) && s.a.holds(other.grant().handle));
    EXPECT(!s.a.holds(mine.grant().handle) && mine.losses == 1);
    crossed += s.is_free("k");
  }
  EXPECT(crossed == 60);
}

UNIT_TEST(keys_are_not_given_back_by_a_handle_that_nobody_has_yet) {
  Stage s;
  const auto owner = s.a.owner("worker");
  Wanted &outer = s.a.acquire({"k"}, waiting_ms(0), owner);
  s.world.run_ms(20);
  AcquireParams extends = waiting_ms(10'000, 50'000);
  extends.on_conflict = LIBLOCK_ON_CONFLICT_REENTER_EXTEND;
  Wanted &inner = s.a.acquire({"k"}, extends, owner);
  s.world.run_for(kMillisecond / 100);
  Question &given = s.a.about("k", Ask::What::ReleaseKeys, [&](Ask &ask) { ask.owner = owner; });
  s.world.run_ms(5);
  EXPECT(given.is(Status::OK) && s.a.state_of(outer.grant().handle) == Status::NOT_HELD);
  EXPECT(inner.is(Status::OK) && inner.grant().token != 0 && s.a.holds(inner.grant().handle));
  Question &rest = s.a.about("k", Ask::What::ReleaseKeys, [&](Ask &ask) { ask.owner = owner; });
  s.world.run_ms(5);
  EXPECT(rest.is(Status::OK) && s.is_free("k"));
}

namespace {

struct Adopted {
  Adopted(Stage &s, Question &exported, const std::shared_ptr<liblock::RemoteOwner> &owner = nullptr)
      : question(s.b.question(Ask::What::Adopt, [&](Ask &ask) {
          ask.text = exported.text;
          ask.params = &params;
          ask.owner = owner;
        })) {}
  const AcquireParams params = waiting_ms(1'000, 30'000);
  Question &question;
};

Question &exported_by_a(Stage &s, Handle handle) {
  return s.a.question(Ask::What::Export, [&](Ask &ask) {
    ask.lock = handle;
    ask.number = 8'192;
  });
}

}  // namespace

UNIT_TEST(a_late_word_of_the_process_that_gave_a_lock_away_does_not_make_it_the_holder_again) {
  liblock::InstanceOptions options;
  options.front_budget = 0;
  options.foreign_gap_ms = -1;
  Stage s(1, options);
  Wanted &first = s.a.take("k", waiting_ms(10'000));
  s.b.release(s.b.take("p").grant().handle);
  s.world.run_ms(50);
  Wanted &second = s.a.acquire({"k"}, waiting_ms(10'000));
  s.world.run_ms(100);
  s.world.link(s.a.host(), s.node).set_delay(100 * kMillisecond, 100 * kMillisecond);
  s.a.release(first.grant().handle);  // it is the second's, which the server hears of much later
  Question &exported = exported_by_a(s, second.grant().handle);
  s.world.run_for(kMillisecond / 100);
  EXPECT(second.is(Status::OK));
  Question &again = exported_by_a(s, second.grant().handle);
  s.world.run_for(kMillisecond / 100);
  Question &text = exported.is(Status::OK) ? exported : again;
  EXPECT(text.is(Status::OK));
  const Adopted adopted(s, text);
  s.world.run_ms(5);
  EXPECT(adopted.question.is(Status::OK));
  s.b.update(adopted.question.lock, "theirs");
  s.world.run_ms(400);
  const std::string record = s.node.ask({"GET", "liblock:k"}).text;
  EXPECT(record.find("|" + s.b.instance().id + "|") != std::string::npos && record.ends_with("|theirs"));
}

UNIT_TEST(an_adopted_lock_names_its_holder_in_the_end_also_where_the_connection_broke_before) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Stage s(seed);
    Wanted &held = s.a.take("k", waiting_ms(0));
    s.b.release(s.b.take("p").grant().handle);
    Question &exported = exported_by_a(s, held.grant().handle);
    s.world.run_ms(50);
    const Adopted adopted(s, exported);
    s.world.run_for(kMillisecond / 4);  // there and back, and not yet there again
    s.b.host().break_connections();
    s.world.run_ms(1'000);
    EXPECT(adopted.question.is(Status::OK) && s.b.holds(adopted.question.lock));
    EXPECT(s.node.ask({"GET", "liblock:k"}).text.find("|" + s.b.instance().id + "|") != std::string::npos);
  }
}

UNIT_TEST(an_adoption_whose_owner_closes_meanwhile_ends_as_closed_and_without_a_lock) {
  Stage s;
  const auto owner = s.b.owner("worker");
  Wanted &held = s.a.take("k", waiting_ms(0));
  s.b.release(s.b.take("p").grant().handle);
  Question &exported = exported_by_a(s, held.grant().handle);
  s.world.run_ms(50);
  const Adopted adopted(s, exported, owner);
  s.world.run_for(kMillisecond / 100);
  owner->closed.store(true);
  s.b.question(Ask::What::CloseOwner, [&](Ask &ask) { ask.owner = owner; });
  s.world.run_ms(20);
  EXPECT(adopted.question.is(Status::CLOSED) && adopted.question.lock == 0 && s.is_free("k"));
}

// The word that it was taken away went to whoever had it before.
UNIT_TEST(a_lock_that_was_taken_away_before_it_named_its_adopter_is_not_believed) {
  Stage s;
  Wanted &held = s.a.take("k", waiting_ms(0, 30'000, false));
  s.b.release(s.b.take("p").grant().handle);
  Question &exported = exported_by_a(s, held.grant().handle);
  s.world.run_ms(50);
  const AcquireParams params = waiting_ms(0, 30'000, false);
  Question &adopted = s.b.question(Ask::What::Adopt, [&](Ask &ask) {
    ask.text = exported.text;
    ask.params = &params;
  });
  s.world.run_for(kMillisecond / 4);  // its extension was answered, and its name is not there yet
  EXPECT(s.node.ask({"DEL", "liblock:k"}).is(1));
  s.world.run_ms(50);
  EXPECT(adopted.ends == 1 && !s.b.holds(adopted.lock));
}

UNIT_MAIN("what a holder believes",
          cmocka_unit_test(
              a_lock_taken_away_while_nobody_could_say_so_is_found_out_whichever_connection_is_back_first),
          cmocka_unit_test(a_lock_that_another_server_keeps_for_less_time_is_believed_for_no_longer_than_that),
          cmocka_unit_test(a_lease_that_another_server_keeps_for_less_time_is_renewed_in_that_time),
          cmocka_unit_test(a_lease_of_nothing_ends_a_lock_and_one_that_there_is_not_ends_the_connection),
          cmocka_unit_test(an_adopted_lock_is_nobodys_before_the_server_has_confirmed_it),
          cmocka_unit_test(
              what_fails_behind_the_last_word_of_a_process_that_leaves_its_locks_begins_nothing_any_more),
    cmocka_unit_test(a_lock_that_was_taken_away_before_its_grant_was_heard_of_is_not_believed),
    cmocka_unit_test(keys_are_not_given_back_by_a_handle_that_nobody_has_yet),
    cmocka_unit_test(a_late_word_of_the_process_that_gave_a_lock_away_does_not_make_it_the_holder_again),
    cmocka_unit_test(an_adopted_lock_names_its_holder_in_the_end_also_where_the_connection_broke_before),
    cmocka_unit_test(an_adoption_whose_owner_closes_meanwhile_ends_as_closed_and_without_a_lock),
    cmocka_unit_test(a_lock_that_was_taken_away_before_it_named_its_adopter_is_not_believed))
