// SPDX-License-Identifier: MIT
// See holds.hpp.
#include "remote/holds.hpp"

#include <algorithm>

#include "base/grow.hpp"

namespace liblock {

const Holds::Slot *Holds::slot_of(Handle handle) const {
  const size_t index = index_of(handle);
  if (index >= slots_.size() || !handle::is_compound(handle)) return nullptr;
  return &slots_[index];
}

HoldView Holds::view(Handle handle) const {
  HoldView seen;
  const Nanos now = clock_.now();
  const std::lock_guard lock(mutex_);
  const Slot *slot = slot_of(handle);
  if (slot == nullptr || handle < slot->first || handle > slot->next) return seen;
  if (slot->lock == nullptr || slot->next != handle) {
    if (handle != slot->next) seen.status = Status::NOT_HELD;
    return seen;
  }
  const HeldLock &held = *slot->lock;
  seen.status = Status::OK;
  seen.token = held.token;
  seen.hold_count = held.parts.front().lease->keys[held.parts.front().key].handles;
  for (const HeldLock::Part &part : held.parts) {
    if (part.lease->is_over(now)) seen.status = Status::LOST;
    seen.deadline = std::min(seen.deadline, part.lease->ends_at.load(std::memory_order_acquire));
  }
  return seen;
}

Handle Holds::add(std::unique_ptr<HeldLock> held) {
  const std::lock_guard lock(mutex_);
  if (held_ >= locks_max_) return 0;
  if (free_.empty()) {
    make_room(free_, slots_.size() + 1);
    const auto index = static_cast<uint32_t>(slots_.size());
    Slot slot;
    slot.first = slot.next =
        handle::first(index >> handle::kIndexBits, index & handle::kIndexMax, true, random_);
    slots_.push_back(std::move(slot));
    free_.push_back(index);
  }
  Slot &slot = slots_[free_.back()];
  free_.pop_back();
  ++held_;
  held->handle = held->notice.handle = slot.next;
  for (HeldLock::Part &part : held->parts) {
    ++part.lease->keys[part.key].handles;
    auto &locks = part.lease->locks;
    if (std::find(locks.begin(), locks.end(), slot.next) == locks.end()) locks.push_back(slot.next);
  }
  held->owner->locks.push_back(held.get());
  slot.lock = std::move(held);
  return slot.next;
}

HeldLock *Holds::find(Handle handle, Status *status) {
  const std::lock_guard lock(mutex_);
  const Slot *slot = slot_of(handle);
  const bool known = slot != nullptr && handle >= slot->first && handle <= slot->next;
  if (known && slot->next == handle && slot->lock != nullptr) return slot->lock.get();
  if (status != nullptr) *status = known && handle != slot->next ? Status::NOT_HELD : Status::INVALID_HANDLE;
  return nullptr;
}

HeldLock::Parts Holds::remove(Handle handle) {
  std::unique_ptr<HeldLock> held;
  const std::lock_guard lock(mutex_);
  Slot &slot = slots_[index_of(handle)];
  held = std::move(slot.lock);
  held->owner->locks.remove(held.get());
  --held_;
  if (!handle::used_up(slot.next)) free_.push_back(static_cast<uint32_t>(index_of(handle)));
  slot.next = handle::next(slot.next);
  for (HeldLock::Part &part : held->parts) {
    std::erase(part.lease->locks, handle);
    --part.lease->keys[part.key].handles;
  }
  HeldLock::Parts given_back = std::move(held->parts);
  std::erase_if(given_back,
                [](const HeldLock::Part &part) { return part.lease->keys[part.key].handles != 0; });
  return given_back;
}

void Holds::remove_part(HeldLock &held, size_t part) {
  const std::lock_guard lock(mutex_);
  const HeldLock::Part gone = held.parts[part];
  --gone.lease->keys[gone.key].handles;
  held.parts.erase(held.parts.begin() + static_cast<ptrdiff_t>(part));
  const bool still = std::any_of(held.parts.begin(), held.parts.end(),
                                 [&](const HeldLock::Part &p) { return p.lease == gone.lease; });
  if (!still) std::erase(gone.lease->locks, held.handle);
}

std::vector<std::shared_ptr<Lease>> Holds::bound_to(const HeldLock::Parts &parts) {
  std::vector<std::shared_ptr<Lease>> bound;
  const auto add = [&bound](const HeldLock::Parts &more) {
    for (const HeldLock::Part &part : more) {
      if (std::find(bound.begin(), bound.end(), part.lease) == bound.end()) bound.push_back(part.lease);
    }
  };
  add(parts);
  for (size_t i = 0; i < bound.size(); ++i) {
    for (const Handle handle : bound[i]->locks) {
      if (const HeldLock *lock = find(handle)) add(lock->parts);
    }
  }
  return bound;
}

void Holds::set_token(Lease &lease, uint64_t token) {
  lease.token = token;
  for (const Handle handle : lease.locks) {
    HeldLock *lock = find(handle);
    if (lock == nullptr) continue;
    const std::lock_guard guard(mutex_);
    lock->token = lock->notice.token = token;
  }
}

std::vector<Handle> Holds::all() const {
  std::vector<Handle> handles;
  const std::lock_guard lock(mutex_);
  for (const Slot &slot : slots_) {
    if (slot.lock != nullptr) handles.push_back(slot.next);
  }
  return handles;
}

std::vector<Handle> Holds::all_of(const RemoteOwner &owner) const {
  std::vector<Handle> handles;
  const std::lock_guard lock(mutex_);
  for (const OwnedLock *one = owner.locks.front(); one != nullptr; one = owner.locks.next(one))
    handles.push_back(one->handle);
  return handles;
}

}  // namespace liblock
