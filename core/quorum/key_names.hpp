// SPDX-License-Identifier: MIT
// The names that belong to one lock key, as the scripts of a node expect them among their KEYS (names.lua).
#pragma once

#include "redis/key_names.hpp"

namespace liblock::quorum {

// Before those of all keys.
inline constexpr Bytes kNodeKey = "ll1:node";

inline void put_names(ScriptCall &call, Bytes lock_key) {
  using Side = Keyspace::Side;
  call.key(lock_key);
  for (const Side side :
       {Side::Fence, Side::Metadata, Side::Tickets, Side::Alive, Side::Claim, Side::Promise})
    add_side_key(call, side, lock_key);
}

}  // namespace liblock::quorum
