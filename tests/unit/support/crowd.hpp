// SPDX-License-Identifier: MIT
// Many leases of one process in a simulated world, and what becomes of them: how many calls leave in one turn of its
// loop, and how much of a lease is over at most.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "sim/process.hpp"

namespace unit {

template <typename Process>
struct Crowd {
  // All taken at once. Calls are counted at that node.
  Crowd(World &world_of_it, Process &process_of_it, const Node &node_of_it, int count, int64_t ttl_in_ms)
      : world(world_of_it), process(process_of_it), node(node_of_it), ttl_ms(ttl_in_ms) {
    for (int i = 0; i < count; ++i)
      locks.push_back(&process.acquire({"k" + std::to_string(i)}, waiting_ms(0, ttl_ms)));
    world.run_ms(5);
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

  World &world;
  Process &process;
  const Node &node;
  const int64_t ttl_ms;
  std::vector<typename Process::Wanted *> locks;
  std::vector<liblock::LeaseRef> leases;
  int64_t turn_ms = 1;
  uint64_t most_calls = 0;
  Nanos least_left = liblock::kNever;
};

}  // namespace unit
