// SPDX-License-Identifier: MIT
// The names that belong to one lock key, as the scripts expect them among their KEYS (names.lua).
#pragma once

#include "redis/command.hpp"
#include "remote/keyspace.hpp"

namespace liblock {

// Without a string of its own, since every acquire and every release come by.
inline void add_side_key(ScriptCall &call, Keyspace::Side side, Bytes lock_key) {
  const auto head = Keyspace::side_key_head(side);
  call.key(Bytes(head.data(), head.size()), lock_key, Keyspace::kSideKeyTail);
}

inline void add_names(ScriptCall &call, Bytes lock_key) {
  using Side = Keyspace::Side;
  call.key(lock_key);
  for (const Side side : {Side::Fence, Side::Queue, Side::Entries, Side::Anyone, Side::Metadata, Side::Gap})
    add_side_key(call, side, lock_key);
}

}  // namespace liblock
