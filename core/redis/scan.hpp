// SPDX-License-Identifier: MIT
// A page of the names on one server: SCAN finds them by their prefix, never KEYS. Loop thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "redis/link.hpp"
#include "remote/keyspace.hpp"

namespace liblock {

// Queues: of requests, and of instances. Lines: of those who wait on a node of a quorum.
enum class Scanned : uint8_t { Locks, Queues, Lines };

struct Page {
  Status status = Status::OK;
  std::string why;
  uint64_t next = 0;  // where to go on; 0: this was the last
  std::vector<std::string> lock_keys;
};

// From `cursor` (0: the start) on, about `count` keys of the server's table, of which those come whose lock key begins
// with the prefix and key_prefix. The keyspace outlives it.
void scan(Link &link, const Keyspace &keyspace, Scanned what, Bytes key_prefix, uint64_t cursor,
          uint32_t count, std::function<void(Page)> done);

}  // namespace liblock
