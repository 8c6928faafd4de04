// SPDX-License-Identifier: MIT
// Many leases of one process: each is renewed when a third of it is over, and they never leave as a heap. What counts
// is how many come due in a second, so that few short leases stand for many long ones: 5,000 of 1.5 s for 100,000 of
// 30 s.
#include "stage.hpp"

#include <algorithm>

using namespace unit;

namespace {

constexpr int kCount = 5'000;
constexpr int64_t kTtlMs = 1'500, kPeriodMs = kTtlMs / 3;
constexpr uint64_t kFewCalls = 8;  // of 64 renewals; at an even pace one comes in 6 ms

struct Crowd {
  Crowd() {
    for (int i = 0; i < kCount; ++i)
      locks.push_back(&s.a.acquire({"k" + std::to_string(i)}, waiting_ms(0, kTtlMs)));
    s.world.run_ms(5);
    for (Wanted *lock : locks) {
      EXPECT(lock->is(Status::OK));
      leases.push_back(s.a.instance().leases_of(*s.a.instance().holds.find(lock->grant().handle)).front());
    }
  }
  // The greatest number of calls within one turn of the loop, and the share of a lease that was over at most.
  void run_ms(int64_t ms) {
    for (int64_t i = 0; i < ms; i += turn_ms) {
      const uint64_t before = s.node.script_calls();
      if (turn_ms > 1) s.a.host().pause();
      s.world.run_ms(turn_ms);
      if (turn_ms > 1) s.a.host().go_on();
      s.world.run_ms(0);
      most_calls = std::max(most_calls, s.node.script_calls() - before);
      if (i % 10 == 0) look();
    }
  }
  void look() {
    const Nanos now = s.a.host().clock().now();
    for (const auto &lease : leases) least_left = std::min(least_left, lease->ends_at.load() - now);
  }
  void forget_figures() {
    most_calls = 0;
    least_left = liblock::kNever;
  }
  // Behind what is not believed of any lease, the drift of two clocks.
  double share_over() const {
    return 1 - static_cast<double>(least_left + liblock::nanos_from_ms(kTtlMs) / 100) /
                   static_cast<double>(liblock::nanos_from_ms(kTtlMs));
  }
  void none_was_lost() const {
    for (const Wanted *lock : locks) EXPECT(lock->losses == 0 && s.a.holds(lock->grant().handle));
  }
  uint64_t renewals() { return s.a.instance().counts.renewals; }

  mutable Stage s;
  std::vector<Wanted *> locks;
  std::vector<liblock::LeaseRef> leases;
  int64_t turn_ms = 1;
  uint64_t most_calls = 0;
  Nanos least_left = liblock::kNever;
};

}  // namespace

UNIT_TEST(each_of_many_leases_is_renewed_when_a_third_of_it_is_over) {
  Crowd crowd;
  crowd.run_ms(3 * kPeriodMs);
  crowd.forget_figures();
  const uint64_t before = crowd.renewals();
  crowd.run_ms(8 * kPeriodMs);
  EXPECT(crowd.share_over() < 0.4);
  EXPECT(crowd.most_calls <= kFewCalls);
  // No more often than every 0.3 of a lease, either.
  EXPECT(crowd.renewals() - before <= 8 * kCount * 10 / 9);
  crowd.none_was_lost();
}

UNIT_TEST(a_loop_that_turns_late_makes_up_for_it) {
  Crowd crowd;
  crowd.turn_ms = 15;
  crowd.run_ms(3 * kPeriodMs);
  crowd.forget_figures();
  crowd.run_ms(8 * kPeriodMs);
  EXPECT(crowd.share_over() < 0.4);
  EXPECT(crowd.most_calls <= kFewCalls);
  crowd.none_was_lost();
}

UNIT_TEST(those_that_were_taken_all_at_once_are_spread_over_the_time_that_they_may_wait) {
  Crowd crowd;
  crowd.run_ms(kPeriodMs * 9 / 10);
  crowd.forget_figures();
  const uint64_t before = crowd.renewals();
  int64_t ms = 0;
  for (; crowd.renewals() - before < kCount; ++ms) crowd.run_ms(1);
  EXPECT(ms >= kPeriodMs / 2);
  EXPECT(crowd.most_calls <= kFewCalls);
  EXPECT(crowd.share_over() < 0.52);
  crowd.none_was_lost();
}

UNIT_TEST(a_process_that_stood_still_makes_no_flood_of_what_fell_due_meanwhile) {
  Crowd crowd;
  crowd.run_ms(5 * kPeriodMs);
  for (int i = 0; i < 4; ++i) {
    crowd.run_ms(kPeriodMs);
    crowd.s.a.host().pause();
    crowd.s.world.run_ms(kTtlMs / 10);
    crowd.s.a.host().go_on();
    crowd.forget_figures();
    crowd.run_ms(kPeriodMs);
    EXPECT(crowd.most_calls <= kFewCalls);
    EXPECT(crowd.share_over() < 0.52);
  }
  crowd.none_was_lost();
}

UNIT_MAIN("the pace of renewals", cmocka_unit_test(each_of_many_leases_is_renewed_when_a_third_of_it_is_over),
          cmocka_unit_test(a_loop_that_turns_late_makes_up_for_it),
          cmocka_unit_test(those_that_were_taken_all_at_once_are_spread_over_the_time_that_they_may_wait),
          cmocka_unit_test(a_process_that_stood_still_makes_no_flood_of_what_fell_due_meanwhile))
