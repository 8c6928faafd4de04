// SPDX-License-Identifier: MIT
// An acquire that may stand in the front of its instance (front.hpp). Loop thread.
#pragma once

#include <span>

#include "engine/key_info.hpp"
#include "remote/front.hpp"
#include "remote/remote_request.hpp"

namespace liblock {

class FrontRequest : public RemoteRequest, public FrontWaiter {
 public:
  FrontRequest(RemoteInstance &instance, RemoteOwner &owner, std::span<const Bytes> keys,
               const AcquireParams &params)
      : RemoteRequest(instance, owner, keys, params), FrontWaiter(params_, terms_) {}

  const std::string &owner_id() const { return owner_->id(); }
  Nanos began_at() const { return began_at_; }
  // As lists have it.
  WaiterInfo shown(Nanos now) const {
    return {owner_id(), (now - began_at_) / kMillisecond, params_.order, params_.priority};
  }

 protected:
  friend class RemotePassingOn;
  ~FrontRequest() override = default;
};

}  // namespace liblock
