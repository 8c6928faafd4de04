// SPDX-License-Identifier: MIT
// See uv_timers.hpp. Times are rounded up to libuv's milliseconds: a timer never fires early.
#include "runtime/uv_timers.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/assert.hpp"
#include "base/not_cancelled.hpp"

namespace liblock {

void UvTimers::attach(uv_loop_t *loop, Loop whose, LoopSeat *seat, void (*on_wake)(void *), void *data) {
  const auto woken = [](uv_async_t *async) {
    const auto *self = static_cast<UvTimers *>(async->data);
    or_end_without_memory([self] { self->on_wake_(self->data_); });
  };
  if (const int status = uv_async_init(loop, &async_, woken); status != 0) {
    if (status == UV_ENOMEM) throw std::bad_alloc();
    throw std::system_error(std::make_error_code(std::errc::too_many_files_open), "uv_async_init");
  }
  uv_timer_init(loop, &timer_);
  uv_idle_init(loop, &next_turn_);
  async_.data = timer_.data = next_turn_.data = this;
  on_wake_ = on_wake;
  data_ = data;
  whose_ = whose;
  seat_ = seat;
  const std::lock_guard lock(mutex_);
  attached_ = true;
}

void UvTimers::runs_here() {
  const std::lock_guard lock(mutex_);
  thread_ = pthread_self();
  has_thread_ = true;
}

void UvTimers::runs_nowhere() {
  const std::lock_guard lock(mutex_);
  has_thread_ = false;
}

Nanos UvTimers::sleeping_until() {
  const std::lock_guard lock(mutex_);
  return sleeping_until_;
}

void UvTimers::detach(uv_close_cb on_closed) {
  {
    const std::lock_guard lock(mutex_);
    attached_ = false;
  }
  async_.data = timer_.data = next_turn_.data = data_;
  uv_close(reinterpret_cast<uv_handle_t *>(&timer_), on_closed);
  uv_close(reinterpret_cast<uv_handle_t *>(&next_turn_), on_closed);
  uv_close(reinterpret_cast<uv_handle_t *>(&async_), on_closed);
}

bool UvTimers::arm(Timer &timer, Nanos at) {
  const std::lock_guard lock(mutex_);
  const bool fresh = heap_.arm(timer, at);
  if (attached_ && at < sleeping_until_) {
    sleeping_until_ = kUnderWay;
    ring();
  }
  return fresh;
}

bool UvTimers::cancel(Timer &timer) {
  const std::lock_guard lock(mutex_);
  return heap_.cancel(timer);
}

void UvTimers::wake() {
  const std::lock_guard lock(mutex_);
  if (attached_) ring();
}

// Under mutex_.
void UvTimers::ring() {
  if (!has_thread_ || pthread_equal(thread_, pthread_self()) == 0) {
    if (seat_ != nullptr && seat_->ring()) return;
    const NotCancelled here;  // it writes, perhaps for a call on this thread's stack
    uv_async_send(&async_);
    return;
  }
  wants_turn_ = true;
  uv_idle_start(&next_turn_, [](uv_idle_t *idle) {
    or_end_without_memory([idle] { static_cast<UvTimers *>(idle->data)->rung_here(); });
  });
}

// A loop does not sleep while a uv_idle is active. Ours may sleep as soon as nothing is left; a caller's has one more
// turn, so that the one that did something ends.
void UvTimers::rung_here() {
  const bool was_wanted = std::exchange(wants_turn_, false);
  if (was_wanted) on_wake_(data_);
  const bool may_sleep = whose_ == Loop::Ours || !was_wanted;
  if (may_sleep && !wants_turn_) uv_idle_stop(&next_turn_);
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

void UvTimers::timer_fired(uv_timer_t *timer) {
  or_end_without_memory([timer] { static_cast<UvTimers *>(timer->data)->run_due(); });
}

}  // namespace liblock
