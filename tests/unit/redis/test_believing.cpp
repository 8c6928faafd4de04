// SPDX-License-Identifier: MIT
// What a holder believes of its lock is what the server has: also where messages were missed, where another server
// knows less of it, and where what a server says makes no sense. And nobody believes anything who has closed.
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

UNIT_MAIN("what a holder believes",
          cmocka_unit_test(
              a_lock_taken_away_while_nobody_could_say_so_is_found_out_whichever_connection_is_back_first),
          cmocka_unit_test(a_lock_that_another_server_keeps_for_less_time_is_believed_for_no_longer_than_that),
          cmocka_unit_test(a_lease_that_another_server_keeps_for_less_time_is_renewed_in_that_time),
          cmocka_unit_test(a_lease_of_nothing_ends_a_lock_and_one_that_there_is_not_ends_the_connection),
          cmocka_unit_test(an_adopted_lock_is_nobodys_before_the_server_has_confirmed_it),
          cmocka_unit_test(
              what_fails_behind_the_last_word_of_a_process_that_leaves_its_locks_begins_nothing_any_more))
