// SPDX-License-Identifier: MIT
// The library's own runtime: a loop thread for timers and a callback thread for user code, so that a slow
// callback never delays a renewal. One per process, started by the first who needs it, never stopped: both
// threads sleep when there is nothing to do. A thread that waits for a call while no other does runs the loop itself
// meanwhile (loop_seat.hpp): an answer then wakes one thread instead of two, and a request none. After fork() the child
// has none of this until somebody needs it again.
#pragma once

#include <atomic>

#include "base/spin_habit.hpp"
#include "runtime/loop_seat.hpp"
#include "runtime/notice_queue.hpp"
#include "runtime/uv_stream.hpp"
#include "runtime/uv_timers.hpp"

namespace liblock {

class ThreadRuntime final : public Runtime {
 public:
  // Starts it when needed. Thread-safe. Throws std::system_error when threads or descriptors cannot be had, and
  // std::bad_alloc.
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
  void run_unattended(LoopTask &task) override;
  void attend(LoopTask &task, Parking &parking) override;
  ByteStream *make_stream(ByteStream::Listener &listener) override;

 private:
  // So long a guest looks for what it waits for before it sleeps: an answer mostly comes sooner than it takes to put a
  // CPU to sleep and to wake it again. It never offers the CPU meanwhile: who takes it keeps it for milliseconds.
  static constexpr Nanos kLookMost = 100'000;
  static constexpr int kMoreTurnsMax = 8;

  ThreadRuntime();
  // What of it does not run yet. As instance() in what it throws, and may be called again then.
  void start();
  void run_loop();
  void run_turn();
  bool has_more() const;
  void watch(int timeout_ms);
  void run_as_guest(LoopTask &task, const Parking *parking);
  void wait_as_guest(const Parking &parking);
  void run_callbacks();
  void look_at_inbox();

  bool has_loop_ = false;  // guarded by what guards start()
  LoopSeat seat_;
  // Of who runs the loop:
  uv_loop_t loop_;
  UvStream::Loop streams_{&loop_, UvStream::Loop::Thread::Ours};
  Nanos watched_until_ = 0;  // when the loop's thread looks again, whatever happens
  SpinHabit habit_;          // of guests, who look before they sleep
  UvTimers timers_;
  Inbox inbox_;
  NoticeQueue notices_;
  std::atomic<uint32_t> bell_{0};      // moved by each push that found the queue empty
  std::atomic<uint32_t> sleeping_{0};  // 1 while the callback thread sleeps, or is about to
};

}  // namespace liblock
