// SPDX-License-Identifier: MIT
// That a lock was lost, told once: to the callback and to the completion queue, whichever the acquire named.
#pragma once

#include <memory>

#include "engine/acquire_params.hpp"
#include "engine/handle.hpp"
#include "runtime/runtime.hpp"

namespace liblock {

// A call of on_lost on its way.
class LostCall final : public Notice {
 public:
  void deliver() override { callback(&completion, completion.user_data); }

  liblock_callback callback = nullptr;
  liblock_completion completion{};
};

struct LostNotice {
  // Of a lock that was acquired with these parameters.
  static LostNotice of(const AcquireParams &params, Handle handle, uint64_t token);
  // Throws std::bad_alloc where there is a callback and no `call`.
  void send();
  bool is_wanted() const { return callback != nullptr || sink != nullptr; }

  std::shared_ptr<Runtime> runtime;
  liblock_callback callback = nullptr;
  void *user_data = nullptr;
  std::unique_ptr<LostCall> call;  // made with the lock, where its loss must not need memory
  std::shared_ptr<CompletionSink> sink;
  Handle handle = 0;
  uint64_t token = 0;
};

}  // namespace liblock
