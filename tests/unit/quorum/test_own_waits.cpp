// SPDX-License-Identifier: MIT
// Requests of a named owner that wait, or ask the nodes, while another of his is granted: they reenter what he has by
// then, and leave no place and no vote behind. The same stories as redis/test_own_waits.cpp tells of one server.
#include "front_scene.hpp"

using namespace unit;

namespace {

// It does not stand in the front.
AcquireParams with_a_value(AcquireParams params) {
  params.value = "v";
  return params;
}

struct OwnWaits : front::Scene {
  explicit OwnWaits(bool has_front) : front::Scene(front::with_front(has_front ? 0 : -1)) {}
  void let_held_go() {
    a->release(held.grant().handle);
    world.run_ms(100);
  }
  static bool reentered(const Wanted &wanted) {
    const bool has_waited = (wanted.grant().flags & LIBLOCK_RESULT_WAITED) != 0;
    EXPECT(!has_waited || (wanted.grant().queue_position >= 0 && wanted.grant().queue_length > 0));
    return wanted.is(Status::OK) && (wanted.grant().flags & LIBLOCK_RESULT_REENTERED) != 0;
  }
  int64_t standing() {
    int64_t all = 0;
    for (size_t node = 0; node < nodes.size(); ++node) all += queued(node);
    return all;
  }
  void give_back(const std::vector<Wanted *> &all) {
    EXPECT(standing() == 0);
    for (const Wanted *wanted : all) a->release(wanted->grant().handle);
    world.run_ms(100);
    EXPECT(held_on("k") == 0 && a->instance().waiting.empty());
    b->release(b->take("k").grant().handle);
  }
  std::shared_ptr<liblock::RemoteOwner> me = a->owner("me");
};

}  // namespace

UNIT_TEST(requests_of_an_owner_that_wait_in_line_reenter_what_the_first_of_them_was_granted) {
  for (const bool has_front : {false, true}) {
    OwnWaits s(has_front);
    Wanted &first = s.a->acquire({"k"}, waiting_ms(60'000), s.me);
    s.world.run_ms(20);
    Wanted &plain = s.a->acquire({"k"}, waiting_ms(60'000), s.me);
    Wanted &longer = s.a->acquire({"k"}, setting_anew(60'000, 50'000), s.me);
    Wanted &valued = s.a->acquire({"k"}, with_a_value(waiting_ms(60'000)), s.me);
    s.world.run_ms(20);
    EXPECT(!first.ended() && !plain.ended() && !longer.ended() && !valued.ended());
    s.let_held_go();
    EXPECT(first.is(Status::OK) && s.reentered(plain) && s.reentered(longer) && s.reentered(valued));
    EXPECT((plain.grant().flags & LIBLOCK_RESULT_WAITED) != 0 && plain.grant().token == first.grant().token);
    s.give_back({&first, &plain, &longer, &valued});
  }
}

UNIT_TEST(a_request_that_asked_the_nodes_when_another_of_its_owner_was_granted_reenters) {
  for (const bool has_front : {false, true}) {
    OwnWaits s(has_front);
    s.let_held_go();
    AcquireParams any = waiting_ms(60'000);
    any.order = LIBLOCK_ORDER_ANY;
    Wanted &first = s.a->acquire({"k"}, waiting_ms(60'000), s.me);
    s.world.run_for(kMillisecond / 100);
    const std::vector<Wanted *> all = {&first, &s.a->acquire({"k"}, with_a_value(waiting_ms(60'000)), s.me),
                                       &s.a->acquire({"k"}, waiting_ms(0), s.me), &s.a->acquire({"k"}, any, s.me),
                                       &s.a->acquire({"k"}, setting_anew(0, 50'000), s.me)};
    s.world.run_ms(200);
    EXPECT(first.is(Status::OK));
    for (size_t i = 1; i < all.size(); ++i) EXPECT(s.reentered(*all[i]));
    s.give_back(all);
  }
}

UNIT_TEST(a_request_whose_owner_sets_a_lease_anew_for_it_stands_in_no_line_meanwhile) {
  OwnWaits s(true);
  const auto standing_here = [&s] { return s.a->instance().passing_on.shown("liblock:k").size(); };
  Wanted &first = s.a->acquire({"k"}, waiting_ms(60'000), s.me);
  s.world.run_ms(20);
  Wanted &longer = s.a->acquire({"k"}, setting_anew(60'000, 50'000), s.me);
  Wanted &rival = s.a->acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(20);
  EXPECT(standing_here() == 3);
  first.on_end = [&](Wanted &) {
    for (Node *node : s.nodes) node->freeze();
  };
  s.a->release(s.held.grant().handle);
  s.world.run_ms(20);
  EXPECT(first.is(Status::OK) && !longer.ended() && standing_here() == 1);
  for (Node *node : s.nodes) node->thaw();
  s.world.run_ms(100);
  EXPECT(s.reentered(longer) && !rival.ended());
  s.a->release(first.grant().handle);
  s.a->release(longer.grant().handle);
  s.world.run_ms(100);
  EXPECT(rival.is(Status::OK));
  s.give_back({&rival});
}

UNIT_TEST(a_request_that_stands_in_line_again_counts_as_one_who_waits_once) {
  OwnWaits s(true);
  Wanted &first = s.a->acquire({"k"}, waiting_ms(60'000), s.me);
  s.world.run_ms(20);
  Wanted &longer = s.a->acquire({"k"}, setting_anew(60'000, 50'000), s.me);
  Wanted &rival = s.a->acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(20);
  first.on_end = [&](Wanted &) {
    for (Node *node : s.nodes) node->freeze();
  };
  s.a->release(s.held.grant().handle);
  s.world.run_ms(20);
  EXPECT(first.is(Status::OK) && !longer.ended());
  for (Node *node : s.nodes) node->ask({"DEL", "liblock:k"});
  s.write({0, 1, 2, 3, 4}, "k", Stage::record('e', 99'999'999'999'999, "v"), 500);
  for (Node *node : s.nodes) node->thaw();
  s.world.run_ms(4'000);
  EXPECT(rival.is(Status::OK) && !longer.ended());
  s.a->release(rival.grant().handle);
  s.world.run_ms(500);
  EXPECT(longer.is(Status::OK) && s.a->instance().counts.waiters.load() == 0);
}

UNIT_TEST(a_request_for_more_than_its_owner_has_goes_on_to_the_next_key) {
  OwnWaits s(false);
  const Handle next = s.b->take("l").grant().handle;
  Wanted &first = s.a->acquire({"k"}, waiting_ms(60'000), s.me);
  s.world.run_ms(20);
  Wanted &both = s.a->acquire({"k", "l"}, waiting_ms(60'000), s.me);
  s.world.run_ms(20);
  s.let_held_go();
  EXPECT(first.is(Status::OK) && !both.ended() && s.standing() == 0);
  s.b->release(next);
  s.world.run_ms(2'000);
  EXPECT(both.is(Status::OK) && both.grant().token > first.grant().token);
  s.give_back({&first, &both});
  EXPECT(s.held_on("l") == 0);
}

// One of them may be the first of those who have votes, and keep them while it waits.
UNIT_TEST(an_owner_has_all_that_he_asks_for_at_once_whichever_of_it_is_granted_first) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Stage s(5, seed);
    const auto me = s.a->owner("me");
    std::vector<Wanted *> all;
    for (const std::vector<std::string> &keys :
         std::vector<std::vector<std::string>>{{"k", "l"}, {"k"}, {"l"}, {"k", "l", "m"}, {"m"}, {"k", "m"}}) {
      all.push_back(&s.a->acquire(keys, waiting_ms(60'000), me));
      if (seed % 2 == 0) s.world.run_for(kMillisecond / 5);
    }
    EXPECT(s.world.run_until(
        [&] { return std::all_of(all.begin(), all.end(), [](const Wanted *w) { return w->is(Status::OK); }); }, 5'000));
    for (const Wanted *wanted : all) s.a->release(wanted->grant().handle);
    s.world.run_ms(500);
    EXPECT(s.held_on("k") == 0 && s.held_on("l") == 0 && s.held_on("m") == 0);
    EXPECT(s.a->instance().waiting.empty());
  }
}

UNIT_MAIN("quorum_own_waits",
          cmocka_unit_test(requests_of_an_owner_that_wait_in_line_reenter_what_the_first_of_them_was_granted),
          cmocka_unit_test(a_request_that_asked_the_nodes_when_another_of_its_owner_was_granted_reenters),
          cmocka_unit_test(a_request_whose_owner_sets_a_lease_anew_for_it_stands_in_no_line_meanwhile),
          cmocka_unit_test(a_request_that_stands_in_line_again_counts_as_one_who_waits_once),
          cmocka_unit_test(a_request_for_more_than_its_owner_has_goes_on_to_the_next_key),
          cmocka_unit_test(an_owner_has_all_that_he_asks_for_at_once_whichever_of_it_is_granted_first))
