// SPDX-License-Identifier: MIT
// See due_renewals.hpp. One that left and came back may stand in a heap twice, the first time as urgent as it was
// before: what is taken first counts, and the other is passed over, so that nothing waits for too long by that.
#include "remote/due_renewals.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace liblock {

namespace {

constexpr Nanos kTooShortToWait = 500 * kMillisecond;

}  // namespace

Nanos DueRenewals::urgent_at(const Lease &lease) {
  return lease.ttl < kTooShortToWait ? 0 : lease.ends_at.load() - lease.ttl / 2;
}

// Whoever may hold for no longer than until some time is alike only to those who may until the same, so that none of
// them changes its kind with every look at the clock.
DueRenewals::Kind DueRenewals::kind_of(const Lease &lease, Nanos now) const {
  if (calls_ == Calls::SayAllOfEach) return {0, 0, false, 0};
  if (lease.hold_until != kNever && lease.hold_until - now < lease.ttl)
    return {0, lease.hold_until / kMillisecond, lease.has_metadata, lease.change};
  return {lease.ttl / kMillisecond, 0, lease.has_metadata, lease.change};
}

void DueRenewals::push(Heap &heap, Entry entry) {
  ++steps_;
  heap.push_back(std::move(entry));
  std::push_heap(heap.begin(), heap.end(), [](const Entry &a, const Entry &b) { return a.at > b.at; });
}

DueRenewals::Entry DueRenewals::pop(Heap &heap) {
  ++steps_;
  std::pop_heap(heap.begin(), heap.end(), [](const Entry &a, const Entry &b) { return a.at > b.at; });
  Entry entry = std::move(heap.back());
  heap.pop_back();
  return entry;
}

void DueRenewals::add(const LeaseRef &lease, Nanos now) {
  LIBLOCK_ASSERT(!lease->is_collected);
  lease->is_collected = true;
  ++size_;
  const Entry entry{urgent_at(*lease), lease, kind_of(*lease, now)};
  push(kinds_[entry.kind], entry);
  push(all_, entry);
}

void DueRenewals::leave(Lease &lease) {
  if (!lease.is_collected) return;
  lease.is_collected = false;
  if (--size_ == 0) forget_what_left();
}

// The room is kept where there is one kind, as there mostly is: renewals come again and again.
void DueRenewals::forget_what_left() {
  all_.clear();
  if (kinds_.size() == 1) {
    kinds_.begin()->second.clear();
  } else {
    kinds_.clear();
  }
}

void DueRenewals::tidy_top(Heap &heap) {
  while (!heap.empty() && !heap.front().lease->is_collected) pop(heap);
}

void DueRenewals::tidy_tops() {
  while (!all_.empty() && !all_.front().lease->is_collected) {
    const auto kind = kinds_.find(pop(all_).kind);
    if (kind == kinds_.end()) continue;
    tidy_top(kind->second);
    if (kind->second.empty()) kinds_.erase(kind);
  }
}

Nanos DueRenewals::urgent_at() {
  tidy_tops();
  return all_.empty() ? kNever : all_.front().at;
}

std::vector<LeaseRef> DueRenewals::take(size_t keys_max, Nanos now) {
  std::vector<LeaseRef> taken;
  tidy_tops();
  if (all_.empty()) return taken;
  taken.reserve(std::min(keys_max, size_));
  const auto take_one = [&](const LeaseRef &lease) {
    lease->is_collected = false;
    --size_;
    taken.push_back(lease);
  };
  take_one(pop(all_).lease);
  size_t keys = taken.front()->keys.size();
  const Kind kind = kind_of(*taken.front(), now);
  const auto found = kinds_.find(kind);
  if (found != kinds_.end()) {
    Heap &alike = found->second;
    for (tidy_top(alike); !alike.empty(); tidy_top(alike)) {
      const LeaseRef lease = alike.front().lease;
      const Kind is_now = kind_of(*lease, now);
      if (is_now == kind && keys + lease->keys.size() > keys_max) break;
      Entry entry = pop(alike);
      if (is_now == kind) {
        keys += lease->keys.size();
        take_one(lease);
      } else {
        push(kinds_[is_now], std::move(entry));
      }
    }
    if (alike.empty() && size_ != 0) kinds_.erase(kind);
  }
  if (size_ == 0) forget_what_left();
  return taken;
}

std::vector<LeaseRef> DueRenewals::take_all() {
  std::vector<LeaseRef> taken;
  for (const Entry &entry : all_) {
    if (!std::exchange(entry.lease->is_collected, false)) continue;
    taken.push_back(entry.lease);
  }
  size_ = 0;
  forget_what_left();
  return taken;
}

void DueRenewals::clear() {
  take_all();
  kinds_.clear();
}

}  // namespace liblock
