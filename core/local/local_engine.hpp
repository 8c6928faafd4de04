// SPDX-License-Identifier: MIT
// One context's share of a lock table: its owners, its runtime, its sweeps. Everything else is the table's.
#pragma once

#include <functional>

#include "engine/engine.hpp"
#include "local/lock_table.hpp"
#include "local/sweeper.hpp"

namespace liblock {

class LocalEngine final : public Engine {
 public:
  using RuntimeSource = std::function<std::shared_ptr<Runtime>()>;

  // runtime: called when one is needed first; may throw std::system_error.
  LocalEngine(std::shared_ptr<LockTable> table, std::string instance_id, const void *instance,
              RuntimeSource runtime);
  ~LocalEngine() override;

  const Clock &clock() const override { return table_->clock(); }
  std::shared_ptr<Owner> make_owner(Bytes name) override;
  void close_owner(Owner &owner) override;
  Owner &unnamed_owner() override { return *unnamed_; }
  bool try_fast(Bytes key, Nanos ttl, FastGrant &grant) override;
  bool try_fast_many(std::span<const Bytes> keys, Nanos ttl, FastGrant &grant) override;
  Grant acquire(Owner &owner, std::span<const Bytes> keys, const AcquireParams &params) override;
  void submit(PendingCall &call, Owner &owner, std::span<const Bytes> keys, const AcquireParams &params,
              const std::shared_ptr<Runtime> &runtime) override;
  void cancel(PendingCall &call) override;
  Status release(Handle h) override;
  Status release_keys(Owner &owner, std::span<const Bytes> keys) override;
  HoldView view(Handle h) override { return table_->view(unnamed_->instance(), h); }
  Status extend(Handle h, Nanos ttl, bool add, HoldView &after) override;
  Status update(Handle h, Bytes value) override { return table_->update(unnamed_->instance(), h, value); }
  Status wait_lost(Handle h, Nanos wait) override;
  Status wait_held(Bytes key, Nanos wait) override;
  Status wait_released(Bytes key, Nanos wait) override;
  bool is_locked(Bytes key) override { return table_->is_locked(key); }
  bool is_queued(Bytes key) override { return table_->is_queued(key); }
  std::unique_ptr<KeyInfo> inspect(Bytes key, bool with_waiters) override {
    return table_->inspect(key, with_waiters);
  }
  bool list_part(uint32_t part, bool queues, Bytes prefix,
                 std::vector<std::unique_ptr<KeyInfo>> &out) override;
  Status force_release(Bytes key, bool drop_queue) override { return table_->force_release(key, drop_queue); }
  uint64_t clear(Whom whom, Bytes id) override;
  uint64_t sweep() override { return table_->sweep(); }
  void stats(liblock_stats &stats) override { table_->stats(stats); }
  void close(bool leave) override;

 private:
  class Request;
  void lease_used();
  void start_lease_timer(Handle h, std::shared_ptr<Runtime> runtime, bool renew, Nanos ttl);
  void watch_lease(const Grant &grant, const AcquireParams &params, bool global);

  std::shared_ptr<LockTable> table_;
  const std::shared_ptr<LocalOwner> unnamed_;
  const RuntimeSource runtime_;
  std::atomic<uint64_t> owner_numbers_{0};
  std::mutex owners_mutex_;
  std::vector<std::weak_ptr<LocalOwner>> owners_;  // guarded by owners_mutex_
  std::atomic<bool> sweeping_{false};
  std::mutex sweeper_mutex_;
  Sweeper *sweeper_ = nullptr;  // guarded by sweeper_mutex_
  bool closed_ = false;         // guarded by sweeper_mutex_
};

}  // namespace liblock
