// SPDX-License-Identifier: MIT
// What one node keeps of a lock, as scripts/record.lua and line.lua write it. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/key_info.hpp"
#include "redis/reply.hpp"
#include "remote/keyspace.hpp"

namespace liblock::quorum {

struct NodeRecord {
  std::string id;        // of the attempt; empty: nobody's, or a foreign client's
  std::string sequence;  // as it is there
  uint64_t token = 0;
  std::string owner;  // as it is there: escaped
  std::string instance;
  int64_t since_us = 0;
  int64_t lease_ms = 0;
  bool is_promise = false;  // whoever asked has not heard yet that it is his
  // When a renewal brought it; a newer value may have been agreed on with this node before. 0: none did.
  int64_t restored_us = 0;
  uint64_t version = 0;  // of the value
  int64_t ticket_us = 0;
  uint32_t votes = 0;  // of a lock on some of the nodes: so many must have it; 0: as many as the quorum takes
  int64_t standing = 0;  // in line for it within the instance
  std::string value;     // a foreign client's string is one as a whole
};

// False: set by a client of another kind.
bool parse_node_record(Bytes text, NodeRecord &record);
// As a node has it.
std::string text_of(const NodeRecord &record);

// What a node answered about one key.
struct KeySeen {
  bool is_there = false;
  bool is_foreign = false;
  NodeRecord record;
  int64_t left_ms = -1;
  int64_t now_us = 0;  // the node's time
  size_t waiting = 0;
  int32_t heard_of = -1;  // 1: somebody listens for the holder's instance, 0: nobody, -1: not known
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<std::pair<std::string, WaiterInfo>> waiters;  // behind their ids in the line
};

// One key's part of an answer of scripts/read.lua.
KeySeen read_key_seen(const Reply &seen, int64_t now_us);

}  // namespace liblock::quorum
