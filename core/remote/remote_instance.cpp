// SPDX-License-Identifier: MIT
// See remote_instance.hpp.
#include "remote/remote_instance.hpp"

#include <algorithm>
#include <utility>

#include "remote/remote_request.hpp"

namespace liblock {

RemoteInstance::RemoteInstance(std::shared_ptr<Runtime> runtime_of_it, const RemoteOptions &options,
                               std::string id_of_it, Clock clock_of_it, uint64_t seed)
    : runtime(std::move(runtime_of_it)),
      clock(clock_of_it),
      random(seed),
      id(std::move(id_of_it)),
      keyspace(options.prefix),
      first_lease(options.first_lease),
      waiters_max(options.waiters_max),
      holds(clock, random, options.locks_max),
      asking(*this),
      events(runtime) {}

void RemoteInstance::arm(Timer &timer, Nanos at) {
  runtime->arm(timer, runtime->now() + std::max<Nanos>(0, at - clock.now()));
}

namespace {

bool is_of_caller(Status status) {
  return status == Status::INVALID_ARGUMENT || status == Status::NODES_MISMATCH;
}

}  // namespace

std::string RemoteInstance::last_trouble(Status status) const {
  const std::lock_guard lock(trouble_mutex_);
  if (!is_of_caller(status)) return trouble_;
  const auto found = mistakes_.find(status);
  return found == mistakes_.end() ? std::string() : found->second;
}

void RemoteInstance::note_trouble(Status status, const std::string &text) {
  const std::lock_guard lock(trouble_mutex_);
  (is_of_caller(status) ? mistakes_[status] : trouble_) = text;
}

void RemoteInstance::release(Handle handle, AskDone done) {
  Status status = Status::OK;
  HeldLock *lock = holds.find(handle, &status);
  if (lock == nullptr) {
    if (done != nullptr) done(status, "");
    return;
  }
  const Nanos now = clock.now();
  const bool lost = std::any_of(lock->parts.begin(), lock->parts.end(),
                                [&](const HeldLock::Part &part) { return part.lease->is_over(now); });
  const std::shared_ptr<RemoteOwner> owner = lock->owner;
  const uint64_t token = lock->token;
  const std::vector<LeaseRef> late = lost ? leases_of(*lock) : std::vector<LeaseRef>();
  const Extensions unused = take_extensions(*lock, nullptr);
  for (const HeldLock::Part &part : lock->parts) reentry.forget(*owner, handle, part);
  HeldLock::Parts free = holds.remove(handle);
  give_back(unused);
  asking.lock_is_gone(handle, lost ? Status::LOST : Status::NOT_HELD);
  if (!lost) ++counts.released;
  // Found before their timers have.
  for (const LeaseRef &lease : late) {
    if (lease->state.load() == Lease::State::Held && lease->is_given_back() && lease->is_over(now)) ++counts.expired;
  }
  // Taken away is gone already; what ended by time may still stand there for the moment of the drift.
  std::erase_if(free,
                [](const HeldLock::Part &part) { return part.lease->state.load() == Lease::State::Lost; });
  if (lost) {
    if (done != nullptr) done(Status::LOST, "");
    done = nullptr;
  } else if (free.empty()) {
    if (done != nullptr) done(Status::OK, "");
    return;
  }
  if (!free.empty()) send_release(std::move(free), handle, token, std::move(done));
}

void RemoteInstance::release_part(HeldLock &lock, size_t index, AskDone done) {
  const HeldLock::Part part = lock.parts[index];
  const Handle handle = lock.handle;
  reentry.forget(*lock.owner, handle, part);
  const auto parts_of_lease =
      std::count_if(lock.parts.begin(), lock.parts.end(),
                    [&](const HeldLock::Part &other) { return other.lease == part.lease; });
  const Extensions unused = parts_of_lease == 1 ? take_extensions(lock, part.lease.get()) : Extensions();
  const bool is_lost = part.lease->state.load() == Lease::State::Lost;  // it is counted no more, and gone already
  if (lock.parts.size() == 1) {
    if (!part.lease->is_over(clock.now())) ++counts.released;
    HeldLock::Parts free = holds.remove(handle);  // the end of the lock
    give_back(unused);
    asking.lock_is_gone(handle, Status::NOT_HELD);
    if (is_lost || free.empty()) return done(is_lost ? Status::LOST : Status::OK, "");
    return send_release(std::move(free), 0, 0, std::move(done));
  }
  holds.remove_part(lock, index);
  give_back(unused);
  if (is_lost) return done(Status::LOST, "");
  if (part.lease->keys[part.key].handles != 0) return done(Status::OK, "");
  send_release({part}, 0, 0, std::move(done));
}

void RemoteInstance::extend(Handle handle, const Extension &extension, AskDone done) {
  HeldLock *lock = holds.find(handle);
  if (lock == nullptr) {
    if (done != nullptr) done(Status::NOT_HELD, "");
    return;
  }
  const std::vector<LeaseRef> leases = leases_of(*lock);
  for (const LeaseRef &lease : leases) forget_extensions(*lease);
  set_leases(leases, extension, std::move(done));
}

std::vector<LeaseRef> RemoteInstance::leases_of(const HeldLock &lock) {
  std::vector<LeaseRef> leases;
  for (const HeldLock::Part &part : lock.parts) {
    if (std::find(leases.begin(), leases.end(), part.lease) == leases.end()) leases.push_back(part.lease);
  }
  return leases;
}

void RemoteInstance::count(Lease &lease, int64_t keys) {
  lease.keys_counted += keys;
  counts.keys_held.fetch_add(keys);
}

void RemoteInstance::tell_loss(const Lease &lease) {
  const auto locks = lease.locks;
  for (const Handle handle : locks) {
    HeldLock *lock = holds.find(handle);
    if (lock == nullptr || std::exchange(lock->loss_told, true)) continue;
    asking.lock_is_gone(handle, Status::LOST);
    if (!lock->owner->closed.load()) lock->notice.send();
  }
}

void RemoteInstance::end_all(bool leave) {
  is_closing = true;
  asking.end_all(Status::CLOSED);
  waits().end_all(nullptr, Status::CLOSED);
  if (leave) return;
  const std::vector<Handle> all = holds.all();
  for (const Handle handle : all) {
    HeldLock *lock = holds.find(handle);
    lock->loss_told = true;
    release(handle, nullptr);
  }
}

}  // namespace liblock
