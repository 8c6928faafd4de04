// SPDX-License-Identifier: MIT
// The one interface that every kind of context has behind it. An engine belongs to one context (instance);
// engines of contexts that share a backend meet there. All calls are thread-safe and take arguments that were
// checked before.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/ask.hpp"
#include "engine/events.hpp"
#include "engine/handle.hpp"
#include "engine/key_info.hpp"
#include "engine/owner.hpp"
#include "engine/pending_call.hpp"

namespace liblock {

class Engine {
 public:
  virtual ~Engine() = default;
  virtual const Clock &clock() const = 0;

  // Calls wait for a server: they must not be made on its loop, or in a callback.
  virtual bool talks_to_server() const { return false; }
  // The last step of opening, called once: what it has to do with servers begins here, and nothing has begun where it
  // throws std::bad_alloc. may_wait: until it is known how they are, which the engine bounds. message: what should be
  // known though the status is OK, else why not; then it is closed again.
  virtual Status begin(bool /*may_wait*/, std::string & /*message*/) { return Status::OK; }
  // Whether these keys (none: the global lock) can be locked here at all.
  virtual Status accepts(std::span<const Bytes> keys) const = 0;

  virtual std::shared_ptr<Owner> make_owner(Bytes name) = 0;
  // Releases its locks and ends its waits, without waiting for a server.
  virtual void close_owner(const std::shared_ptr<Owner> &owner) = 0;
  virtual Owner &unnamed_owner() = 0;

  // A free key, no owner, nothing to carry: the shortest way. False: nothing has changed, take the long way.
  virtual bool try_fast(Bytes key, Nanos ttl, FastGrant &grant) = 0;
  // The same for a few keys at once, sorted or not.
  virtual bool try_fast_many(std::span<const Bytes> keys, Nanos ttl, FastGrant &grant) = 0;
  // keys empty: the global lock. Waits as the parameters say.
  virtual Grant acquire(Owner &owner, std::span<const Bytes> keys, const AcquireParams &params) = 0;
  // Builds its side in the call's room. The parameters outlive the call. Throws std::bad_alloc, and then nothing has
  // begun.
  virtual void submit(PendingCall &call, Owner &owner, std::span<const Bytes> keys,
                      const AcquireParams &params, const std::shared_ptr<class Runtime> &runtime) = 0;
  // Asks; the call still ends by ended(). Throws std::bad_alloc, and then it was not asked.
  virtual void cancel(PendingCall &call) = 0;
  // The same of a wait for others. Whatever else is asked cannot be canceled: it ends by itself, soon.
  virtual void cancel_wait(PendingCall &call, Ask &ask) = 0;

  // Never waits: where a server is talked to, it only begins, and nobody hears of its end.
  virtual Status release(Handle h) = 0;
  virtual HoldView view(Handle h) = 0;
  // Anything else. Without a server it has ended when this returns; waits wait in here.
  virtual void start(Ask &ask) = 0;

  // 0 entries where the backend ends leases by itself.
  virtual uint64_t sweep() = 0;
  virtual void stats(liblock_stats &stats) = 0;
  // Of what looks for the dead in the background; filled in as where there is none.
  virtual void zombies(liblock_zombies_status &) const {}
  // More than a status says of what is wrong with the backend; may be empty.
  virtual std::string explain(Status) const { return {}; }
  virtual Events *events() { return nullptr; }
  enum class Whom : uint8_t { Everybody, Owner, Instance, Dead };

  // The last call: ends all waits as CLOSED, gives the locks back or leaves them. `closed` is called when that
  // is done, on any thread.
  virtual void close(bool leave, std::function<void()> closed) = 0;
};

}  // namespace liblock
