// SPDX-License-Identifier: MIT
// Notices on their way from any thread to the one that delivers them: a linked list under a spin lock, taken
// whole. push() tells when the list was empty, so that a burst costs one wake-up.
#pragma once

#include <mutex>

#include "base/spin_lock.hpp"
#include "runtime/runtime.hpp"

namespace liblock {

class NoticeQueue {
 public:
  // True when the queue was empty: the consumer may sleep and must be woken.
  bool push(Notice *notice) {
    const std::lock_guard lock(lock_);
    notice->next = nullptr;
    *tail_ = notice;
    tail_ = &notice->next;
    return head_ == notice;
  }
  // The whole list in order of pushing, linked by `next`; nullptr when empty.
  Notice *take_all() {
    const std::lock_guard lock(lock_);
    Notice *all = head_;
    head_ = nullptr;
    tail_ = &head_;
    return all;
  }

 private:
  SpinLock lock_;
  Notice *head_ = nullptr;  // guarded by lock_, as is tail_
  Notice **tail_ = &head_;
};

// Delivers a list as take_all returned it and frees it; returns how many there were.
inline size_t deliver_all(Notice *notice) {
  size_t count = 0;
  const NoBlockingScope scope;
  while (notice != nullptr) {
    Notice *next = notice->next;
    notice->deliver();
    notice->dispose();
    notice = next;
    ++count;
  }
  return count;
}

}  // namespace liblock
