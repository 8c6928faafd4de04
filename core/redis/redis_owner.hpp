// SPDX-License-Identifier: MIT
// An owner of a context on a server. It lives in one process, so that its reentry is decided here and never
// on the server.
#pragma once

#include <memory>

#include "engine/owner.hpp"

namespace liblock {

class RedisOwner final : public Owner, public std::enable_shared_from_this<RedisOwner> {
 public:
  using Owner::Owner;
};

}  // namespace liblock
