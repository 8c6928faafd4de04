// SPDX-License-Identifier: MIT
// See lease_timer.hpp.
#include "local/lease_timer.hpp"

#include "local/lock_table.hpp"

namespace liblock {

namespace {

class LostCall final : public Notice {
 public:
  LostCall(liblock_callback callback, const liblock_completion &completion)
      : callback_(callback), completion_(completion) {}
  void deliver() override { callback_(&completion_, completion_.user_data); }

 private:
  const liblock_callback callback_;
  const liblock_completion completion_;
};

}  // namespace

Nanos LeaseTimer::due(Nanos now) {
  const std::shared_ptr<LockTable> table = table_.lock();
  return table != nullptr ? table->tend_lease(handle_, now) : kNever;
}

LostNotice LostNotice::of(const Record &record) {
  LostNotice notice;
  if (record.owner->closed.load()) return notice;  // its context is closing: nobody is there to be told
  notice.runtime = record.runtime;
  notice.callback = record.on_lost;
  notice.user_data = record.on_lost_user_data;
  notice.sink = record.losses;
  notice.handle = record.handle;
  notice.token = record.token;
  return notice;
}

void LostNotice::send() {
  liblock_completion completion{};
  completion.struct_size = sizeof completion;
  completion.kind = LIBLOCK_KIND_LOST;
  completion.status = LIBLOCK_LOST;
  completion.lock = handle;
  completion.token = token;
  completion.user_data = user_data;
  completion.message = status_text(LIBLOCK_LOST);
  if (sink != nullptr) sink->put_notice(completion);
  if (callback != nullptr) runtime->post(new LostCall(callback, completion));
}

}  // namespace liblock
