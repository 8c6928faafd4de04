// SPDX-License-Identifier: MIT
// See event_queue.hpp.
#include "engine/event_queue.hpp"

#include <chrono>
#include <mutex>
#include <new>
#include <utility>

namespace liblock {

int64_t wall_clock_us() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

Told::Told(int32_t kind) {
  event.struct_size = sizeof event;
  event.kind = kind;
  event.message = "";
  event.at_us = wall_clock_us();
  event.obtained_at_us = event.ttl_ms = event.acquire_us = event.hold_us = event.elapsed_us =
      event.queue_position = event.queue_length = -1;
}

// What was queued when its context came to its end.
class EventQueue::Last final : public Notice {
 public:
  explicit Last(Told *told) : told_(told) {}
  ~Last() override { free_all(told_); }
  void deliver() override { deliver_all(std::exchange(told_, nullptr)); }

 private:
  Told *told_;
};

EventQueue::~EventQueue() { free_all(head_); }

void EventQueue::listen(uint64_t mask, liblock_event_callback callback, void *user_data,
                        std::shared_ptr<Runtime> runtime) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  if (runtime != nullptr) runtime_.swap(runtime);
  callback_ = callback;
  user_data_ = user_data;
  mask_.store(callback != nullptr ? mask : 0, std::memory_order_relaxed);
}

void EventQueue::set_max(size_t max) {
  const std::lock_guard lock(mutex_);
  max_ = max;
}

void EventQueue::push(std::unique_ptr<Told> told) {
  const std::lock_guard lock(mutex_);
  if (!wants(told->event.kind)) return;
  if (size_ >= max_) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  told->callback = callback_;
  told->user_data = user_data_;
  ++size_;
  *tail_ = told.release();
  tail_ = &(*tail_)->next;
}

void EventQueue::deliver_soon() {
  std::shared_ptr<Runtime> runtime;
  {
    const std::lock_guard lock(mutex_);
    if (head_ == nullptr || in_flight_) return;
    in_flight_ = true;
    kept_ = shared_from_this();
    runtime = runtime_;
  }
  runtime->post(this);
}

// With mutex_.
Told *EventQueue::take_all() {
  size_ = 0;
  tail_ = &head_;
  return std::exchange(head_, nullptr);
}

void EventQueue::deliver_all(Told *told) {
  while (told != nullptr) {
    const std::unique_ptr<Told> one(told);
    told = told->next;
    one->callback(&one->event, one->user_data);
  }
}

void EventQueue::free_all(Told *told) {
  while (told != nullptr) {
    const std::unique_ptr<Told> one(told);
    told = told->next;
  }
}

void EventQueue::deliver() {
  Told *told;
  {
    const std::lock_guard lock(mutex_);
    told = take_all();
  }
  deliver_all(told);
}

// What came meanwhile has its turn behind other notices.
void EventQueue::dispose() {
  std::shared_ptr<EventQueue> kept;
  std::shared_ptr<Runtime> runtime;
  {
    const std::lock_guard lock(mutex_);
    if (head_ == nullptr) {
      in_flight_ = false;
      kept.swap(kept_);  // may be the last to keep this: goes after the lock
      return;
    }
    runtime = runtime_;
  }
  runtime->post(this);
}

void EventQueue::stop() {
  Told *told;
  std::shared_ptr<Runtime> runtime;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    mask_.store(0, std::memory_order_relaxed);
    told = take_all();
    runtime = runtime_;
  }
  if (told == nullptr) return;
  auto *last = new (std::nothrow) Last(told);
  if (last == nullptr) return free_all(told);
  runtime->post(last);
}

}  // namespace liblock
