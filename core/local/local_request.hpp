// SPDX-License-Identifier: MIT
// A pending asynchronous acquire: the waiter, its own copy of the options, and the timer that acts for it, as
// the waiting thread does for a blocking call. The first reference is dropped by finished().
#pragma once

#include "local/waiter.hpp"
#include "runtime/counted_timer.hpp"

namespace liblock {

class LockTable;

class LocalRequest : public CountedTimer {
 public:
  LocalRequest(std::shared_ptr<LockTable> table, std::shared_ptr<Runtime> runtime)
      : CountedTimer(std::move(runtime)), table_(std::move(table)) {}

  Waiter waiter;
  AcquireParams params;

  // Its end, waiter.grant: exactly once, on any thread, with no lock of the table held.
  virtual void finished() = 0;

  // Links of a Deferred. A request is driven by one thread at a time; nudges may come from any.
  LocalRequest *next_deferred = nullptr;
  LocalRequest *next_nudged = nullptr;
  std::atomic<bool> nudge_pending{false};

 protected:
  ~LocalRequest() override = default;
  Nanos due(Nanos now) override;

 private:
  const std::shared_ptr<LockTable> table_;
};

}  // namespace liblock
