// SPDX-License-Identifier: MIT
// The instances that say of themselves that they live (presence.hpp), as the server lists them: page after page, those
// first that are to count as silent first. One that says so meanwhile moves to the end, and may be shown twice.
// Loop thread.
#pragma once

#include "redis/inspecting.hpp"

namespace liblock {

class Instance;

// One step: some of ask.instances, perhaps none, and ask.position moves on. ask.flag: zombies only.
void list_instances(Instance &instance, Ask &ask, AskDone done);
// Takes those off the list that are silent and that nobody listens for; counts them in ask.tally.
void forget_dead_instances(Instance &instance, Ask &ask, AskDone done);

}  // namespace liblock
