// SPDX-License-Identifier: MIT
// Engines sort the keys of an acquire, each once, and say by number which of them was in the way (Grant::busy_key); the
// caller knows them as they were given.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/hash.hpp"
#include "engine/acquire_params.hpp"

namespace liblock {

// The first where none was in the way. keys must not be empty; throws std::bad_alloc.
inline Bytes busy_key(std::span<const Bytes> keys, uint32_t number) {
  if (number == Grant::kNoKey) return keys.front();
  std::vector<Bytes> sorted(keys.begin(), keys.end());
  std::sort(sorted.begin(), sorted.end(), [](Bytes a, Bytes b) { return compare_bytes(a, b) < 0; });
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sorted.at(number);
}

}  // namespace liblock
