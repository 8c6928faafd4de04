// SPDX-License-Identifier: MIT
// The options of one acquire after they were checked: durations instead of milliseconds, no defaults left to
// find.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "base/status.hpp"
#include "lease/retry_policy.hpp"

namespace liblock {

// Where ends of requests and losses go besides callbacks. put() never waits and may be called under no lock
// of ours.
class CompletionSink {
 public:
  virtual ~CompletionSink() = default;
  // A notice that finds the queue full is dropped and counted there; false says so.
  virtual bool put_notice(const liblock_completion &completion) = 0;
  // The lock's handle goes, and gives the unused part of an extension back to the others of its hold; left: what their
  // lease is now. Under locks, too.
  virtual void given_back(Nanos /*left*/) noexcept {}
};

class Progress;
class Runtime;
class Trace;

// The ticket of who begins to wait now, by a clock that counts from when the machine was started: so far from 0 that a
// LIFO waiter goes before every priority (1,000,000 times a step of a day), however short it has been up.
inline int64_t ticket_at(Nanos now) { return (int64_t{1} << 60) + now / 1'000; }

struct AcquireParams {
  Nanos ttl = kNever;   // kNever: no expiry
  Nanos wait = kNever;  // 0: one attempt
  RetryPolicy retry;
  int32_t order = LIBLOCK_ORDER_FIFO;
  int32_t priority = 0;
  Nanos age_step = 1'000 * kMillisecond;
  Nanos queue_ttl = kNever;
  int32_t on_conflict = LIBLOCK_ON_CONFLICT_REENTER;
  int32_t on_deadlock = LIBLOCK_ON_DEADLOCK_FAIL_SELF;
  bool renew = false;
  bool ttl_is_auto = false;  // where there are servers: renewed, and as long as they allow
  Nanos max_hold = kNever;
  Nanos min_remaining = 0;
  int32_t replicas = 0;  // that must have the grant, as far as replicas_timeout allows
  Nanos replicas_timeout = 1'000 * kMillisecond;
  int32_t votes = 0;  // of a quorum: that it needs; 0: the context's, over `nodes` all; LIBLOCK_VOTES_ALL
  int32_t on_nodes_mismatch = LIBLOCK_NODES_MISMATCH_FAIL_IF_DISJOINT;
  // The nodes of a quorum that the lock is on: redacted addresses (with "://"), and ids. nullptr: all.
  std::shared_ptr<const std::vector<std::string>> nodes;
  Bytes value;
  std::span<const liblock_metadata> metadata;
  liblock_callback on_lost = nullptr;
  void *on_lost_user_data = nullptr;
  std::shared_ptr<CompletionSink> losses;  // where a loss is reported besides on_lost
  std::shared_ptr<Runtime> runtime;        // set when there is something to renew or to report

  uint64_t event_tag = 0;
  int32_t instrument = 0;  // LIBLOCK_INSTRUMENT_…
  Trace *trace = nullptr;  // set where this acquire is told about; `losses` keeps it

  // The context's: whom to tell of its place, by what tells him while it waits, and who has a key that was busy.
  liblock_queued_callback on_queued = nullptr;
  void *on_queued_user_data = nullptr;
  Progress *progress = nullptr;  // outlives the acquire
  bool busy_info = false;

  // Threads of this context that wait in the engine; counted before a waiter can be seen by others.
  std::atomic<uint64_t> *threads_waiting = nullptr;

  // Waiters are served by rising sort keys; the ticket, in microseconds, is when this one began to wait. A server's
  // count from 1970, a process' own by ticket_at.
  int64_t sort_key(int64_t ticket) const {
    return (order == LIBLOCK_ORDER_LIFO ? -ticket : ticket) + sort_offset();
  }
  int64_t sort_offset() const { return order == LIBLOCK_ORDER_PRIORITY ? -priority * (age_step / 1'000) : 0; }
  bool tries_once() const { return wait == 0 || retry.retries_max == 0; }
  bool tells_place() const { return on_queued != nullptr && order != LIBLOCK_ORDER_ANY && !tries_once(); }
  // Something must be remembered beyond what the entry of a key has room for.
  bool needs_record() const {
    return renew || on_lost != nullptr || losses != nullptr || !value.empty() || !metadata.empty() ||
           max_hold != kNever;
  }
};

// What the shortest path hands out.
struct FastGrant {
  uint64_t handle;
  uint64_t token;
};

// How an acquire ended.
struct Grant {
  Status status = Status::INTERNAL;
  uint64_t handle = 0;
  uint64_t token = 0;
  uint32_t attempts = 1;
  uint32_t flags = 0;
  uint32_t hold_count = 0;
  uint32_t replicas = 0;  // here it takes no room of its own: a hand-off fetches few lines
  Nanos remaining = kNever;
  int64_t queue_position = -1;
  int64_t queue_length = -1;
  Nanos waited = 0;
  bool counted_as_waiting = false;  // in threads_waiting; who gets the grant takes it out again
  uint8_t votes = 0;                // of a quorum, also where it failed: nodes that granted
  uint8_t nodes = 0;                // the same: nodes asked; 0: there is one, which need not be said
  static constexpr uint32_t kNoKey = UINT32_MAX;
  uint32_t busy_key = kNoKey;  // of the keys, sorted, each once: the last that was in its way
};

}  // namespace liblock
