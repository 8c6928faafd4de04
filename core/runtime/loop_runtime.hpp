// SPDX-License-Identifier: MIT
// A runtime on the caller's own uv_loop: no thread is started, timers and callbacks run on the loop's thread,
// which is the one that made it. Its handles keep the loop alive until close(); what was posted before
// still arrives; what comes later is run by whoever brings it.
#pragma once

#include <pthread.h>

#include <memory>
#include <mutex>

#include "runtime/notice_queue.hpp"
#include "runtime/uv_stream.hpp"
#include "runtime/uv_timers.hpp"

namespace liblock {

class LoopRuntime final : public Runtime {
 public:
  // On the loop's thread.
  static std::shared_ptr<LoopRuntime> make(uv_loop_t *loop);
  // From any thread; the handles are closed on the loop, after the last notice.
  void close();

  bool on_loop_thread() const { return pthread_equal(pthread_self(), thread_) != 0; }
  pthread_t thread() const { return thread_; }

  Nanos now() const override { return timers_.clock().now(); }
  bool arm(Timer &timer, Nanos at) override { return timers_.arm(timer, at); }
  bool cancel(Timer &timer) override { return timers_.cancel(timer); }
  void post(Notice *notice) override;
  void run_on_loop(LoopTask &task) override;
  ByteStream *make_stream(ByteStream::Listener &listener) override;

 private:
  void run();

  const pthread_t thread_ = pthread_self();
  UvStream::Loop streams_{nullptr, UvStream::Loop::Thread::Callers};
  Inbox inbox_;
  UvTimers timers_;
  NoticeQueue notices_;
  std::atomic<bool> closing_{false};
  bool detached_ = false;  // loop thread only
  // Once the loop is left: whoever comes late finds everything closed, one after the other.
  std::recursive_mutex late_mutex_;
  int handles_open_ = UvTimers::kHandles;  // loop thread only
  std::shared_ptr<LoopRuntime> self_;      // keeps the uv handles' memory until all are closed
};

}  // namespace liblock
