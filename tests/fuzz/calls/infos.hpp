// SPDX-License-Identifier: MIT
// Whatever can be asked of an info, of none, and of a waiter that is not there: answers fit together.
#pragma once

#include <liblock/liblock.h>

#include <string>

#include "grants.hpp"

namespace calls {

inline std::string text_of(const void *data, size_t size) {
  LIBLOCK_ASSERT(data != nullptr || size == 0);
  return {static_cast<const char *>(data), size};
}
using Text = const void *(*)(const liblock_info *, size_t *);
inline std::string text_of(const liblock_info *info, Text get) {
  size_t size = 0;
  const void *data = get(info, &size);
  return text_of(data, size);
}

inline void read_waiters(const liblock_info *info) {
  size_t size = 0;
  const size_t count = liblock_info_waiter_count(info);
  // Lists tell their number alone.
  for (size_t n = 0; n < count && liblock_info_waiter_owner(info, n, nullptr) != nullptr; ++n) {
    const void *instance = liblock_info_waiter_instance(info, n, &size);
    LIBLOCK_ASSERT(text_of(instance, size).find('@') != std::string::npos);
    LIBLOCK_ASSERT(liblock_info_waiter_since_us(info, n) > 0 && liblock_info_waiter_waited_ms(info, n) >= 0);
    LIBLOCK_ASSERT(liblock_info_waiter_order(info, n) >= LIBLOCK_ORDER_FIFO &&
                   liblock_info_waiter_order(info, n) <= LIBLOCK_ORDER_ANY);
    static_cast<void>(liblock_info_waiter_priority(info, n));
  }
  LIBLOCK_ASSERT(liblock_info_waiter_owner(info, count, &size) == nullptr && size == 0);
  LIBLOCK_ASSERT(liblock_info_waiter_instance(info, count, &size) == nullptr && size == 0);
  LIBLOCK_ASSERT(liblock_info_waiter_order(info, count) == -1 && liblock_info_waiter_priority(info, count) == 0);
  LIBLOCK_ASSERT(liblock_info_waiter_since_us(info, count) == 0 && liblock_info_waiter_waited_ms(info, count) == -1);
}

inline void read_no_info() {
  size_t size = 1;
  for (const Text text : {liblock_info_key, liblock_info_owner, liblock_info_instance, liblock_info_host,
                          liblock_info_value})
    LIBLOCK_ASSERT(text(nullptr, &size) == nullptr && size == 0);
  LIBLOCK_ASSERT(liblock_info_is_held(nullptr) == 0 && liblock_info_is_global(nullptr) == 0);
  LIBLOCK_ASSERT(liblock_info_token(nullptr) == 0 && liblock_info_hold_count(nullptr) == 0);
  LIBLOCK_ASSERT(liblock_info_remaining_ms(nullptr) == -1 && liblock_info_metadata_count(nullptr) == 0);
  read_waiters(nullptr);
  liblock_info_free(nullptr);
}

inline void read_info(const liblock_info *info) {
  liblock_metadata pair;
  const bool is_held = liblock_info_is_held(info) == 1, is_global = liblock_info_is_global(info) == 1;
  LIBLOCK_ASSERT(text_of(info, liblock_info_key).empty() == is_global);
  LIBLOCK_ASSERT(is_held == (liblock_info_token(info) != 0) && is_held == (liblock_info_hold_count(info) != 0));
  LIBLOCK_ASSERT(liblock_info_remaining_ms(info) >= -1 && liblock_info_initial_ttl_ms(info) >= -1);
  LIBLOCK_ASSERT(liblock_info_since_us(info) >= 0);
  static_cast<void>(liblock_info_is_zombie(info));
  const std::string instance = text_of(info, liblock_info_instance);
  const std::string host = text_of(info, liblock_info_host);
  LIBLOCK_ASSERT(!is_held || (instance.ends_with("@" + host) && !host.empty()));
  static_cast<void>(text_of(info, liblock_info_owner));
  LIBLOCK_ASSERT(text_of(info, liblock_info_value).size() <= 4'096);
  const size_t count = liblock_info_metadata_count(info);
  for (size_t n = 0; n < count; ++n)
    LIBLOCK_ASSERT(liblock_info_metadata_at(info, n, &pair) == LIBLOCK_OK && pair.name.size > 0);
  is_one_of(liblock_info_metadata_at(info, count, &pair), {LIBLOCK_INVALID_ARGUMENT});
  read_waiters(info);
}

}  // namespace calls
