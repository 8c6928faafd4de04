// SPDX-License-Identifier: MIT
// See ballot.hpp.
#include "quorum/ballot.hpp"

#include "base/assert.hpp"
#include "base/mutant.hpp"

namespace liblock::quorum {

void Ballot::granted(size_t node, uint64_t token, bool counts, Nanos asked_at) {
  const NodeSet bit = NodeSet{1} << node;
  open_ &= ~bit;
  granted_ |= bit;
  tokens_[node] = token;
  asked_at_[node] = asked_at;
  if (counts) counted_ |= bit;
}

void Ballot::raised(NodeSet node, bool counts) {
  raising_ &= ~node;
  if (counts) raised_ |= node;
}

NodeSet Ballot::with_token(uint64_t token) const {
  NodeSet nodes = 0;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i] == token) nodes |= NodeSet{1} << i;
  }
  return nodes;
}

uint64_t Ballot::token() const {
  if (target_ != 0) return target_;
  uint64_t largest = least_;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if ((counted_ >> i & 1) != 0) largest = std::max(largest, tokens_[i]);
  }
  return largest;
}

Nanos Ballot::asked_at() const {
  Nanos earliest = kNever;
  const NodeSet nodes = target_ != 0 ? raised_ : counted_;
  for (size_t i = 0; i < asked_at_.size(); ++i) {
    if ((nodes >> i & 1) != 0) earliest = std::min(earliest, asked_at_[i]);
  }
  return earliest;
}

NodeSet Ballot::raise() {
  LIBLOCK_ASSERT(target_ == 0);
  target_ = token();
  raising_ = counted_;
  return raising_;
}

Ballot::Verdict Ballot::verdict() const {
  if (target_ != 0) {
    if (rule_.is_reached(raised_)) return Verdict::Won;
    return rule_.is_reached(raised_ | raising_) ? Verdict::Open : Verdict::Failed;
  }
  if (rule_.is_reached(counted_) && least_ != 0) return Verdict::Raise;
  if (rule_.is_reached(counted_))
    return LIBLOCK_MUTANT(no_raise) || rule_.is_reached(counted_ & with_token(token())) ? Verdict::Won
                                                                                        : Verdict::Raise;
  return rule_.is_reached(counted_ | open_) ? Verdict::Open : Verdict::Failed;
}

}  // namespace liblock::quorum
