// SPDX-License-Identifier: MIT
// Taking locks away and sending waiters away, as administrators do: one key, or page after page and, of each page,
// many keys in one script call. Loop thread.
#pragma once

#include <set>

#include "redis/inspecting.hpp"

namespace liblock {

// One key: ask.keys, ask.flag (the waiters go as well); ask.tally says what was there a moment before.
void force_release(Instance &instance, Ask &ask, AskDone done);

struct Forced {
  std::string lock_key;
  std::string attempt_id;    // that must hold it; empty: whoever does
  bool drops_queue = false;  // the waiters are sent away as well
};
// Takes one key away, without a look at it.
void force_away(Instance &instance, Forced forced, AskDone done);

// Those that ask.number (Engine::Whom) and ask.text name; counts in ask.tally. Queues first, so that nothing is granted
// to one who is about to be sent away. The dead: instances that nobody listens for, twice, with alive_ms in between;
// and requests that have waited for longer than ask.dead_after; of the instances that say that they live, those that do
// not any more are taken off the list.
void clear(Instance &instance, Ask &ask, AskDone done);
// Locks and waiters of these instances, as far as nobody listens for them still; they are given no more time.
void clear_dead_instances(Instance &instance, Ask &ask, std::set<std::string> dead, AskDone done);

}  // namespace liblock
