// SPDX-License-Identifier: MIT
// Looks through the whole table every cleanup interval for locks whose lease is over and that nobody has
// asked for since. One batch per turn of the loop, so that renewals and deadlines are never kept waiting by a
// large table.
#pragma once

#include "local/lock_table.hpp"
#include "runtime/counted_timer.hpp"

namespace liblock {

class Sweeper final : public CountedTimer {
 public:
  Sweeper(std::shared_ptr<LockTable> table, std::shared_ptr<Runtime> runtime)
      : CountedTimer(std::move(runtime)), table_(std::move(table)) {}
  void start() { arm(table_->clock().now() + interval()); }

 protected:
  Nanos due(Nanos now) override { return table_->sweep_batch(position_) ? now : now + interval(); }

 private:
  Nanos interval() const { return nanos_from_ms(table_->options().cleanup_interval_ms); }

  const std::shared_ptr<LockTable> table_;
  LockTable::SweepPosition position_;  // loop thread only
};

}  // namespace liblock
