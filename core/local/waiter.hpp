// SPDX-License-Identifier: MIT
// One wait: for a lock, or for a change of a key that is watched. A blocking call has its waiter on the stack
// and sleeps on `word`; an asynchronous one has it inside its request, whose timer and end are driven by
// others.
//
//   word      from       who moves it           why
//   Parked    Waiting    the waiting thread     it has looked after itself and goes to sleep
//   Nudged    Waiting    whoever nudges         it is the next in line, or its holder's lease moved, and it may
//                                               just be about to sleep on what it saw before
//   Waiting   Parked     whoever nudges, and wakes it; or the thread itself when it is time to act
//   Waiting   Nudged     the waiting thread     instead of going to sleep it looks again
//   Done      any        whoever ends the wait  and wakes it when it was Parked; nobody touches it after that
#pragma once

#include <atomic>

#include "base/list.hpp"
#include "engine/acquire_params.hpp"
#include "engine/handle.hpp"

namespace liblock {

class LocalOwner;
class LocalRequest;
struct Record;
struct KeyRef;

struct Waiter {
  enum Word : uint32_t { kWaiting, kNudged, kParked, kDone };
  enum class Kind : uint8_t { Lock, WatchReleased, WatchHeld, WatchLost };
  static constexpr uint32_t kNowhere = UINT32_MAX;
  static constexpr uint32_t kGlobalQueue = UINT32_MAX - 1;

  // First what a hand-off touches: with thousands of requests behind a key, every line comes from afar.

  ListLinks<Waiter> links;  // guarded by the lock of the queue that it is in
  std::atomic<uint32_t> word{kWaiting};
  std::atomic<uint32_t> attempts{1};  // retries.attempts(), for others to read

  // Constant once it is queued.
  Kind kind = Kind::Lock;
  const AcquireParams *params = nullptr;  // outlives the wait
  LocalOwner *owner = nullptr;
  Record *record = nullptr;         // nullptr: asks for a thin hold
  LocalRequest *request = nullptr;  // nullptr: a thread waits

  // Guarded by the lock of the queue. `where` (a shard, kGlobalQueue or kNowhere) may be read without it, as
  // a hint where to lock; index is the entry in that shard.
  std::atomic<uint32_t> where{kNowhere};
  uint32_t index = 0;
  KeyRef *wanted = nullptr;  // with a record: the key of it that is waited for
  KeyRef *place_kept_for = nullptr;  // it has left that one's queue, and may come back to its place
  // Written before word becomes Done.
  Grant grant;

  // Constant once it is queued.
  Handle watched = 0;  // WatchLost: whose loss
  // Valid during the first attempt only, the caller's bytes; afterwards `index` and `wanted` say what it
  // waits for.
  Bytes key;
  uint32_t hash = 0;
  uint32_t shard = 0;

  // Guarded by the lock of the queue.
  int64_t sort_key = 0;
  Nanos enqueued_at = 0;
  Nanos first_wait_at = 0;  // 0: it never waited
  bool was_requeued = false;
  bool nudged = false;      // ANY: told to try; not told again before it did
  bool has_tried_again = false;  // who does not wait

  // Read without the lock by who tends to it. A compound request waits for one key after another.
  std::atomic<uint64_t> serial{0};  // of the present wait, unique in the table
  std::atomic<uint32_t> waits_begun{0};
  std::atomic<uint32_t> waits_searched{0};  // for deadlocks
  std::atomic<Nanos> wait_began_at{0};
  // A status that somebody wants it to end with; who queues it again looks here first.
  std::atomic<liblock_status> asked_to_end{0};

  // When it acts by itself. Only the waiting thread, or the request's driver, uses these.
  bool planned = false;
  Nanos wait_until = kNever;
  Nanos requeue_at = kNever;
  Nanos look_at = 0;  // at its place, for on_queued
  RetryCount retries;
};

}  // namespace liblock
