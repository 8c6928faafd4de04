// SPDX-License-Identifier: MIT
// What must happen because of a change, but not under the locks under which the change was made: waking
// threads, ending requests, reaping lost records, going on with requests that were handed one of several
// keys, telling instrumentation. Collected while locks are held, run by the same thread after it let go of
// all of them. Never allocates.
#pragma once

#include "base/platform.hpp"
#include "engine/trace.hpp"
#include "local/local_request.hpp"
#include "local/record.hpp"

namespace liblock {

class LockTable;

class Deferred {
 public:
  explicit Deferred(LockTable &table) : table_(table) {}
  ~Deferred() { run(); }
  Deferred(const Deferred &) = delete;
  Deferred &operator=(const Deferred &) = delete;

  void wake(const void *word) {
    if (wake_count_ == kWakesMax) {
      wake_word(word, 1);  // a mass wake-up, as by clear(): late is worse than under a lock
      return;
    }
    wakes_[wake_count_++] = word;
  }
  // Has ended, or was handed a key and must go on: waiter.grant.status tells.
  void drive(LocalRequest *request) {
    request->next_deferred = nullptr;
    *driven_tail_ = request;
    driven_tail_ = &request->next_deferred;
  }
  void nudge(LocalRequest *request);
  void reap(Record *record) {
    record->next_deferred = lost_;
    lost_ = record;
  }
  // The lease of one of its keys was set apart, or is over. With the lock of the shard of a key that it holds.
  void look_at_leases(Record &record) {
    if (record.look_pending.exchange(true)) return;  // another thread is about to
    record.pins.fetch_add(1, std::memory_order_relaxed);
    record.next_looked_at = looked_at_;
    looked_at_ = &record;
  }
  // Nobody is left for whom the pending global lock waits, or the lease of somebody moved, by whose end it is to look.
  void global_must_look() { global_looks_ = true; }
  // It was told something under a lock.
  void tell(Trace &trace) {
    if (!trace.begin_telling()) return;
    trace.next_told = told_;
    told_ = &trace;
  }

  // With no lock of the table held.
  void run();

 private:
  static constexpr uint32_t kWakesMax = 16;

  LockTable &table_;
  const void *wakes_[kWakesMax];
  uint32_t wake_count_ = 0;
  LocalRequest *driven_ = nullptr;
  LocalRequest **driven_tail_ = &driven_;
  LocalRequest *nudged_ = nullptr;
  Record *lost_ = nullptr;
  Record *looked_at_ = nullptr;
  Trace *told_ = nullptr;
  bool global_looks_ = false;
};

}  // namespace liblock
