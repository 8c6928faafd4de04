// SPDX-License-Identifier: MIT
// A pending asynchronous acquire: the waiter, and the timer that acts for it, as
// the waiting thread does for a blocking call. A request that was never nudged has never been armed either,
// and ends without a look at its timer.
#pragma once

#include "local/record.hpp"
#include "runtime/counted_timer.hpp"

namespace liblock {

class LockTable;

class LocalRequest : public CountedTimer {
 public:
  LocalRequest(const std::shared_ptr<LockTable> &table, std::shared_ptr<Runtime> runtime)
      : CountedTimer(std::move(runtime)), table_(table.get()) {}

  // Its end, waiter.grant: exactly once, on any thread, with no lock of the table held.
  virtual void finished() = 0;

  // Its timer will be armed. With the lock of the queue that the waiter is in, or before it is in any.
  void expect_timer(std::shared_ptr<LockTable> table) {
    timer_expected_ = true;
    kept_table_ = std::move(table);
    kept_owner_ = waiter.owner->shared_from_this();
  }
  // Only in the hands of who drives it, when it is in no queue.
  bool timer_expected() const { return timer_expected_; }

  // Links of a Deferred. A request is driven by one thread at a time; nudges may come from any.
  LocalRequest *next_deferred = nullptr;
  LocalRequest *next_nudged = nullptr;
  std::atomic<bool> nudge_pending{false};

 private:
  bool timer_expected_ = false;

 public:
  Waiter waiter;  // behind what a hand-off touches besides, and begins with the rest

 protected:
  ~LocalRequest() override = default;
  Nanos due(Nanos now) override;

 private:
  LockTable *const table_;  // lives as long as the request is pending, and longer by kept_table_
  // A timer may fire while, and after, the request ends.
  std::shared_ptr<LockTable> kept_table_;
  std::shared_ptr<LocalOwner> kept_owner_;
};

}  // namespace liblock
