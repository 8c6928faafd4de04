// SPDX-License-Identifier: MIT
// Locks that go to another process (remote/handing_over.hpp), with the nodes that they are on:
//   llq1|votes|id of a node,… or empty = all|…
// What else nodes keep of the lock is read from a quorum by whoever adopts it; his renewals bring it along. Loop
// thread.
#pragma once

#include "engine/ask.hpp"
#include "remote/ending.hpp"

namespace liblock::quorum {

class Instance;

Status export_held(Instance &instance, Ask &ask);
// OK once a quorum has it under this instance's name, with a newer number than that of the exporter's changes.
void adopt_exported(Instance &instance, Ask &ask, AskDone done);

}  // namespace liblock::quorum
