// SPDX-License-Identifier: MIT
// One key of the table: a single cache line with everything that an uncontended pair of acquire and release
// touches. A *thin* hold (one key, no named owner, nothing to carry) lives in the entry alone and is named by
// the entry's own handle; every other hold is a *record* (record.hpp), linked from `refs`. All fields are
// guarded by the lock of the shard that the entry is in.
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "engine/handle.hpp"

namespace liblock {

struct KeyRef;
class LocalOwner;
class WaitQueue;

// At most 16 bytes, without the call that a copy of unknown size makes.
inline void copy_short(char *to, const char *from, size_t size) {
  if (size >= 8) {
    uint64_t head, tail;
    std::memcpy(&head, from, 8);
    std::memcpy(&tail, from + size - 8, 8);
    std::memcpy(to, &head, 8);
    std::memcpy(to + size - 8, &tail, 8);
    return;
  }
  for (size_t i = 0; i < size; ++i) to[i] = from[i];
}

inline constexpr uint32_t kNoEntry = UINT32_MAX;
inline constexpr uint32_t kEntriesPerChunk = 64;

// state     owner    queue      meaning
// Unused    null     null       in the shard's list of free entries; `hash` links to the next one
// InUse     set      any        held
// InUse     null     not null   free, but somebody watches, or waits (for the global lock to end, or as ANY)
struct alignas(64) Entry {
  enum class State : uint8_t { Unused, InUse };

  Handle handle;      // the present thin hold's, else the one that the next thin hold will get
  uint64_t token;     // of the present hold
  LocalOwner *owner;  // nullptr: nobody holds the key
  KeyRef *refs;       // records that share the hold, youngest first; nullptr: a thin hold
  WaitQueue *queue;   // nullptr: nobody waits or watches
  uint32_t hash;
  uint16_t key_size;
  State state;
  uint8_t has_value;  // a thin hold that was given a value; the shard keeps it
  union {
    char inline_key[16];
    char *long_key;  // from the shard's key store, for keys that do not fit
  };

  Bytes key() const { return {key_size <= sizeof inline_key ? inline_key : long_key, key_size}; }
  bool held() const { return owner != nullptr; }
};
static_assert(sizeof(Entry) == 64, "an entry is one cache line");

// Deadlines stand apart from the entries and close together: a sweep reads 512 bytes per 64 leases.
struct Chunk {
  Nanos deadlines[kEntriesPerChunk];
  // When a thin hold began that was granted with a lease; less than 0: the same, and its lease was changed since; 0: it
  // was granted without one.
  Nanos begun[kEntriesPerChunk];
  Entry entries[kEntriesPerChunk];
};

}  // namespace liblock
