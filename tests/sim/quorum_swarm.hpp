// SPDX-License-Identifier: MIT
// What the seed of a random life with a quorum lets happen: each life has some faults often and others never (swarm
// testing), and servers, clients and times of its own.
//
// Inside the model (docs: a lock over N servers that needs W) a lease is nobody else's while it runs. Outside of it are
// more than 2W - N - 1 servers that forget a key without a word, or whose clocks step, within one lease.
#pragma once

#include <string>

#include "base/clock.hpp"
#include "base/random.hpp"

namespace unit {

struct QuorumSwarm {
  explicit QuorumSwarm(liblock::Random &random);
  std::string to_text() const;

  size_t servers, votes, clients, keys;
  bool asks_more = false;  // votes is more than a majority
  int64_t delay_most_ms, breaks_one_in, max_ttl_ms, time_out_ms, act_gap_ms, fault_gap_ms, first_lease_ms,
      alive_ms;
  bool founded, trusts_disk;
  bool counters, wrong_clocks;  // clients without a time of day, or with a wrong one
  bool spares_tokens;           // never so many servers forget at once that only clocks are left
  bool fences;                  // registers run out, as they do after an hour
  bool restarts, losses, rollbacks, flushes, script_flushes, replacements, replicas, freezes, evictions,
      steps;
  bool pauses, suspends, kills, arrivals, rates;
  bool cuts, half_cuts, rings, hold_ups, breaks, deaf, silent, lossy;
  bool many, values, extends, barges;
  bool changes;  // operators give the quorum other nodes
  bool front;    // locks go from hand to hand within processes

  // Servers that may forget unseen within one lease.
  size_t liars() const { return 2 * votes - servers - 1; }
  // Servers forget unseen, and nobody counts how many.
  bool is_outside() const { return (evictions || steps) && liars() == 0; }
  liblock::Nanos max_ttl() const { return liblock::nanos_from_ms(max_ttl_ms); }
};

}  // namespace unit
