// SPDX-License-Identifier: MIT
// Changes of a quorum's nodes in a simulated world, and leases that are over soon.
#pragma once

#include "quorum/reconfiguring.hpp"
#include "stage.hpp"

namespace unit {

inline liblock::QuorumOptions brief() {
  liblock::QuorumOptions options;
  options.max_ttl = 10'000 * kMillisecond;
  return options;
}

inline std::string url(const Node &node) { return "redis://sim:" + std::to_string(node.port()); }

struct Told final : Answered {
  std::string why;
  bool names(const Node &node) const { return why.find(url(node)) != std::string::npos; }
};

inline std::shared_ptr<Told> set_nodes(Process &by, const std::vector<Node *> &nodes, int32_t votes = 0,
                                       const std::vector<Node *> &observers = {}) {
  auto answered = std::make_shared<Told>();
  run_once(by.host(), [&by, answered, nodes, observers, votes] {
    liblock::NodesChange change;
    change.keeps_nodes = nodes.empty();
    change.votes = votes;
    for (const Node *node : nodes) change.servers.push_back(url(*node));
    for (const Node *node : observers) change.observers.push_back(url(*node));
    liblock::quorum::reconfigure(by.instance(), change, [answered](Status status, const std::string &why) {
      ++answered->times;
      answered->status = status;
      answered->why = why;
    });
  });
  return answered;
}

inline AcquireParams brief_lease_of_ms(int64_t ttl_ms) { return waiting_ms(10'000, ttl_ms); }
inline AcquireParams brief_lease() { return brief_lease_of_ms(5'000); }

}  // namespace unit
