// SPDX-License-Identifier: MIT
// What time does for one held lock that somebody wants to hear about: renews it every third of its ttl, or
// finds out at its end that it is overdue. Known by the lock's handle, so that a lock that is gone is simply
// not found; the record has the timer and the table has the record, so the timer does not keep the table.
#pragma once

#include "engine/lost_notice.hpp"
#include "local/record.hpp"
#include "runtime/counted_timer.hpp"

namespace liblock {

class LockTable;

class LeaseTimer final : public CountedTimer {
 public:
  LeaseTimer(std::weak_ptr<LockTable> table, std::shared_ptr<Runtime> runtime, Handle h)
      : CountedTimer(std::move(runtime)), table_(std::move(table)), handle_(h) {}
  // The lock is gone: drops the reference that the record held.
  void stop() {
    disarm();
    unpin();
  }

 protected:
  Nanos due(Nanos now) override;

 private:
  const std::weak_ptr<LockTable> table_;
  const Handle handle_;
};

// Of a record whose lock is lost; nobody is to be told when its context is closing.
LostNotice lost_notice_of(Record &record);

}  // namespace liblock
