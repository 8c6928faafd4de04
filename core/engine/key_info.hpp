// SPDX-License-Identifier: MIT
// What an inspection saw of one key: copies, so that it outlives every lock. Times of day are microseconds since
// 1970, by the server's clock where there is one; 0: not known.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace liblock {

struct WaiterInfo {
  std::string owner;
  int64_t waited_ms = 0;
  int32_t order = 0;
  int32_t priority = 0;
  std::string instance{};
  int64_t since_us = 0;  // waiting
};

struct KeyInfo {
  std::string key;
  bool is_global = false;
  bool is_held = false;
  bool is_zombie = false;
  std::string owner;
  std::string instance;
  std::string attempt_id;  // on a server, of the grant
  uint64_t token = 0;
  int64_t since_us = 0;        // held
  int64_t hand_us = 0;         // the same of a grant that goes from hand to hand; 0: it does not
  int64_t initial_ttl_ms = 0;  // -1: no expiry; 0: not known
  int64_t remaining_ms = -1;
  uint32_t hold_count = 0;
  std::string value;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<WaiterInfo> waiters;  // in the order in which they will be served
  size_t waiters_unnamed = 0;       // further ones, of whom only the number is known

  size_t waiter_count() const { return waiters.size() + waiters_unnamed; }
};

// The host that an instance says it runs on: what stands behind the '@' of its id; else empty.
inline std::string_view host_of_instance(std::string_view instance) {
  const size_t at = instance.rfind('@');
  return at == std::string_view::npos ? std::string_view() : instance.substr(at + 1);
}

}  // namespace liblock
