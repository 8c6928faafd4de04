// SPDX-License-Identifier: MIT
// The scripts that run on a server, as tools/embed_lua.py makes them from scripts/*.lua. What each takes and
// answers stands in its head there.
#pragma once

#include "base/hash.hpp"

namespace liblock {

struct Script {
  Bytes name;
  Bytes sha1;
  Bytes body;
};

namespace scripts {
extern const Script acquire, by_value, clear, dead_waiters, deadlock, extend, force_release, inspect,
    instances, pass_on, presence, queue, release, rename, stay, update, verify;
}

}  // namespace liblock
