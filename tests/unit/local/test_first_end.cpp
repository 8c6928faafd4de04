// SPDX-License-Identifier: MIT
// A lock of several keys whose leases differ is lost with the first of them, by a clock that is moved by hand: who
// stands at any key of it comes then, and at no other time.
#include "../support/stage.hpp"

using namespace liblock;
using unit::for_ms;
using unit::Request;

namespace {

// -1: no expiry.
AcquireParams leased(int64_t ttl_ms) { return ttl_ms < 0 ? AcquireParams() : for_ms(ttl_ms); }

AcquireParams setting_anew(int64_t ttl_ms) {
  AcquireParams params = leased(ttl_ms);
  params.on_conflict = LIBLOCK_ON_CONFLICT_REENTER_EXTEND;
  return params;
}

struct Stage : unit::Stage {
  std::shared_ptr<LocalOwner> me = world.owner("me");

  Handle mine(std::vector<Bytes> keys, const AcquireParams &params) {
    Request *request = ask(*me, std::move(keys), params);
    EXPECT(request->done && request->grant.status == Status::OK);
    return request->grant.handle;
  }
  Request *watch(Waiter::Kind kind, Bytes key, Handle h) {
    requests.push_back(new Request(world.table, world.runtime));
    requests.back()->pin();
    table().watch(*requests.back(), kind, key, h, *nobody, requests.back()->params);
    return requests.back();
  }
  void extend(Handle h, int64_t ttl_ms) {
    HoldView after;
    EXPECT(table().extend(&world, h, nanos_from_ms(ttl_ms), false, after) == Status::OK);
  }
  void extend_key(Bytes key, int64_t ttl_ms) {
    HoldView after;
    EXPECT(table().extend_by_value(key, "", nanos_from_ms(ttl_ms), false, after) == Status::OK);
  }
  // Everybody looks who has just been told to.
  void settle() { world.advance_ms(0); }
  // When somebody looks next, 0: as soon as he can; -1: nobody does.
  int64_t next_look_ms() {
    const Nanos at = world.runtime->timers.earliest();
    return at == kNever ? -1 : ms_from_nanos(at - world.now.load());
  }
  // With that key of the lock, which goes in so many ms and no earlier.
  void expect_served_in_ms(Request *waiting, int64_t ms) {
    world.advance_ms(ms - 1);
    EXPECT(!waiting->done);
    world.advance_ms(1);
    EXPECT(waiting->done && waiting->grant.status == Status::OK);
  }
};

const std::vector<Bytes> kKeys = {"a", "b", "c"};

}  // namespace

UNIT_TEST(who_waits_for_any_key_of_a_lock_is_served_when_the_first_of_its_leases_ends) {
  for (const Bytes early : kKeys) {
    for (const Bytes key : kKeys) {
      for (const int64_t ttl_ms : {-1, 5'000}) {
        Stage stage;
        const Handle outer = stage.mine({early}, for_ms(300));
        const Handle all = stage.mine(kKeys, leased(ttl_ms));
        Request *waiting = stage.ask({key});
        stage.expect_served_in_ms(waiting, 300);
        EXPECT(stage.release(all) == Status::LOST && stage.release(outer) == Status::LOST);
        stage.end(waiting);
      }
    }
  }
}

UNIT_TEST(who_does_not_wait_has_any_key_of_a_lock_when_the_first_of_its_leases_has_ended) {
  for (const Bytes key : kKeys) {
    for (const bool has_several : {false, true}) {
      for (const bool is_named : {false, true}) {
        Stage stage;
        const std::shared_ptr<LocalOwner> other = is_named ? stage.world.owner("other") : stage.nobody;
        const auto tried = [&] {
          const std::vector<Bytes> keys = has_several ? std::vector<Bytes>{key, "z"} : std::vector<Bytes>{key};
          return stage.ask(*other, keys, unit::trying());
        };
        const Handle outer = stage.mine({"a"}, for_ms(300));
        const Handle all = stage.mine(kKeys, leased(5'000));
        stage.world.advance_ms(299);
        EXPECT(tried()->grant.status == Status::BUSY && stage.table().is_locked(key));
        stage.world.advance_ms(1);
        EXPECT(!stage.table().is_locked(key) && stage.table().inspect(key, true) == nullptr);
        Request *request = tried();
        EXPECT(request->done && request->grant.status == Status::OK && request->grant.handle != 0);
        EXPECT(stage.release(all) == Status::LOST && stage.release(outer) == Status::LOST);
        stage.end(request);
      }
    }
  }
}

UNIT_TEST(who_does_not_wait_comes_behind_whoever_waits_for_the_key_then) {
  Stage stage;
  const Handle outer = stage.mine({"a"}, for_ms(300));
  const Handle all = stage.mine(kKeys, leased(5'000));
  Request *waiting = stage.ask({"b"});
  stage.world.now += nanos_from_ms(300);  // nobody has looked yet
  EXPECT(stage.ask({"b"}, unit::trying())->grant.status == Status::BUSY);
  EXPECT(waiting->done && waiting->grant.status == Status::OK);
  EXPECT(stage.release(all) == Status::LOST && stage.release(outer) == Status::LOST);
  stage.end(waiting);
}

// What the owner holds besides, by a lock of that key alone, has a lease of its own.
UNIT_TEST(a_key_that_its_owner_holds_by_another_lock_as_well_stays_his) {
  Stage stage;
  const Handle outer = stage.mine({"a"}, for_ms(300));
  const Handle own = stage.mine({"b"}, for_ms(5'000));
  const Handle all = stage.mine(kKeys, leased(5'000));
  stage.world.advance_ms(300);
  EXPECT(stage.table().is_locked("b") && !stage.table().is_locked("c"));
  EXPECT(stage.ask({"b"}, unit::trying())->grant.status == Status::BUSY);
  EXPECT(stage.release(all) == Status::LOST && stage.release(outer) == Status::LOST);
  EXPECT(stage.release(own) == Status::OK);
}

UNIT_TEST(who_waits_for_several_keys_is_served_then_too) {
  Stage stage;
  stage.mine({"c"}, for_ms(300));
  stage.mine(kKeys, {});
  Request *waiting = stage.ask({"a", "b"});
  stage.expect_served_in_ms(waiting, 300);
  stage.end(waiting);
}

UNIT_TEST(who_waits_already_hears_of_a_lease_that_ends_earlier_from_now_on_at_another_key) {
  enum class By { Handle, Key, Reentry };
  for (const Bytes early : kKeys) {
    for (const Bytes key : kKeys) {
      for (const int64_t ttl_ms : {-1, 5'000}) {
        for (const By by : {By::Handle, By::Key, By::Reentry}) {
          Stage stage;
          const Handle outer = stage.mine({early}, for_ms(5'000));
          const Handle all = stage.mine(kKeys, leased(ttl_ms));
          Request *waiting = stage.ask({key});
          stage.world.advance_ms(10);
          if (by == By::Handle) stage.extend(outer, 100);
          if (by == By::Key) stage.extend_key(early, 100);
          if (by == By::Reentry) stage.mine({early}, setting_anew(100));
          stage.expect_served_in_ms(waiting, 100);
          EXPECT(stage.release(all) == Status::LOST);
          stage.end(waiting);
        }
      }
    }
  }
}

// It slept on what it had seen: a key without a lease, of a lock that waited for another one.
UNIT_TEST(who_waits_since_before_the_lock_was_granted_hears_of_the_first_of_its_leases) {
  Stage stage;
  const Handle busy = stage.take({"c"});
  stage.mine({"b"}, for_ms(300));
  Request *all = stage.ask(*stage.me, kKeys);
  Request *waiting = stage.ask({"a"});
  stage.settle();
  EXPECT(stage.release(busy) == Status::OK && all->done);
  stage.expect_served_in_ms(waiting, 300);
  stage.end(waiting);
}

UNIT_TEST(a_lock_that_is_granted_when_a_lease_of_it_is_over_ends_at_once_for_who_waits) {
  Stage stage;
  const Handle busy = stage.take({"c"});
  stage.mine({"b"}, for_ms(300));
  Request *all = stage.ask(*stage.me, kKeys);
  Request *waiting = stage.ask({"a"});
  stage.world.advance_ms(400);
  EXPECT(stage.release(busy) == Status::OK && all->done);
  stage.settle();
  EXPECT(waiting->done && stage.release(all->grant.handle) == Status::LOST);
  stage.end(waiting);
}

UNIT_TEST(whoever_watches_a_key_or_the_lock_hears_of_its_end_by_another_key) {
  for (const Waiter::Kind kind : {Waiter::Kind::WatchReleased, Waiter::Kind::WatchLost}) {
    Stage stage;
    stage.mine({"c"}, for_ms(300));
    const Handle all = stage.mine(kKeys, {});
    Request *watching = stage.watch(kind, "a", all);
    stage.world.advance_ms(299);
    EXPECT(!watching->done);
    stage.world.advance_ms(1);
    EXPECT(watching->done);
    EXPECT(watching->grant.status == (kind == Waiter::Kind::WatchLost ? Status::LOST : Status::OK));
  }
}

UNIT_TEST(who_becomes_the_first_in_line_looks_for_the_end_of_the_lock_from_then_on) {
  Stage stage;
  stage.mine({"b"}, for_ms(300));
  stage.mine(kKeys, {});
  Request *first = stage.ask({"a"});
  Request *second = stage.ask({"a"});
  stage.world.advance_ms(100);
  stage.table().ask_to_end(first->waiter, Status::CANCELED);
  EXPECT(first->done);
  stage.expect_served_in_ms(second, 200);
  stage.end(second);
}

UNIT_TEST(who_comes_when_a_lease_at_another_key_is_over_is_served_at_once) {
  for (const int64_t ttl_ms : {-1, 5'000}) {
    Stage stage;
    stage.mine({"b"}, for_ms(300));
    stage.mine(kKeys, leased(ttl_ms));
    stage.world.advance_ms(300);
    Request *late = stage.ask({"a"});
    stage.settle();
    stage.end(late);
  }
}

UNIT_TEST(a_key_that_another_handle_holds_too_is_free_when_that_one_goes_as_well) {
  Stage stage;
  stage.mine({"b"}, for_ms(300));
  const Handle all = stage.mine(kKeys, {});
  const Handle rest = stage.mine({"a"}, {});
  Request *waiting = stage.ask({"a"});
  Request *other = stage.ask({"c"});
  stage.world.advance_ms(300);
  EXPECT(!waiting->done && other->done && stage.release(all) == Status::LOST);
  stage.settle();
  EXPECT(stage.next_look_ms() == -1);
  EXPECT(stage.release(rest) == Status::OK);
  stage.end(waiting);
  stage.end(other);
}

UNIT_TEST(locks_that_share_a_key_end_each_by_its_own_leases) {
  Stage stage;
  stage.mine({"a"}, for_ms(400));
  stage.mine({"d"}, for_ms(300));
  const Handle one = stage.mine({"a", "b"}, {});
  const Handle other = stage.mine({"b", "d"}, {});
  Request *waiting = stage.ask({"b"});
  stage.world.advance_ms(300);
  EXPECT(!waiting->done && stage.release(other) == Status::LOST);
  stage.expect_served_in_ms(waiting, 100);
  EXPECT(stage.release(one) == Status::LOST);
  stage.end(waiting);
}

UNIT_TEST(nobody_looks_before_the_end_where_the_leases_agree) {
  Stage stage;
  const Handle h = stage.mine(kKeys, for_ms(5'000));
  stage.mine({"c"}, {});
  Request *waiting = stage.ask({"a"});
  stage.settle();
  EXPECT(stage.next_look_ms() == 5'000);
  const Handle again = stage.mine(kKeys, {});
  EXPECT(stage.next_look_ms() == 5'000);
  EXPECT(stage.release(again) == Status::OK);
  stage.settle();
  stage.extend(h, 1'000);
  stage.settle();
  EXPECT(stage.next_look_ms() == 1'000);
  stage.extend(h, 7'000);
  stage.world.advance_ms(1'000);
  EXPECT(stage.next_look_ms() == 6'000);
  EXPECT(stage.release(h) == Status::OK);
  stage.end(waiting);
}

UNIT_TEST(nobody_looks_at_all_where_there_is_no_lease) {
  Stage stage;
  const Handle outer = stage.mine({"b"}, {});
  const Handle h = stage.mine(kKeys, {});
  Request *waiting = stage.ask({"a"});
  EXPECT(stage.next_look_ms() == -1);
  EXPECT(stage.release(h) == Status::OK && stage.release(outer) == Status::OK);
  stage.end(waiting);
}

UNIT_TEST(a_lease_that_was_earlier_for_a_while_ends_nothing_once_it_is_set_back) {
  for (const int64_t ttl_ms : {-1, 5'000}) {
    Stage stage;
    const Handle h = stage.mine(kKeys, leased(ttl_ms));
    Request *waiting = stage.ask({"a"});
    const Handle inner = stage.mine({"c"}, setting_anew(100));
    stage.settle();
    EXPECT(stage.next_look_ms() == 100);
    EXPECT(stage.release(inner) == Status::OK);
    stage.world.advance_ms(100);
    EXPECT(!waiting->done && stage.next_look_ms() == (ttl_ms < 0 ? -1 : 4'900));
    EXPECT(stage.release(h) == Status::OK);
    stage.end(waiting);
  }
}

// Its timer renews it; nobody else has looked at it since.
UNIT_TEST(a_lock_that_is_renewed_is_seen_as_held_at_every_key) {
  Stage stage;
  AcquireParams params = for_ms(300);
  params.renew = true;
  const Handle all = stage.mine(kKeys, params);
  for (int i = 0; i < 4; ++i) {
    stage.world.now += nanos_from_ms(150);
    stage.table().tend_lease(all, stage.world.now.load());
    for (const Bytes key : kKeys) {
      EXPECT(stage.table().is_locked(key));
      const auto info = stage.table().inspect(key, true);
      EXPECT(info != nullptr && info->is_held);
    }
  }
  EXPECT(stage.release(all) == Status::OK);
}

UNIT_TEST(a_lock_is_seen_as_held_whose_key_of_the_shortest_lease_was_given_back) {
  Stage stage;
  const Handle outer = stage.mine({"a"}, for_ms(300));
  const Handle all = stage.mine(kKeys, for_ms(5'000));
  const std::vector<Bytes> early = {"a"};
  EXPECT(stage.table().release_keys(*stage.me, early) == Status::OK);
  EXPECT(stage.release(outer) == Status::OK);
  stage.world.now += nanos_from_ms(400);
  const auto info = stage.table().inspect("b", true);
  EXPECT(stage.table().is_locked("b") && info != nullptr && info->is_held);
  EXPECT(stage.release(all) == Status::OK);
}

UNIT_TEST(who_does_not_wait_has_keys_of_several_locks_each_of_which_has_ended_by_another_key) {
  Stage stage;
  const std::shared_ptr<LocalOwner> other = stage.world.owner("other");
  stage.mine({"b"}, for_ms(300));
  stage.mine({"a", "b"}, for_ms(5'000));
  stage.ask(*other, {"d"}, for_ms(300));
  stage.ask(*other, {"c", "d"}, for_ms(5'000));
  stage.world.now += nanos_from_ms(400);
  stage.end(stage.ask({"a", "c"}, unit::trying()));
}

UNIT_MAIN("the first end of several leases",
          cmocka_unit_test(who_waits_for_any_key_of_a_lock_is_served_when_the_first_of_its_leases_ends),
          cmocka_unit_test(who_does_not_wait_has_any_key_of_a_lock_when_the_first_of_its_leases_has_ended),
          cmocka_unit_test(who_does_not_wait_comes_behind_whoever_waits_for_the_key_then),
          cmocka_unit_test(a_key_that_its_owner_holds_by_another_lock_as_well_stays_his),
          cmocka_unit_test(who_waits_for_several_keys_is_served_then_too),
          cmocka_unit_test(who_waits_already_hears_of_a_lease_that_ends_earlier_from_now_on_at_another_key),
          cmocka_unit_test(who_waits_since_before_the_lock_was_granted_hears_of_the_first_of_its_leases),
          cmocka_unit_test(a_lock_that_is_granted_when_a_lease_of_it_is_over_ends_at_once_for_who_waits),
          cmocka_unit_test(whoever_watches_a_key_or_the_lock_hears_of_its_end_by_another_key),
          cmocka_unit_test(who_becomes_the_first_in_line_looks_for_the_end_of_the_lock_from_then_on),
          cmocka_unit_test(who_comes_when_a_lease_at_another_key_is_over_is_served_at_once),
          cmocka_unit_test(a_key_that_another_handle_holds_too_is_free_when_that_one_goes_as_well),
          cmocka_unit_test(locks_that_share_a_key_end_each_by_its_own_leases),
          cmocka_unit_test(nobody_looks_before_the_end_where_the_leases_agree),
          cmocka_unit_test(nobody_looks_at_all_where_there_is_no_lease),
          cmocka_unit_test(a_lease_that_was_earlier_for_a_while_ends_nothing_once_it_is_set_back),
          cmocka_unit_test(a_lock_that_is_renewed_is_seen_as_held_at_every_key),
          cmocka_unit_test(a_lock_is_seen_as_held_whose_key_of_the_shortest_lease_was_given_back),
          cmocka_unit_test(who_does_not_wait_has_keys_of_several_locks_each_of_which_has_ended_by_another_key))
