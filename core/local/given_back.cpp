// SPDX-License-Identifier: MIT
// Leases that a reentry sets anew (REENTER_EXTEND), and the unused part of them, which goes back with the handle that
// asked for it: the lease then is what it was when that acquire was granted. The handles of a hold that did so are a
// stack, the youngest first in its list. Whoever goes from the top gives back; whoever goes from below leaves what it
// found to the next above. Who sets the lease by other means empties the stack: nothing below it counts any more.
#include <algorithm>

#include "local/lease_timer.hpp"
#include "local/lock_table.hpp"

namespace liblock {

namespace {

// What was left of the lease of this key when the handle set it anew.
Nanos *left_of(const KeyRef &ref) {
  std::vector<Nanos> &left = ref.record->left_before;
  return left.empty() ? nullptr : &left[static_cast<size_t>(&ref - ref.record->refs)];
}

void tell(const Record &record, Nanos left) {
  if (record.losses != nullptr) record.losses->given_back(left);
}

}  // namespace

// With the shard's lock. The handle is among those of the hold, of which it becomes the youngest: it may have waited
// for another key since it joined them.
void LockTable::extend_shared(Shard &shard, KeyRef &ref, Nanos deadline, Deferred &deferred) {
  Entry &entry = shard.entry(ref.index);
  KeyRef **link = &entry.refs;
  while (*link != &ref) link = &(*link)->next;
  *link = ref.next;
  ref.next = entry.refs;
  entry.refs = &ref;
  *left_of(ref) = clock_.left_until(shard.deadline(ref.index));
  set_shared(shard, ref.index, deadline, deferred);
}

void LockTable::set_shared(Shard &shard, uint32_t index, Nanos deadline, Deferred &deferred) {
  shard.deadline(index) = deadline;
  nudge_head(shard, index, deferred);
  lease_moved(shard, deadline, deferred);
  arm_timers(shard.entry(index), deadline);
  look_at_others(shard.entry(index), deadline, deferred);
}

// The same. The acquire of a key is granted that was taken just now, with its lease, or was kept without one while the
// acquire waited for further keys: then those behind it sleep until they are told, and who reentered it meanwhile has
// nothing to give back of what begins here.
void LockTable::begin_lease(Shard &shard, uint32_t index, Nanos deadline, Deferred &deferred) {
  if (shard.deadline(index) != deadline) {
    forget_extensions(shard.entry(index));
    set_shared(shard, index, deadline, deferred);
  } else if (deadline != kNever) {
    nudge_head(shard, index, deferred);  // they queued for a free key that the global lock shuts
  }
}

// The same. The lease is set by other means.
void LockTable::forget_extensions(const Entry &entry) {
  for (const KeyRef *ref = entry.refs; ref != nullptr; ref = ref->next) {
    if (Nanos *left = left_of(*ref); left != nullptr) *left = kNotExtended;
  }
}

// The same. The handle has left the list; older: the next one in it, or nullptr.
void LockTable::give_back_extension(Shard &shard, const KeyRef &gone, const KeyRef *older,
                                    Deferred &deferred) {
  const Nanos left = std::exchange(*left_of(gone), kNotExtended);
  if (left == kNotExtended) return;
  Nanos *above = nullptr;
  for (const KeyRef *ref = shard.entry(gone.index).refs; ref != older; ref = ref->next) {
    if (Nanos *its = left_of(*ref); its != nullptr && *its != kNotExtended) above = its;
  }
  if (above != nullptr) {
    *above = left;
    return;
  }
  set_shared(shard, gone.index, clock_.deadline_of(left), deferred);
  tell(*gone.record, left);
}

// With global_.mutex, as the next one.
void LockTable::set_global_deadline(Nanos deadline, Deferred &deferred) {
  const Nanos before = global_.deadline.exchange(deadline);
  {
    const std::lock_guard shard_lock(shards_[0].mutex);
    for (Record *record : global_.handles) {
      if (deadline != kNever) arm_timer(*record, deadline);
    }
  }
  if (deadline < before) tell_global_lease(deferred);
}

// The handle has left the list, where `above` of them are younger.
void LockTable::give_back_global_extension(Record &gone, size_t above, Deferred &deferred) {
  if (global_.handles.empty() || gone.left_before.empty()) return;
  const Nanos left = std::exchange(gone.left_before.front(), kNotExtended);
  if (left == kNotExtended) return;
  for (auto younger = global_.handles.end() - static_cast<ptrdiff_t>(above); younger != global_.handles.end();
       ++younger) {
    std::vector<Nanos> &its = (*younger)->left_before;
    if (its.empty() || its.front() == kNotExtended) continue;
    its.front() = left;
    return;
  }
  set_global_deadline(clock_.deadline_of(left), deferred);
  tell(gone, left);
}

}  // namespace liblock
