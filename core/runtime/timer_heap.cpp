// SPDX-License-Identifier: MIT
// The usual binary heap (Williams 1964); the only addition is the index that each timer keeps of itself.
#include "runtime/timer_heap.hpp"

#include "base/assert.hpp"

namespace liblock {

bool TimerHeap::arm(Timer &timer, Nanos at) {
  const bool fresh = timer.index_ == Timer::kNotArmed;
  if (fresh) {
    heap_.push_back(&timer);
    timer.index_ = heap_.size() - 1;
    timer.at_ = kNever;
  }
  if (at < timer.at_) {
    timer.at_ = at;
    sift_up(timer.index_);
  }
  return fresh;
}

bool TimerHeap::cancel(Timer &timer) {
  const size_t index = timer.index_;
  if (index == Timer::kNotArmed) return false;
  timer.index_ = Timer::kNotArmed;
  Timer *last = heap_.back();
  heap_.pop_back();
  if (index < heap_.size()) {
    place(index, last);
    sift_up(index);
    sift_down(last->index_);
  }
  return true;
}

Timer *TimerHeap::pop_due(Nanos now) {
  if (heap_.empty() || heap_.front()->at_ > now) return nullptr;
  Timer *timer = heap_.front();
  cancel(*timer);
  return timer;
}

void TimerHeap::place(size_t index, Timer *timer) {
  heap_[index] = timer;
  timer->index_ = index;
}

void TimerHeap::sift_up(size_t index) {
  Timer *timer = heap_[index];
  while (index > 0 && heap_[(index - 1) / 2]->at_ > timer->at_) {
    place(index, heap_[(index - 1) / 2]);
    index = (index - 1) / 2;
  }
  place(index, timer);
}

void TimerHeap::sift_down(size_t index) {
  Timer *timer = heap_[index];
  for (;;) {
    size_t child = 2 * index + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1]->at_ < heap_[child]->at_) ++child;
    if (heap_[child]->at_ >= timer->at_) break;
    place(index, heap_[child]);
    index = child;
  }
  place(index, timer);
}

void TimerHeap::check_invariants() const {
  for (size_t i = 0; i < heap_.size(); ++i) {
    LIBLOCK_ASSERT(heap_[i]->index_ == i);
    LIBLOCK_ASSERT(i == 0 || heap_[(i - 1) / 2]->at_ <= heap_[i]->at_);
  }
}

}  // namespace liblock
