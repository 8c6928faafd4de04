// SPDX-License-Identifier: MIT
// See busy.hpp.
#include "context/busy.hpp"

#include "redis/server_error.hpp"

namespace liblock {

std::string busy_message(const KeyInfo &info) {
  std::string text;
  if (info.is_held) {
    text = "held by " + (info.owner.empty() ? "a client of another library" : shown(info.owner));
    if (info.remaining_ms >= 0) text += " for " + std::to_string(info.remaining_ms) + " ms more";
  }
  if (info.waiter_count() != 0) {
    if (!text.empty()) text += "; ";
    text += std::to_string(info.waiter_count()) + (info.waiter_count() == 1 ? " waits" : " wait") + " for it";
  }
  return text;
}

}  // namespace liblock
