// SPDX-License-Identifier: MIT
// Notices on their way from any thread to the one that delivers them: a linked list under a spin lock, taken
// whole. push() tells when the list was empty, so that a burst costs one wake-up. What a callback itself
// brings about (it releases, and the next request is granted) goes to a list of the delivering thread's own,
// without lock and wake-up; the two lists take turns, so that neither starves the other.
#pragma once

#include <mutex>
#include <utility>

#include "base/spin_lock.hpp"
#include "runtime/runtime.hpp"

namespace liblock {

class NoticeQueue {
 public:
  // First: the queue was empty, the consumer may sleep and must be woken. Closed: the notice is still the caller's.
  using Pushed = Inbox::Pushed;
  Pushed push(Notice *notice) {
    notice->next = nullptr;
    if (delivering_ == this) {
      own_.append(notice);
      return Pushed::More;
    }
    const std::lock_guard lock(lock_);
    if (closed_) return Pushed::Closed;
    others_.append(notice);
    others_wait_.store(true, std::memory_order_relaxed);
    return others_.head == notice ? Pushed::First : Pushed::More;
  }
  // Nobody will deliver any more. False: there is something to deliver first.
  bool close_if_empty() {
    const std::lock_guard lock(lock_);
    closed_ = others_.head == nullptr && own_.head == nullptr;
    return closed_;
  }
  // Delivers a round of both lists; returns how many there were. 0: nothing is left, and the look at the list
  // of the others was made under its lock.
  size_t deliver_round() {
    const NoBlockingScope scope;
    NoticeQueue *const outer = std::exchange(delivering_, this);
    size_t count = deliver(take_others());
    for (int turn = 0; turn < kOwnTurns && own_.head != nullptr; ++turn) count += deliver(own_.take());
    delivering_ = outer;
    return count;
  }

 private:
  static constexpr int kOwnTurns = 32;
  struct Notices {
    Notice *head = nullptr;
    Notice **tail = &head;
    void append(Notice *notice) {
      *tail = notice;
      tail = &notice->next;
    }
    Notice *take() {
      tail = &head;
      return std::exchange(head, nullptr);
    }
  };

  Notice *take_others() {
    // With own ones to deliver there is another round: a look without the lock will do.
    if (own_.head != nullptr && !others_wait_.load(std::memory_order_relaxed)) return nullptr;
    const std::lock_guard lock(lock_);
    others_wait_.store(false, std::memory_order_relaxed);
    return others_.take();
  }
  static size_t deliver(Notice *notice) {
    size_t count = 0;
    while (notice != nullptr) {
      Notice *next = notice->next;
      notice->deliver();
      notice->dispose();
      notice = next;
      ++count;
    }
    return count;
  }

  [[gnu::tls_model("initial-exec")]] static inline thread_local NoticeQueue *delivering_ = nullptr;

  SpinLock lock_;
  Notices others_;                        // guarded by lock_
  bool closed_ = false;                   // guarded by lock_
  std::atomic<bool> others_wait_{false};  // written under lock_
  Notices own_;                           // of the delivering thread
};

}  // namespace liblock
