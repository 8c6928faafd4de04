// SPDX-License-Identifier: MIT
// See quorum_swarm.hpp.
#include "quorum_swarm.hpp"

#include <utility>

namespace unit {

QuorumSwarm::QuorumSwarm(liblock::Random &random) {
  const auto one_in = [&](int64_t n) { return random.up_to(n - 1) == 0; };
  const auto one_of = [&]<size_t kCount>(const int64_t(&all)[kCount]) {
    return all[random.up_to(static_cast<int64_t>(kCount) - 1)];
  };
  servers = static_cast<size_t>(one_of({5, 5, 5, 5, 3, 3, 3, 4, 7}));
  votes = servers / 2 + 1;
  asks_more = servers > 3 && one_in(4);
  if (asks_more) ++votes;
  clients = static_cast<size_t>(3 + random.up_to(5));
  keys = static_cast<size_t>(1 + random.up_to(3));
  delay_most_ms = one_of({0, 1, 1, 5, 20, 100, 300});
  breaks_one_in = one_of({0, 0, 200, 50, 20, 5});
  max_ttl_ms = one_of({1'000, 2'000, 3'000, 5'000});
  time_out_ms = one_of({100, 200, 500});
  act_gap_ms = one_of({40, 80, 160});
  fault_gap_ms = one_of({150, 400, 1'000, 3'000});
  first_lease_ms = one_of({300, 1'000, 3'000});
  alive_ms = one_of({300, 1'000, 3'000});
  founded = !one_in(10);
  trusts_disk = one_in(8);
  counters = one_in(4);
  wrong_clocks = one_in(3);
  for (bool *fault : {&restarts, &losses, &rollbacks, &flushes, &script_flushes, &freezes,   &pauses,
                      &suspends, &kills,  &arrivals,  &rates,   &cuts,           &half_cuts, &hold_ups,
                      &breaks,   &deaf,   &silent,    &lossy,   &many,           &extends})
    *fault = one_in(2);
  for (bool *fault : {&fences, &replacements, &replicas, &rings, &barges}) *fault = one_in(4);
  values = one_in(3);
  spares_tokens = !one_in(3);
  evictions = one_in(8);
  steps = one_in(5);
  changes = one_in(8);
  if (changes) evictions = steps = false;  // how many lie is counted of one set of nodes
  rollbacks = rollbacks && !trusts_disk;   // it would trust what it has lost
  front = one_in(2);
}

std::string QuorumSwarm::to_text() const {
  std::string text = std::to_string(votes) + " of " + std::to_string(servers) + " servers, " +
                     std::to_string(clients) + " clients, " + std::to_string(keys) + " keys; in ms: delays " +
                     std::to_string(delay_most_ms) + ", max_ttl " + std::to_string(max_ttl_ms) +
                     ", time-out " + std::to_string(time_out_ms) + ", first lease " +
                     std::to_string(first_lease_ms) + ", alive " + std::to_string(alive_ms) + ", acts " +
                     std::to_string(act_gap_ms) + ", faults " + std::to_string(fault_gap_ms);
  if (breaks_one_in != 0) text += "; breaks one in " + std::to_string(breaks_one_in);
  if (!founded) text += "; not founded";
  const std::pair<bool, const char *> all[] = {{trusts_disk, "trusts disk"},
                                               {counters, "counters"},
                                               {wrong_clocks, "wrong clocks"},
                                               {restarts, "restarts"},
                                               {losses, "losses"},
                                               {rollbacks, "rollbacks"},
                                               {flushes, "flushes"},
                                               {script_flushes, "no scripts"},
                                               {replacements, "replacements"},
                                               {replicas, "replicas"},
                                               {freezes, "freezes"},
                                               {evictions, "evictions"},
                                               {spares_tokens, "spares tokens"},
                                               {fences, "fences"},
                                               {steps, "steps"},
                                               {pauses, "pauses"},
                                               {suspends, "suspends"},
                                               {kills, "kills"},
                                               {arrivals, "arrivals"},
                                               {rates, "rates"},
                                               {cuts, "cuts"},
                                               {half_cuts, "half cuts"},
                                               {rings, "rings"},
                                               {hold_ups, "hold-ups"},
                                               {breaks, "breaks"},
                                               {deaf, "deaf"},
                                               {silent, "silent"},
                                               {lossy, "lossy"},
                                               {many, "many keys"},
                                               {values, "values"},
                                               {extends, "extends"},
                                               {barges, "barges"},
                                               {changes, "changes"},
                                               {front, "front"}};
  for (const auto &[is, name] : all) text += is ? std::string("; ") + name : std::string();
  return text;
}

}  // namespace unit
