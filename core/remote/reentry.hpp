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
      Held &held = held_[{lock.owner.get(), part.lock_key()}];
      if (held.part.lease != part.lease) held = {part, {}};
      held.handles.push_back(lock.handle);
    }
  }
  // Of a part that the lock had.
  void forget(const RemoteOwner &owner, Handle handle, const HeldLock::Part &part) {
    const auto found = held_.find({&owner, part.lock_key()});
    if (found == held_.end() || found->second.part.lease != part.lease) return;
    std::erase(found->second.handles, handle);
    if (found->second.handles.empty()) held_.erase(found);
  }
  const Held *find(const RemoteOwner &owner, const std::string &lock_key) const {
    const auto found = held_.find({&owner, lock_key});
    return found == held_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::pair<const RemoteOwner *, std::string>, Held> held_;
};

}  // namespace liblock
