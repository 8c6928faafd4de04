// SPDX-License-Identifier: MIT
// What a reentry that set the lease anew leaves unused goes back with its handle, by a clock that is moved by hand;
// the same stories as redis/test_giving_back.cpp tells of a server.
#include "../support/stage.hpp"
#include "local/local_engine.hpp"

using namespace liblock;
using unit::for_ms;
using unit::Request;
using unit::World;

namespace {

// -1: no expiry.
AcquireParams again(int64_t ttl_ms) {
  AcquireParams params;
  if (ttl_ms >= 0) params = for_ms(ttl_ms);
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
  void extend(Handle h, int64_t ttl_ms) {
    HoldView after;
    EXPECT(table().extend(&world, h, nanos_from_ms(ttl_ms), false, after) == Status::OK);
  }
  // -1: no expiry.
  int64_t left_ms(Handle h) {
    const HoldView seen = table().view(&world, h);
    EXPECT(seen.status == Status::OK);
    return seen.deadline == kNever ? -1 : ms_from_nanos(seen.deadline - world.now.load());
  }
  void let_go(Handle h) { EXPECT(release(h) == Status::OK); }
};

// Of one key, several, all.
const std::vector<std::vector<Bytes>> kLocks = {{"k"}, {"a", "b", "c"}, {}};

}  // namespace

UNIT_TEST(of_several_inner_ones_each_gives_back_its_own_part) {
  for (const std::vector<Bytes> &keys : kLocks) {
    Stage stage;
    const Handle oldest = stage.mine(keys, again(10'000));
    const Handle middle = stage.mine(keys, again(50'000));
    const Handle youngest = stage.mine(keys, again(90'000));
    stage.let_go(youngest);
    EXPECT(stage.left_ms(oldest) == 50'000);
    stage.let_go(middle);
    EXPECT(stage.left_ms(oldest) == 10'000);
    stage.let_go(oldest);
  }
}

UNIT_TEST(the_lease_is_then_what_it_was_when_the_inner_acquire_began) {
  for (const std::vector<Bytes> &keys : kLocks) {
    Stage stage;
    const Handle outer = stage.mine(keys, for_ms(5'000));
    stage.world.advance_ms(1'000);
    const Handle inner = stage.mine(keys, again(60'000));
    stage.world.advance_ms(10'000);
    EXPECT(stage.left_ms(outer) == 50'000 && stage.left_ms(inner) == 50'000);
    stage.let_go(inner);
    EXPECT(stage.left_ms(outer) == 4'000);
    stage.world.advance_ms(4'000);
    EXPECT(stage.release(outer) == Status::LOST);
  }
}

UNIT_TEST(a_lease_that_was_set_shorter_is_as_long_again_and_one_without_end_has_none) {
  for (const std::vector<Bytes> &keys : kLocks) {
    Stage stage;
    const Handle outer = stage.mine(keys, for_ms(5'000));
    stage.let_go(stage.mine(keys, again(100)));
    EXPECT(stage.left_ms(outer) == 5'000);
    const Handle endless = stage.mine(keys, again(-1));
    EXPECT(stage.left_ms(outer) == -1);
    stage.let_go(endless);
    EXPECT(stage.left_ms(outer) == 5'000);
    stage.let_go(outer);
    const Handle without = stage.mine(keys, {});
    const Handle inner = stage.mine(keys, again(100));
    EXPECT(stage.left_ms(without) == 100);
    stage.let_go(inner);
    EXPECT(stage.left_ms(without) == -1);
    stage.let_go(without);
  }
}

UNIT_TEST(nested_ones_give_back_in_any_order) {
  for (const std::vector<Bytes> &keys : kLocks) {
    for (const bool youngest_first : {true, false}) {
      Stage stage;
      const Handle outer = stage.mine(keys, for_ms(5'000));
      const Handle first = stage.mine(keys, again(20'000));
      stage.world.advance_ms(1'000);
      const Handle plain = stage.mine(keys, for_ms(1));
      const Handle second = stage.mine(keys, again(60'000));
      stage.world.advance_ms(1'000);
      stage.let_go(youngest_first ? second : first);
      EXPECT(stage.left_ms(outer) == (youngest_first ? 19'000 : 59'000));
      stage.let_go(youngest_first ? first : second);
      EXPECT(stage.left_ms(outer) == 5'000);
      stage.let_go(plain);
      EXPECT(stage.left_ms(outer) == 5'000);
      stage.let_go(outer);
    }
  }
}

UNIT_TEST(the_inner_one_keeps_what_it_asked_for_when_the_outer_one_goes_first) {
  for (const std::vector<Bytes> &keys : kLocks) {
    Stage stage;
    const Handle outer = stage.mine(keys, for_ms(5'000));
    const Handle inner = stage.mine(keys, again(60'000));
    stage.let_go(outer);
    EXPECT(stage.left_ms(inner) == 60'000);
    stage.let_go(inner);
    EXPECT(stage.world.stats().locks_held == 0);
  }
}

UNIT_TEST(a_grant_tells_what_is_left_of_the_shortest_lease_that_it_shares) {
  struct Case {
    std::vector<Bytes> outer, inner;
  };
  for (const Case &c : {Case{{"k"}, {"k"}}, {{"b"}, {"a", "b", "c"}}, {{"a"}, {"a", "b"}}, {{}, {}}}) {
    for (const int64_t ttl_ms : {int64_t{-1}, int64_t{100}, int64_t{9'000}}) {
      Stage stage;
      const Handle outer = stage.mine(c.outer, for_ms(1'000));
      stage.world.advance_ms(700);
      Request *inner = stage.ask(*stage.me, c.inner, ttl_ms < 0 ? AcquireParams() : for_ms(ttl_ms));
      const bool ends_first = ttl_ms == 100 && c.inner.size() > c.outer.size();  // its own part does
      EXPECT(inner->done && inner->grant.remaining == nanos_from_ms(ends_first ? 100 : 300));
      EXPECT(stage.left_ms(inner->grant.handle) == (ends_first ? 100 : 300));
      stage.let_go(inner->grant.handle);
      stage.let_go(outer);
    }
  }
}

UNIT_TEST(who_sets_the_lease_by_other_means_has_the_last_word) {
  for (const std::vector<Bytes> &keys : kLocks) {
    Stage stage;
    const Handle outer = stage.mine(keys, for_ms(5'000));
    const Handle inner = stage.mine(keys, again(20'000));
    stage.extend(outer, 40'000);
    const Handle above = stage.mine(keys, again(60'000));
    stage.let_go(inner);
    EXPECT(stage.left_ms(outer) == 60'000);
    stage.let_go(above);
    EXPECT(stage.left_ms(outer) == 40'000);
    stage.let_go(outer);
  }
}

UNIT_TEST(of_several_keys_only_those_that_were_held_already_go_back) {
  Stage stage;
  const Handle outer = stage.mine({"b"}, for_ms(5'000));
  const Handle inner = stage.mine({"a", "b", "c"}, again(60'000));
  const Handle other = stage.mine({"c"}, {});
  stage.let_go(inner);
  EXPECT(stage.left_ms(outer) == 5'000 && stage.left_ms(other) == 60'000);
  EXPECT(!stage.table().is_locked("a"));
  stage.let_go(outer);
  stage.let_go(other);
}

UNIT_TEST(keys_that_go_one_by_one_give_back_their_own) {
  Stage stage;
  const Handle outer = stage.mine({"a", "b"}, for_ms(5'000));
  stage.mine({"a", "b"}, again(60'000));
  const Bytes a = "a", b = "b";
  EXPECT(stage.table().release_keys(*stage.me, {&a, 1}) == Status::OK);
  EXPECT(stage.left_ms(outer) == 5'000);  // the least of its keys
  EXPECT(stage.table().release_keys(*stage.me, {&b, 1}) == Status::OK);
  EXPECT(stage.left_ms(outer) == 5'000);
  stage.let_go(outer);
}

// The lease is set when all keys are there, and not for the wait.
UNIT_TEST(a_lock_that_waits_for_a_further_key_leaves_the_lease_alone_until_it_is_granted) {
  Stage stage;
  const Handle other = stage.take({"b"});
  const Handle outer = stage.mine({"a"}, for_ms(5'000));
  Request *inner = stage.ask(*stage.me, {"a", "b"}, again(60'000));
  Request *younger = stage.ask(*stage.me, {"a"}, again(20'000));
  EXPECT(!inner->done && younger->done && stage.left_ms(outer) == 20'000);
  EXPECT(stage.release(other) == Status::OK);
  EXPECT(inner->done && stage.left_ms(outer) == 60'000);
  stage.let_go(inner->grant.handle);
  EXPECT(stage.left_ms(outer) == 20'000);
  stage.let_go(younger->grant.handle);
  EXPECT(stage.left_ms(outer) == 5'000);
  const Handle taken = stage.take({"b"});
  Request *canceled = stage.ask(*stage.me, {"a", "b"}, again(60'000));
  stage.table().ask_to_end(canceled->waiter, Status::CANCELED);
  EXPECT(canceled->done && stage.left_ms(outer) == 5'000);
  stage.let_go(outer);
  EXPECT(stage.release(taken) == Status::OK);
}

UNIT_TEST(what_reentered_a_lock_before_it_was_granted_takes_nothing_of_its_lease_away) {
  Stage stage;
  const Handle other = stage.take({"b"});
  Request *outer = stage.ask(*stage.me, {"a", "b"}, for_ms(5'000));
  const Handle inner = stage.mine({"a"}, again(60'000));
  EXPECT(stage.release(other) == Status::OK && outer->done);
  stage.let_go(inner);
  const Handle looking = stage.mine({"a"}, {});
  EXPECT(stage.left_ms(looking) == 5'000);
  stage.let_go(looking);
  stage.let_go(outer->grant.handle);
}

UNIT_TEST(who_waits_is_served_when_the_lease_that_was_given_back_ends) {
  for (const std::vector<Bytes> &keys : {kLocks[0], kLocks[1]}) {
    Stage stage;
    const Handle outer = stage.mine(keys, for_ms(1'000));
    const Handle inner = stage.mine(keys, again(60'000));
    Request *waiting = stage.ask(keys);
    stage.world.advance_ms(10);
    stage.let_go(inner);
    stage.world.advance_ms(999);
    EXPECT(!waiting->done);
    stage.world.advance_ms(1);
    EXPECT(waiting->done && stage.release(outer) == Status::LOST);
    stage.end(waiting);
  }
}

namespace {

// An engine on the manual clock, whose lease timers the world fires.
struct EngineStage {
  World world;
  LocalEngine engine{world.table, "instance", this, [this] { return world.runtime; }};
  std::shared_ptr<Owner> me = engine.make_owner("me");
  static inline int losses = 0;

  EngineStage() { losses = 0; }
  ~EngineStage() {
    engine.close(false, [] {});
  }
  Handle acquire(const std::vector<Bytes> &keys, AcquireParams params, bool renews) {
    params.renew = renews;
    return told(keys, params);
  }
  Handle told(const std::vector<Bytes> &keys, AcquireParams params) {
    params.runtime = world.runtime;
    params.on_lost = [](const liblock_completion *, void *) { ++losses; };
    return untold(keys, params);
  }
  Handle untold(const std::vector<Bytes> &keys, const AcquireParams &params) {
    const Grant grant = engine.acquire(*me, keys, params);
    EXPECT(grant.status == Status::OK);
    return grant.handle;
  }
  void extend(Handle h, int64_t ttl_ms) {
    Extension ask;
    ask.what = Ask::What::Extend;
    ask.lock = h;
    extend(ask, ttl_ms);
  }
  void extend_key(Bytes key, int64_t ttl_ms) {
    Extension ask;
    ask.what = Ask::What::ExtendKey;
    ask.keys.emplace_back(key);
    extend(ask, ttl_ms);
  }
  // The one who is told has lost his lock, by a lease that ends in so many ms.
  void expect_loss_in_ms(int64_t ms) {
    run_for_ms(ms - 1);
    EXPECT(losses == 0);
    run_for_ms(1);
    EXPECT(losses == 1);
  }
  int64_t left_ms(Handle h) { return ms_from_nanos(engine.view(h).deadline - world.now.load()); }
  void run_for_ms(int64_t ms) {
    for (int64_t i = 0; i < ms; ++i) world.advance_ms(1);
  }

 private:
  struct Extension final : Ask {
    void ended() override {}
  };
  void extend(Ask &ask, int64_t ttl_ms) {
    ask.ttl = nanos_from_ms(ttl_ms);
    engine.start(ask);
    EXPECT(ask.status == Status::OK);
  }
};

}  // namespace

UNIT_TEST(an_outer_lock_that_is_renewed_goes_on_to_be_and_one_that_is_not_ends) {
  for (const std::vector<Bytes> &keys : kLocks) {
    for (const bool renews : {false, true}) {
      EngineStage stage;
      const Handle outer = stage.acquire(keys, for_ms(300), renews);
      stage.run_for_ms(150);
      const Handle inner = stage.acquire(keys, again(6'000), !renews);
      stage.run_for_ms(1'000);
      EXPECT(stage.engine.release(inner) == Status::OK);
      EXPECT(stage.left_ms(outer) <= 300 && stage.left_ms(outer) >= 149);
      stage.run_for_ms(1'000);
      EXPECT((stage.engine.view(outer).status == Status::OK) == renews);
      EXPECT(EngineStage::losses == (renews ? 0 : 1));
      EXPECT(stage.engine.release(outer) == (renews ? Status::OK : Status::LOST));
    }
  }
}

UNIT_TEST(a_renewed_lock_outlives_a_shorter_lease_that_a_reentry_set) {
  for (const std::vector<Bytes> &keys : kLocks) {
    EngineStage stage;
    const Handle outer = stage.acquire(keys, for_ms(3'000), true);
    const Handle inner = stage.acquire(keys, again(90), false);
    stage.run_for_ms(1'000);
    EXPECT(stage.engine.view(outer).status == Status::OK && EngineStage::losses == 0);
    EXPECT(stage.engine.release(inner) == Status::OK && stage.engine.release(outer) == Status::OK);
  }
}

UNIT_TEST(a_loss_is_told_by_the_lease_that_a_reentry_or_another_handle_gave_the_lock) {
  for (const std::vector<Bytes> &keys : kLocks) {
    for (const bool reenters : {false, true}) {
      EngineStage stage;
      stage.told(keys, {});
      const Handle inner = stage.untold(keys, reenters ? again(100) : AcquireParams());
      if (!reenters) stage.extend(inner, 100);
      stage.expect_loss_in_ms(100);
    }
  }
}

// Whichever shard that key is in: the lock's timer belongs to one of them.
UNIT_TEST(a_loss_is_told_by_the_lease_that_one_of_its_keys_was_given) {
  for (const Bytes key : {Bytes("a"), Bytes("b"), Bytes("c")}) {
    for (const int64_t ttl_ms : {-1, 5'000}) {
      EngineStage stage;
      stage.told(kLocks[1], ttl_ms < 0 ? AcquireParams() : for_ms(ttl_ms));
      stage.untold({key}, again(100));
      stage.expect_loss_in_ms(100);
    }
  }
}

UNIT_TEST(a_loss_is_told_by_the_lease_that_a_lock_was_given_by_its_key) {
  EngineStage stage;
  stage.told({"k"}, {});
  stage.extend_key("k", 100);
  stage.expect_loss_in_ms(100);
}

UNIT_TEST(a_loss_is_told_by_the_lease_of_a_key_that_the_owner_had_already) {
  for (const int64_t ttl_ms : {-1, 5'000}) {
    EngineStage stage;
    stage.untold({"b"}, for_ms(300));
    stage.told({"a", "b", "c"}, ttl_ms < 0 ? AcquireParams() : for_ms(ttl_ms));
    stage.expect_loss_in_ms(300);
  }
}

// The handle that set the lease goes, its lease stays: it was set by other means.
UNIT_TEST(a_loss_is_told_also_where_the_handle_that_set_the_lease_has_gone) {
  for (const std::vector<Bytes> &keys : kLocks) {
    EngineStage stage;
    stage.told(keys, {});
    const Handle inner = stage.untold(keys, again(100));
    stage.extend(inner, 200);
    EXPECT(stage.engine.release(inner) == Status::OK);
    stage.expect_loss_in_ms(200);
  }
}

UNIT_MAIN("what a reentry gives back", cmocka_unit_test(of_several_inner_ones_each_gives_back_its_own_part),
          cmocka_unit_test(the_lease_is_then_what_it_was_when_the_inner_acquire_began),
          cmocka_unit_test(a_lease_that_was_set_shorter_is_as_long_again_and_one_without_end_has_none),
          cmocka_unit_test(nested_ones_give_back_in_any_order),
          cmocka_unit_test(the_inner_one_keeps_what_it_asked_for_when_the_outer_one_goes_first),
          cmocka_unit_test(a_grant_tells_what_is_left_of_the_shortest_lease_that_it_shares),
          cmocka_unit_test(who_sets_the_lease_by_other_means_has_the_last_word),
          cmocka_unit_test(of_several_keys_only_those_that_were_held_already_go_back),
          cmocka_unit_test(keys_that_go_one_by_one_give_back_their_own),
          cmocka_unit_test(a_lock_that_waits_for_a_further_key_leaves_the_lease_alone_until_it_is_granted),
          cmocka_unit_test(what_reentered_a_lock_before_it_was_granted_takes_nothing_of_its_lease_away),
          cmocka_unit_test(who_waits_is_served_when_the_lease_that_was_given_back_ends),
          cmocka_unit_test(an_outer_lock_that_is_renewed_goes_on_to_be_and_one_that_is_not_ends),
          cmocka_unit_test(a_renewed_lock_outlives_a_shorter_lease_that_a_reentry_set),
          cmocka_unit_test(a_loss_is_told_by_the_lease_that_a_reentry_or_another_handle_gave_the_lock),
          cmocka_unit_test(a_loss_is_told_by_the_lease_that_one_of_its_keys_was_given),
          cmocka_unit_test(a_loss_is_told_by_the_lease_that_a_lock_was_given_by_its_key),
          cmocka_unit_test(a_loss_is_told_by_the_lease_of_a_key_that_the_owner_had_already),
          cmocka_unit_test(a_loss_is_told_also_where_the_handle_that_set_the_lease_has_gone))
