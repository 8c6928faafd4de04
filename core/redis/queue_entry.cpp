// SPDX-License-Identifier: MIT
// See queue_entry.hpp.
#include "redis/queue_entry.hpp"

#include "base/read_number.hpp"
#include "base/status.hpp"

namespace liblock {

bool parse_queue_entry(Bytes entry, int64_t now_us, WaiterInfo &waiter) {
  Bytes rest = entry, ticket, since, lease, order, priority, instance, owner;
  for (Bytes *field : {&ticket, &since, &lease, &order, &priority, &instance}) {
    if (!next_field(rest, *field)) return false;
  }
  if (!next_field(rest, owner)) owner = rest;
  int64_t since_us = 0, order_number = 0, priority_number = 0;
  if (!read_number(since, since_us) || !read_number(order, order_number) ||
      !read_number(priority, priority_number))
    return false;
  const bool is_in_range = since_us > 0 && order_number >= LIBLOCK_ORDER_FIFO &&
                           order_number <= LIBLOCK_ORDER_ANY && priority_number >= INT32_MIN &&
                           priority_number <= INT32_MAX;
  if (!is_in_range) return false;
  waiter.owner = unescape_field(owner);
  waiter.instance = instance;
  waiter.since_us = since_us;
  waiter.waited_ms = std::max<int64_t>(0, now_us - since_us) / 1'000;
  waiter.order = static_cast<int32_t>(order_number);
  waiter.priority = static_cast<int32_t>(priority_number);
  return true;
}

}  // namespace liblock
