// SPDX-License-Identifier: MIT
// A hold, or a request for one, that needs more than an entry: several keys, a named owner (whose handles on
// one key share the hold), callbacks, a value, renewal. One handle names it; its home shard (the lowest of
// its keys) keeps the handle. Each key's state is guarded by that key's shard, so that any of them can be
// lost by itself:
//
//   KeyRef      to             when
//   Wanted      Held           taken, handed over, or shared with the owner's present hold
//   Held        GivenBack      released by its handle, or the request failed
//   Held        Lost           the lease ended or the key was taken away; `lost` is set once for the record, by
//                              whom finds it so first: he alone gives back the rest and frees it ("reaps" it)
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/list.hpp"
#include "base/spin_lock.hpp"
#include "engine/lost_notice.hpp"
#include "engine/owner.hpp"
#include "local/entry.hpp"
#include "local/waiter.hpp"

namespace liblock {

struct KeyRef {
  enum class State : uint8_t { Wanted, Held, Lost, GivenBack };

  Bytes key;  // the caller's bytes while the acquire runs, record->key_bytes once it waits or is held
  uint32_t hash = 0;
  uint32_t shard = 0;
  // Guarded by the shard's lock from here on.
  uint32_t index = 0;
  State state = State::Wanted;
  bool reentered = false;
  Record *record = nullptr;
  KeyRef *next = nullptr;  // further records on the same hold
};

class LeaseTimer;
class Runtime;

inline constexpr Nanos kNotExtended = -1;

struct Record {
  static constexpr size_t kInlineKeys = 4;

  Handle handle = 0;   // constant while it is held
  uint64_t token = 0;  // of its grant; constant while it is held
  LocalOwner *owner = nullptr;
  bool global = false;                // the global lock: no keys
  std::atomic<bool> all_held{false};  // the acquire has succeeded; written under the locks of all its shards
  bool handle_gone = false;  // guarded by the home shard's lock: released, though a reaper still works on it
  std::atomic<bool> lost{false};
  std::atomic<uint32_t> taken{0};  // keys held so far
  Waiter *queued = nullptr;  // while it waits for a key; guarded by that key's shard's (or the global) lock
  std::atomic<uint32_t> pins{0};  // see records.cpp

  // Without duplicates, and sorted by bytes where it may have to wait; constant. lock_order: their shards,
  // ascending, each once.
  uint32_t key_count = 0;
  KeyRef inline_refs[kInlineKeys];
  uint16_t inline_order[kInlineKeys];
  std::vector<KeyRef> more_refs;
  std::vector<uint16_t> more_order;
  KeyRef *refs = inline_refs;
  uint16_t *lock_order = inline_order;
  uint32_t lock_count = 0;
  uint32_t home = 0;
  std::string key_bytes;

  // Constant once held, but for ttl and value: written under the locks of all its shards (the global lock's
  // under its own and shard 0's), read under any of them.
  Nanos ttl = kNever;
  Nanos since = 0;             // the hold began, by the coarse clock
  Nanos initial_ttl = kNever;  // that it began with
  Nanos hold_until = kNever;   // max_hold
  // Of several keys of a named owner: the first end of their leases, or one that is earlier; or a look is pending. Goes
  // by the locks of its shards as ttl does; see first_end.cpp.
  Nanos ends_at = kNever;
  bool renew = false;
  std::atomic<bool> look_pending{false};
  liblock_callback on_lost = nullptr;
  void *on_lost_user_data = nullptr;
  // Where on_lost is wanted, and what a blank record keeps of an earlier hold: a loss may be found by any thread, which
  // must not need memory to tell of it.
  std::unique_ptr<LostCall> lost_call;
  std::shared_ptr<CompletionSink> losses;
  std::shared_ptr<Runtime> runtime;  // where the timer runs and on_lost is called; set when either is wanted
  std::string value;
  std::vector<std::pair<std::string, std::string>> metadata;
  // REENTER_EXTEND, else empty: of each key (of the global lock: one) what was left of the owner's lease when this
  // handle set it anew, or kNotExtended. Guarded as the lease is; see given_back.cpp.
  std::vector<Nanos> left_before;
  // Given under the lock of any of its shards (the global lock's: shard 0's), which then keeps it; taken under all.
  std::atomic<LeaseTimer *> timer{nullptr};
  LeaseTimer *take_timer() {
    LeaseTimer *its = timer.load(std::memory_order_relaxed);
    if (its != nullptr) timer.store(nullptr, std::memory_order_relaxed);
    return its;
  }

  ListLinks<Record> owner_links;  // in the owner's list; guarded by owner->mutex, as the next
  bool let_go = false;            // the owner is closed, and somebody gives this back
  std::shared_ptr<LocalOwner>
      reaped_owner;  // of a lost record: its context may be freed before the reaper is done
  Record *next_deferred = nullptr;
  Record *next_looked_at = nullptr;
  Record *next_free = nullptr;
};

class LocalOwner final : public Owner, public std::enable_shared_from_this<LocalOwner> {
 public:
  using Owner::Owner;
  SpinLock mutex;  // before any shard's lock
  // Named owners only: all that it holds or waits for. Guarded by mutex.
  List<Record, &Record::owner_links> records;
  std::atomic<uint32_t> keys_held{0};  // named owners only
  std::atomic<uint32_t> own_waits{0};  // of requests that go on with what he holds (own_waits.cpp), for keys
  size_t place = SIZE_MAX;             // among the table's; guarded by its owners_mutex_
  size_t place_in_engine = SIZE_MAX;   // guarded by that one's owners_mutex_
};

}  // namespace liblock
