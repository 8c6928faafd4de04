// SPDX-License-Identifier: MIT
// See busy.hpp.
#include "context/busy.hpp"

#include <algorithm>
#include <vector>

#include "redis/server_error.hpp"

namespace liblock {

std::string busy_key(std::span<const Bytes> keys, uint32_t number) {
  std::vector<Bytes> sorted(keys.begin(), keys.end());
  std::sort(sorted.begin(), sorted.end(), [](Bytes a, Bytes b) { return compare_bytes(a, b) < 0; });
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return std::string(sorted.at(std::min<size_t>(number, sorted.size() - 1)));
}

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
