// SPDX-License-Identifier: MIT
// The library's own runtime: a loop thread for timers and a callback thread for user code, so that a slow
// callback never delays a renewal. One per process, started by the first who needs it, never stopped: both
// threads sleep when there is nothing to do. After fork() the child has none until somebody needs one again.
#pragma once

#include <atomic>

#include "runtime/notice_queue.hpp"
#include "runtime/uv_timers.hpp"

namespace liblock {

class ThreadRuntime final : public Runtime {
 public:
  // Starts it when needed. Thread-safe. Throws std::system_error when threads or descriptors cannot be had.
  static ThreadRuntime &instance();
  static bool started();
  // In the child of a fork: closes the parent's descriptors and forgets the parent's runtime.
  static void forget_after_fork();

  Nanos now() const override { return timers_.clock().now(); }
  bool arm(Timer &timer, Nanos at) override { return timers_.arm(timer, at); }
  bool cancel(Timer &timer) override { return timers_.cancel(timer); }
  void post(Notice *notice) override;
  void run_on_loop(LoopTask &task) override {
    if (inbox_.push(task) == Inbox::Pushed::First) timers_.wake();
  }
  ByteStream *make_stream(ByteStream::Listener &listener) override;

 private:
  ThreadRuntime();
  // What of it does not run yet. As instance() in what it throws, and may be called again then.
  void start();
  void run_loop();
  void run_callbacks();

  bool has_loop_ = false;  // guarded by what guards start()
  uv_loop_t loop_;         // loop thread only
  UvTimers timers_;
  Inbox inbox_;
  NoticeQueue notices_;
  std::atomic<uint32_t> bell_{0};      // moved by each push that found the queue empty
  std::atomic<uint32_t> sleeping_{0};  // 1 while the callback thread sleeps, or is about to
};

}  // namespace liblock
