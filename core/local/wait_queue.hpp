// SPDX-License-Identifier: MIT
// Who waits for one key, and who watches it. Pure: ordering only; granting is the table's business.
// Three lists: `strict` in the order of the sort key, smallest first (FIFO + ticket, LIFO - ticket, PRIORITY
// ticket - priority x age step, so that a waiter ages by itself); `any` in order of arrival, who may be
// overtaken; `watchers`. Guarded by the lock of the shard (or of the global lock) whose entry points here.
#pragma once

#include "local/waiter.hpp"

namespace liblock {

class WaitQueue {
 public:
  using Waiters = List<Waiter, &Waiter::links>;

  // Sets the sort key from the time of asking and links the waiter. Returns its place among the strict
  // waiters.
  size_t enqueue(Waiter &waiter, Nanos now);
  // The same at the place that it had when it was removed, among those who are there; not for one that was requeued.
  size_t enqueue_again(Waiter &waiter);
  void remove(Waiter &waiter);
  // To the end of the queue, as if it had asked now.
  void requeue(Waiter &waiter, Nanos now);

  bool empty() const { return strict.empty() && any.empty() && watchers.empty(); }
  bool nobody_waits() const { return strict.empty() && any.empty(); }
  size_t waiting() const { return strict.size() + any.size(); }
  size_t position(const Waiter &waiter) const;
  void check_invariants() const;

  Waiters strict;
  Waiters any;
  Waiters watchers;
  WaitQueue *next_free = nullptr;  // while it is in the shard's pool

 private:
  Waiters &list_of(const Waiter &waiter);
  template <typename GoesBefore>
  size_t insert(Waiter &waiter, GoesBefore goes_before);
  int64_t ticket_last_ = INT64_MIN;  // a ticket never falls, so that equal times keep their order of arrival
};

}  // namespace liblock
