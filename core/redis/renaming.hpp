// SPDX-License-Identifier: MIT
// A lock that was adopted says in its records who has it now: whoever looks sees him, an administrator's message
// reaches him, and it is no zombie when the process that exported it is gone. Loop thread.
#pragma once

#include <vector>

#include "engine/engine.hpp"
#include "remote/ending.hpp"

namespace liblock {

class Instance;

class Renaming {
 public:
  explicit Renaming(Instance &instance) : instance_(instance) {}
  // Ends with OK however it goes: the lock is held all the same. What the server may not have heard of is said once
  // more with the next connection.
  void rename(Handle handle, AskDone done);
  void on_connected();

 private:
  class Call;
  Instance &instance_;
  std::vector<Handle> again_;
};

}  // namespace liblock
