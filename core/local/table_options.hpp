// SPDX-License-Identifier: MIT
// Options that everyone who opens the same named table must agree on.
#pragma once

#include <string>

#include "base/clock.hpp"

namespace liblock {

struct TableOptions {
  std::string prefix;
  int64_t cleanup_interval_ms = 300'000;
  int64_t cleanup_batch_size = 100;
  int64_t max_ttl_ms = INT64_MAX;
  bool deadlock_detection = true;
  int64_t deadlock_delay_ms = 1;
  int64_t locks_max = 16'777'216;
  int64_t waiters_max = 1'000'000;

  bool operator==(const TableOptions &) const = default;
};

}  // namespace liblock
