// SPDX-License-Identifier: MIT
// All keys of a context, page by page: SCAN finds them by their prefix, never KEYS; what they hold is looked at a few
// at a time. Memory is bounded by one page of names and one look. A key that stays throughout is found; one that comes
// or goes may be missed, and one may come twice where the server's table grows or shrinks meanwhile. Loop thread.
#pragma once

#include "redis/inspecting.hpp"

namespace liblock {

enum class Scanned : uint8_t { Locks, Queues };

struct Page {
  Status status = Status::OK;
  std::string why;
  uint64_t next = 0;  // where to go on; 0: this was the last
  std::vector<std::string> lock_keys;
};

// From `cursor` (0: the start) on, about `count` keys of the server's table, of which those come whose lock key begins
// with the context's prefix and key_prefix.
void scan(Instance &instance, Scanned what, Bytes key_prefix, uint64_t cursor, uint32_t count,
          std::function<void(Page)> done);

// One step of a listing: some infos into ask.infos, perhaps none, and ask.position moves on.
void list_step(Instance &instance, Ask &ask, AskDone done);

}  // namespace liblock
