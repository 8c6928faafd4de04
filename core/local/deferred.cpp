// SPDX-License-Identifier: MIT
// See deferred.hpp. Each round may leave further work behind (a reaped record hands its keys on), so it runs
// until nothing is left; wake-ups go first, since somebody's work waits for them.
#include "local/lock_table.hpp"

namespace liblock {

void Deferred::nudge(LocalRequest *request) {
  if (!request->timer_expected()) request->expect_timer(table_.shared_from_this());
  if (request->nudge_pending.exchange(true)) return;  // another thread is about to arm it
  request->pin();
  request->next_nudged = nudged_;
  nudged_ = request;
}

void Deferred::run() {
  for (;;) {
    while (wake_count_ > 0) wake_word(wakes_[--wake_count_], 1);
    if (Trace *trace = told_; trace != nullptr) {
      told_ = trace->next_told;
      trace->end_telling();
    } else if (LocalRequest *request = nudged_; request != nullptr) {
      nudged_ = request->next_nudged;
      request->nudge_pending.store(false);
      request->arm(table_.clock().now());
      request->unpin();
    } else if (Record *record = lost_; record != nullptr) {
      lost_ = record->next_deferred;
      table_.reap(*record);
    } else if (Record *at = looked_at_; at != nullptr) {
      looked_at_ = at->next_looked_at;
      table_.look_at_leases(*at);
    } else if (std::exchange(global_looks_, false)) {
      table_.look_at_global();
    } else if (LocalRequest *driven = driven_; driven != nullptr) {
      driven_ = driven->next_deferred;
      if (driven_ == nullptr) driven_tail_ = &driven_;
      table_.drive(*driven, *this);
    } else {
      return;
    }
  }
}

}  // namespace liblock
