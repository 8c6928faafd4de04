// SPDX-License-Identifier: MIT
// A lease that a quorum of nodes granted, with all that a node needs to be told which has lost it. Loop thread.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "quorum/ballot.hpp"
#include "remote/lease.hpp"

namespace liblock::quorum {

struct GrantLease final : Lease {
  using Lease::Lease;
  // A node to which a renewal brought it, when by that node's time, and whether it has become known since that no newer
  // value than this one's was lost there.
  struct Restored {
    size_t node;
    int64_t at_us;
    bool is_settled;
  };

  // Which nodes, and how many, make a change of it count.
  NodeSet subset = kEveryNode;
  int32_t votes = 0;         // as asked
  uint32_t votes_shown = 0;  // in its record: of those that are on some of the nodes
  NodeSet granted_over = 0;  // the nodes that it was for when it was granted
  NodeSet asked = 0;         // where something of it may be
  NodeSet held_by = 0;       // as far as was heard last

  SpareText owner;  // as the record has it
  std::string metadata;
  std::string value;
  uint64_t version = 0;  // of the value
  std::vector<Restored> restored;
  int64_t ticket_us = 0;
  Nanos counts_from = 0;  // what made its end was asked for then
  // Changes that its holder asked for while others were under way: their numbers, and when each ends. Where one was
  // carried out, no older one counts for longer, whenever its answers come.
  std::vector<std::pair<uint32_t, Nanos>> sets;
  // What renewals ask for, and whether there are any, by the last change that was carried out, or by what was there
  // before those that are not decided yet.
  struct Renewal {
    Nanos ttl;
    bool renews;
    uint32_t change;
  };
  Renewal decided = {};
  uint32_t sets_open = 0;  // that are not decided
  SpareVector<uint32_t> rounds_open;  // numbers of changes that nodes are still to answer, decided or not
  // By each node's time: until then something that was sent and not answered could still be carried out.
  std::array<int64_t, 32> doubt_until_us{};
};

// As a node has it.
std::string record_of(const GrantLease &lease, const std::string &instance);

}  // namespace liblock::quorum
