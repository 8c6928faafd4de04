// SPDX-License-Identifier: MIT
// Our timer heap on a libuv loop: any thread arms and cancels under a mutex, the loop thread fires. One
// uv_timer stands for the earliest deadline; one uv_async tells the loop that it moved (sends coalesce).
// Owner of the uv handles: the loop thread. Guarded by mutex_: the heap and the deadline that the loop sleeps
// for.
#pragma once

#include <uv.h>

#include <mutex>

#include "runtime/timer_heap.hpp"

namespace liblock {

class UvTimers {
 public:
  // On the loop's thread. Throws std::system_error when libuv cannot make its handles.
  void attach(uv_loop_t *loop, uv_async_cb on_wake, void *data);
  // On the loop's thread; closed() is told once both handles are closed. No arming afterwards.
  void detach(uv_close_cb on_closed);

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

  Clock clock_;
  uv_async_t async_;  // loop thread only, but for uv_async_send
  uv_timer_t timer_;  // loop thread only
  std::mutex mutex_;
  TimerHeap heap_;  // guarded by mutex_
  Nanos sleeping_until_ =
      0;                   // guarded by mutex_; what the uv_timer is set for; 0: on_wake is under way anyway
  bool attached_ = false;  // guarded by mutex_
};

}  // namespace liblock
