// SPDX-License-Identifier: MIT
// The scripts that run on a node, as tools/embed_lua.py makes them from scripts/*.lua. What each takes and answers
// stands in its head there.
#pragma once

#include "redis/scripts.hpp"

namespace liblock::quorum::scripts {
extern const Script acquire, clear, commit, configure, decide, extend, floor, force, hello, mark, observe,
    pass_on, promise, raise, read, release;
}
