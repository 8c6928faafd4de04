// SPDX-License-Identifier: MIT
// The locks that an instance holds, by handle: found and looked at from any thread, changed on the loop's
// thread. A handle names a slot and which of its many locks it is; a slot whose generations are used up is
// retired.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "engine/engine.hpp"
#include "engine/lost_notice.hpp"
#include "remote/lease.hpp"
#include "remote/remote_owner.hpp"

namespace liblock {

// One handle: keys of one or more leases (of more when an owner reentered a part of them).
struct HeldLock : OwnedLock, OfSpareMemory {
  struct Part {
    std::shared_ptr<Lease> lease;
    size_t key = 0;  // index in the lease
    Bytes lock_key() const { return lease->keys[key].lock_key; }
    bool is_held(Nanos now) const { return lease->keys[key].handles != 0 && !lease->is_over(now); }
  };
  std::shared_ptr<RemoteOwner> owner;
  using Parts = SpareVector<Part>;
  Parts parts;
  uint64_t token = 0;
  LostNotice notice;
  bool loss_told = false;
  bool is_pending = false;  // its acquire has not ended, and nobody has the handle
  // A lease that this handle set anew when it reentered, as it was before: so it is again when the handle goes and
  // others stay. The handles of a lease that did so are a stack, the youngest first: see extensions.cpp.
  struct Extended {
    std::shared_ptr<Lease> lease;
    Nanos left;
    Nanos ttl;
    bool renews;
    Nanos restored() const { return renews ? ttl : left; }
  };
  std::vector<Extended> extended;
  Extended *extension_of(const Lease &lease);  // nullptr: it has not set this one anew
};

class Holds {
 public:
  Holds(const Clock &clock, Random &random, size_t locks_max)
      : clock_(clock), random_(random), locks_max_(locks_max) {}

  // Any thread.
  HoldView view(Handle handle) const;
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return held_;
  }

  bool is_full() const { return size() >= locks_max_; }

  // Loop thread. The lock's keys are counted in their leases. 0: locks_max is reached.
  Handle add(std::unique_ptr<HeldLock> lock);
  // nullptr: no such lock; `status` says whether there ever was one.
  HeldLock *find(Handle handle, Status *status = nullptr);
  // Takes the handle away; its keys are no longer counted. Those that no handle holds any more are returned.
  HeldLock::Parts remove(Handle handle);
  // The same for one key of it.
  void remove_part(HeldLock &lock, size_t part);
  // Leases whose tokens are one: those of the parts, and of every lock that has one of them, and so on.
  std::vector<std::shared_ptr<Lease>> bound_to(const HeldLock::Parts &parts);
  // The lease has it now, and every lock that it belongs to.
  void set_token(Lease &lease, uint64_t token);
  std::vector<Handle> all() const;
  std::vector<Handle> all_of(const RemoteOwner &owner) const;

 private:
  struct Slot {
    Handle next = 0;  // the handle that it has, or will have next
    Handle first = 0;
    std::unique_ptr<HeldLock> lock;
  };
  const Slot *slot_of(Handle handle) const;
  static size_t index_of(Handle handle) {
    return (static_cast<size_t>(handle::shard(handle)) << handle::kIndexBits) | handle::index(handle);
  }

  const Clock &clock_;
  Random &random_;
  const size_t locks_max_;
  mutable std::mutex mutex_;
  std::vector<Slot> slots_;  // guarded by mutex_, as all below
  std::vector<uint32_t> free_;
  size_t held_ = 0;
};

}  // namespace liblock
