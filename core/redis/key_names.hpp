// SPDX-License-Identifier: MIT
// The names that belong to one lock key, as the scripts expect them among their KEYS (names.lua).
#pragma once

#include "redis/command.hpp"
#include "remote/keyspace.hpp"

namespace liblock {

inline void add_names(ScriptCall &call, const std::string &lock_key) {
  using Side = Keyspace::Side;
  call.key(lock_key);
  std::string name = Keyspace::side_key(Side::Fence, lock_key);
  for (const Side side : {Side::Fence, Side::Queue, Side::Entries, Side::Anyone, Side::Metadata, Side::Gap}) {
    Keyspace::turn_side_key(name, side);
    call.key(name);
  }
}

}  // namespace liblock
