// SPDX-License-Identifier: MIT
// A lock on its way from one process to another, as text that is as good as the lock itself:
//   llx1|attempt id|token|number of the last change|1 = has metadata|number of keys|size:lock key …
// The record on the server stays as it is: its attempt id is what both know. Loop thread.
#pragma once

#include "redis/inspecting.hpp"

namespace liblock {

// Of a lock that is held. The text into ask.text, its size into ask.count; then it is no lock of ours any more.
Status export_lock(Instance &instance, Ask &ask);
void adopt_lock(Instance &instance, Ask &ask, AskDone done);

}  // namespace liblock
