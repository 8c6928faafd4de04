// SPDX-License-Identifier: MIT
// See wait_graph.hpp.
#include "local/wait_graph.hpp"

#include <algorithm>
#include <unordered_set>

namespace liblock {

WaitEdges find_cycle(const WaitEdge &first,
                     const std::function<void(const LocalOwner &, WaitEdges &)> &expand) {
  struct Level {
    WaitEdges edges;
    size_t next = 0;
  };
  std::unordered_set<const LocalOwner *> expanded{first.from};
  std::vector<std::shared_ptr<const LocalOwner>> kept;  // no other owner is to come to an address in `expanded`
  std::vector<Level> path;
  path.push_back({{first}, 0});
  while (!path.empty()) {
    Level &level = path.back();
    if (level.next == level.edges.size()) {
      path.pop_back();
      continue;
    }
    const WaitEdge edge = level.edges[level.next++];
    if (edge.to.get() == first.from) {
      WaitEdges cycle;
      for (const Level &step : path) cycle.push_back(step.edges[step.next - 1]);
      return cycle;
    }
    if (!expanded.insert(edge.to.get()).second) continue;
    kept.push_back(edge.to);
    Level deeper;
    expand(*edge.to, deeper.edges);
    path.push_back(std::move(deeper));
  }
  return {};
}

}  // namespace liblock
