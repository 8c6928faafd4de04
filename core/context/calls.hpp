// SPDX-License-Identifier: MIT
// See calls.cpp.
#pragma once

#include <functional>
#include <memory>

#include "context/completions.hpp"
#include "engine/ask.hpp"

namespace liblock {

class Context;

// Where the end of an asynchronous call goes: one of the two, or nowhere.
struct CallEnd {
  std::shared_ptr<Completions> completions;
  liblock_callback callback = nullptr;
  void *user_data = nullptr;
};

// fill writes what is asked, or says what is wrong with it. OK: accepted, its end will be told; request may be
// nullptr. Throws std::bad_alloc, and then there is no call.
Status start_call(Context &context, const CallEnd &end, liblock_request *request,
                  const std::function<Status(Ask &)> &fill);

}  // namespace liblock
