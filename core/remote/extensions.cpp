// SPDX-License-Identifier: MIT
// Leases that a reentry sets anew (REENTER_EXTEND), and the unused part of them, which goes back with the handle that
// asked for it: the lease then is what it was when that acquire was granted. The handles of a lease that did so are a
// stack, the youngest last in its list. Whoever goes from the top gives back; whoever goes from below leaves what it
// found to the next above. Who sets the lease by other means empties the stack: nothing below it counts any more.
// The same as local/given_back.cpp.
#include <algorithm>

#include "base/assert.hpp"
#include "remote/remote_instance.hpp"

namespace liblock {

HeldLock::Extended *HeldLock::extension_of(const Lease &lease) {
  const auto found = std::find_if(extended.begin(), extended.end(),
                                  [&](const Extended &e) { return e.lease.get() == &lease; });
  return found == extended.end() ? nullptr : &*found;
}

// The lock is about to leave this lease, or all of its leases: those that are to be given back when it has.
RemoteInstance::Extensions RemoteInstance::take_extensions(HeldLock &lock, const Lease *only) {
  Extensions unused;
  std::erase_if(lock.extended, [&](const HeldLock::Extended &e) {
    if (only != nullptr && e.lease.get() != only) return false;
    const auto &locks = e.lease->locks;
    HeldLock::Extended *above = nullptr;
    auto at = std::find(locks.begin(), locks.end(), lock.handle);
    LIBLOCK_ASSERT(at != locks.end());
    for (++at; at != locks.end() && above == nullptr; ++at) above = holds.find(*at)->extension_of(*e.lease);
    if (above != nullptr) {
      *above = e;
    } else {
      unused.all.push_back(e);
    }
    return true;
  });
  unused.told = lock.notice.sink;
  return unused;
}

// Where somebody is left to have it.
void RemoteInstance::give_back(const Extensions &unused) {
  for (const HeldLock::Extended &e : unused.all) {
    Lease &lease = *e.lease;
    if (lease.is_given_back() || lease.is_over(clock.now())) continue;
    lease.renews = e.renews;
    set_leases({e.lease}, {e.restored(), false, e.renews, false, true}, nullptr);
    if (unused.told != nullptr) unused.told->given_back(e.restored());
  }
}

void RemoteInstance::forget_extensions(const Lease &lease) {
  for (const Handle handle : lease.locks) {
    HeldLock *lock = holds.find(handle);
    std::erase_if(lock->extended, [&](const HeldLock::Extended &e) { return e.lease.get() == &lease; });
  }
}

}  // namespace liblock
