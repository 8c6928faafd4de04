// SPDX-License-Identifier: MIT
// See handing_over.hpp.
#include "remote/handing_over.hpp"

#include <algorithm>

#include "base/read_number.hpp"
#include "remote/remote_instance.hpp"
#include "remote/remote_request.hpp"

namespace liblock {

namespace {

constexpr size_t kKeysMax = 1'024;

bool take_number(Bytes &rest, char end, uint64_t most, uint64_t &number) {
  const size_t at = rest.find(end);
  if (at == Bytes::npos || !read_number(rest.substr(0, at), number) || number > most) return false;
  rest.remove_prefix(at + 1);
  return true;
}

}  // namespace

std::string exported(const Lease &lease) {
  std::string text = std::string(lease.id.text()) + "|" + std::to_string(lease.token) + "|" +
                     std::to_string(lease.change) + "|" + (lease.has_metadata ? "1" : "0") + "|" +
                     std::to_string(lease.keys.size()) + "|";
  for (const Bytes lock_key : lease.names)
    text.append(std::to_string(lock_key.size()) + ":").append(lock_key);
  return text;
}

bool read_exported(Bytes text, const Keyspace &keyspace, Lease &lease) {
  Bytes rest = text;
  if (rest.size() < kAttemptIdSize + 1 || rest[kAttemptIdSize] != '|') return false;
  const Bytes id = rest.substr(0, kAttemptIdSize);
  if (id.find_first_not_of("0123456789abcdef") != Bytes::npos) return false;
  lease.id = AttemptId(id);
  rest.remove_prefix(kAttemptIdSize + 1);
  uint64_t change = 0, metadata = 0, count = 0;
  if (!take_number(rest, '|', uint64_t{1} << 53, lease.token) ||
      !take_number(rest, '|', UINT32_MAX - 1'000, change) || !take_number(rest, '|', 1, metadata) ||
      !take_number(rest, '|', kKeysMax, count) || count == 0)
    return false;
  lease.change = static_cast<uint32_t>(change);
  lease.has_metadata = metadata == 1;
  LockKeys lock_keys;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t size = 0;
    Bytes key;
    if (!take_number(rest, ':', 1'024, size) || size > rest.size()) return false;
    if (!keyspace.key_of(rest.substr(0, size), key)) return false;
    lock_keys.add(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  lease.name(std::move(lock_keys));
  return rest.empty();
}

Status export_lock(RemoteInstance &instance, Ask &ask,
                   const std::function<std::string(const Lease &)> &head) {
  HeldLock &lock = *instance.holds.find(ask.lock);
  const LeaseRef lease = lock.parts.front().lease;
  const bool is_whole = lock.parts.size() == lease->keys.size() &&
                        std::all_of(lock.parts.begin(), lock.parts.end(), [&](const HeldLock::Part &part) {
                          return part.lease == lease && lease->keys[part.key].handles == 1;
                        });
  if (!is_whole) {
    ask.message = "other handles share a part of this lock; release them first";
    return Status::UNSUPPORTED;
  }
  ask.text = head(*lease) + exported(*lease);
  ask.count = ask.text.size();
  if (ask.number < ask.count) {
    ask.text.clear();
    ask.message = "there is room for " + std::to_string(ask.number) + " bytes, and it takes " +
                  std::to_string(ask.count);
    return Status::INVALID_ARGUMENT;
  }
  const std::shared_ptr<RemoteOwner> owner = lock.owner;
  const HeldLock::Parts parts = lock.parts;
  for (const HeldLock::Part &part : parts) instance.reentry.forget(*owner, ask.lock, part);
  instance.holds.remove(ask.lock);
  instance.asking.lock_is_gone(ask.lock, Status::NOT_HELD);
  instance.let_go(*lease);
  return Status::OK;
}

void adopt_lock(RemoteInstance &instance, Ask &ask, const LeaseRef &lease, AskDone done) {
  const AcquireParams &params = *ask.params;
  const Nanos now = instance.clock.now();
  lease->ttl = lease->first_ttl = std::min(params.ttl, params.max_hold);
  lease->renews = params.renew;
  if (params.max_hold != kNever) lease->hold_until = now + params.max_hold;
  auto lock = std::make_unique<HeldLock>();
  lock->owner = std::static_pointer_cast<RemoteOwner>(ask.owner);
  if (lock->owner == nullptr) lock->owner = instance.unnamed.lock();
  if (lock->owner->closed.load()) return done(Status::CLOSED, "");
  for (size_t i = 0; i < lease->keys.size(); ++i) lock->parts.push_back({lease, i});
  lock->token = lease->token;
  lock->notice = LostNotice::of(params, 0, lease->token);
  HeldLock &held = *lock;
  // Until the server has confirmed it, it is believed for a moment only, and nobody has its handle or can reenter it.
  const Handle handle = instance.holds.add(std::move(lock));
  if (handle == 0) return done(Status::LIMIT, "");
  instance.begin_lease(lease, now);
  held.loss_told = true;
  instance.set_leases({lease}, {lease->ttl, false, false, params.ttl_is_auto},
                      [&instance, &ask, handle, done](Status status, const std::string &why) {
                        HeldLock *adopted = instance.holds.find(handle);
                        if (status == Status::OK && adopted != nullptr) {
                          adopted->loss_told = false;
                          instance.reentry.remember(*adopted);
                          ask.lock = handle;
                          ask.view = instance.holds.view(handle);
                          const std::shared_ptr<RemoteOwner> owner = adopted->owner;
                          const LeaseRef confirmed = adopted->parts.front().lease;
                          done(ask.view.status, why);
                          return instance.waits().comes_to_hold(owner, confirmed);
                        }
                        // What is left of its lease runs out by itself, or somebody adopts it after all.
                        if (adopted != nullptr) {
                          const LeaseRef gone = adopted->parts.front().lease;
                          instance.holds.remove(handle);
                          instance.let_go(*gone);
                        }
                        // Its owner or its context was closed meanwhile, and has given it back.
                        done(status == Status::OK ? Status::CLOSED : status, why);
                      });
}

}  // namespace liblock
