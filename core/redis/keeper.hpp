// SPDX-License-Identifier: MIT
// Keeps leases: renews those that want it, many in one script call, sets their ends anew when asked, and finds
// out when one has ended. Batches leave at an even pace, however many leases were taken at once and however late the
// loop turns, so that none waits for long and the server is never held up by a heap of them. A renewal is sent on a
// live connection only, so that none is carried out after the release of its lock. Loop thread.
#pragma once

#include <memory>
#include <vector>

#include "redis/link.hpp"
#include "remote/ending.hpp"
#include "remote/holds.hpp"
#include "remote/lease_index.hpp"
#include "remote/paced_renewals.hpp"

namespace liblock {

class Instance;

class Keeper final : public LeaseKeeper {
 public:
  explicit Keeper(Instance &instance);
  ~Keeper();

  // A grant that was asked for at that time; or one that is kept already, and has come into other hands.
  void begin(const LeaseRef &lease, Nanos sent_at);
  // Its keys were given back, or are about to be: nothing more is sent for it.
  void let_go(Lease &lease);
  void lose(const LeaseRef &lease);

  // Nothing has changed when it could not be sent.
  void extend(const std::vector<LeaseRef> &leases, const Extension &extension, AskDone done);
  // Asks the server whether it knows them.
  void verify(const std::vector<LeaseRef> &leases, AskDone done);
  void update(const std::vector<LeaseRef> &leases, const std::string &value, AskDone done);

  // another: not the server that gave the leases, as far as we know.
  void on_connected(bool another);
  // Of all, or of those that must be verified before they are renewed.
  void verify_all(bool marked_only);
  // Those that cover a key.
  std::vector<LeaseRef> find(Bytes lock_key) const { return by_key_.find(lock_key); }
  bool empty() const { return leases_.empty(); }
  void stop();
  void on_timer(Lease &lease, Nanos now) override;

 private:
  class Call;
  class ExtendCall;
  class VerifyCall;
  class UpdateCall;
  struct Flush final : public Timer {
    explicit Flush(Keeper &k) : keeper(k) {}
    void fire(Nanos) override { keeper.flush(); }
    Keeper &keeper;
  };

  void goes_on(Lease &lease);
  void arm(Lease &lease);
  void collect(const LeaseRef &lease);
  void flush();
  PacedRenewals::Time time() const;
  void send_batch(std::vector<LeaseRef> leases);
  void give_back(const Lease &lease);
  void renewed(const LeaseRef &lease, uint32_t change, int64_t answer, Nanos sent_at, bool sets);
  void confirmed(Lease &lease, int64_t answer, Nanos sent_at);
  void try_again(const LeaseRef &lease);
  void set_renewal(Lease &lease, Nanos from, Nanos ttl);

  Instance &instance_;
  std::vector<LeaseRef> leases_;  // all that are held
  LeaseIndex by_key_;
  PacedRenewals due_;
  Flush flush_;
};

}  // namespace liblock
