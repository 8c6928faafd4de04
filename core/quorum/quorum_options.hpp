// SPDX-License-Identifier: MIT
// What a context over a quorum was opened with, after it was checked.
#pragma once

#include <string>
#include <vector>

#include "redis/connecting.hpp"

namespace liblock {

struct QuorumOptions {
  enum class Restart : uint8_t { Quarantine, TrustFsync };  // in the order of LIBLOCK_RESTART_…

  // Each another server, in the caller's order. Their connect_timeout and command_timeout bound one attempt.
  std::vector<ConnectionOptions> nodes;
  std::vector<ConnectionOptions> observers;
  ConnectionDefaults defaults;            // of nodes that are named later
  int32_t votes = 0;                      // as asked; see votes_needed()
  Nanos max_ttl = 60'000 * kMillisecond;  // counts when the quorum is made: its nodes know it afterwards
  Nanos clock_step = 500 * kMillisecond;
  Restart restart = Restart::Quarantine;

  std::string prefix = "liblock:";
  Nanos alive = 3'000 * kMillisecond;        // a waiter that is silent so long is dead
  Nanos first_lease = 3'000 * kMillisecond;  // longest lease of a grant that will be renewed
  Nanos zombie_interval = kNever;            // between two signs of life; kNever: none
  int64_t foreign_gap_ms = 100;              // -1: never
  Nanos front_budget = -1;                   // see remote/front.hpp; negative: there is none
  uint64_t front_tokens = 256;               // that a grant reserves for it
  size_t locks_max = 16'777'216;
  size_t waiters_max = 1'000'000;
};

constexpr size_t kNodesMax = 15;

// Fewer could be granted twice at once.
constexpr uint32_t majority_of(size_t nodes) { return static_cast<uint32_t>(nodes / 2 + 1); }
constexpr uint32_t votes_needed(int32_t asked, size_t nodes) {
  return asked == LIBLOCK_VOTES_ALL ? static_cast<uint32_t>(nodes)
         : asked == 0               ? majority_of(nodes)
                                    : static_cast<uint32_t>(asked);
}
// Whether so many votes may be asked of so many nodes.
constexpr bool votes_are_valid(int32_t asked, size_t nodes) {
  return asked == 0 || asked == LIBLOCK_VOTES_ALL ||
         (asked > 0 && static_cast<size_t>(asked) <= nodes && static_cast<size_t>(asked) * 2 > nodes);
}

}  // namespace liblock
