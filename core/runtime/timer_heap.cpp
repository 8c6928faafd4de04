// SPDX-License-Identifier: MIT
// The usual heap (Williams 1964), with four children of each (Johnson 1975); the only addition is the index that each
// timer keeps of itself.
#include "runtime/timer_heap.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace liblock {

bool TimerHeap::arm(Timer &timer, Nanos at) {
  const bool fresh = timer.index_ == Timer::kNotArmed;
  if (fresh) {
    heap_.push_back({kNever, &timer});
    timer.index_ = heap_.size() - 1;
  }
  if (at < heap_[timer.index_].at) sift_up(timer.index_, {at, &timer});
  return fresh;
}

bool TimerHeap::cancel(Timer &timer) {
  const size_t index = timer.index_;
  if (index == Timer::kNotArmed) return false;
  timer.index_ = Timer::kNotArmed;
  const Armed last = heap_.back();
  heap_.pop_back();
  if (index < heap_.size()) {
    sift_up(index, last);
    sift_down(last.timer->index_, last);
  }
  return true;
}

Timer *TimerHeap::pop_due(Nanos now) {
  if (heap_.empty() || heap_.front().at > now) return nullptr;
  Timer *timer = heap_.front().timer;
  cancel(*timer);
  return timer;
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
  for (size_t i = 0; i < heap_.size(); ++i) {
    LIBLOCK_ASSERT(heap_[i].timer->index_ == i);
    LIBLOCK_ASSERT(i == 0 || heap_[(i - 1) / kChildren].at <= heap_[i].at);
  }
}

}  // namespace liblock
