// SPDX-License-Identifier: MIT
// Who waits for whom, as a graph that is asked for edge by edge. Pure: no locks, no time; a cycle found here
// is a suspicion from edges seen one after another, which the caller must confirm with all of them in view at
// once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace liblock {

class LocalOwner;

// `from` waits, with the waiter known by `serial`, for something that `to` has or will have before it. Who is waited
// for is kept: an owner that closes may have left the table's list, and be gone by the time that its own waits are
// asked for, though an entry still named it when the edge was seen.
struct WaitEdge {
  const LocalOwner *from;
  std::shared_ptr<const LocalOwner> to;
  uint64_t serial;
  uint32_t shard;  // Waiter::kGlobalQueue: the global lock
  uint32_t index;
};

using WaitEdges = std::vector<WaitEdge>;

// A path of edges from `first` back to first.from, or empty. Depth-first (iterative), each owner expanded
// once. expand appends the edges of one owner's waits.
WaitEdges find_cycle(const WaitEdge &first,
                     const std::function<void(const LocalOwner &, WaitEdges &)> &expand);

}  // namespace liblock
