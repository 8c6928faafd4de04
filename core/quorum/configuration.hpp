// SPDX-License-Identifier: MIT
// Which servers a cluster is made of, and how many votes a decision takes. Every node keeps the same record of it and
// refuses whoever believes in another one, so that no two callers ever count different quorums. Pure.
//
//   record   ll1c|cluster|epoch|max_ttl_ms|trusts_disk|votes id=address …|votes id=address …|address …
//            the nodes; those that they are being replaced by (a joint configuration: every decision needs both), or
//            nothing; the observers. Addresses are as in URLs, without credentials, with %XX for what is special here.
//   who      cluster|epoch|hash of the record|id of the node
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "quorum/quorum_options.hpp"

namespace liblock::quorum {

// One bit for each node of an instance.
using NodeSet = uint32_t;
inline constexpr NodeSet kEveryNode = ~NodeSet{0};

struct Member {
  std::string id;       // "n1" and so on; never given twice in a cluster
  std::string address;  // as ServerAddress::redacted() has it
  bool operator==(const Member &) const = default;
};

struct Members {
  uint32_t votes = 0;
  std::vector<Member> all;
  bool operator==(const Members &) const = default;
};

struct Configuration {
  std::string cluster;  // 32 hexadecimal digits
  uint64_t epoch = 1;
  int64_t max_ttl_ms = 60'000;
  bool trusts_disk = false;
  Members now;
  Members next;  // empty, unless it is joint
  std::vector<std::string> observers;

  bool operator==(const Configuration &) const = default;
  bool is_joint() const { return !next.all.empty(); }
  const Member *find_address(const std::string &address) const;
  const Member *find_id(Bytes id) const;
  std::string to_text() const;
  std::string who(const std::string &node_id) const;
  // Of nodes that nobody has marked yet: alike for all who name the same servers, in whatever order. votes 0: majority.
  static Configuration first(std::vector<std::string> addresses, uint32_t votes, int64_t max_ttl_ms,
                             bool trusts_disk);
  // False: it is none.
  static bool parse(Bytes text, Configuration &configuration);
  // Takes a `who` apart; false: it is none.
  struct Identity {
    std::string cluster, hash, node;
    uint64_t epoch = 0;
  };
  static bool parse_who(Bytes who, Identity &identity);
};

// What is enough: so many votes out of a set, or out of each of two.
class QuorumRule {
 public:
  QuorumRule() = default;
  QuorumRule(NodeSet of, uint32_t votes) : QuorumRule(of, votes, 0) {}
  // all: how many there are, where this instance may not know each of them.
  QuorumRule(NodeSet of, uint32_t votes, uint32_t all) : parts_{{of, votes, all}, {}} {}
  void also(NodeSet of, uint32_t votes, uint32_t all = 0) { parts_[1] = {of, votes, all}; }
  NodeSet nodes() const { return parts_[0].of | parts_[1].of; }
  uint32_t votes() const { return parts_[0].votes; }
  bool is_reached(NodeSet nodes) const { return parts_[0].is_reached(nodes) && parts_[1].is_reached(nodes); }
  // So many do not have it that nobody can hold it. While nodes are being replaced that is a matter of those that are
  // there: who is granted it by others has their votes too, and those to come need not have heard of it yet.
  bool is_gone(NodeSet without) const { return parts_[0].is_gone(without); }
  // So many that every quorum has one of them.
  bool meets_all(NodeSet nodes) const { return parts_[0].meets_all(nodes) && parts_[1].meets_all(nodes); }

 private:
  struct Part {
    NodeSet of = 0;
    uint32_t votes = 0;
    uint32_t all = 0;
    bool is_reached(NodeSet nodes) const { return static_cast<uint32_t>(std::popcount(nodes & of)) >= votes; }
    // One that this instance does not know may have it.
    bool is_gone(NodeSet without) const {
      const uint32_t known = static_cast<uint32_t>(std::popcount(of));
      return static_cast<uint32_t>(std::popcount(of & ~without)) + std::max(all, known) - known < votes;
    }
    bool meets_all(NodeSet nodes) const {
      const uint32_t known = static_cast<uint32_t>(std::popcount(of));
      return of == 0 || static_cast<uint32_t>(std::popcount(nodes & of)) + votes > std::max(all, known);
    }
  };
  Part parts_[2];
};

}  // namespace liblock::quorum
