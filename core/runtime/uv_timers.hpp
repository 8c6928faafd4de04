// SPDX-License-Identifier: MIT
// Our timer heap on a libuv loop: any thread arms and cancels under a mutex, who runs the loop fires. One uv_timer
// stands for the earliest deadline; one uv_async tells the loop that it moved (sends coalesce). The thread that runs
// the loop needs no system call for that: it starts a uv_idle, which runs in the next turn. Where nobody watches the
// loop's descriptors, its seat calls somebody.
// Owner of the uv handles: who runs the loop. Guarded by mutex_: the heap and the deadline that the loop sleeps
// for.
#pragma once

#include <pthread.h>
#include <uv.h>

#include <mutex>

#include "runtime/loop_seat.hpp"
#include "runtime/timer_heap.hpp"

namespace liblock {

class UvTimers {
 public:
  // A caller's loop may be run a turn at a time: uv_run(UV_RUN_ONCE) is to return after a turn in which we did
  // something, as it does after any event.
  enum class Loop : uint8_t { Ours, Callers };
  static constexpr int kHandles = 3;

  // Before the loop runs. seat: of a loop that several threads run in turn, or nullptr. Throws std::system_error when
  // libuv cannot make its handles.
  void attach(uv_loop_t *loop, Loop whose, LoopSeat *seat, void (*on_wake)(void *data), void *data);
  // The calling thread runs the loop from now on, or does so no more.
  void runs_here();
  void runs_nowhere();
  // On the loop's thread; closed() is told of each of kHandles handles, whose data is that of attach(). No arming
  // afterwards.
  void detach(uv_close_cb on_closed);

  // On the loop's thread: when it has to be awake again. kUnderWay: it was woken, or is about to be.
  static constexpr Nanos kUnderWay = 0;
  Nanos sleeping_until();

  const Clock &clock() const { return clock_; }
  bool arm(Timer &timer, Nanos at);
  bool cancel(Timer &timer);
  // Wakes the loop thread; its on_wake runs soon, once for many calls. Nothing happens once detached.
  void wake();
  // On the loop's thread: fires what is due and sets the uv_timer for the rest.
  void run_due();

 private:
  static void timer_fired(uv_timer_t *timer);
  void set_uv_timer();
  void ring();
  void rung_here();

  Clock clock_;
  void (*on_wake_)(void *) = nullptr;
  void *data_ = nullptr;
  Loop whose_ = Loop::Ours;
  LoopSeat *seat_ = nullptr;
  uv_async_t async_;         // loop thread only, but for uv_async_send
  uv_timer_t timer_;         // loop thread only
  uv_idle_t next_turn_;      // loop thread only
  bool wants_turn_ = false;  // loop thread only: on_wake is to run in the next turn
  std::mutex mutex_;
  TimerHeap heap_;  // guarded by mutex_
  Nanos sleeping_until_ = kUnderWay;  // guarded by mutex_; what the uv_timer is set for
  bool attached_ = false;  // guarded by mutex_
  bool has_thread_ = false;  // guarded by mutex_
  pthread_t thread_{};       // guarded by mutex_; of the loop
};

}  // namespace liblock
