// SPDX-License-Identifier: MIT
// Where the log of one context goes. Entries are written on the thread that they come from, with no lock of the
// library held; what the callback itself brings about is not logged, so that a log that locks does not log itself.
#pragma once

#include <atomic>
#include <mutex>

#include "base/spin_lock.hpp"
#include "base/status.hpp"
#include "runtime/runtime.hpp"

namespace liblock {

class LogSink {
 public:
  void listen(int32_t level, liblock_log_callback callback, void *user_data) {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    callback_ = callback;
    user_data_ = user_data;
    level_.store(callback != nullptr ? level : LIBLOCK_LOG_OFF, std::memory_order_relaxed);
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    level_.store(LIBLOCK_LOG_OFF, std::memory_order_relaxed);
  }
  bool wants(int32_t level) const { return level_.load(std::memory_order_relaxed) >= level && !writing_; }
  bool wants_any() const { return wants(LIBLOCK_LOG_ERROR); }
  void write(const liblock_log_entry &entry) {
    liblock_log_callback callback;
    void *user_data;
    {
      const std::lock_guard lock(mutex_);
      if (!wants(entry.level)) return;
      callback = callback_;
      user_data = user_data_;
    }
    const NoBlockingScope scope;
    writing_ = true;
    callback(&entry, user_data);
    writing_ = false;
  }

 private:
  [[gnu::tls_model("initial-exec")]] static inline thread_local bool writing_ = false;

  std::atomic<int32_t> level_{LIBLOCK_LOG_OFF};  // written under mutex_
  SpinLock mutex_;
  liblock_log_callback callback_ = nullptr;  // guarded by mutex_, as all below
  void *user_data_ = nullptr;
  bool stopped_ = false;
};

}  // namespace liblock
