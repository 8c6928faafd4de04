// SPDX-License-Identifier: MIT
// The engine of a context on one server.
#pragma once

#include "redis/instance.hpp"
#include "remote/remote_engine.hpp"

namespace liblock {

class RedisEngine final : public EngineOf<AcquireRequest> {
 public:
  // owner_id: only compared.
  RedisEngine(std::shared_ptr<Runtime> runtime, const InstanceOptions &options,
              const std::string &instance_id, const void *owner_id)
      : EngineOf(std::make_shared<Instance>(std::move(runtime), options, instance_id, Clock::suspend_aware(),
                                            Random().next()),
                 owner_id) {}
};

}  // namespace liblock
