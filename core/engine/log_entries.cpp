// SPDX-License-Identifier: MIT
// See log_entries.hpp. The tables stand in the order of the numbers, which begin at 1.
#include "engine/log_entries.hpp"

#include <cstddef>

namespace liblock {

namespace {

constexpr const char *kEvents[] = {
    "CONNECTED",
    "DISCONNECTED",
    "SERVER_CHANGED",
    "DOUBT_ENDED",
    "MAY_EVICT",
    "OBTAINED",
    "REENTERED",
    "EXTENDED",
    "HOLD_AND_RELEASE",
    "SERIES_OBTAINED",
    "SERIES_HOLD_AND_RELEASE",
    "LOST",
    "REQUEUED",
    "HANDED_OFF",
    "DEADLOCK_FOUND",
    "DEQUEUED",
    "DEQUEUED_ON_LIMIT",
    "FAILED",
    "FORCE_RELEASED",
    "CLEARED",
    "OWNER_CLEARED",
    "INSTANCE_CLEARED",
    "DEAD_CLEARED",
    "OWNER_CLOSED",
    "NODE_UP",
    "NODE_DOWN",
    "NODE_QUARANTINED",
    "NODE_REJOINED",
    "NODE_STEPPED",
    "CLOCK_DERIVED",
    "CONFIGURED",
    "CLEARTEXT_PASSWORD",
};

constexpr int32_t kWarning = LIBLOCK_LOG_WARNING, kInfo = LIBLOCK_LOG_INFO, kDebug = LIBLOCK_LOG_DEBUG;
using namespace log_field;
constexpr uint32_t kSeen = kQueue | kFirst | kHolder | kLockData;

constexpr LogEntryKind kEntries[] = {
    {"acquire_started", kDebug, "an acquire begins", kTtl},
    {"cycle_started", kDebug, "its attempts begin", 0},
    {"requeued", kDebug, "queue_ttl_ms is over: it goes to the end of the queue", kQueue},
    {"obtained", kDebug, "the lock is obtained", kAcquire | kLock | kTtl | kQueue},
    {"dequeued_on_limit", kInfo, "a limit is reached: the acquire ends without the lock",
     kAcquire | kStatus | kQueue},
    {"released", kDebug, "the lock is released", kAcquire | kHold | kLock | kTtl | kStatus},
    {"attempt_started", kDebug, "an attempt begins", kCount},
    {"attempt_ready", kDebug, "the attempt has what it needs", 0},
    {"attempt_queued", kDebug, "the request stands in the queue", kQueue},
    {"attempt_overdue_removed", kDebug, "what is overdue has been removed", kCount},
    {"attempt_first_in_queue", kDebug, "the first of the queue is known", kQueue | kFirst},
    {"attempt_queue_ttl_reached", kDebug, "queue_ttl_ms is over", kQueue},
    {"attempt_not_first", kDebug, "others go first", kSeen},
    {"attempt_still_held", kDebug, "the key is still held", kSeen},
    {"attempt_free", kDebug, "the key is free to be taken", 0},
    {"attempt_failed", kInfo, "the attempt could not be made", kStatus},
    {"reentered", kDebug, "the owner's hold is shared", kAcquire | kLock | kTtl},
    {"extended", kDebug, "the lease is set anew", kLock | kTtl},
    {"lost", kWarning, "the lock is lost", kAcquire | kHold | kLock | kTtl},
    {"handed_off", kDebug, "the key is handed to the next in line", kQueue | kLock},
    {"deadlock_found", kWarning, "the wait closes a cycle of owners", kCount},
    {"failed", kInfo, "the acquire ends without the lock", kAcquire | kStatus},
    {"server", kWarning, "", 0},
};

}  // namespace

const char *event_name(int32_t kind) {
  const auto index = static_cast<size_t>(kind) - 1;
  return kind >= 1 && index < sizeof kEvents / sizeof *kEvents ? kEvents[index] : nullptr;
}

const LogEntryKind *log_entry_kind(int32_t id) {
  const auto index = static_cast<size_t>(id) - 1;
  return id >= 1 && index < sizeof kEntries / sizeof *kEntries ? &kEntries[index] : nullptr;
}

}  // namespace liblock
