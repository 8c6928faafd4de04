// SPDX-License-Identifier: MIT
// What is known of a quorum and its nodes, where any thread can look at it: nothing is asked of anybody for that.
// Written on the loop's thread when something has changed; what changes with every answer stands in figures of each
// node.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "engine/quorum_view.hpp"
#include "quorum/node.hpp"

namespace liblock::quorum {

class StatusBoard {
 public:
  // Loop thread.
  void write(const Instance &instance);
  // Any thread. message: what is wrong, and the cure.
  std::unique_ptr<QuorumView> view(Nanos now, std::string &message) const;

 private:
  struct Entry {
    NodeView view;
    std::shared_ptr<const NodeFigures> figures;
    Nanos silent_until = 0, stepped_until = 0;
    bool needs_floor = false;
    bool may_begin = false;  // all servers are new: a quorum of them can be made
  };
  static Entry entry_of(const Node &node);
  static void complete(const Entry &entry, Nanos now, NodeView &view);

  mutable std::mutex mutex_;
  QuorumView sum_;  // without its nodes; guarded by mutex_, as is the other
  std::vector<Entry> entries_;
};

}  // namespace liblock::quorum
