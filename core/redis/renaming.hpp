// SPDX-License-Identifier: MIT
// A lock that was adopted says in its records who has it now: whoever looks sees him, an administrator's message
// reaches him, and it is no zombie when the process that exported it is gone. Loop thread.
#pragma once

#include "redis/inspecting.hpp"

namespace liblock {

// Ends with OK however it goes: the lock is held all the same.
void rename_records(Instance &instance, Handle handle, AskDone done);

}  // namespace liblock
