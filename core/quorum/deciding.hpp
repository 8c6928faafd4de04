// SPDX-License-Identifier: MIT
// Which configuration follows the one that the nodes have, when several change it at once: all get the same answer. A
// quorum of the nodes promises a ballot, then takes what it proposes; whoever finds something taken proposes that. A
// node is told to go by it when a quorum has taken it, and not before. Loop thread.
//
// Ballots are no epochs. While nobody has won, all nodes stay at their epoch, so that an epoch is one configuration.
// Were it raised with every ballot, a node that was left behind in a joint configuration could come to an epoch
// beyond that of nodes which have ended the change long since, and whoever heard of it would follow it back.
//
// A node that has lost its mark has forgotten its promise too, so that two configurations of one epoch can come about
// after all. Then calls wait for enough nodes to be in one of them, and no lock is held twice: each needs a quorum of
// the same old nodes, and a node is in one of them only.
#pragma once

#include <functional>

#include "quorum/configuration.hpp"
#include "redis/command.hpp"

namespace liblock::quorum {

class Instance;

// OK: that configuration. BUSY: others are about to decide. NODES_MISMATCH: the nodes go by another one than `before`.
using Decided = std::function<void(const Failure &failure, const Configuration &next)>;
void decide(Instance &instance, const Configuration &before, const Configuration &proposed, Decided done);

}  // namespace liblock::quorum
