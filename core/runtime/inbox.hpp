// SPDX-License-Identifier: MIT
// What other threads ask the loop's thread to do: a linked stack that anybody pushes to and the loop takes
// whole. push() tells when it was empty, so that thousands of tasks cost one wake-up; the loop runs them in
// the order in which each thread pushed them.
#pragma once

#include <atomic>

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
  // True when the inbox was empty: the loop may sleep and must be woken.
  bool push(LoopTask &task) {
    LoopTask *head = head_.load(std::memory_order_relaxed);
    do {
      task.next_task = head;
    } while (!head_.compare_exchange_weak(head, &task, std::memory_order_release, std::memory_order_relaxed));
    return head == nullptr;
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
  std::atomic<LoopTask *> head_{nullptr};
};

}  // namespace liblock
