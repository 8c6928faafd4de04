// SPDX-License-Identifier: MIT
// An owner of a context on one server or several. It lives in one process, so that its reentry is decided here and
// never there.
#pragma once

#include <memory>

#include "engine/owner.hpp"

namespace liblock {

class RemoteOwner final : public Owner, public std::enable_shared_from_this<RemoteOwner> {
 public:
  using Owner::Owner;
};

}  // namespace liblock
