// SPDX-License-Identifier: MIT
// Gives a quorum other nodes, votes or observers while its locks are held. Loop thread.
//
//   step       what happens                                                        it is done when
//   Looking    the nodes are asked what they are by now                            they have answered
//   Reaching   the new servers are connected with                                 a quorum of theirs answers
//   Deciding   of several who change them at once one goes on (deciding.hpp)       a quorum of the old nodes has taken
//                                                                                  its joint configuration
//   Joint      old and new nodes are told the joint configuration                  it stands on a quorum of each
//   Settling   every grant and renewal needs both; leases of before run out;       max_ttl has passed, and a quorum of
//              new nodes are silent, and are told a floor (recovery.hpp)           the new nodes votes
//   Stable     the new nodes are told the new configuration                        it stands on a quorum of them
// Where whoever does this dies, the same call takes it up where the nodes stand.
#pragma once

#include "engine/quorum_view.hpp"
#include "remote/ending.hpp"

namespace liblock::quorum {

class Instance;

void reconfigure(Instance &instance, const NodesChange &change, AskDone done);

}  // namespace liblock::quorum
