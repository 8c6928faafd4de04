// SPDX-License-Identifier: MIT
// See uv_timers.hpp. Times are rounded up to libuv's milliseconds: a timer never fires early.
#include "runtime/uv_timers.hpp"

#include <algorithm>
#include <system_error>

#include "base/assert.hpp"

namespace liblock {

void UvTimers::attach(uv_loop_t *loop, uv_async_cb on_wake, void *data) {
  if (uv_async_init(loop, &async_, on_wake) != 0) {
    throw std::system_error(std::make_error_code(std::errc::too_many_files_open), "uv_async_init");
  }
  uv_timer_init(loop, &timer_);
  async_.data = data;
  timer_.data = this;
  const std::lock_guard lock(mutex_);
  attached_ = true;
}

void UvTimers::detach(uv_close_cb on_closed) {
  {
    const std::lock_guard lock(mutex_);
    attached_ = false;
  }
  timer_.data = async_.data;
  uv_close(reinterpret_cast<uv_handle_t *>(&timer_), on_closed);
  uv_close(reinterpret_cast<uv_handle_t *>(&async_), on_closed);
}

bool UvTimers::arm(Timer &timer, Nanos at) {
  const std::lock_guard lock(mutex_);
  const bool fresh = heap_.arm(timer, at);
  if (attached_ && at < sleeping_until_) {
    sleeping_until_ = 0;
    uv_async_send(&async_);
  }
  return fresh;
}

bool UvTimers::cancel(Timer &timer) {
  const std::lock_guard lock(mutex_);
  return heap_.cancel(timer);
}

void UvTimers::wake() {
  const std::lock_guard lock(mutex_);
  if (attached_) uv_async_send(&async_);
}

void UvTimers::run_due() {
  const Nanos now = clock_.now();  // time stands still within one turn
  for (;;) {
    Timer *due;
    {
      const std::lock_guard lock(mutex_);
      due = heap_.pop_due(now);
    }
    if (due == nullptr) break;
    due->fire(now);
  }
  set_uv_timer();
}

void UvTimers::set_uv_timer() {
  const std::lock_guard lock(mutex_);
  if (!attached_) return;
  sleeping_until_ = heap_.earliest();
  if (sleeping_until_ == kNever) {
    uv_timer_stop(&timer_);
    return;
  }
  uv_update_time(timer_.loop);
  const Nanos left = std::max<Nanos>(0, sleeping_until_ - clock_.now());
  uv_timer_start(&timer_, timer_fired, static_cast<uint64_t>((left + kMillisecond - 1) / kMillisecond), 0);
}

void UvTimers::timer_fired(uv_timer_t *timer) { static_cast<UvTimers *>(timer->data)->run_due(); }

}  // namespace liblock
