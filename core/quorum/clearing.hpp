// SPDX-License-Identifier: MIT
// Taking locks away and sending waiters away, as administrators do: page after page over one node after the other, and
// each page on all nodes at once. Loop thread.
#pragma once

#include "engine/ask.hpp"
#include "remote/ending.hpp"

namespace liblock::quorum {

class Instance;

// Those that ask.number (Engine::Whom) and ask.text name; counts in ask.tally. Lines first, so that nothing is granted
// to one who is about to be sent away. The dead: holders whose instances a quorum of nodes hears nobody listen for,
// twice, with alive_ms in between; and requests that have waited for longer than ask.dead_after.
void clear(Instance &instance, Ask &ask, AskDone done);

}  // namespace liblock::quorum
