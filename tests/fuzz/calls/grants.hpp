// SPDX-License-Identifier: MIT
// Locks that were granted, with whoever got them, and what must hold of them whatever was called: nobody holds what
// another holds, and tokens of a key rise.
//
// Invariant: a grant has no key that its lock has given back alone; it may have fewer than the lock still has.
#pragma once

#include <liblock/liblock.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/assert.hpp"

namespace calls {

using Keys = std::vector<std::string>;

inline void is_one_of(liblock_status status, std::initializer_list<liblock_status> expected) {
  for (const liblock_status each : expected) {
    if (status == each) return;
  }
  LIBLOCK_ASSERT(!"a status that the call does not name");
}

struct Grant {
  liblock_context *context = nullptr;
  liblock_lock lock = 0;
  const liblock_owner *owner = nullptr;  // NULL: it belongs to its handle alone
  std::set<std::string> keys;            // none: the global lock, or nothing is known any more
  bool is_global = false;
};

class Grants {
 public:
  // may_be_late: it was granted before now, and others may have been granted the key since.
  void add(const Grant &grant, uint64_t token, bool may_be_late, bool is_reentered) {
    LIBLOCK_ASSERT(grant.lock != 0 && token != 0);
    for (const std::string &key : grant.keys) {
      uint64_t &last = tokens_[key];
      LIBLOCK_ASSERT(may_be_late || is_reentered || token > last);
      last = std::max(last, token);
    }
    grants_.push_back(grant);
    if (!may_be_late) is_one_of(liblock_is_held(grant.context, grant.lock), {LIBLOCK_OK});
    excludes_others(grant);
  }

  bool is_empty() const { return grants_.empty(); }
  const Grant &operator[](size_t at) const { return grants_[at % grants_.size()]; }
  const std::vector<Grant> &all() const { return grants_; }

  // He may have given these keys back, each by itself.
  void give_back(const liblock_owner *owner, const Keys &keys) {
    for (Grant &grant : grants_) {
      if (grant.owner != owner) continue;
      for (const std::string &key : keys) grant.keys.erase(key);
    }
  }
  // The context is going, and its handles with it; what a table is told next may begin with any token.
  void forget(const liblock_context *context) {
    std::erase_if(grants_, [context](const Grant &grant) { return grant.context == context; });
    if (grants_.empty()) tokens_.clear();
  }

 private:
  static bool is_held(const Grant &grant) { return liblock_is_held(grant.context, grant.lock) == LIBLOCK_OK; }
  static bool has_in_common(const Grant &one, const Grant &other) {
    if (one.is_global || other.is_global) return true;
    return std::any_of(one.keys.begin(), one.keys.end(), [&](const auto &key) { return other.keys.contains(key); });
  }

  void excludes_others(const Grant &grant) const {
    if (!is_held(grant)) return;
    for (const Grant &other : grants_) {
      if (other.lock == grant.lock && other.context == grant.context) continue;
      const bool is_own = grant.owner != nullptr && grant.owner == other.owner;
      LIBLOCK_ASSERT(is_own || !has_in_common(grant, other) || !is_held(other));
    }
  }

  std::vector<Grant> grants_;
  std::map<std::string, uint64_t> tokens_;
};

}  // namespace calls
