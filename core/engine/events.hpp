// SPDX-License-Identifier: MIT
// What instrumentation is told. Emitted from any thread; delivered where callbacks run.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/status.hpp"
#include "engine/handle.hpp"
#include "runtime/runtime.hpp"

namespace liblock {

class Events {
 public:
  explicit Events(std::shared_ptr<Runtime> runtime) : runtime_(std::move(runtime)) {}

  // callback nullptr: none any more.
  void set(uint64_t mask, liblock_event_callback callback, void *user_data) {
    const std::lock_guard lock(mutex_);
    mask_ = callback != nullptr ? mask : 0;
    callback_ = callback;
    user_data_ = user_data;
  }
  void emit(int32_t kind, Status status, const std::string &text, Handle lock = 0, uint64_t token = 0) {
    const std::lock_guard guard(mutex_);
    if ((mask_ & (uint64_t{1} << kind)) == 0) return;
    runtime_->post(new Told(callback_, user_data_, kind, status, text, lock, token));
  }

 private:
  class Told final : public Notice {
   public:
    Told(liblock_event_callback callback, void *user_data, int32_t kind, Status status, std::string text,
         Handle lock, uint64_t token)
        : callback_(callback), user_data_(user_data), text_(std::move(text)) {
      event_.struct_size = sizeof event_;
      event_.kind = kind;
      event_.status = static_cast<liblock_status>(status);
      event_.lock = lock;
      event_.token = token;
      event_.message = text_.c_str();
    }
    void deliver() override { callback_(&event_, user_data_); }

   private:
    const liblock_event_callback callback_;
    void *const user_data_;
    const std::string text_;
    liblock_event event_{};
  };

  const std::shared_ptr<Runtime> runtime_;
  std::mutex mutex_;
  uint64_t mask_ = 0;  // guarded by mutex_, as all below
  liblock_event_callback callback_ = nullptr;
  void *user_data_ = nullptr;
};

}  // namespace liblock
