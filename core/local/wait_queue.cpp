// SPDX-License-Identifier: MIT
// See wait_queue.hpp. A FIFO waiter goes to the end and a LIFO one to the front in constant time; only a
// place in the middle is searched, from the end.
#include "local/wait_queue.hpp"

#include <algorithm>

namespace liblock {

WaitQueue::Waiters &WaitQueue::list_of(const Waiter &waiter) {
  if (waiter.kind != Waiter::Kind::Lock) return watchers;
  return waiter.params->order == LIBLOCK_ORDER_ANY ? any : strict;
}

template <typename GoesBefore>
[[gnu::always_inline]] inline size_t WaitQueue::insert(Waiter &waiter, GoesBefore goes_before) {
  if (!strict.empty() && goes_before(*strict.front())) {
    strict.insert(&waiter, strict.front());
    return 0;
  }
  size_t position = strict.size();
  Waiter *before = nullptr;
  for (Waiter *other = strict.back(); other != nullptr && goes_before(*other); other = Waiters::prev(other)) {
    before = other;
    --position;
  }
  strict.insert(&waiter, before);
  return position;
}

size_t WaitQueue::enqueue(Waiter &waiter, Nanos now) {
  waiter.enqueued_at = now;
  waiter.was_requeued = false;
  Waiters &list = list_of(waiter);
  if (&list != &strict) {
    list.push_back(&waiter);
    return list.size() - 1;
  }
  ticket_last_ = std::max(ticket_last_, ticket_at(now));
  waiter.sort_key = waiter.params->sort_key(ticket_last_);
  const bool before_equals = waiter.params->order == LIBLOCK_ORDER_LIFO;
  return insert(waiter, [&](const Waiter &other) {
    return waiter.sort_key < other.sort_key || (before_equals && waiter.sort_key == other.sort_key);
  });
}

// Serials say in which order those came whose times are equal.
size_t WaitQueue::enqueue_again(Waiter &waiter) {
  const uint64_t serial = waiter.serial.load(std::memory_order_relaxed);
  if (&list_of(waiter) == &strict) {
    const bool before_equals = waiter.params->order == LIBLOCK_ORDER_LIFO;
    return insert(waiter, [&](const Waiter &other) {
      if (waiter.sort_key != other.sort_key) return waiter.sort_key < other.sort_key;
      const uint64_t its = other.serial.load(std::memory_order_relaxed);
      return before_equals ? serial > its : serial < its;
    });
  }
  size_t position = 0;
  Waiter *before = any.front();
  for (; before != nullptr && (before->was_requeued || before->serial.load(std::memory_order_relaxed) < serial);
       before = Waiters::next(before))
    ++position;
  any.insert(&waiter, before);
  return position;
}

void WaitQueue::remove(Waiter &waiter) { list_of(waiter).remove(&waiter); }

void WaitQueue::requeue(Waiter &waiter, Nanos now) {
  const Nanos asked_at = waiter.enqueued_at;
  waiter.was_requeued = true;
  remove(waiter);
  if (&list_of(waiter) != &strict) {
    list_of(waiter).push_back(&waiter);
    return;
  }
  // The end of the queue is behind everybody, whatever the orders: one more than the largest key.
  ticket_last_ = std::max(ticket_last_, ticket_at(now));
  waiter.sort_key = strict.empty() ? ticket_last_ : std::max(ticket_last_, strict.back()->sort_key);
  strict.push_back(&waiter);
  waiter.enqueued_at = asked_at;
}

size_t WaitQueue::position(const Waiter &waiter) const {
  size_t position = 0;
  for (Waiter *other = strict.front(); other != nullptr && other != &waiter; other = Waiters::next(other))
    ++position;
  return position;
}

void WaitQueue::check_invariants() const {
  for (Waiter *w = strict.front(); w != nullptr; w = Waiters::next(w)) {
    LIBLOCK_ASSERT(w->kind == Waiter::Kind::Lock);
    LIBLOCK_ASSERT(Waiters::next(w) == nullptr || w->sort_key <= Waiters::next(w)->sort_key);
  }
}

}  // namespace liblock
