// SPDX-License-Identifier: MIT
// FastGlobalLock's question: a lock that is held already, asked for on other nodes than it was granted on. Loop thread.
#include <bit>

#include "quorum/instance.hpp"

namespace liblock::quorum {

void Waiting::note_unknown_nodes() const {
  instance_.note_trouble(Status::INVALID_ARGUMENT,
                         "nodes: a name that is neither the id nor the address of a node of this quorum; see "
                         "liblock_quorum_status");
}

Status Waiting::may_reenter(const RemoteRequest &remote, const Lease &held) const {
  const auto &request = static_cast<const Request &>(remote);
  const AcquireParams &params = request.params_;
  NodeSet subset = kEveryNode;
  if (params.nodes != nullptr && !instance_.membership.find(*params.nodes, subset)) {
    note_unknown_nodes();
    return Status::INVALID_ARGUMENT;
  }
  const NodeSet wanted = instance_.membership.rule(subset, params.votes).nodes();
  const NodeSet has = static_cast<const GrantLease &>(held).granted_over;
  const NodeSet both = wanted & has;
  const bool is_minority = 2 * std::popcount(both) <= std::popcount(wanted);
  const auto fails = [&] {
    switch (params.on_nodes_mismatch) {
      case LIBLOCK_NODES_MISMATCH_IGNORE:
        return false;
      case LIBLOCK_NODES_MISMATCH_FAIL:
        return wanted != has;
      case LIBLOCK_NODES_MISMATCH_FAIL_IF_MINORITY_OVERLAP:
        return is_minority;
      default:
        return both == 0;
    }
  };
  if (!fails()) return Status::OK;
  instance_.note_trouble(Status::NODES_MISMATCH,
                         "the owner holds the key on " + std::to_string(std::popcount(has)) + " nodes, " +
                             std::to_string(std::popcount(both)) + " of which are among the " +
                             std::to_string(std::popcount(wanted)) +
                             " asked for; name the same nodes, or see on_nodes_mismatch");
  return Status::NODES_MISMATCH;
}

}  // namespace liblock::quorum
