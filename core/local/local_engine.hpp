// SPDX-License-Identifier: MIT
// One context's share of a lock table: its owners, its runtime, its sweeps. Everything else is the table's.
#pragma once

#include <functional>
#include <unordered_map>

#include "engine/engine.hpp"
#include "local/lock_table.hpp"
#include "local/sweeper.hpp"

namespace liblock {

class LocalEngine final : public Engine, private LockTable::Instance {
 public:
  using RuntimeSource = std::function<std::shared_ptr<Runtime>()>;

  // runtime: called when one is needed first; may throw std::system_error.
  LocalEngine(std::shared_ptr<LockTable> table, std::string instance_id, const void *instance,
              RuntimeSource runtime);
  ~LocalEngine() override;

  const Clock &clock() const override { return table_->clock(); }
  std::shared_ptr<Owner> make_owner(Bytes name) override;
  void close_owner(const std::shared_ptr<Owner> &owner) override;
  Status accepts(std::span<const Bytes>) const override { return Status::OK; }
  Owner &unnamed_owner() override { return *unnamed_; }
  bool try_fast(Bytes key, Nanos ttl, FastGrant &grant) override;
  bool try_fast_many(std::span<const Bytes> keys, Nanos ttl, FastGrant &grant) override;
  Grant acquire(Owner &owner, std::span<const Bytes> keys, const AcquireParams &params) override;
  void submit(PendingCall &call, Owner &owner, std::span<const Bytes> keys, const AcquireParams &params,
              const std::shared_ptr<Runtime> &runtime) override;
  void cancel(PendingCall &call) override;
  void cancel_wait(PendingCall &call, Ask &ask) override;
  Status release(Handle h) override;
  HoldView view(Handle h) override { return table_->view(unnamed_->instance(), h); }
  void start(Ask &ask) override;
  std::string explain(Status status) const override;
  uint64_t sweep() override { return table_->sweep(); }
  void stats(liblock_stats &stats) override { table_->stats(stats); }
  void close(bool leave, std::function<void()> closed) override;

 private:
  struct Asked;
  class Request;
  class Watch;
  std::shared_ptr<LocalOwner> any_owner();
  void forget_owner(const LocalOwner &owner);
  void close_local_owner(LocalOwner &owner);
  void leave_table_once();
  void leave_owner(const std::shared_ptr<LocalOwner> &owner);
  Status answer(Ask &ask);
  Status extend(Handle h, Nanos ttl, bool add, HoldView &after);
  void watch(Ask &ask);
  void forget_watch(Ask &ask);
  Status wait(const Ask &ask);
  void show_holder(Ask &ask);
  Status inspect(Ask &ask);
  void clear(Ask &ask);
  void lease_used();
  void sweep_from_now_on() noexcept override;
  struct Unpin {
    void operator()(LeaseTimer *timer) const;
  };
  using LeaseTimerRef = std::unique_ptr<LeaseTimer, Unpin>;
  LeaseTimerRef make_lease_timer(Handle h, std::shared_ptr<Runtime> runtime);
  void give_timer(Handle h, LeaseTimer &timer, Nanos due);
  void watch_lease(Grant &grant, const AcquireParams &params, bool global) {
    if (params.ttl != kNever || grant.remaining != kNever) watch_granted_lease(grant, params, global);
  }
  void watch_granted_lease(Grant &grant, const AcquireParams &params, bool global);

  std::shared_ptr<LockTable> table_;
  const std::shared_ptr<LocalOwner> unnamed_;
  const RuntimeSource runtime_;
  bool has_left_table_ = false;  // by close(), which is not called twice at a time
  std::atomic<uint64_t> owner_numbers_{0};
  std::mutex owners_mutex_;
  // Named ones, until they are closed, however soon their openers are gone: the table knows them by address. Guarded by
  // owners_mutex_, as the next.
  std::vector<std::shared_ptr<LocalOwner>> owners_;
  bool owners_closed_ = false;  // whoever comes later is closed from the beginning
  std::mutex watches_mutex_;
  std::unordered_map<Ask *, Watch *> watches_;  // pending ones; guarded by watches_mutex_
  std::atomic<bool> sweeping_{false};
  std::mutex sweeper_mutex_;
  Sweeper *sweeper_ = nullptr;  // guarded by sweeper_mutex_
  bool closed_ = false;         // guarded by sweeper_mutex_
};

}  // namespace liblock
