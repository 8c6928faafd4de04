// SPDX-License-Identifier: MIT
// Taking one key away from its holder on all nodes, so that none of his renewals writes it anew. Loop thread.
#pragma once

#include <optional>

#include "engine/ask.hpp"
#include "quorum/key_votes.hpp"
#include "remote/ending.hpp"

namespace liblock::quorum {

class Instance;

struct Forced {
  std::string lock_key;
  std::string id;                    // that holds it; empty: whoever does
  uint64_t version = 0;              // a newer value is left alone, where an id is named
  uint64_t token = 0;                // of the holder
  std::string known_id;              // to be deleted later where a node does not answer now; empty: not known
  int64_t left_ms = 0;               // until when that is
  std::optional<QuorumRule> rule{};  // of the lock that is there, if known
  bool drops_queue = false;          // the waiters are sent away as well
};
// OK: a quorum confirms it. PARTIAL: fewer do, the rest goes on in the background. NOT_OWNER: the lock is another one
// meanwhile, or carries another value. ask: hears of votes and of waiters.
void force_away(Instance &instance, Forced forced, Ask &ask, AskDone done);

// One key: ask.keys, ask.flag (the waiters go as well); ask.tally says what was there a moment before.
void force_release(Instance &instance, Ask &ask, AskDone done);

}  // namespace liblock::quorum
