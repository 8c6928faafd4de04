// SPDX-License-Identifier: MIT
// What is kept goes where it was asked for, and is decided by the first quorum that answers: neither other locks of the
// same call, nor a node that is slow, or says nothing, has a part in it.
#include "stage.hpp"
#include "support/burst.hpp"

using namespace unit;
using What = Ask::What;

namespace {

AcquireParams on(const std::vector<std::string> &nodes) {
  AcquireParams params = without_waiting();
  params.nodes = std::make_shared<const std::vector<std::string>>(nodes);
  return params;
}

std::shared_ptr<Answered> extend_both(Stage &s, const Wanted &one, const Wanted &other, int64_t ttl_ms) {
  auto answer = std::make_shared<Answered>();
  run_once(s.a->host(), [&s, &one, &other, ttl_ms, answer] {
    std::vector<liblock::LeaseRef> both;
    for (const Wanted *wanted : {&one, &other}) {
      const auto leases =
          liblock::RemoteInstance::leases_of(*s.a->instance().holds.find(wanted->grant().handle));
      both.insert(both.end(), leases.begin(), leases.end());
    }
    s.a->instance().set_leases(both, {liblock::nanos_from_ms(ttl_ms), false, true, false},
                               [answer](Status status, const std::string &) {
                                 ++answer->times;
                                 answer->status = status;
                               });
  });
  return answer;
}

// The second node is far behind; one lock needs it, since the third has given the key to somebody else since; the other
// one was never asked for there.
struct OneNeedsTheNodeFarBehind : Stage, Burst<Process> {
  OneNeedsTheNodeFarBehind() : Stage(3), Burst(world, *a, nodes) {
    servers_take(kMillisecond / 2);
    nodes[1]->set_work(2 * kMillisecond);
    write({2}, "needs", Stage::record('d', 7, ""), 100);
    needs = &a->take("needs", waiting_ms(0, 30'000));
    world.run_ms(200);
    b->acquire({"needs"}, without_waiting());
    world.run_ms(100);
    is_granted(700, 2'000);
    EXPECT(a->instance().nodes()[1]->link.commands_waiting() > 256);
    other = &a->take("other", waiting_ms(0, 600));
    EXPECT(held_on("other") == 2);
  }
  Wanted *needs, *other;
};

// What is said of the lock comes to the nodes too late, by their clocks, to be carried out.
struct TooLateEverywhere : Stage {
  TooLateEverywhere() : Stage(3), held(a->take("k", waiting_ms(0, 20'000, false))) {
    for (Node *node : nodes) {
      world.link(a->host(), *node).set_delay(90 * kMillisecond, 90 * kMillisecond);
      node->step_clock_ms(2'000);
    }
  }
  const Wanted &held;
};

bool both_believe(Stage &s, const Wanted &holder, const Wanted &next) {
  return next.is(Status::OK) && s.a->holds(holder.grant().handle);
}

// A lock that its owner enters again, with another lease.
struct Reentered : Stage {
  explicit Reentered(int64_t ttl_ms) : Stage(3), outer(a->acquire({"k"}, waiting_ms(1'000, ttl_ms, false), me)) {
    world.run_ms(50);
  }
  Wanted &again(int64_t ttl_ms) {
    return a->acquire({"k"}, setting_anew(1'000, ttl_ms, false), me);
  }
  std::shared_ptr<liblock::RemoteOwner> me = a->owner("me");
  const Wanted &outer;
};

}  // namespace

UNIT_TEST(a_lock_on_some_nodes_stays_there_when_it_is_renewed_together_with_others) {
  Stage s;
  Wanted &some = s.a->acquire({"k"}, on({"n1", "n2"}));
  for (int i = 0; i < 10; ++i) s.a->acquire({"all" + std::to_string(i)}, without_waiting());
  s.world.run_ms(30'000);
  EXPECT(some.is(Status::OK) && s.a->holds(some.grant().handle) && s.held_on("k") == 2);
  Wanted &elsewhere = s.b->acquire({"k"}, on({"n4", "n5"}));
  s.world.run_ms(50);
  EXPECT(elsewhere.is(Status::OK));
  s.a->release(some.grant().handle);
  s.b->release(elsewhere.grant().handle);
  s.world.run_ms(50);
  EXPECT(s.held_on("k") == 0);
}

UNIT_TEST(a_lock_that_comes_to_a_node_with_another_ones_renewal_is_given_back_there_too) {
  OneNeedsTheNodeFarBehind s;
  const auto extended = extend_both(s, *s.needs, *s.other, 20'000);
  s.world.run_ms(2'000);
  EXPECT(extended->is(Status::OK) && s.held_on("other") == 3);
  s.a->release(s.other->grant().handle);
  s.world.run_ms(500);
  EXPECT(s.held_on("other") == 0);
}

UNIT_TEST(a_lock_whose_quorum_has_answered_is_renewed_on_time_while_another_one_of_its_round_waits) {
  OneNeedsTheNodeFarBehind s;
  extend_both(s, *s.needs, *s.other, 600);
  for (int64_t ms = 0; ms < 2'000; ms += 20) {
    s.world.run_ms(20);
    EXPECT(s.other->losses == 0 && s.a->holds(s.other->grant().handle));
  }
}

UNIT_TEST(a_lease_shorter_than_a_time_out_outlives_a_node_that_says_nothing_any_more) {
  for (const int64_t ttl_ms : {100, 150, 200}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      Stage s(3, seed);
      const Wanted &held = s.a->take("held", waiting_ms(0, ttl_ms));
      s.world.run_ms(500 + static_cast<int64_t>(seed) * 7);
      s.nodes[1]->freeze();
      s.world.run_ms(1'500);
      EXPECT(held.losses == 0 && s.a->holds(held.grant().handle));
    }
  }
}

UNIT_TEST(who_knows_a_value_may_bring_it_to_a_node_and_its_holder_gives_it_back_there_too) {
  Stage s(3);
  s.nodes[2]->stop(Node::Data::Kept);
  s.world.run_ms(300);
  AcquireParams params = waiting_ms(0, 50'000, false);
  params.value = "v";
  const Wanted &held = s.a->take("k", params);
  s.nodes[2]->start();
  s.world.run_ms(3'000);
  EXPECT(s.held_on("k") == 2);
  const Question &extended = s.b->about("k", What::ExtendKey, [](Ask &ask) {
    ask.text = "v";
    ask.ttl = 55'000 * kMillisecond;
  });
  s.world.run_ms(200);
  EXPECT(extended.status == Status::OK && s.held_on("k") == 3);
  s.a->release(held.grant().handle);
  s.world.run_ms(200);
  EXPECT(s.held_on("k") == 0);
}

UNIT_TEST(what_was_taken_away_is_believed_in_no_longer_than_until_a_quorum_says_so) {
  Stage s(3);
  const Wanted &holder = s.a->take("k", waiting_ms(0, 30'000));
  s.world.run_ms(100);
  s.nodes[1]->freeze();
  const Question &forced = s.b->about("k", What::ForceRelease);
  EXPECT(s.world.run_until([&] { return forced.ends == 1; }, 3'000));
  const Wanted &next = s.b->take("k", waiting_ms(10'000));
  s.world.run_ms(10);  // of the 200 after which the second node is given up
  EXPECT(next.is(Status::OK) && !both_believe(s, holder, next) && holder.losses == 1);
}

UNIT_TEST(an_extension_that_too_few_nodes_are_there_for_changes_nothing) {
  Stage s(3);
  const Wanted &shorter = s.a->take("shorter", waiting_ms(0, 20'000, false));
  const Wanted &lasting = s.a->take("lasting", waiting_ms(0, 20'000, false));
  for (const size_t n : {0, 1}) s.nodes[n]->stop(Node::Data::Kept);
  s.world.run_ms(500);
  const auto shortened = s.a->extend(shorter.grant().handle, 1'000, false);
  const auto renewed = s.a->extend(lasting.grant().handle, kAutoMs, true);
  s.world.run_ms(100);
  EXPECT(shortened->is(Status::NO_QUORUM) && renewed->is(Status::NO_QUORUM));
  for (const size_t n : {0, 1}) s.nodes[n]->start();
  s.world.run_ms(10'000);
  EXPECT(s.a->holds(shorter.grant().handle) && s.a->holds(lasting.grant().handle));
  s.world.run_ms(10'000);  // what was not to be renewed is not
  EXPECT(!s.a->holds(shorter.grant().handle) && !s.a->holds(lasting.grant().handle));
}

UNIT_TEST(an_extension_that_comes_too_late_to_the_nodes_makes_nothing_last_that_was_to_end) {
  TooLateEverywhere s;
  const auto extended = s.a->extend(s.held.grant().handle, kAutoMs, true);
  s.world.run_ms(1'000);
  EXPECT(extended->times == 1 && !extended->is(Status::OK));
  s.world.run_ms(20'000);
  EXPECT(!s.a->holds(s.held.grant().handle));
}

UNIT_TEST(of_two_extensions_that_fail_nothing_is_left) {
  TooLateEverywhere s;
  const auto renewed = s.a->extend(s.held.grant().handle, kAutoMs, true);
  const auto longer = s.a->extend(s.held.grant().handle, 19'000, false);
  s.world.run_ms(1'000);
  EXPECT(renewed->times == 1 && !renewed->is(Status::OK) && longer->times == 1 && !longer->is(Status::OK));
  s.world.run_ms(20'000);
  EXPECT(!s.a->holds(s.held.grant().handle));
}

UNIT_TEST(what_a_reentry_leaves_unused_is_given_back_also_while_too_few_nodes_are_there) {
  Stage s(3);
  const auto me = s.a->owner("me");
  const Wanted &outer = s.a->acquire({"k"}, waiting_ms(1'000, 10'000, false), me);
  s.world.run_ms(50);
  AcquireParams extends = waiting_ms(1'000, 50'000, false);
  extends.on_conflict = LIBLOCK_ON_CONFLICT_REENTER_EXTEND;
  const Wanted &inner = s.a->acquire({"k"}, extends, me);
  s.world.run_ms(50);
  EXPECT(outer.is(Status::OK) && inner.is(Status::OK));
  for (const size_t n : {0, 1}) s.nodes[n]->stop(Node::Data::Kept);
  s.world.run_ms(500);
  s.a->release(inner.grant().handle);
  s.world.run_ms(100);
  for (const size_t n : {0, 1}) s.nodes[n]->start();
  s.world.run_ms(8'000);
  EXPECT(s.a->holds(outer.grant().handle));
  s.world.run_ms(2'000);
  EXPECT(!s.a->holds(outer.grant().handle));
}

UNIT_TEST(what_is_longer_again_than_a_reentry_made_it_is_so_behind_an_outage_and_for_who_reenters_meanwhile) {
  for (const bool fails : {false, true}) {
    for (const bool reenters_meanwhile : {false, true}) {
      Reentered s(50'000);
      const Wanted &inner = s.again(5'000);
      s.world.run_ms(50);
      for (Node *node : s.nodes) {
        if (fails) node->stop(Node::Data::Kept);
      }
      s.world.run_ms(500);
      s.a->release(inner.grant().handle);
      for (Node *node : s.nodes) {
        if (fails) node->start();
      }
      const Wanted *again = reenters_meanwhile ? &s.again(5'000) : nullptr;
      s.world.run_ms(fails && !reenters_meanwhile ? 1'500 : 50);
      if (again != nullptr) s.a->release(again->grant().handle);
      s.world.run_ms(1'000);
      EXPECT(s.nodes[0]->ask({"PTTL", "liblock:k"}).integer > 45'000);
      s.world.run_ms(10'000);
      EXPECT(s.a->holds(s.outer.grant().handle));
    }
  }
}

UNIT_TEST(what_a_canceled_reentry_gives_back_is_given_back_also_where_its_extension_is_answered_in_between) {
  Reentered s(50'000);
  Wanted &inner = s.again(5'000);
  s.world.run_for(1);
  for (Node *node : s.nodes) s.world.link(s.a->host(), *node).set_delay(100 * kMillisecond, 100 * kMillisecond);
  s.a->cancel(inner);
  s.world.run_for(1);
  for (Node *node : s.nodes) s.world.link(s.a->host(), *node).set_delay_of_world();
  s.world.run_ms(50);
  for (Node *node : s.nodes) node->stop(Node::Data::Kept);
  s.world.run_ms(1);
  for (Node *node : s.nodes) node->start();
  s.world.run_ms(2'000);
  EXPECT(inner.is(Status::CANCELED) && s.nodes[0]->ask({"PTTL", "liblock:k"}).integer > 45'000);
  s.world.run_ms(10'000);
  EXPECT(s.a->holds(s.outer.grant().handle));
}

UNIT_TEST(a_lock_that_is_renewed_from_now_on_is_so_for_as_long_as_was_asked_for_whatever_was_owed_to_it) {
  Reentered s(3'000);
  const Wanted &inner = s.again(50'000);
  s.world.run_ms(50);
  for (Node *node : s.nodes) node->freeze();
  s.a->release(inner.grant().handle);
  s.world.run_ms(5);
  const auto extended = s.a->extend(s.outer.grant().handle, 30'000, true);
  s.world.run_ms(5);
  for (Node *node : s.nodes) node->end_connections(false);
  for (Node *node : s.nodes) node->thaw();
  s.world.run_ms(100'000);
  EXPECT(extended->is(Status::IN_DOUBT) && s.a->holds(s.outer.grant().handle));
  EXPECT(s.nodes[0]->ask({"PTTL", "liblock:k"}).integer > 15'000);
}

UNIT_TEST(what_is_added_to_a_lease_that_is_still_to_be_given_back_comes_on_top_of_that) {
  Reentered s(40'000);
  const Wanted &inner = s.again(5'000);
  s.world.run_ms(50);
  s.a->release(inner.grant().handle);
  const auto added = s.a->extend(s.outer.grant().handle, 10'000, false, true);
  s.world.run_ms(500);
  EXPECT(added->is(Status::OK) && s.nodes[0]->ask({"PTTL", "liblock:k"}).integer > 48'000);
}

UNIT_TEST(locks_with_a_value_are_not_given_back_to_a_node_far_behind_that_was_not_asked_for_them) {
  Stage s(3);
  s.nodes[1]->set_work(2 * kMillisecond);
  AcquireParams params = waiting_ms(60'000);
  params.value = "v";
  std::vector<Wanted *> open;
  for (int i = 0; i < 2'000; ++i) {
    for (const char *half : {"a", "b"}) open.push_back(&s.a->acquire({half + std::to_string(i)}, params));
    s.world.run_ms(1);
    std::erase_if(open, [&](Wanted *one) {
      if (one->is(Status::OK)) s.a->release(one->grant().handle);
      return one->ended();
    });
  }
  EXPECT(s.a->instance().nodes()[1]->is_ready());
  EXPECT(s.a->instance().nodes()[1]->link.commands_waiting() < 400);
}

UNIT_TEST(a_close_waits_for_as_long_as_locks_are_given_back_and_no_longer) {
  for (const bool answers : {true, false}) {
    Stage s(3);
    for (Node *node : s.nodes) node->set_work(kMillisecond / 50);
    for (int i = 0; i < 4'000; ++i) s.a->acquire({"k" + std::to_string(i)}, waiting_ms(60'000));
    s.world.run_ms(3'000);
    for (Node *node : s.nodes) answers ? node->set_work(2 * kMillisecond) : node->freeze();
    const Nanos from = s.world.now();
    bool closed = false;
    run_once(s.a->host(), [&] { s.a->instance().close(false, [&] { closed = true; }); });
    EXPECT(s.world.run_until([&] { return closed; }, 5'000));
    const Nanos took = s.world.now() - from;
    EXPECT(answers ? took > 300 * kMillisecond : took < 250 * kMillisecond);
    if (!answers) continue;
    size_t left = 0;
    for (int i = 0; i < 4'000; ++i) left += s.held_on("k" + std::to_string(i)) >= 2 ? 1 : 0;
    EXPECT(left == 0);
  }
}

UNIT_MAIN("what a quorum keeps",
          cmocka_unit_test(a_lock_on_some_nodes_stays_there_when_it_is_renewed_together_with_others),
          cmocka_unit_test(a_lock_that_comes_to_a_node_with_another_ones_renewal_is_given_back_there_too),
          cmocka_unit_test(a_lock_whose_quorum_has_answered_is_renewed_on_time_while_another_one_of_its_round_waits),
          cmocka_unit_test(a_lease_shorter_than_a_time_out_outlives_a_node_that_says_nothing_any_more),
          cmocka_unit_test(who_knows_a_value_may_bring_it_to_a_node_and_its_holder_gives_it_back_there_too),
          cmocka_unit_test(what_was_taken_away_is_believed_in_no_longer_than_until_a_quorum_says_so),
          cmocka_unit_test(an_extension_that_too_few_nodes_are_there_for_changes_nothing),
          cmocka_unit_test(an_extension_that_comes_too_late_to_the_nodes_makes_nothing_last_that_was_to_end),
          cmocka_unit_test(of_two_extensions_that_fail_nothing_is_left),
          cmocka_unit_test(what_a_reentry_leaves_unused_is_given_back_also_while_too_few_nodes_are_there),
          cmocka_unit_test(
              what_is_longer_again_than_a_reentry_made_it_is_so_behind_an_outage_and_for_who_reenters_meanwhile),
          cmocka_unit_test(
              what_a_canceled_reentry_gives_back_is_given_back_also_where_its_extension_is_answered_in_between),
          cmocka_unit_test(
              a_lock_that_is_renewed_from_now_on_is_so_for_as_long_as_was_asked_for_whatever_was_owed_to_it),
          cmocka_unit_test(what_is_added_to_a_lease_that_is_still_to_be_given_back_comes_on_top_of_that),
          cmocka_unit_test(locks_with_a_value_are_not_given_back_to_a_node_far_behind_that_was_not_asked_for_them),
          cmocka_unit_test(a_close_waits_for_as_long_as_locks_are_given_back_and_no_longer))
