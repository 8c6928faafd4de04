// SPDX-License-Identifier: MIT
// Releasing and extending a lock by its key and the value that it carries, without its handle: what a quorum says of it
// counts, then that very lock is changed on all nodes. Loop thread.
#pragma once

#include "engine/ask.hpp"
#include "remote/ending.hpp"

namespace liblock::quorum {

class Instance;

void release_key(Instance &instance, Ask &ask, AskDone done);
// Never shorter than its holder counts on. Nodes that miss the lock get it, once a quorum has shown that it has it.
void extend_key(Instance &instance, Ask &ask, AskDone done);

}  // namespace liblock::quorum
