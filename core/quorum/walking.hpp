// SPDX-License-Identifier: MIT
// All keys of a context, page by page, over one node after the other. A key is shown once, by whichever node has it
// first when it is gone over: a vote may reach a node behind that. What is shown of a key is what a quorum says. Nodes
// that do not answer are passed over: a quorum of the others has all that is held. Loop thread.
#pragma once

#include "engine/ask.hpp"
#include "redis/scan.hpp"
#include "remote/ending.hpp"

namespace liblock::quorum {

class Instance;

struct WalkPosition {
  size_t node = 0;
  uint64_t cursor = 0;
  bool is_node_over = false;
};

// The next page of the table of whichever node is next; at_end: there is none any more.
void walk(Instance &instance, Scanned what, Bytes key_prefix, WalkPosition &at, uint32_t count,
          std::function<void(Page page, bool at_end)> done);

// One step of a listing: some infos into ask.infos, perhaps none, and ask.position moves on.
void list_step(Instance &instance, Ask &ask, AskDone done);

}  // namespace liblock::quorum
