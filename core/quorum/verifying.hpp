// SPDX-License-Identifier: MIT
// Whether nodes still know what is held here, and whether they answer at all. Loop thread.
#pragma once

#include <vector>

#include "quorum/grant_lease.hpp"
#include "remote/ending.hpp"

namespace liblock::quorum {

class Instance;

// Whether a quorum still has these; what is found gone is lost. done may be nullptr.
void verify(Instance &instance, const std::vector<LeaseRef> &leases, AskDone done);
// Whether a quorum of nodes answers.
void ping(Instance &instance, AskDone done);

}  // namespace liblock::quorum
