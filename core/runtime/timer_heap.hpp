// SPDX-License-Identifier: MIT
// Deadlines in order: a heap of timers that know their place, so that any of them is removed in O(log n). The times lie
// in the heap itself: of 100,000 timers few are in a cache, and whoever compared two would wait for both. Pure: it is
// told the time. A timer is in the heap once at most; arming it again can only make it fire earlier, so that of two who
// want to be woken neither is forgotten. Where there is no memory for a larger heap, a timer that has room for it
// stands aside, in a list: who arms it may do so for somebody else, whom nobody could tell.
#pragma once

#include <cstddef>
#include <vector>

#include "base/assert.hpp"
#include "base/clock.hpp"

namespace liblock {

class Timer {
 public:
  // The heap would go on with its memory: whoever owns it has cancelled it.
  virtual ~Timer() { LIBLOCK_ASSERT(index_ == kNotArmed); }
  // Called once per arming, with no lock of the runtime held; the timer is no longer armed and may be
  // re-armed.
  virtual void fire(Nanos now) = 0;

 protected:
  // Written when it comes to that: a request that never has a timer pays nothing for it.
  struct Aside {
    Nanos at;
    Timer *next;
  };

 private:
  friend class TimerHeap;
  // nullptr: arming it may throw std::bad_alloc.
  virtual Aside *aside() { return nullptr; }

  static constexpr size_t kNotArmed = SIZE_MAX, kAside = SIZE_MAX - 1;
  size_t index_ = kNotArmed;
};

class TimerHeap {
 public:
  // Fires at `at`, or earlier where it was armed so before.
  // True: it was not in the heap before.
  bool arm(Timer &timer, Nanos at);
  // False: it was not armed (it never was, or it is being fired).
  bool cancel(Timer &timer);
  // kNever when nothing is armed.
  Nanos earliest() const {
    const Nanos of_heap = heap_.empty() ? kNever : heap_.front().at;
    return aside_ == nullptr ? of_heap : earliest_aside(of_heap);
  }
  // Takes out one timer that is due, nullptr when none is.
  Timer *pop_due(Nanos now) { return earliest() > now ? nullptr : pop_earliest(now); }
  size_t size() const;
  void check_invariants() const;

 private:
  static constexpr size_t kChildren = 4;  // of which one line of a cache has the times
  struct Armed {
    Nanos at;
    Timer *timer;
  };
  void add(Timer &timer);
  Timer *pop_earliest(Nanos now);
  Nanos earliest_aside(Nanos of_heap) const;
  void leave_aside(Timer &timer);
  void place(size_t index, const Armed &armed);
  void sift_up(size_t index, const Armed &armed);
  void sift_down(size_t index, const Armed &armed);

  std::vector<Armed> heap_;
  Timer *aside_ = nullptr;  // in no order: few, and seldom any
};

}  // namespace liblock
