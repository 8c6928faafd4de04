// SPDX-License-Identifier: MIT
// What nodes said of one key, and what follows. A node that may have forgotten what it knew, and says that nothing is
// there, says nothing. Pure.
//
//   verdict  meaning
//   Held     a quorum has the same lock, which is no promise only; of one on some of the nodes as many as it says
//   Free     no lock can be one that a quorum has, whatever the others would say
//   Unknown  neither
#pragma once

#include <map>
#include <memory>

#include "quorum/configuration.hpp"
#include "quorum/node_record.hpp"

namespace liblock::quorum {

class KeyVotes {
 public:
  enum class Verdict : uint8_t { Unknown, Free, Held };

  explicit KeyVotes(const QuorumRule &rule) : rule_(rule) {}
  void seen(size_t node, KeySeen seen, bool may_have_forgotten);

  const QuorumRule &rule() const { return rule_; }
  // Of a lock that is held: what makes a change of it count. One on some of the nodes has its own, over where it is.
  QuorumRule rule_of_lock() const;
  Verdict verdict() const;
  // Of one that is held: a quorum has the same value.
  bool is_agreed() const;
  // Of one that is held: a quorum has the same token. Nodes that granted it late may have another one for a while.
  bool has_one_token() const;
  // Where its record is, and with the value that is shown.
  NodeSet held_by() const;
  // Of a lock that is held; the value that a quorum has, else the newest.
  const NodeRecord &record() const;
  // When its record was restored, of each node where it was.
  std::map<size_t, int64_t> restored_us() const;
  int64_t left_ms() const;  // until a quorum does not have it any more
  // Names and values, each behind its size.
  std::string packed_metadata() const;
  int64_t held_for_us() const;
  // The largest that any node has of it: of whoever holds it there.
  uint64_t largest_token() const;
  // Where anything is, be it of one who does not hold it.
  NodeSet touched() const;
  size_t waiting() const;
  // Nobody listens for its holder's instance, as far as a quorum can say.
  bool is_unheard() const;
  // Those who wait, as many as were named, in their order.
  std::vector<WaiterInfo> waiters() const;
  std::unique_ptr<KeyInfo> info(const Keyspace &keyspace, Bytes lock_key) const;

 private:
  struct Lock {
    NodeSet nodes = 0;
    uint32_t votes = 0;
    std::map<uint64_t, NodeSet> versions, tokens;
  };
  // By attempt; what is of a foreign client is of one without an id.
  const Lock *held() const;
  // What makes it a lock that is held.
  QuorumRule rule_of(const Lock &lock) const;
  uint64_t shown_version(const Lock &lock) const;
  // The node that has what is shown.
  const KeySeen &shown() const;

  QuorumRule rule_;
  NodeSet sure_ = 0;
  NodeSet forgot_ = 0;  // what they have now was brought by somebody who may not know the newest value
  std::map<size_t, KeySeen> nodes_;
  std::map<std::string, Lock> locks_;
};

}  // namespace liblock::quorum
