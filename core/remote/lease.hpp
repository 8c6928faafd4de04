// SPDX-License-Identifier: MIT
// One grant of one server, or of several: the keys it covers, under which attempt, and until when we may believe in
// it. Shared by the handles of an owner that reentered. Changed on the loop's thread only; what other threads read is
// atomic.
//
//   state     meaning                                                  left by
//   Held      ours until ends_at                                       extend, renewal: a later end; release; loss
//   Lost      ended, or taken away: never ours again, whatever comes   -
//   Released  given back by us                                         -
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/spare_memory.hpp"
#include "engine/handle.hpp"
#include "remote/attempt_ids.hpp"
#include "remote/lock_keys.hpp"
#include "runtime/timer_heap.hpp"

namespace liblock {

struct AcquireParams;
struct FrontLine;
struct Lease;
using LeaseRef = std::shared_ptr<Lease>;

// Whoever renews leases, and finds out when one has ended.
class LeaseKeeper {
 public:
  // When it armed the lease.
  virtual void on_timer(Lease &lease, Nanos now) = 0;

 protected:
  ~LeaseKeeper() = default;
};

// How long a grant is asked for.
struct LeaseTerms {
  LeaseTerms(const AcquireParams &params, Nanos first_lease);

  Nanos ttl;       // that the holder is to have
  Nanos first;     // of a grant that is answered: until the holder has shown that it lives
  Nanos in_queue;  // of a grant to a waiter, counted from when he was last heard of
  bool renews;
  bool is_auto;  // as long as a process holds it, in whatever pieces
  Nanos max_hold;
  bool has_metadata;
};

// What a lease is to be from now on.
struct Extension {
  Nanos ttl = kNever;  // from now, or to be added to what remains; kNever: takes the expiry away
  bool add = false;
  bool renews = false;  // where it did not before
  bool is_auto = false;  // as long as a process holds it, in whatever pieces: what is too long is cut, not refused
  bool gives_back = false;  // of what nobody uses any more: holds here also where servers do not hear of it
};

struct Lease : public Timer {
  enum class State : uint8_t { Held, Lost, Released };
  struct Key {
    Bytes lock_key;        // of the lease's names
    uint32_t handles = 0;  // that hold it; 0: given back. Guarded by the mutex of Holds.
    // Of the keeper's LeaseIndex.
    Key *next_alike = nullptr;
    Lease *lease = nullptr;
  };

  static constexpr Nanos kShortest = 20 * kMillisecond;  // that a server is ever asked for

  explicit Lease(LeaseKeeper &keeper_of_it) : keeper(keeper_of_it) {}
  Lease(LeaseKeeper &keeper_of_it, const AttemptId &attempt_id, const LockKeys &lock_keys,
        const LeaseTerms &terms)
      : keeper(keeper_of_it),
        id(attempt_id),
        first_ttl(terms.first),
        ttl(terms.ttl),
        renews(terms.renews),
        has_metadata(terms.has_metadata) {
    name(lock_keys);
  }
  Lease(const Lease &) = delete;
  Lease &operator=(const Lease &) = delete;

  // Its keys: none of them is held yet.
  void name(LockKeys lock_keys) {
    names = std::move(lock_keys);
    keys.clear();
    keys.reserve(names.size());
    for (const Bytes lock_key : names) keys.push_back({lock_key});
  }

  bool is_over(Nanos now) const {
    return state.load(std::memory_order_acquire) != State::Held ||
           now >= ends_at.load(std::memory_order_acquire);
  }
  // What of a time to live that was asked for can be trusted: 1 % for the rates of two clocks, 2 ms for their
  // readings (Redlock's drift).
  static Nanos trusted(Nanos ttl) { return ttl - ttl / 100 - 2 * kMillisecond; }

  // Those that were not given back.
  LockKeys held_keys() const {
    LockKeys held;
    for (const Key &key : keys) {
      if (key.handles != 0) held.add(key.lock_key);
    }
    return held;
  }

  bool is_given_back() const {
    return std::all_of(keys.begin(), keys.end(), [](const Key &key) { return key.handles == 0; });
  }

  bool wants_renewal() const { return renews || is_short; }
  // What a renewal asks for now: not beyond the longest hold.
  Nanos renewal_ttl(Nanos now) const { return renewal_ttl(ttl, hold_until, now); }
  static Nanos renewal_ttl(Nanos ttl, Nanos hold_until, Nanos now) {
    return hold_until == kNever ? ttl : std::min(ttl, std::max(kShortest, hold_until - now));
  }

  // How much of it there is to be: what is short, here or on servers, is set to that soon.
  Nanos left(Nanos now) const {
    if (is_short) return renewal_ttl(short_until == kNever ? ttl : short_until - now, hold_until, now);
    const Nanos end = ends_at.load();
    return end == kNever ? kNever : end - now;
  }
  // It is what it was before others set it anew, and is to end as it would have; no server has confirmed that yet.
  void owe(Nanos time, Nanos now) {
    is_short = true;
    short_until = time == kNever ? kNever : now + time;
    renew_at = now;
  }
  // What is to end as before has less of its time with each try to set it; not what is renewed since.
  void cut(Nanos now) {
    if (is_short && !renews && short_until != kNever) ttl = std::max(kMillisecond, short_until - now);
  }
  void is_as_it_is_to_be() {
    is_short = false;
    short_until = kNever;
  }

  std::atomic<State> state{State::Held};
  std::atomic<Nanos> ends_at{kNever};

  // Loop thread.
  LeaseKeeper &keeper;
  std::weak_ptr<Lease> self;
  AttemptId id;
  LockKeys names;
  SpareVector<Key> keys;
  uint64_t token = 0;
  Nanos first_ttl = kNever;  // that the attempt asked for
  Nanos ttl = kNever;        // that a renewal asks for
  bool renews = false;
  Nanos hold_until = kNever;  // of max_hold_ms
  bool has_metadata = false;
  SpareVector<Handle> locks;  // that it belongs to
  int64_t keys_counted = 0;   // among those that the instance says it holds
  size_t place = SIZE_MAX;    // among those of the keeper
  FrontLine *line = nullptr;  // in which it is passed on
  bool is_plain = true;       // nothing of it was set or changed but by renewals

  bool is_short = false;  // handed over with less than its time to live, or owed: set to that, once
  Nanos short_until = kNever;  // where it is owed, and is to end then as before
  Nanos renew_at = kNever;
  // Of the keeper of one server alone.
  Nanos verify_at = kNever;   // where it must be; kNever: it is being verified, or waits for a connection
  int64_t renewals_nhz = 0;   // of either keeper: how often, in 1e-9 per second
  uint32_t change = 0;        // number of the last one sent
  uint32_t last_extend = 0;   // of the last one that set its end
  uint32_t changes_open = 0;  // asked for and not answered
  bool in_doubt = false;      // one was sent, and nobody knows whether it was carried out
  Nanos may_end_at = kNever;  // on the server at the latest, whatever was carried out
  bool is_collected = false;  // waits for the next batch of renewals
  bool must_verify = false;   // the server is another one: not renewed before it knows this lease

  void fire(Nanos now) override { keeper.on_timer(*this, now); }
};

}  // namespace liblock
