// SPDX-License-Identifier: MIT
// See own_waits.hpp.
#include "remote/own_waits.hpp"

namespace liblock {

void OwnWaits::add(RemoteRequest &request, const RemoteOwner &owner, const LockKeys &lock_keys, OfRequest &its) {
  its = std::make_unique<OfKey[]>(lock_keys.size());
  for (size_t i = 0; i < lock_keys.size(); ++i) {
    its[i].request = &request;
    waits_[hash(owner, lock_keys[i])].push_back(&its[i]);
  }
}

void OwnWaits::remove(const RemoteOwner &owner, const LockKeys &lock_keys, OfRequest &its) {
  for (size_t i = 0; i < lock_keys.size(); ++i) {
    const auto found = waits_.find(hash(owner, lock_keys[i]));
    found->second.remove(&its[i]);
    if (found->second.empty()) waits_.erase(found);
  }
  its.reset();
}

}  // namespace liblock
