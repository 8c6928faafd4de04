// SPDX-License-Identifier: MIT
// What an inspection saw of one key: copies, so that it outlives every lock.
#pragma once

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
  int64_t remaining_ms = -1;
  uint32_t hold_count = 0;
  std::string value;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<WaiterInfo> waiters;
};

}  // namespace liblock
