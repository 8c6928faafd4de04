// SPDX-License-Identifier: MIT
// Looking at keys on the server by name: who holds each, and how many wait; in detail, of one key, who they are. A few
// keys at a time, so that no reply is large and no script long. Loop thread.
#pragma once

#include <string>
#include <vector>

#include "engine/ask.hpp"
#include "remote/ending.hpp"
#include "remote/inspection.hpp"

namespace liblock {

class Instance;

// So many keys in one script call.
inline constexpr size_t kKeysPerLook = 64;

// One info for each lock key. Of a foreign client's lock it says that it is held, and its string as the value.
void inspect(Instance &instance, const std::vector<std::string> &lock_keys, Inspection &inspection);
// The same; a key that holds something else than a string is shown as free instead of failing the whole.
// tells_zombies: also whether the holder's instance is one.
void inspect_listed(Instance &instance, const std::vector<std::string> &lock_keys, bool tells_zombies,
                    Inspection &inspection);
// The same of one key, with what costs more: whether the holder's instance is a zombie, what this instance alone knows
// of a lock of its own, and, when wanted, who waits.
void inspect_in_detail(Instance &instance, Bytes lock_key, bool with_waiters, Inspection &inspection);

}  // namespace liblock
