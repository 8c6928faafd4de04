// SPDX-License-Identifier: MIT
// Changing the value of a lock, in two phases: a quorum of nodes promises the change, under a number larger than that
// of any value that may be anywhere; then it is written, and holds when a quorum has written it. Loop thread.
//
//   a promise is refused by   and then
//   another change            both give up what they have, and come back after a moment each: BUSY when time is up
//   another value, no lock    a quorum is read: NOT_OWNER, NOT_HELD, or NO_QUORUM where nobody knows
//   fewer than a quorum wrote it: a quorum is read, and where that does not show the value, IN_DOUBT. The number is
//   larger then than all before, so that the holder's renewals bring the value to all, or a later change replaces it.
#pragma once

#include "engine/ask.hpp"
#include "quorum/keeper.hpp"
#include "quorum/key_votes.hpp"

namespace liblock::quorum {

class Instance;

// What leases that are held carry, of each for itself; the worst status wins. done may be nullptr.
void update_leases(Instance &instance, const std::vector<LeaseRef> &leases, const std::string &value,
                   AskDone done);
// Of the lock of ask.keys whose value is ask.text, whoever holds it: to ask.value.
void update_key(Instance &instance, Ask &ask, AskDone done);

}  // namespace liblock::quorum
