// SPDX-License-Identifier: MIT
// What a process believes, counts and goes on with where the server said nothing, or was not a master meanwhile. Time
// and network are moved by hand; the server runs the real scripts.
#include "stage.hpp"

using namespace unit;

namespace {

struct Counted : Stage {
  auto &counts() { return a.instance().counts; }
  Question &release_keys(const std::shared_ptr<liblock::Owner> &owner, const std::string &key) {
    Question &asked = a.question(Ask::What::ReleaseKeys, [&](Ask &ask) {
      ask.owner = owner;
      ask.keys = {key};
    });
    world.run_ms(10);
    return asked;
  }
};

}  // namespace

UNIT_TEST(a_release_in_doubt_goes_on_for_as_long_as_an_unanswered_extension_may_keep_the_key) {
  for (const Nanos ttl : {liblock::kNever, liblock::nanos_from_ms(3'600'000)}) {
    Stage s;
    Wanted &lock = s.a.take("k", waiting_ms(0, 3'000, false));
    s.a.extend(lock.grant().handle, 3'000, false);  // the server knows the script
    s.world.run_ms(100);
    s.node.lose_answers();
    s.a.extend_for(lock.grant().handle, ttl, false, false);
    s.world.run_ms(20);
    s.node.stop(Node::Data::Kept);
    s.a.release(lock.grant().handle);
    s.world.run_ms(10);
    s.node.server().loading = true;
    s.node.start();
    s.world.run_ms(10'000);
    s.node.server().loading = false;
    s.world.run_ms(20'000);
    EXPECT(s.is_free("k"));
  }
}

UNIT_TEST(a_server_that_was_a_replica_meanwhile_is_another_one) {
  Stage s;
  Wanted &lock = s.a.take("k", waiting_ms(0, 600'000, false));
  s.world.run_ms(300);
  s.node.set_replica(true);
  s.a.acquire({"other"}, waiting_ms(2'000));  // hears READONLY
  s.world.run_ms(500);
  s.node.set_replica(false);
  s.node.ask({"DEL", "liblock:k"});  // as its master of meanwhile had it
  Wanted &theirs = s.b.take("k", waiting_ms(5'000, 600'000, false));
  s.world.run_ms(2'000);
  EXPECT(!s.a.holds(lock.grant().handle) && s.b.holds(theirs.grant().handle));
  EXPECT(lock.losses == 1);
}

UNIT_TEST(a_replica_is_asked_a_few_times_a_second_whether_it_is_one_still) {
  Stage s;
  Wanted &waiter = s.a.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(300);
  s.node.set_replica(true);
  s.node.end_connections(false);
  s.a.acquire({"other"}, waiting_ms(60'000));
  const uint64_t before = s.node.count("time");
  s.world.run_ms(3'000);
  const uint64_t greetings = s.node.count("time") - before;
  EXPECT(greetings >= 5 && greetings <= 25);
  s.node.set_replica(false);
  s.world.run_ms(500);
  EXPECT(s.a.instance().link.is_connected() && waiter.grant().handle != 0);
}

UNIT_TEST(keys_of_a_lock_that_was_lost_are_counted_once_whichever_way_they_are_given_back) {
  Counted s;
  const auto me = s.a.owner("me");
  Wanted &two = s.a.acquire({"x", "y"}, without_waiting(), me);
  s.world.run_ms(5);
  s.node.ask({"DEL", "liblock:x", "liblock:y"});
  s.world.run_ms(1'500);
  EXPECT(two.losses == 1);
  s.release_keys(me, "x");
  s.a.release(two.grant().handle);
  s.world.run_ms(10);
  EXPECT(s.counts().keys_held == 0);
}

UNIT_TEST(a_lock_that_ends_by_its_key_counts_as_released) {
  Counted s;
  const auto me = s.a.owner("me");
  s.a.acquire({"z"}, without_waiting(), me);
  s.world.run_ms(5);
  EXPECT(s.release_keys(me, "z").is(Status::OK));
  EXPECT(s.counts().acquired == 1 && s.counts().released == 1);
}

UNIT_TEST(a_lock_that_is_found_over_by_its_release_counts_as_expired) {
  Counted s;
  Wanted &late = s.a.take("late", waiting_ms(0, 300, false));
  s.a.host().pause();
  s.world.run_ms(1'000);
  const auto released = s.a.release(late.grant().handle);
  s.a.host().go_on();
  s.world.run_ms(10);
  EXPECT(released->is(Status::LOST));
  EXPECT(s.counts().expired == 1 && s.counts().released == 0 && s.counts().keys_held == 0);
}

UNIT_TEST(a_lock_is_not_adopted_for_an_owner_that_is_closed) {
  Stage s;
  const auto owner = s.b.owner("worker");
  Wanted &held = s.a.take("k", waiting_ms(0));
  Question &exported = s.a.question(Ask::What::Export, [&](Ask &ask) {
    ask.lock = held.grant().handle;
    ask.number = 1'024;
  });
  s.world.run_ms(50);
  owner->closed.store(true);
  s.b.question(Ask::What::CloseOwner, [&](Ask &ask) { ask.owner = owner; });
  s.world.run_ms(50);
  const AcquireParams params = waiting_ms(0, 3'000, true);
  Question &adopted = s.b.question(Ask::What::Adopt, [&](Ask &ask) {
    ask.text = exported.text;
    ask.params = &params;
    ask.owner = owner;
  });
  s.world.run_ms(100);
  EXPECT(adopted.is(Status::CLOSED));
  s.world.run_ms(10'000);
  EXPECT(s.is_free("k"));
}

UNIT_MAIN("what is believed and counted without an answer",
          cmocka_unit_test(a_release_in_doubt_goes_on_for_as_long_as_an_unanswered_extension_may_keep_the_key),
          cmocka_unit_test(a_server_that_was_a_replica_meanwhile_is_another_one),
          cmocka_unit_test(a_replica_is_asked_a_few_times_a_second_whether_it_is_one_still),
          cmocka_unit_test(keys_of_a_lock_that_was_lost_are_counted_once_whichever_way_they_are_given_back),
          cmocka_unit_test(a_lock_that_ends_by_its_key_counts_as_released),
          cmocka_unit_test(a_lock_that_is_found_over_by_its_release_counts_as_expired),
          cmocka_unit_test(a_lock_is_not_adopted_for_an_owner_that_is_closed))
