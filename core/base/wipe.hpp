// SPDX-License-Identifier: MIT
// Overwrites text that may hold a password, all that its memory has room for: what was there before it became shorter
// is still there. Text that grows leaves copies behind that nobody can find any more: reserve first.
#pragma once

#include <string.h>

#include <string>

namespace liblock {

inline void wipe(std::string &text) {
  text.resize(text.capacity());
  explicit_bzero(text.data(), text.size());
  text.clear();
}

}  // namespace liblock
