// SPDX-License-Identifier: MIT
// See own_waits.hpp.
#include "remote/own_waits.hpp"

namespace liblock {

void OwnWaits::add(RemoteRequest &request, const RemoteOwner &owner, const LockKeys &lock_keys, OfRequest &its) {
  its = std::make_unique<OfKey[]>(lock_keys.size());
  for (size_t i = 0; i < lock_keys.size(); ++i) {
    waits_[hash(owner, lock_keys[i])].push_back(&its[i]);
    its[i].request = &request;
  }
}

void OwnWaits::remove(const RemoteOwner &owner, const LockKeys &lock_keys, OfRequest &its) {
  for (size_t i = 0; i < lock_keys.size(); ++i) {
    if (its[i].request == nullptr) continue;  // there was no memory to add it
    const auto found = waits_.find(hash(owner, lock_keys[i]));
    found->second.remove(&its[i]);
    if (found->second.empty()) waits_.erase(found);
  }
  its.reset();
}

}  // namespace liblock
