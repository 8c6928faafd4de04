// SPDX-License-Identifier: MIT
// The one interface that every kind of context has behind it. An engine belongs to one context (instance);
// engines of contexts that share a backend meet there. All calls are thread-safe and take arguments that were
// checked before.
#pragma once

#include <memory>
#include <vector>

#include "engine/handle.hpp"
#include "engine/key_info.hpp"
#include "engine/owner.hpp"
#include "engine/pending_call.hpp"

namespace liblock {

// What is known of a held lock, from memory.
struct HoldView {
  Status status = Status::INVALID_HANDLE;
  uint64_t token = 0;
  Nanos deadline = kNever;  // by the engine's clock
  uint32_t hold_count = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual const Clock &clock() const = 0;

  virtual std::shared_ptr<Owner> make_owner(Bytes name) = 0;
  virtual void close_owner(Owner &owner) = 0;
  virtual Owner &unnamed_owner() = 0;

  // A free key, no owner, nothing to carry: the shortest way. False: nothing has changed, take the long way.
  virtual bool try_fast(Bytes key, Nanos ttl, FastGrant &grant) = 0;
  // The same for a few keys at once, sorted or not.
  virtual bool try_fast_many(std::span<const Bytes> keys, Nanos ttl, FastGrant &grant) = 0;
  // keys empty: the global lock. Waits as the parameters say.
  virtual Grant acquire(Owner &owner, std::span<const Bytes> keys, const AcquireParams &params) = 0;
  // Builds its side in the call's room; never throws. The parameters outlive the call.
  virtual void submit(PendingCall &call, Owner &owner, std::span<const Bytes> keys,
                      const AcquireParams &params, const std::shared_ptr<class Runtime> &runtime) = 0;
  // Asks; the call still ends by ended().
  virtual void cancel(PendingCall &call) = 0;

  virtual Status release(Handle h) = 0;
  virtual Status release_keys(Owner &owner, std::span<const Bytes> keys) = 0;
  virtual HoldView view(Handle h) = 0;
  virtual Status extend(Handle h, Nanos ttl, bool add, HoldView &after) = 0;
  virtual Status update(Handle h, Bytes value) = 0;
  virtual Status wait_lost(Handle h, Nanos wait) = 0;
  virtual Status wait_held(Bytes key, Nanos wait) = 0;
  virtual Status wait_released(Bytes key, Nanos wait) = 0;

  virtual bool is_locked(Bytes key) = 0;
  virtual bool is_queued(Bytes key) = 0;
  virtual std::unique_ptr<KeyInfo> inspect(Bytes key, bool with_waiters) = 0;
  // Listing goes part by part; false: there is no such part any more.
  virtual bool list_part(uint32_t part, bool queues, Bytes prefix,
                         std::vector<std::unique_ptr<KeyInfo>> &out) = 0;

  virtual Status force_release(Bytes key, bool drop_queue) = 0;
  enum class Whom : uint8_t { Everybody, Owner, Instance, Dead };
  virtual uint64_t clear(Whom whom, Bytes id) = 0;
  virtual uint64_t sweep() = 0;
  virtual void stats(liblock_stats &stats) = 0;
  // The last call: ends all waits as CLOSED, gives the locks back or leaves them.
  virtual void close(bool leave) = 0;
};

}  // namespace liblock
