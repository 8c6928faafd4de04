// SPDX-License-Identifier: MIT
// Many leases of one process in a simulated world, and what becomes of them: how many calls leave in one turn of its
// loop, and how much of a lease is over at most. What is asked of the pace of their renewals stands here once, for
// those of a server and those over a quorum.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "sim/process.hpp"

namespace unit {

template <typename Process>
struct Crowd {
  // All taken at once; fewer under a sanitizer. Calls are counted at that node: few of one turn are no heap.
  Crowd(World &world_of_it, Process &process_of_it, const Node &node_of_it, int count, int64_t ttl_in_ms,
        uint64_t few_calls_of_a_turn)
      : world(world_of_it),
        process(process_of_it),
        node(node_of_it),
        ttl_ms(ttl_in_ms),
        few_calls(few_calls_of_a_turn) {
    for (int i = 0; i < count / static_cast<int>(slowness()); ++i)
      locks.push_back(&process.acquire({"k" + std::to_string(i)}, waiting_ms(0, ttl_ms)));
    world.run_ms(8);
    for (auto *lock : locks) {
      EXPECT(lock->is(Status::OK));
      leases.push_back(
          process.instance().leases_of(*process.instance().holds.find(lock->grant().handle)).front());
    }
  }
  void run_ms(int64_t ms) {
    for (int64_t i = 0; i < ms; i += turn_ms) {
      const uint64_t before = node.script_calls();
      if (turn_ms > 1) process.host().pause();
      world.run_ms(turn_ms);
      if (turn_ms > 1) process.host().go_on();
      world.run_ms(0);
      most_calls = std::max(most_calls, node.script_calls() - before);
      if (i % 10 == 0) look();
    }
  }
  void look() {
    const Nanos now = process.host().clock().now();
    for (const auto &lease : leases) least_left = std::min(least_left, lease->ends_at.load() - now);
  }
  void forget_figures() {
    most_calls = 0;
    least_left = liblock::kNever;
  }
  // Behind what is not believed of any lease, the drift of two clocks.
  double share_over() const {
    return 1 - static_cast<double>(least_left + liblock::nanos_from_ms(ttl_ms) / 100) /
                   static_cast<double>(liblock::nanos_from_ms(ttl_ms));
  }
  void none_was_lost() const {
    for (const auto *lock : locks) EXPECT(lock->losses == 0 && process.holds(lock->grant().handle));
  }
  uint64_t renewals() { return process.instance().counts.renewals; }

  // Each is renewed when a third of it is over, and no more often than every 0.3 of it.
  void keeps_an_even_pace() {
    run_ms(3 * period_ms());
    forget_figures();
    const uint64_t before = renewals();
    run_ms(8 * period_ms());
    EXPECT(share_over() < 0.4);
    EXPECT(most_calls <= few_calls);
    EXPECT(renewals() - before <= 8 * locks.size() * 10 / 9);
    none_was_lost();
  }
  // Of those that were taken at once, just now.
  void spreads_its_first_renewals() {
    run_ms(period_ms() * 9 / 10 - 10);
    forget_figures();
    const uint64_t before = renewals();
    int64_t ms = 0;
    for (; renewals() - before < locks.size(); ++ms) run_ms(1);
    EXPECT(ms >= period_ms() / 2);
    EXPECT(most_calls <= few_calls);
    EXPECT(share_over() < 0.52);
    none_was_lost();
  }
  void makes_no_flood_behind_a_standstill() {
    run_ms(5 * period_ms());
    for (int i = 0; i < 4; ++i) {
      run_ms(period_ms());
      process.host().pause();
      world.run_ms(ttl_ms / 10);
      process.host().go_on();
      forget_figures();
      run_ms(2 * period_ms());
      EXPECT(most_calls <= few_calls);
      EXPECT(share_over() < 0.52);
    }
    none_was_lost();
  }
  int64_t period_ms() const { return ttl_ms / 3; }

  World &world;
  Process &process;
  const Node &node;
  const int64_t ttl_ms;
  const uint64_t few_calls;
  std::vector<typename Process::Wanted *> locks;
  std::vector<liblock::LeaseRef> leases;
  int64_t turn_ms = 1;
  uint64_t most_calls = 0;
  Nanos least_left = liblock::kNever;
};

}  // namespace unit
