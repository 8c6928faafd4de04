// SPDX-License-Identifier: MIT
// Which of several keys somebody waits for whose instance is gone: one script call, for lists of zombies. Loop thread.
#pragma once

#include "redis/inspecting.hpp"

namespace liblock {

struct DeadWaiters {
  Status status = Status::OK;
  std::string why;
  std::vector<bool> found;  // for each key
};

// kKeysPerLook keys at most.
void find_dead_waiters(Instance &instance, const std::vector<std::string> &lock_keys,
                       std::function<void(DeadWaiters)> done);

}  // namespace liblock
