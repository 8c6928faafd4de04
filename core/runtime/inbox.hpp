// SPDX-License-Identifier: MIT
// What other threads ask the loop's thread to do: a linked stack that anybody pushes to and the loop takes
// whole. push() tells when it was empty, so that thousands of tasks cost one wake-up; the loop runs them in
// the order in which each thread pushed them.
#pragma once

#include <atomic>
#include <cstdint>

namespace liblock {

// The pusher's until it runs; run() may be the end of it.
class LoopTask {
 public:
  virtual void run() = 0;
  LoopTask *next_task = nullptr;

 protected:
  ~LoopTask() = default;
};

class Inbox {
 public:
  // First: the inbox was empty, the loop may sleep and must be woken. Closed: the loop is no more, the task is still
  // the caller's.
  enum class Pushed : uint8_t { First, More, Closed };
  Pushed push(LoopTask &task) {
    LoopTask *head = head_.load(std::memory_order_acquire);
    do {
      if (head == closed()) return Pushed::Closed;
      task.next_task = head;
    } while (!head_.compare_exchange_weak(head, &task, std::memory_order_release, std::memory_order_acquire));
    return head == nullptr ? Pushed::First : Pushed::More;
  }
  // On the loop's thread, at its end. False: there is something to run first.
  bool close_if_empty() {
    LoopTask *none = nullptr;
    return head_.compare_exchange_strong(none, closed(), std::memory_order_acq_rel);
  }
  // On the loop's thread. What is pushed meanwhile has rung for itself.
  void run_all() {
    LoopTask *newest = head_.exchange(nullptr, std::memory_order_acquire);
    LoopTask *oldest = nullptr;
    while (newest != nullptr) {
      LoopTask *next = newest->next_task;
      newest->next_task = oldest;
      oldest = newest;
      newest = next;
    }
    while (oldest != nullptr) {
      LoopTask *next = oldest->next_task;
      oldest->run();
      oldest = next;
    }
  }

 private:
  // An address that no task has.
  LoopTask *closed() { return reinterpret_cast<LoopTask *>(&head_); }

  std::atomic<LoopTask *> head_{nullptr};
};

}  // namespace liblock
