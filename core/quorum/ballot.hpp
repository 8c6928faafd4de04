// SPDX-License-Identifier: MIT
// The votes of one attempt: which nodes granted it, with which tokens, and what follows. Pure.
//
// A token is the attempt's when a quorum has exactly it, and it is the largest that any of those who count has given:
// whoever counts a quorum later meets one of them there, and gets a larger one. Where they differ, the largest is
// raised to on a quorum first (a second round). Nodes that grant too late are kept: one more that can be lost.
//
//   verdict   meaning
//   Open      more answers may decide it
//   Won       token() is held, since asked_at()
//   Raise     a quorum granted, under different tokens: raise() says to which
//   Failed    no quorum can come of it any more
#pragma once

#include <algorithm>
#include <array>

#include "base/clock.hpp"
#include "quorum/configuration.hpp"

namespace liblock::quorum {

class Ballot {
 public:
  enum class Verdict : uint8_t { Open, Won, Raise, Failed };

  explicit Ballot(const QuorumRule &rule) : rule_(rule) {}

  // The token must be larger than that, and be told to nodes that have other locks under it.
  void exceed(uint64_t token) { least_ = std::max(least_, token + 1); }
  // Asked again after it has refused.
  void asked(NodeSet node) { open_ |= node, refused_ &= ~node; }
  // counts: the node has not forgotten anything, as far as it knows.
  void granted(size_t node, uint64_t token, bool counts, Nanos asked_at);
  void refused(NodeSet node) { open_ &= ~node, refused_ |= node; }
  // It is not known whether it granted: it may have.
  void unknown(NodeSet node) { open_ &= ~node, unknown_ |= node; }
  void raised(NodeSet node, bool counts);
  // A node lost the grant while it was raised.
  void not_raised(NodeSet node) { raising_ &= ~node; }

  Verdict verdict() const;
  // The second round begins: these nodes are asked to raise to token().
  NodeSet raise();
  bool is_raising() const { return target_ != 0; }

  uint64_t token() const;
  // The lease counts from here: since then a quorum has had it.
  Nanos asked_at() const;
  NodeSet granted_by() const { return granted_; }
  NodeSet counted() const { return counted_; }
  NodeSet open() const { return open_; }
  NodeSet refused_by() const { return refused_; }
  // Where something of it may be.
  NodeSet touched() const { return granted_ | open_ | unknown_; }
  const QuorumRule &rule() const { return rule_; }

 private:
  NodeSet with_token(uint64_t token) const;

  const QuorumRule rule_;
  NodeSet open_ = 0, granted_ = 0, counted_ = 0, refused_ = 0, unknown_ = 0;
  NodeSet raising_ = 0, raised_ = 0;
  uint64_t least_ = 0;
  uint64_t target_ = 0;  // of the second round; 0: it has not begun
  std::array<uint64_t, 32> tokens_{};
  std::array<Nanos, 32> asked_at_{};
};

}  // namespace liblock::quorum
