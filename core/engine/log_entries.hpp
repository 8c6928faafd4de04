// SPDX-License-Identifier: MIT
// The names of events, and what each entry of the log has besides the key, the queue's ttl and the owner.
#pragma once

#include "base/status.hpp"

namespace liblock {

struct LogEntryKind {
  const char *name;
  int32_t level;
  const char *message;
  uint32_t fields;
};

namespace log_field {
inline constexpr uint32_t kAcquire = 1;     // acquire_us
inline constexpr uint32_t kHold = 2;        // hold_us
inline constexpr uint32_t kLock = 4;        // lock, token
inline constexpr uint32_t kTtl = 8;         // ttl_ms
inline constexpr uint32_t kStatus = 16;     // status
inline constexpr uint32_t kQueue = 32;      // queue_position, queue_length
inline constexpr uint32_t kFirst = 64;      // first_in_queue
inline constexpr uint32_t kHolder = 128;    // held_by
inline constexpr uint32_t kLockData = 256;  // lock_token, lock_instance, lock_remaining_ms, lock_hold_count
inline constexpr uint32_t kCount = 512;     // count
}  // namespace log_field

// nullptr where there is no such kind, or id.
const char *event_name(int32_t kind);
const LogEntryKind *log_entry_kind(int32_t id);
inline bool is_attempt_entry(int32_t id) {
  return id >= LIBLOCK_ENTRY_ATTEMPT_STARTED && id <= LIBLOCK_ENTRY_ATTEMPT_FAILED;
}

}  // namespace liblock
