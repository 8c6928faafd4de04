// SPDX-License-Identifier: MIT
// What a reentry that set the lease anew leaves unused goes back with its handle; the same stories as
// local/test_given_back.cpp tells of a local context. Times are less the 1 % and 2 ms that a lease is believed for.
#include "stage.hpp"

using namespace unit;

namespace {

struct GivingBack : Stage {
  explicit GivingBack(uint64_t seed = 1) : Stage(seed) {}
  std::shared_ptr<liblock::RemoteOwner> me = a.owner("me");

  static AcquireParams reentering(int64_t ttl_ms) {
    AcquireParams params = waiting_ms(1'000, ttl_ms, false);
    params.on_conflict = LIBLOCK_ON_CONFLICT_REENTER_EXTEND;
    return params;
  }
  Handle mine(const std::vector<std::string> &keys, int64_t ttl_ms, bool extends = false,
              bool renews = false) {
    AcquireParams params = extends ? reentering(ttl_ms) : waiting_ms(1'000, ttl_ms, renews);
    params.renew = renews;
    Wanted &wanted = a.acquire(keys, params, me);
    world.run_ms(5);
    EXPECT(wanted.is(Status::OK));
    return wanted.grant().handle;
  }
  Handle again(const std::vector<std::string> &keys, int64_t ttl_ms) { return mine(keys, ttl_ms, true); }
  void let_go(Handle handle) {
    a.release(handle);
    world.run_ms(5);
  }
  // Here and on the server: at most this, and little less.
  bool is_left_ms(Handle handle, const std::string &key, int64_t ms) {
    const int64_t there = node.ask({"PTTL", "liblock:" + key}).integer;
    const int64_t here = (a.instance().holds.view(handle).deadline - a.host().now()) / kMillisecond;
    const int64_t least = ms - ms / 20 - 100;
    return here <= there && there <= ms && here >= least;
  }
};

const std::vector<std::vector<std::string>> kLocks = {{"k"}, {"k", "l"}};

}  // namespace

UNIT_TEST(the_unused_part_of_an_extension_is_given_back_with_the_handle_that_asked_for_it) {
  for (const bool outer_renews : {false, true}) {
    GivingBack s;
    const Handle outer = s.mine({"k"}, 5'000, false, outer_renews);
    s.world.run_ms(1'000);
    const Handle inner = s.again({"k"}, 60'000);
    s.world.run_ms(1'000);
    EXPECT(s.is_left_ms(outer, "k", 59'000));
    s.let_go(inner);
    const int64_t there = s.node.ask({"PTTL", "liblock:k"}).integer;
    EXPECT(there <= 5'000 && there > 3'800);  // as it was when the inner one began
    s.world.run_ms(6'000);
    EXPECT(s.a.holds(outer) == outer_renews);
  }
}

UNIT_TEST(an_unused_part_is_given_back_also_while_the_server_cannot_be_told) {
  for (const bool outer_renews : {false, true}) {
    GivingBack s;
    const Handle outer = s.mine({"k"}, 10'000, false, outer_renews);
    const Handle inner = s.again({"k"}, 50'000);
    s.node.stop(Node::Data::Kept);
    s.world.run_ms(100);
    s.a.release(inner);
    s.world.run_ms(1'500);
    s.node.start();
    s.world.run_ms(6'000);
    EXPECT(s.a.holds(outer));
    s.world.run_ms(4'000);
    EXPECT(s.a.holds(outer) == outer_renews);
    s.world.run_ms(40'000);
    EXPECT(!outer_renews || s.node.ask({"PTTL", "liblock:k"}).integer <= 10'000);
  }
}

UNIT_TEST(an_outer_lock_is_as_long_again_whose_inner_one_went_while_the_server_could_not_be_told) {
  for (const int64_t outer_ms : {60'000, 0}) {
    for (const bool is_in_flight : {false, true}) {
      GivingBack s;
      AcquireParams params = waiting_ms(1'000, 60'000, false);
      if (outer_ms == 0) params.ttl = liblock::kNever;
      Wanted &outer = s.a.acquire({"k"}, params, s.me);
      s.world.run_ms(5);
      AcquireParams shorter = waiting_ms(1'000, 5'000);
      shorter.on_conflict = LIBLOCK_ON_CONFLICT_REENTER_EXTEND;
      Wanted &inner = s.a.acquire({"k"}, shorter, s.me);
      s.world.run_ms(5);
      EXPECT(outer.is(Status::OK) && inner.is(Status::OK));
      if (is_in_flight) {
        s.node.freeze();
        s.a.release(inner.grant().handle);
        s.world.run_ms(5);
        s.node.end_connections(false);
        s.node.thaw();
      } else {
        s.node.stop(Node::Data::Kept);
        s.world.run_ms(50);
        s.a.release(inner.grant().handle);
        s.world.run_ms(100);
        s.node.start();
      }
      s.world.run_ms(20'000);
      EXPECT(s.a.holds(outer.grant().handle));
      const int64_t left = s.node.ask({"PTTL", "liblock:k"}).integer;
      EXPECT(outer_ms == 0 ? left == -1 : left > 39'000 && left < 40'100);
      s.world.run_ms(45'000);
      EXPECT(s.a.holds(outer.grant().handle) == (outer_ms == 0));
    }
  }
}

UNIT_TEST(what_is_added_to_a_lease_that_is_still_to_be_given_back_comes_on_top_of_that) {
  GivingBack s;
  const Handle outer = s.mine({"k"}, 60'000);
  const Handle inner = s.mine({"k"}, 5'000, true, true);
  s.node.stop(Node::Data::Kept);
  s.world.run_ms(100);
  s.a.release(inner);
  s.world.run_ms(5);
  s.node.start();
  s.node.freeze();
  s.world.run_ms(400);  // it connects, and is not greeted
  const auto added = s.a.extend(outer, 10'000, false, true);
  s.world.run_ms(5);
  s.node.thaw();
  s.world.run_ms(500);
  EXPECT(added->is(Status::OK) && s.is_left_ms(outer, "k", 69'000));
}

// Which may wait for a connection, or be under way.
UNIT_TEST(what_is_reentered_while_it_is_still_to_be_given_back_becomes_what_it_was_before_all_of_that) {
  for (const int64_t outer_ms : {60'000, 0}) {
    for (const bool is_under_way : {false, true}) {
      GivingBack s;
      AcquireParams params = waiting_ms(1'000, 60'000, false);
      if (outer_ms == 0) params.ttl = liblock::kNever;
      Wanted &outermost = s.a.acquire({"k"}, params, s.me);
      s.world.run_ms(5);
      const Handle outer = outermost.grant().handle;
      const Handle first = s.again({"k"}, 5'000);
      if (!is_under_way) s.node.stop(Node::Data::Kept);
      s.world.run_ms(is_under_way ? 0 : 100);
      s.a.release(first);
      if (!is_under_way) {
        s.world.run_ms(5);
        s.node.start();
        s.node.freeze();
        s.world.run_ms(400);  // it connects, and is not greeted
      }
      Wanted &second = s.a.acquire({"k"}, s.reentering(5'000), s.me);
      s.world.run_ms(5);
      s.node.thaw();
      s.world.run_ms(500);
      EXPECT(second.is(Status::OK));
      s.let_go(second.grant().handle);
      EXPECT(outer_ms == 0 ? s.node.ask({"PTTL", "liblock:k"}).integer == -1 : s.is_left_ms(outer, "k", 60'000));
    }
  }
}

UNIT_TEST(what_is_reentered_as_soon_as_it_was_handed_over_becomes_as_long_as_its_holder_asked_for) {
  GivingBack s;
  Wanted &held = s.b.take("k");
  Wanted &outer = s.a.acquire({"k"}, waiting_ms(10'000, 60'000, false), s.me);
  Wanted *inner = nullptr;
  outer.on_end = [&](Wanted &) { inner = &s.a.acquire({"k"}, s.reentering(5'000), s.me); };
  s.world.run_ms(50);
  s.b.release(held.grant().handle);
  s.world.run_ms(50);
  EXPECT(outer.is(Status::OK) && inner->is(Status::OK) && s.is_left_ms(outer.grant().handle, "k", 5'000));
  s.let_go(inner->grant().handle);
  EXPECT(s.is_left_ms(outer.grant().handle, "k", 60'000));
}

// They are put together for one call, which waits for its turn.
UNIT_TEST(what_a_lease_becomes_again_goes_to_none_that_is_renewed_with_it) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    GivingBack s(seed);
    AcquireParams params = waiting_ms(1'000, 60'000, false);
    params.ttl = liblock::kNever;
    s.a.acquire({"k"}, params, s.me);
    s.world.run_ms(5);
    const Handle inner = s.mine({"k"}, 3'000, true, true);
    for (int i = 0; i < 5; ++i) {
      Wanted &other = s.a.take("other" + std::to_string(i), waiting_ms(0, 3'000));
      s.a.extend(other.grant().handle, 3'000);  // alike: each has been set once
    }
    s.world.run_ms(850);
    s.node.freeze();
    for (int i = 0; i < 150; ++i) s.a.acquire({"burst" + std::to_string(i)}, waiting_ms(60'000));
    s.world.run_ms(600);
    s.a.release(inner);
    s.world.run_ms(50);
    s.node.thaw();
    s.world.run_ms(200);
    EXPECT(s.node.ask({"PTTL", "liblock:k"}).integer == -1);
    for (int i = 0; i < 5; ++i)
      EXPECT(s.node.ask({"PTTL", "liblock:other" + std::to_string(i)}).integer > 0);
  }
}

UNIT_TEST(an_extension_that_somebody_else_asked_for_since_then_stays) {
  GivingBack s;
  const Handle outer = s.mine({"k"}, 5'000);
  const Handle inner = s.again({"k"}, 20'000);
  s.a.extend(outer, 40'000, false);
  s.world.run_ms(5);
  const Handle above = s.again({"k"}, 60'000);
  s.let_go(inner);
  EXPECT(s.is_left_ms(outer, "k", 60'000));
  s.let_go(above);
  EXPECT(s.is_left_ms(outer, "k", 40'000));
}

UNIT_TEST(a_lease_that_this_process_set_by_its_value_since_then_stays) {
  GivingBack s;
  AcquireParams params = waiting_ms(1'000, 10'000);
  params.value = "v";
  s.a.acquire({"k"}, params, s.me);
  s.world.run_ms(5);
  const Handle inner = s.again({"k"}, 50'000);
  Question &extended = s.a.about("k", Ask::What::ExtendKey, [](Ask &ask) {
    ask.text = "v";
    ask.ttl = liblock::nanos_from_ms(80'000);
  });
  s.world.run_ms(5);
  EXPECT(extended.is(Status::OK));
  s.let_go(inner);
  EXPECT(s.node.ask({"PTTL", "liblock:k"}).integer > 79'000);
}

UNIT_TEST(one_attempt_that_reenters_a_lock_which_is_just_lost_asks_for_it_anew) {
  GivingBack s;
  s.mine({"k"}, 10'000);
  s.node.ask({"DEL", "liblock:k"});  // taken away, and nobody has told us
  AcquireParams params = waiting_ms(0, 10'000);
  params.on_conflict = LIBLOCK_ON_CONFLICT_REENTER_EXTEND;
  Wanted &wanted = s.a.acquire({"k"}, params, s.me);
  s.world.run_ms(50);
  EXPECT(wanted.is(Status::OK) && s.node.ask({"EXISTS", "liblock:k"}).is(1));
}

UNIT_TEST(a_lease_that_was_set_shorter_is_as_long_again) {
  for (const std::vector<std::string> &keys : kLocks) {
    GivingBack s;
    const Handle outer = s.mine(keys, 5'000);
    s.let_go(s.again(keys, 500));
    EXPECT(s.is_left_ms(outer, "k", 5'000));
    s.let_go(outer);
    EXPECT(s.is_free("k"));
  }
}

UNIT_TEST(nested_ones_give_back_in_any_order) {
  for (const std::vector<std::string> &keys : kLocks) {
    for (const bool youngest_first : {true, false}) {
      GivingBack s;
      const Handle outer = s.mine(keys, 5'000);
      const Handle first = s.again(keys, 20'000);
      const Handle plain = s.mine(keys, 1'000);
      const Handle second = s.again(keys, 60'000);
      s.let_go(youngest_first ? second : first);
      EXPECT(s.is_left_ms(outer, "k", youngest_first ? 20'000 : 60'000));
      s.let_go(youngest_first ? first : second);
      EXPECT(s.is_left_ms(outer, "k", 5'000));
      s.let_go(plain);
      EXPECT(s.is_left_ms(outer, "k", 5'000));
      s.let_go(outer);
      EXPECT(s.is_free("k"));
    }
  }
}

UNIT_TEST(the_inner_one_keeps_what_it_asked_for_when_the_outer_one_goes_first) {
  GivingBack s;
  const Handle outer = s.mine({"k"}, 5'000);
  const Handle inner = s.again({"k"}, 60'000);
  s.let_go(outer);
  EXPECT(s.is_left_ms(inner, "k", 60'000));
  s.let_go(inner);
  EXPECT(s.is_free("k"));
}

UNIT_TEST(of_several_keys_only_those_that_were_held_already_go_back) {
  GivingBack s;
  const Handle outer = s.mine({"b"}, 5'000);
  const Handle inner = s.again({"a", "b", "c"}, 60'000);
  const Handle other = s.mine({"c"}, 1'000);
  s.let_go(inner);
  EXPECT(s.is_left_ms(outer, "b", 5'000) && s.is_left_ms(other, "c", 60'000) && s.is_free("a"));
}

// A reentry whose caller gave up before the server had answered.
UNIT_TEST(what_nobody_waits_for_any_more_goes_back_too) {
  GivingBack s;
  const Handle outer = s.mine({"k"}, 5'000);
  AcquireParams params = waiting_ms(1'000, 60'000, false);
  params.on_conflict = LIBLOCK_ON_CONFLICT_REENTER_EXTEND;
  Wanted &wanted = s.a.acquire({"k"}, params, s.me);
  s.a.cancel(wanted);
  s.world.run_ms(50);
  EXPECT(wanted.ended() && !wanted.is(Status::OK) && s.is_left_ms(outer, "k", 5'000));
}

// Nobody knows whether the server has heard of any of it.
UNIT_TEST(a_lock_that_is_renewed_from_now_on_is_so_for_as_long_as_was_asked_for_whatever_was_owed_to_it) {
  GivingBack s;
  const Handle outer = s.mine({"k"}, 3'000), inner = s.again({"k"}, 50'000);
  s.node.freeze();
  s.a.release(inner);
  s.world.run_ms(5);
  const auto extended = s.a.extend(outer, 30'000, true);
  s.world.run_ms(5);
  s.node.end_connections(false);
  s.node.thaw();
  s.world.run_ms(100'000);
  EXPECT(extended->is(Status::IN_DOUBT) && s.a.holds(outer));
  EXPECT(s.node.ask({"PTTL", "liblock:k"}).integer > 15'000);
}

UNIT_MAIN("what a reentry gives back on a server",
          cmocka_unit_test(the_unused_part_of_an_extension_is_given_back_with_the_handle_that_asked_for_it),
          cmocka_unit_test(an_unused_part_is_given_back_also_while_the_server_cannot_be_told),
          cmocka_unit_test(an_outer_lock_is_as_long_again_whose_inner_one_went_while_the_server_could_not_be_told),
          cmocka_unit_test(what_is_added_to_a_lease_that_is_still_to_be_given_back_comes_on_top_of_that),
          cmocka_unit_test(what_is_reentered_while_it_is_still_to_be_given_back_becomes_what_it_was_before_all_of_that),
          cmocka_unit_test(what_is_reentered_as_soon_as_it_was_handed_over_becomes_as_long_as_its_holder_asked_for),
          cmocka_unit_test(what_a_lease_becomes_again_goes_to_none_that_is_renewed_with_it),
          cmocka_unit_test(an_extension_that_somebody_else_asked_for_since_then_stays),
          cmocka_unit_test(a_lease_that_this_process_set_by_its_value_since_then_stays),
          cmocka_unit_test(one_attempt_that_reenters_a_lock_which_is_just_lost_asks_for_it_anew),
          cmocka_unit_test(a_lease_that_was_set_shorter_is_as_long_again),
          cmocka_unit_test(nested_ones_give_back_in_any_order),
          cmocka_unit_test(the_inner_one_keeps_what_it_asked_for_when_the_outer_one_goes_first),
          cmocka_unit_test(of_several_keys_only_those_that_were_held_already_go_back),
          cmocka_unit_test(what_nobody_waits_for_any_more_goes_back_too),
          cmocka_unit_test(
              a_lock_that_is_renewed_from_now_on_is_so_for_as_long_as_was_asked_for_whatever_was_owed_to_it))
