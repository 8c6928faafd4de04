// SPDX-License-Identifier: MIT
// The usual heap (Williams 1964), with four children of each (Johnson 1975); the only addition is the index that each
// timer keeps of itself.
#include "runtime/timer_heap.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/assert.hpp"

namespace liblock {

void TimerHeap::add(Timer &timer) try {
  heap_.push_back({kNever, &timer});
  timer.index_ = heap_.size() - 1;
} catch (const std::bad_alloc &) {
  Timer::Aside *const aside = timer.aside();
  if (aside == nullptr) throw;
  timer.index_ = Timer::kAside;
  *aside = {kNever, std::exchange(aside_, &timer)};
}

bool TimerHeap::arm(Timer &timer, Nanos at) {
  const bool fresh = timer.index_ == Timer::kNotArmed;
  if (fresh) add(timer);
  if (timer.index_ == Timer::kAside) {
    timer.aside()->at = std::min(timer.aside()->at, at);
  } else if (at < heap_[timer.index_].at) {
    sift_up(timer.index_, {at, &timer});
  }
  return fresh;
}

bool TimerHeap::cancel(Timer &timer) {
  const size_t index = timer.index_;
  if (index == Timer::kNotArmed) return false;
  timer.index_ = Timer::kNotArmed;
  if (index == Timer::kAside) {
    leave_aside(timer);
    return true;
  }
  const Armed last = heap_.back();
  heap_.pop_back();
  if (index < heap_.size()) {
    sift_up(index, last);
    sift_down(last.timer->index_, last);
  }
  return true;
}

Timer *TimerHeap::pop_earliest(Nanos now) {
  for (Timer *timer = aside_; timer != nullptr; timer = timer->aside()->next) {
    if (timer->aside()->at > now) continue;
    cancel(*timer);
    return timer;
  }
  if (heap_.empty()) return nullptr;  // at the end of time
  Timer *timer = heap_.front().timer;
  cancel(*timer);
  return timer;
}

Nanos TimerHeap::earliest_aside(Nanos of_heap) const {
  Nanos earliest = of_heap;
  for (Timer *timer = aside_; timer != nullptr; timer = timer->aside()->next)
    earliest = std::min(earliest, timer->aside()->at);
  return earliest;
}

void TimerHeap::leave_aside(Timer &timer) {
  Timer **link = &aside_;
  while (*link != &timer) link = &(*link)->aside()->next;
  *link = timer.aside()->next;
}

size_t TimerHeap::size() const {
  size_t count = heap_.size();
  for (Timer *timer = aside_; timer != nullptr; timer = timer->aside()->next) ++count;
  return count;
}

void TimerHeap::place(size_t index, const Armed &armed) {
  heap_[index] = armed;
  armed.timer->index_ = index;
}

void TimerHeap::sift_up(size_t index, const Armed &armed) {
  for (; index > 0 && heap_[(index - 1) / kChildren].at > armed.at; index = (index - 1) / kChildren)
    place(index, heap_[(index - 1) / kChildren]);
  place(index, armed);
}

void TimerHeap::sift_down(size_t index, const Armed &armed) {
  for (;;) {
    const size_t first = kChildren * index + 1;
    if (first >= heap_.size()) break;
    const size_t end = std::min(first + kChildren, heap_.size());
    size_t soonest = first;
    for (size_t child = first + 1; child < end; ++child) {
      if (heap_[child].at < heap_[soonest].at) soonest = child;
    }
    if (heap_[soonest].at >= armed.at) break;
    place(index, heap_[soonest]);
    index = soonest;
  }
  place(index, armed);
}

void TimerHeap::check_invariants() const {
  for (Timer *timer = aside_; timer != nullptr; timer = timer->aside()->next)
    LIBLOCK_ASSERT(timer->index_ == Timer::kAside);
  for (size_t i = 0; i < heap_.size(); ++i) {
    LIBLOCK_ASSERT(heap_[i].timer->index_ == i);
    LIBLOCK_ASSERT(i == 0 || heap_[(i - 1) / kChildren].at <= heap_[i].at);
  }
}

}  // namespace liblock
