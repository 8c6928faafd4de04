// SPDX-License-Identifier: MIT
// Changes of a lock by its key and the value that it carries, without its handle: one script call. Loop thread.
#pragma once

#include "redis/inspecting.hpp"

namespace liblock {

// ReleaseKey, ExtendKey and UpdateKey.
void change_by_value(Instance &instance, Ask &ask, AskDone done);

}  // namespace liblock
