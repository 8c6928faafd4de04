// SPDX-License-Identifier: MIT
// See lost_notice.hpp.
#include "engine/lost_notice.hpp"

namespace liblock {

LostNotice LostNotice::of(const AcquireParams &params, Handle handle, uint64_t token) {
  LostNotice notice;
  notice.runtime = params.runtime;
  notice.callback = params.on_lost;
  notice.user_data = params.on_lost_user_data;
  notice.sink = params.losses;
  notice.handle = handle;
  notice.token = token;
  return notice;
}

void LostNotice::send() {
  liblock_completion completion{};
  completion.struct_size = sizeof completion;
  completion.kind = LIBLOCK_KIND_LOST;
  completion.status = LIBLOCK_LOST;
  completion.lock = handle;
  completion.token = token;
  completion.queue_position = completion.queue_length = -1;
  completion.user_data = user_data;
  completion.message = status_text(LIBLOCK_LOST);
  if (sink != nullptr) sink->put_notice(completion);
  if (callback == nullptr) return;
  if (call == nullptr) call = std::make_unique<LostCall>();
  call->callback = callback;
  call->completion = completion;
  runtime->post(call.release());
}

}  // namespace liblock
