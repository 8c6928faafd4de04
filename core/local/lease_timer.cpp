// SPDX-License-Identifier: MIT
// See lease_timer.hpp.
#include "local/lease_timer.hpp"

#include "local/lock_table.hpp"

namespace liblock {

Nanos LeaseTimer::due(Nanos now) {
  const std::shared_ptr<LockTable> table = table_.lock();
  return table != nullptr ? table->tend_lease(handle_, now) : kNever;
}

LostNotice lost_notice_of(Record &record) {
  LostNotice notice;
  if (record.owner->closed.load()) return notice;  // its context is closing: nobody is there to be told
  notice.runtime = record.runtime;
  notice.callback = record.on_lost;
  notice.user_data = record.on_lost_user_data;
  if (notice.callback != nullptr) notice.call = std::move(record.lost_call);
  notice.sink = record.losses;
  notice.handle = record.handle;
  notice.token = record.token;
  return notice;
}

}  // namespace liblock
