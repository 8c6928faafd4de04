// SPDX-License-Identifier: MIT
// The renewals of all leases of a keeper: what is due, and when which of it leaves, in batches for one call each. What
// is full waits for its turn (renewal_pace.hpp), what is not for what else falls due, and nothing for longer than it
// can. Pure: it is told the time, by the clock of the loop, by which batches leave, and by that of the leases.
#pragma once

#include <algorithm>
#include <vector>

#include "remote/due_renewals.hpp"
#include "remote/renewal_pace.hpp"

namespace liblock {

class PacedRenewals {
 public:
  static constexpr Nanos kCollect = 20 * kMillisecond;
  struct Time {
    Nanos loop, leases;
  };

  // Of so many keys in a batch.
  PacedRenewals(size_t batch, DueRenewals::Calls calls) : batch_(batch), due_(calls) {}

  // It is renewed three times within that; kNever: it is not, any more.
  void set_rate(Lease &lease, Nanos ttl) {
    const int64_t rate_nhz = ttl == kNever ? 0 : 3'000'000'000'000'000'000 / ttl;
    pace_.add_rate(rate_nhz - lease.renewals_nhz);
    lease.renewals_nhz = rate_nhz;
  }
  void add(const LeaseRef &lease, Nanos leases_now) { due_.add(lease, leases_now); }
  void leave(Lease &lease) { due_.leave(lease); }
  std::vector<LeaseRef> take_all() { return due_.take_all(); }
  void clear() {
    due_.clear();
    pace_.forget_rate();
  }

  bool empty() const { return due_.empty(); }
  bool is_full() const { return due_.size() >= batch_; }
  // A full batch has, and what can wait no longer.
  bool has_turn(Time now) {
    return (is_full() && now.loop >= pace_.next_at()) || due_.urgent_at() <= now.leases;
  }
  // When the next batch is to leave, if nothing else falls due; by the loop's clock. Something must be due.
  Nanos next_at(Time now) {
    const Nanos urgent_at = due_.urgent_at();
    if (urgent_at == 0) return now.loop;
    if (!is_full()) return now.loop + kCollect;
    return std::min(pace_.next_at(), now.loop + std::max<Nanos>(0, urgent_at - now.leases));
  }
  // The most urgent ones, which leave now.
  std::vector<LeaseRef> take(Time now) {
    std::vector<LeaseRef> batch = due_.take(batch_, now.leases);
    pace_.sent(batch.size(), now.loop, due_.size(), due_.urgent_at() - now.leases);
    return batch;
  }

 private:
  const size_t batch_;
  DueRenewals due_;
  RenewalPace pace_;
};

}  // namespace liblock
