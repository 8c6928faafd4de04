// SPDX-License-Identifier: MIT
// Requests of named owners that wait and would go on with what their owner comes to hold, by owner and key, so that a
// grant does not go through all that he has asked for. Their links lie with the request, one for each of its keys.
// Others may be found as well, whose hash is the same: whoever looks asks each. Loop thread.
#pragma once

#include <memory>
#include <unordered_map>

#include "base/list.hpp"
#include "base/spare_memory.hpp"
#include "remote/lock_keys.hpp"

namespace liblock {

class RemoteOwner;
class RemoteRequest;

class OwnWaits {
 public:
  struct OfKey {
    RemoteRequest *request = nullptr;
    ListLinks<OfKey> links;
  };
  // Of all keys of a request; nullptr: it is not here.
  using OfRequest = std::unique_ptr<OfKey[]>;

  void add(RemoteRequest &request, const RemoteOwner &owner, const LockKeys &lock_keys, OfRequest &its);
  void remove(const RemoteOwner &owner, const LockKeys &lock_keys, OfRequest &its);
  // In the order in which they began to wait. It must add and remove nobody.
  template <typename Visit>
  void each(const RemoteOwner &owner, Bytes lock_key, Visit visit) const {
    const auto found = waits_.find(hash(owner, lock_key));
    if (found == waits_.end()) return;
    for (OfKey *one = found->second.front(); one != nullptr; one = Waits::next(one)) visit(*one->request);
  }
  bool empty() const { return waits_.empty(); }

 private:
  static size_t hash(const RemoteOwner &owner, Bytes lock_key) {
    return std::hash<Bytes>()(lock_key) ^ std::hash<const void *>()(&owner);
  }

  using Waits = List<OfKey, &OfKey::links>;
  std::unordered_map<size_t, Waits, std::hash<size_t>, std::equal_to<>,
                     SpareAllocator<std::pair<const size_t, Waits>>>
      waits_;
};

}  // namespace liblock
