// SPDX-License-Identifier: MIT
// Reads who waits for a key, page by page, so that no reply is large and no script long. Those who come, leave or are
// served meanwhile move the others: nobody is shown twice, somebody may be missed. Loop thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "base/status.hpp"
#include "engine/key_info.hpp"

namespace liblock {

class Instance;

struct QueueRead {
  Status status = Status::OK;
  std::string why;
  std::vector<WaiterInfo> waiters;
  size_t unnamed = 0;  // beyond the bound, or not understood
};

inline constexpr size_t kQueueShownMax = 65'536;
inline constexpr size_t kQueuePage = 200;

void read_queue(Instance &instance, Bytes lock_key, std::function<void(QueueRead)> done);

}  // namespace liblock
