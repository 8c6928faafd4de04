// SPDX-License-Identifier: MIT
// The engine of a context on one server, as the callers' threads see it: every call is a task for the loop's
// thread, and a blocking one is the same with a wait for its end.
#pragma once

#include "engine/engine.hpp"
#include "redis/instance.hpp"

namespace liblock {

class RedisEngine final : public Engine {
 public:
  // owner_id: only compared.
  RedisEngine(std::shared_ptr<Runtime> runtime, const InstanceOptions &options,
              const std::string &instance_id, const void *owner_id);
  ~RedisEngine() override;

  const Clock &clock() const override { return instance_->clock; }
  bool talks_to_server() const override { return true; }
  Status accepts(std::span<const Bytes> keys) const override;
  std::shared_ptr<Owner> make_owner(Bytes name) override;
  void close_owner(const std::shared_ptr<Owner> &owner) override;
  Owner &unnamed_owner() override { return *unnamed_; }
  bool try_fast(Bytes, Nanos, FastGrant &) override { return false; }
  bool try_fast_many(std::span<const Bytes>, Nanos, FastGrant &) override { return false; }
  Grant acquire(Owner &owner, std::span<const Bytes> keys, const AcquireParams &params) override;
  void submit(PendingCall &call, Owner &owner, std::span<const Bytes> keys, const AcquireParams &params,
              const std::shared_ptr<Runtime> &runtime) override;
  void cancel(PendingCall &call) override;
  Status release(Handle h) override;
  HoldView view(Handle h) override { return instance_->holds.view(h); }
  void start(Ask &ask) override;
  uint64_t sweep() override { return 0; }
  void stats(liblock_stats &stats) override;
  void zombies(liblock_zombies_status &status) const override { instance_->presence.status(status); }
  std::string explain(Status status) const override;
  Events *events() override { return &instance_->events; }
  void close(bool leave, std::function<void()> closed) override;
  void close_descriptors_after_fork() override;

 private:
  class Request;
  class BlockingRequest;

  const std::shared_ptr<Instance> instance_;
  const void *const owner_id_;
  const std::shared_ptr<RedisOwner> unnamed_;
  std::atomic<uint64_t> owner_numbers_{0};
};

}  // namespace liblock
