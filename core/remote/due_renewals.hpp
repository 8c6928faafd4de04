// SPDX-License-Identifier: MIT
// The renewals that are due and not sent yet: which of them can wait no longer, and which one call can make together.
// However many there are, one more, and one that is taken, cost the logarithm of that: after an outage all leases of a
// process are due at once. Pure: it is told the time, by the leases' clock. Loop thread.
//
// Each stands in two heaps by urgency, that of all and that of its kind. One that leaves is only marked, and passed
// over when it comes to the top of each; one whose kind has changed meanwhile moves to the heap of its new one then.
#pragma once

#include <compare>
#include <map>
#include <vector>

#include "remote/lease.hpp"

namespace liblock {

class DueRenewals {
 public:
  // What a call says: some things once for all of its leases, who must be alike in them, or all of each.
  enum class Calls : uint8_t { SaySomeOnce, SayAllOfEach };
  explicit DueRenewals(Calls calls = Calls::SaySomeOnce) : calls_(calls) {}

  // Once, until it is taken or leaves.
  void add(const LeaseRef &lease, Nanos now);
  // It need not be there.
  void leave(Lease &lease);
  // Those that one call can make, the most urgent first, of so many keys together; but one lease at least.
  std::vector<LeaseRef> take(size_t keys_max, Nanos now);
  std::vector<LeaseRef> take_all();
  void clear();

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // When none may wait any longer; kNever: there is none.
  Nanos urgent_at();
  // So often was an entry put into a heap or taken from one: what a test of growth counts.
  uint64_t steps() const { return steps_; }

  // Half of its time is over: it never waits for longer. A short one does not wait at all.
  static Nanos urgent_at(const Lease &lease);

 private:
  // What a call says once for all of its leases.
  struct Kind {
    int64_t ttl_ms;         // 0: what is left of the longest hold
    int64_t hold_until_ms;  // then
    bool has_metadata;
    uint32_t change;
    auto operator<=>(const Kind &) const = default;
  };
  struct Entry {
    Nanos at;
    LeaseRef lease;
    Kind kind;  // under which it is filed
  };
  using Heap = std::vector<Entry>;  // the least time on top

  Kind kind_of(const Lease &lease, Nanos now) const;
  void push(Heap &heap, Entry entry);
  Entry pop(Heap &heap);
  // Nothing that has left stands on top of either afterwards.
  void tidy_tops();
  void tidy_top(Heap &heap);
  void forget_what_left();

  const Calls calls_;
  Heap all_;
  std::map<Kind, Heap> kinds_;
  size_t size_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace liblock
