// SPDX-License-Identifier: MIT
// What all _async twins have in common.
#pragma once

#include "boundary.hpp"
#include "context/calls.hpp"

namespace liblock::capi {

// fill(Ask &) writes what is asked, or says what is wrong with it.
template <typename Fill>
liblock_status start(liblock_context *context, liblock_completions *completions, liblock_callback callback,
                     void *user_data, liblock_request *request, Fill fill) {
  if (request != nullptr) *request = 0;
  return guarded([&] {
    if (const Status status = usable(context); status != Status::OK) return status;
    if (completions != nullptr && completions->context != context->rep) return Status::INVALID_ARGUMENT;
    const CallEnd end{completions != nullptr ? completions->rep : nullptr, callback, user_data};
    return start_call(*context->rep, end, request, fill);
  });
}

}  // namespace liblock::capi
