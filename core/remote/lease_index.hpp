// SPDX-License-Identifier: MIT
// The leases of a keeper by the keys that they cover, so that a question about one key does not go through all that are
// held. Chains behind a table of as many ends as there are keys, or up to twice as many; their links lie in the leases,
// so that a grant allocates nothing for it. Loop thread.
#pragma once

#include <vector>

#include "base/hash.hpp"
#include "remote/lease.hpp"

namespace liblock {

class LeaseIndex {
 public:
  explicit LeaseIndex(uint64_t seed) : seed_(seed) {}

  // Its keys stay where they are until it is removed; it knows itself by then.
  void add(Lease &lease);
  // It is there.
  void remove(Lease &lease);
  void clear();
  // Those that cover a key which was not given back.
  std::vector<LeaseRef> find(Bytes lock_key) const;
  // For tests of its growth: links followed by whoever looks for the worst key.
  size_t longest_chain() const;

 private:
  Lease::Key *&end_of(Bytes lock_key) { return ends_[hash_bytes(lock_key, seed_) & (ends_.size() - 1)]; }
  void link(Lease::Key &key);
  void grow();

  const uint64_t seed_;
  std::vector<Lease::Key *> ends_;  // a power of two of them, or none yet
  size_t keys_ = 0;
};

}  // namespace liblock
