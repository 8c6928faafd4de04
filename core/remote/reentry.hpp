// SPDX-License-Identifier: MIT
// Which keys the named owners of an instance hold, and by which handles. Loop thread.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "remote/holds.hpp"

namespace liblock {

class Reentry {
 public:
  struct Held {
    HeldLock::Part part;
    std::vector<Handle> handles;  // the youngest last
  };

  void remember(const HeldLock &lock) {
    if (!lock.owner->named()) return;
    for (const HeldLock::Part &part : lock.parts) {
      Held &held = held_[{lock.owner.get(), std::string(part.lock_key())}];
      if (held.part.lease != part.lease) held = {part, {}};
      held.handles.push_back(lock.handle);
    }
  }
  // Of a part that the lock had.
  void forget(const RemoteOwner &owner, Handle handle, const HeldLock::Part &part) {
    if (!owner.named()) return;
    const auto found = held_.find(Place(&owner, part.lock_key()));
    if (found == held_.end() || found->second.part.lease != part.lease) return;
    std::erase(found->second.handles, handle);
    if (found->second.handles.empty()) held_.erase(found);
  }
  const Held *find(const RemoteOwner &owner, Bytes lock_key) const {
    const auto found = held_.find(Place(&owner, lock_key));
    return found == held_.end() ? nullptr : &found->second;
  }

 private:
  using Place = std::pair<const RemoteOwner *, Bytes>;
  struct Order {
    using is_transparent = void;
    bool operator()(const Place &a, const Place &b) const { return a < b; }
  };
  std::map<std::pair<const RemoteOwner *, std::string>, Held, Order> held_;
};

}  // namespace liblock
