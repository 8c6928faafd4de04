// SPDX-License-Identifier: MIT
// The 64-bit name of a lock: where it is, and which of the slot's many holds it is.
//   index 20 bits | shard 8 bits | compound 1 bit | generation 35 bits
// A slot's generation starts at a random value above 0 and rises with every hold, so that a handle that was
// released, forged or kept from another context does not match; a slot whose generations are used up is
// retired.
#pragma once

#include <cstdint>

#include "base/random.hpp"

namespace liblock {

using Handle = uint64_t;

namespace handle {

inline constexpr uint32_t kIndexBits = 20;
inline constexpr uint32_t kShardBits = 8;
inline constexpr uint32_t kIndexMax = (1u << kIndexBits) - 1;
inline constexpr uint64_t kCompound = uint64_t{1} << (kIndexBits + kShardBits);
inline constexpr uint32_t kGenerationShift = kIndexBits + kShardBits + 1;
inline constexpr uint64_t kGenerationMax = (uint64_t{1} << (64 - kGenerationShift)) - 1;

inline uint32_t index(Handle h) { return static_cast<uint32_t>(h) & kIndexMax; }
inline uint32_t shard(Handle h) { return static_cast<uint32_t>(h >> kIndexBits) & ((1u << kShardBits) - 1); }
// Compound: names a record (several keys, a named owner, callbacks …) instead of the entry of one key.
inline bool is_compound(Handle h) { return (h & kCompound) != 0; }
inline uint64_t generation(Handle h) { return h >> kGenerationShift; }

inline Handle first(uint32_t shard, uint32_t index, bool compound, Random &random) {
  const uint64_t generation = 1 + random.next() % (kGenerationMax / 2);
  return (generation << kGenerationShift) | (compound ? kCompound : 0) |
         (static_cast<uint64_t>(shard) << kIndexBits) | index;
}
inline Handle next(Handle h) { return h + (uint64_t{1} << kGenerationShift); }
// The next one of a slot that cannot be retired now, since others wait for it: begins anew before the end, and
// leaves it one more for a plain release.
inline Handle next_in_place(Handle h) {
  const Handle slot = h & ((Handle{1} << kGenerationShift) - 1);
  return generation(h) >= kGenerationMax - 2 ? slot | (Handle{1} << kGenerationShift) : next(h);
}
inline bool used_up(Handle h) { return generation(h) >= kGenerationMax - 1; }

}  // namespace handle
}  // namespace liblock
