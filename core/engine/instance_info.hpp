// SPDX-License-Identifier: MIT
// What a list of instances shows of one of them: a copy. Times of day are microseconds since 1970, by the server's
// clock where there is one.
#pragma once

#include <cstdint>
#include <string>

namespace liblock {

struct InstanceInfo {
  std::string id;
  int64_t heard_us = 0;
  int64_t silent_ms = 0;
  int64_t interval_ms = -1;  // between two signs of life; -1: it needs none
  int32_t listens = -1;      // 1: somebody listens for it, 0: nobody, -1: not known
  bool is_zombie = false;
  bool is_self = false;
};

}  // namespace liblock
