// SPDX-License-Identifier: MIT
// What a client of a schedule knows. Its tokens and verdicts are those of liblock's own Ballot; leases are counted as
// liblock counts them. The calls are in calls.hpp.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "quorum/ballot.hpp"
#include "servers.hpp"

namespace schedules {

using liblock::quorum::Ballot;
using liblock::quorum::NodeSet;
using liblock::quorum::QuorumRule;

// One attempt of an acquire, and the lease that it may have become.
struct Attempt {
  Attempt(std::string id_of_it, std::vector<std::string> keys_of_it, const QuorumRule &rule)
      : id(std::move(id_of_it)), keys(std::move(keys_of_it)), ballot(rule) {}
  const std::string id;
  const std::vector<std::string> keys;
  Ballot ballot;
  std::map<std::string, std::string> options;  // as the schedule has them
  bool waits = false, barges = false;
  int64_t lease_ms = 0;
  uint64_t proposal = 0;
  size_t wins_before = 0;  // how many locks had been won when it began

  bool is_won = false, is_over = false;  // over: given back
  uint64_t token = 0;
  Nanos valid_until = 0;
  uint32_t sequence = 0;
  int64_t version = 0;
  std::string value;
  std::map<size_t, int64_t> restored_us;  // by node, as its last answer said
};

// One round of extends.
struct Round {
  NodeSet ours = 0;
  Nanos asked_at = 0;
  int64_t ttl_ms = 0;
  bool is_over = false;
};

// A change of a value by one who does not hold the lock.
struct Change {
  std::string id, key, lock_id;
  NodeSet promised = 0, written = 0;
  int64_t number = 0;  // of the change, and of the value that it writes
};

struct Client {
  std::string name, instance, line_id;
  int64_t epoch = 1;
  uint64_t seen = 0;  // the largest number it has heard of
  std::shared_ptr<Attempt> attempt;
  std::shared_ptr<Change> change;
};

// Under way to a node.
struct Message {
  enum class Kind : uint8_t {
    Acquire,
    Raise,
    Extend,
    Release,
    Leave,
    Hello,
    Floor,
    Mark,
    Configure,
    Promise,
    Commit,
    Read,
    Observe,
    Force
  };
  Kind kind = Kind::Hello;
  Client *client = nullptr;
  size_t node = 0;
  Words words;
  Nanos asked_at = 0;
  std::shared_ptr<Attempt> attempt;
  std::shared_ptr<Round> round;
  std::shared_ptr<Change> change;
};

}  // namespace schedules
