// SPDX-License-Identifier: MIT
// An owner of a context on one server or several. It lives in one process, so that its reentry is decided here and
// never there.
#pragma once

#include <memory>

#include "base/list.hpp"
#include "engine/handle.hpp"
#include "engine/owner.hpp"
#include "remote/keyspace.hpp"

namespace liblock {

// What an owner has of each of its locks.
struct OwnedLock {
  Handle handle = 0;
  ListLinks<OwnedLock> links;
};

class RemoteOwner final : public Owner, public std::enable_shared_from_this<RemoteOwner> {
 public:
  using Owner::Owner;
  const std::string field = escape_field(id());  // of a record, which names its owner
  List<OwnedLock, &OwnedLock::links> locks;      // guarded by the mutex of Holds
};

}  // namespace liblock
