// SPDX-License-Identifier: MIT
// All keys of a context, page by page: SCAN finds them by their prefix, never KEYS; what they hold is looked at a few
// at a time. Memory is bounded by one page of names and one look. A key that stays throughout is found; one that comes
// or goes may be missed, and one may come twice where the server's table grows or shrinks meanwhile. Loop thread.
#pragma once

#include "redis/inspecting.hpp"
#include "redis/scan.hpp"

namespace liblock {

// One step of a listing: some infos into ask.infos, perhaps none, and ask.position moves on.
void list_step(Instance &instance, Ask &ask, AskDone done);

}  // namespace liblock
