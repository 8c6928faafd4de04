// SPDX-License-Identifier: MIT
// See lease_index.hpp.
#include "remote/lease_index.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace liblock {

namespace {

constexpr size_t kEndsLeast = 16;

}  // namespace

void LeaseIndex::link(Lease::Key &key) {
  Lease::Key *&end = end_of(key.lock_key);
  key.next_alike = std::exchange(end, &key);
}

void LeaseIndex::grow() {
  const std::vector<Lease::Key *> before =
      std::exchange(ends_, std::vector<Lease::Key *>(ends_.empty() ? kEndsLeast : 2 * ends_.size()));
  for (Lease::Key *key : before) {
    while (key != nullptr) link(*std::exchange(key, key->next_alike));
  }
}

void LeaseIndex::add(Lease &lease) {
  for (Lease::Key &key : lease.keys) {
    if (++keys_ > ends_.size()) grow();
    key.lease = &lease;
    link(key);
  }
}

void LeaseIndex::remove(Lease &lease) {
  for (Lease::Key &key : lease.keys) {
    Lease::Key **at = &end_of(key.lock_key);
    while (*at != &key) {
      LIBLOCK_ASSERT(*at != nullptr);
      at = &(*at)->next_alike;
    }
    *at = std::exchange(key.next_alike, nullptr);
    --keys_;
  }
}

void LeaseIndex::clear() {
  ends_.clear();
  keys_ = 0;
}

std::vector<LeaseRef> LeaseIndex::find(Bytes lock_key) const {
  std::vector<LeaseRef> found;
  if (ends_.empty()) return found;
  const Lease::Key *key = ends_[hash_bytes(lock_key, seed_) & (ends_.size() - 1)];
  for (; key != nullptr; key = key->next_alike) {
    if (key->handles != 0 && key->lock_key == lock_key) found.push_back(key->lease->self.lock());
  }
  return found;
}

size_t LeaseIndex::longest_chain() const {
  size_t longest = 0;
  for (const Lease::Key *key : ends_) {
    size_t length = 0;
    for (; key != nullptr; key = key->next_alike) ++length;
    longest = std::max(longest, length);
  }
  return longest;
}

}  // namespace liblock
