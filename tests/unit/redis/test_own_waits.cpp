// SPDX-License-Identifier: MIT
// Requests of a named owner that wait, or are at the server, while another of his is granted: they reenter what he has
// by then, and leave no place behind. The same stories as quorum/test_own_waits.cpp tells of a quorum; local contexts
// tell them in tests/conformance.
#include "front_scene.hpp"

using namespace unit;

namespace {

AcquireParams with_a_value(AcquireParams params) {
  params.value = "v";
  return params;
}

struct OwnWaits : front::Scene {
  explicit OwnWaits(bool has_front) : front::Scene(has_front ? front::with_front(0, -1) : liblock::InstanceOptions()) {}
  void let_held_go() {
    a.release(held.grant().handle);
    world.run_ms(20);
  }
  bool reentered(const Wanted &wanted) const {
    const bool has_waited = (wanted.grant().flags & LIBLOCK_RESULT_WAITED) != 0;
    EXPECT(!has_waited || (wanted.grant().queue_position >= 0 && wanted.grant().queue_length > 0));
    return wanted.is(Status::OK) && (wanted.grant().flags & LIBLOCK_RESULT_REENTERED) != 0;
  }
  // Once all of these have been given back somebody else has the key, and nothing of them is left in its line.
  void give_back(const std::vector<Wanted *> &all) {
    EXPECT(queued() == 0);
    for (const Wanted *wanted : all) a.release(wanted->grant().handle);
    world.run_ms(50);
    EXPECT(is_free("k") && a.instance().waiting.empty());
    b.release(b.take("k").grant().handle);
  }
  std::shared_ptr<liblock::RemoteOwner> me = a.owner("me"), mine_there = b.owner("me");
};

}  // namespace

UNIT_TEST(requests_of_an_owner_that_wait_in_line_reenter_what_the_first_of_them_was_granted) {
  for (const bool has_front : {false, true}) {
    OwnWaits s(has_front);
    Wanted &first = s.a.acquire({"k"}, waiting_ms(60'000), s.me);
    s.world.run_ms(20);
    Wanted &plain = s.a.acquire({"k"}, waiting_ms(60'000), s.me);
    Wanted &longer = s.a.acquire({"k"}, setting_anew(60'000, 50'000), s.me);
    Wanted &valued = s.a.acquire({"k"}, with_a_value(waiting_ms(60'000)), s.me);
    s.world.run_ms(20);
    EXPECT(!first.ended() && !plain.ended() && !longer.ended() && !valued.ended());
    s.let_held_go();
    EXPECT(first.is(Status::OK) && s.reentered(plain) && s.reentered(longer) && s.reentered(valued));
    EXPECT((plain.grant().flags & LIBLOCK_RESULT_WAITED) != 0 && plain.grant().token == first.grant().token);
    EXPECT(s.node.ask({"PTTL", "liblock:k"}).integer > 49'000);
    s.give_back({&first, &plain, &longer, &valued});
  }
}

UNIT_TEST(a_request_that_was_at_the_server_when_another_of_its_owner_was_granted_reenters) {
  for (const bool has_front : {false, true}) {
    OwnWaits s(has_front);
    s.let_held_go();
    AcquireParams any = waiting_ms(60'000);
    any.order = LIBLOCK_ORDER_ANY;
    const std::vector<Wanted *> all = {
        &s.a.acquire({"k"}, waiting_ms(60'000), s.me), &s.a.acquire({"k"}, with_a_value(waiting_ms(60'000)), s.me),
        &s.a.acquire({"k"}, waiting_ms(0), s.me),      &s.a.acquire({"k"}, any, s.me),
        &s.a.acquire({"k"}, setting_anew(0, 50'000), s.me)};
    s.world.run_ms(20);
    EXPECT(all.front()->is(Status::OK));
    for (size_t i = 1; i < all.size(); ++i) EXPECT(s.reentered(*all[i]));
    s.give_back(all);
  }
}

UNIT_TEST(a_request_whose_owner_sets_a_lease_anew_for_it_stands_in_no_line_meanwhile) {
  for (const bool has_front : {false, true}) {
    OwnWaits s(has_front);
    Wanted &first = s.a.acquire({"k"}, waiting_ms(60'000), s.me);
    s.world.run_ms(20);
    Wanted &longer = s.a.acquire({"k"}, setting_anew(60'000, 50'000), s.me);
    Wanted &rival = s.a.acquire({"k"}, waiting_ms(60'000));
    s.world.run_ms(20);
    EXPECT(s.a.instance().waiting.shown("liblock:k").size() == 3);
    first.on_end = [&](Wanted &) { s.node.freeze(); };
    s.let_held_go();
    EXPECT(first.is(Status::OK) && !longer.ended() && s.a.instance().waiting.shown("liblock:k").size() == 1);
    s.node.ask({"DEL", "liblock:k"});
    s.node.thaw();
    s.world.run_ms(2'000);
    EXPECT(!longer.ended() && !s.a.holds(first.grant().handle));  // it waits again, behind whoever came meanwhile
    s.a.release(rival.grant().handle);
    s.world.run_ms(20);
    EXPECT(rival.is(Status::OK) && longer.is(Status::OK) && !s.reentered(longer));
    EXPECT(s.a.instance().counts.waiters.load() == 0);  // though it stood there twice
    s.give_back({&longer});
  }
}

UNIT_TEST(a_request_that_stood_in_line_tells_where_also_when_its_owner_sets_a_lease_anew_for_it) {
  for (const bool extends : {false, true}) {
    OwnWaits s(true);
    Wanted &first = s.a.acquire({"k"}, waiting_ms(60'000), s.me);
    s.world.run_ms(20);
    Wanted &next = s.a.acquire({"k"}, extends ? setting_anew(60'000, 50'000) : waiting_ms(60'000), s.me);
    s.world.run_ms(20);
    s.let_held_go();
    EXPECT(first.is(Status::OK) && s.reentered(next));
    EXPECT(next.grant().queue_position == 0 && next.grant().queue_length == 1);
    s.give_back({&first, &next});
  }
}

UNIT_TEST(a_request_that_would_not_reenter_is_told_that_its_owner_holds_the_key_and_one_that_waits_for_him_waits) {
  OwnWaits s(false);
  AcquireParams fails = waiting_ms(60'000), waits = waiting_ms(60'000);
  fails.on_conflict = LIBLOCK_ON_CONFLICT_FAIL;
  waits.on_conflict = LIBLOCK_ON_CONFLICT_WAIT;
  waits.on_deadlock = LIBLOCK_ON_DEADLOCK_REPORT_ONLY;
  Wanted &first = s.a.acquire({"k"}, waiting_ms(60'000), s.me);
  s.world.run_ms(5);
  Wanted &failing = s.a.acquire({"k"}, fails, s.me), &waiting = s.a.acquire({"k"}, waits, s.me);
  s.world.run_ms(20);
  s.let_held_go();
  EXPECT(first.is(Status::OK) && failing.is(Status::ALREADY_HELD) && !waiting.ended());
  s.a.release(first.grant().handle);
  s.world.run_ms(20);
  EXPECT(waiting.is(Status::OK) && !s.reentered(waiting));
}

// Its place in the line of the first is nothing that others should wait for.
UNIT_TEST(a_request_for_more_than_its_owner_has_goes_on_to_the_line_of_the_next_key) {
  OwnWaits s(false);
  const Handle next = s.b.take("l").grant().handle;
  Wanted &first = s.a.acquire({"k"}, waiting_ms(60'000), s.me);
  s.world.run_ms(5);
  Wanted &both = s.a.acquire({"k", "l"}, waiting_ms(60'000), s.me);
  s.world.run_ms(20);
  s.let_held_go();
  EXPECT(first.is(Status::OK) && !both.ended() && s.queued() == 0);
  s.b.release(next);
  s.world.run_ms(20);
  EXPECT(both.is(Status::OK) && both.grant().token > first.grant().token);
  s.give_back({&first, &both});
  EXPECT(s.is_free("l"));
}

UNIT_TEST(a_lock_that_is_adopted_is_reentered_by_those_of_its_owner_who_wait_for_it) {
  OwnWaits s(false);
  Wanted &waiting = s.b.acquire({"k"}, waiting_ms(60'000), s.mine_there);
  Question &exported = s.a.question(Ask::What::Export, [&](Ask &ask) {
    ask.lock = s.held.grant().handle;
    ask.number = 1'024;
  });
  s.world.run_ms(20);
  EXPECT(exported.is(Status::OK) && !waiting.ended());
  const AcquireParams params = waiting_ms(0);
  Question &adopted = s.b.question(Ask::What::Adopt, [&](Ask &ask) {
    ask.text = exported.text;
    ask.params = &params;
    ask.owner = s.mine_there;
  });
  s.world.run_ms(20);
  EXPECT(adopted.is(Status::OK) && s.reentered(waiting));
  s.b.release(waiting.grant().handle);
  s.b.release(adopted.lock);
  s.world.run_ms(20);
  EXPECT(s.is_free("k") && s.queued() == 0);
}

UNIT_TEST(an_owner_has_all_that_he_asks_for_at_once_whichever_of_it_is_granted_first) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Stage s(seed, front::with_front(seed % 3 == 0 ? 0 : -1, -1));
    const auto me = s.a.owner("me");
    std::vector<Wanted *> all;
    for (const std::vector<std::string> &keys :
         std::vector<std::vector<std::string>>{{"k", "l"}, {"k"}, {"l"}, {"k", "l", "m"}, {"m"}, {"k", "m"}}) {
      all.push_back(&s.a.acquire(keys, waiting_ms(60'000), me));
      if (seed % 2 == 0) s.world.run_for(kMillisecond / 5);
    }
    EXPECT(s.world.run_until(
        [&] { return std::all_of(all.begin(), all.end(), [](const Wanted *w) { return w->is(Status::OK); }); }, 500));
    for (const Wanted *wanted : all) s.a.release(wanted->grant().handle);
    s.world.run_ms(100);
    EXPECT(s.is_free("k") && s.is_free("l") && s.is_free("m") && s.a.instance().waiting.empty());
  }
}

UNIT_MAIN("own_waits",
          cmocka_unit_test(requests_of_an_owner_that_wait_in_line_reenter_what_the_first_of_them_was_granted),
          cmocka_unit_test(a_request_that_was_at_the_server_when_another_of_its_owner_was_granted_reenters),
          cmocka_unit_test(a_request_whose_owner_sets_a_lease_anew_for_it_stands_in_no_line_meanwhile),
          cmocka_unit_test(a_request_that_stood_in_line_tells_where_also_when_its_owner_sets_a_lease_anew_for_it),
          cmocka_unit_test(
              a_request_that_would_not_reenter_is_told_that_its_owner_holds_the_key_and_one_that_waits_for_him_waits),
          cmocka_unit_test(a_request_for_more_than_its_owner_has_goes_on_to_the_line_of_the_next_key),
          cmocka_unit_test(a_lock_that_is_adopted_is_reentered_by_those_of_its_owner_who_wait_for_it),
          cmocka_unit_test(an_owner_has_all_that_he_asks_for_at_once_whichever_of_it_is_granted_first))
