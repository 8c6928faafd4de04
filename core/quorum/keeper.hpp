// SPDX-License-Identifier: MIT
// Keeps leases over the nodes: renews those that want it, some in one round, sets their ends anew when asked, and finds
// out when one has ended. A round counts for a lease when a quorum of its nodes has answered that the lock is its own
// there; nodes that had lost it have it again afterwards. What fewer answer moves nothing. However many leases fall due
// at once, rounds leave at an even pace. Loop thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "quorum/fan_out.hpp"
#include "quorum/grant_lease.hpp"
#include "remote/ending.hpp"
#include "remote/lease_index.hpp"
#include "remote/paced_renewals.hpp"

namespace liblock::quorum {

using GrantRef = std::shared_ptr<GrantLease>;

class Keeper final : public LeaseKeeper {
 public:
  explicit Keeper(Instance &instance);

  void begin(const GrantRef &lease, Nanos sent_at);
  // Its keys were given back, or are about to be: nothing more is sent for it.
  void let_go(Lease &lease);
  void lose(const LeaseRef &lease);
  // done may be nullptr.
  void extend(const std::vector<LeaseRef> &leases, const Extension &asked, AskDone done);
  // Writes what the lease carries to a quorum, for so long; it is not begun yet.
  void commit(const GrantRef &lease, Nanos ttl, AskDone done);
  // What it carries is to be brought to all nodes soon.
  void try_again(GrantLease &lease);
  // Those that cover a key.
  std::vector<LeaseRef> find(Bytes lock_key) const { return by_key_.find(lock_key); }
  const std::vector<GrantRef> &all() const { return leases_; }
  bool empty() const { return leases_.empty(); }
  void stop();
  void on_timer(Lease &lease, Nanos now) override;

 private:
  class Round;
  static constexpr size_t kBatch = 16;  // keys in one round

  struct Flush final : public Timer {
    explicit Flush(Keeper &k) : keeper(k) {}
    void fire(Nanos) override { keeper.flush(); }
    Keeper &keeper;
  };

  void goes_on(GrantLease &lease);
  void arm(Lease &lease);
  PacedRenewals::Time time() const;
  void collect(const LeaseRef &lease);
  void flush();
  void renewed(const GrantRef &lease, Nanos ttl, Nanos asked_at, uint32_t change, bool sets);
  void set_renewal(Lease &lease, Nanos from, Nanos ttl);

  Instance &instance_;
  std::vector<GrantRef> leases_;  // all that are held
  LeaseIndex by_key_;
  PacedRenewals due_;
  Flush flush_;
  bool is_stopped_ = false;
};

}  // namespace liblock::quorum
