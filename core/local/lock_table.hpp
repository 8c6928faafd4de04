// SPDX-License-Identifier: MIT
// The table of one local context name: routes a key to one of 256 shards, and holds what spans shards:
// compound locks, the global lock, the deadlock search, statistics. One implementation file per theme:
//   fast_path.hpp    one free key without a record    holds.cpp     begin, hand on, release and end holds
//   record_keys.cpp  the keys of one acquire          compound.cpp  several keys, owners: the attempt
//   records.cpp      their end, release and loss      waiting.cpp   queues, blocking and timed waits
//   watching.cpp     waits for a change of a lock     leases.cpp    queries, extend, renewal, sweep
//   global_lock.cpp  the lock that excludes all       deadlock.cpp  search over waits-for edges
//   admin.cpp        taking away, closing owners      views.cpp     inspect, list, statistics
//   tracing.cpp      what instrumentation is told     own_waits.cpp who would wait for his own owner
//   by_value.cpp     changes without a handle         given_back.cpp what is left of a reentry's extension
//   carrying.cpp     values of several handles        first_end.cpp leases of one lock that differ
//
// Lock order: LocalOwner::mutex < global_.mutex < Shard::mutex (ascending number) < leaves. No user code runs
// under any.
#pragma once

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>

#include "base/hash.hpp"
#include "engine/engine.hpp"
#include "local/deferred.hpp"
#include "local/shard.hpp"
#include "base/spin_habit.hpp"
#include "local/table_options.hpp"
#include "local/wait_graph.hpp"

namespace liblock {

class LockedShards;
class ShardLocks;

class LockTable : public std::enable_shared_from_this<LockTable> {
 public:
  static constexpr uint32_t kShards = 1u << handle::kShardBits;

  LockTable(const TableOptions &options, Clock clock, uint64_t first_token, uint64_t seed);
  ~LockTable();
  const TableOptions &options() const { return options_; }
  const Clock &clock() const { return clock_; }
  Random &random() { return random_; }

  // fast_path.hpp
  // One attempt for a free key without a record. False: the slow path must decide; nothing has changed.
  bool try_thin(LocalOwner &owner, Bytes key, Nanos ttl, FastGrant &grant);
  // The same for several keys; compound.cpp.
  bool try_compound(LocalOwner &owner, std::span<const Bytes> keys, Nanos ttl, FastGrant &grant);
  Status release(const Owner &instance, Handle h);

  // waiting.cpp. keys empty: the global lock. The waiter ends Done, or is queued (then kWaiting).
  void begin(Waiter &waiter, LocalOwner &owner, std::span<const Bytes> keys, const AcquireParams &params);
  Grant acquire(LocalOwner &owner, std::span<const Bytes> keys, const AcquireParams &params);
  // The parameters outlive the request.
  void submit(LocalRequest &request, LocalOwner &owner, std::span<const Bytes> keys,
              const AcquireParams &params);
  // True: the wait will end with this status unless something else ended it before.
  bool ask_to_end(Waiter &waiter, Status status);
  // The same without a waiting thread. params outlives the request.
  void watch(LocalRequest &request, Waiter::Kind kind, Bytes key, Handle watched, LocalOwner &owner,
             const AcquireParams &params);
  Status wait_watching(Waiter::Kind kind, Bytes key, Handle watched, LocalOwner &owner, Nanos wait);
  // Of who waits, or acts for it.
  Nanos tend(Waiter &waiter, Nanos now);
  void drive(LocalRequest &request, Deferred &deferred);

  // carrying.cpp
  Status update(const void *instance, Handle h, Bytes value);

  // leases.cpp
  HoldView view(const void *instance, Handle h);
  Status extend(const void *instance, Handle h, Nanos ttl, bool add, HoldView &after);
  // A lease timer's turn: renews, or ends what is overdue. Returns when to come again; kNever: not at all.
  Nanos tend_lease(Handle h, Nanos now);
  // Gives a lock its timer, and arms that; false: the lock is gone already, or has one, which is armed then.
  bool attach_timer(Handle h, LeaseTimer *timer, Nanos due);
  // Whether a lock that is about to be given a lease needs a timer that it has not; then also on which runtime
  // (nullptr: any).
  bool wants_timer(Handle h, std::shared_ptr<Runtime> &runtime);
  uint64_t sweep();
  // Ends every overdue lock; returns the earliest end of the others.
  Nanos end_all_overdue(Nanos now, uint64_t &ended);
  // One step of a sweep: at most `budget` entries, from *position on; false when the table's end was reached.
  struct SweepPosition {
    uint32_t shard = 0;
    uint32_t index = 0;
  };
  // One batch of the periodic sweep; false: the pass is complete, the next begins anew.
  bool sweep_batch(SweepPosition &position);
  bool sweep_step(SweepPosition &position, uint64_t budget, uint64_t &ended);
  uint64_t end_overdue(Shard &shard, uint32_t from, uint32_t to, Nanos now, Deferred &deferred);

  // admin.cpp
  Status release_keys(LocalOwner &owner, std::span<const Bytes> keys);
  Status force_release(Bytes key, bool drop_queue, Tally &tally);
  // Ends holds of everyone whom `whom` picks, and waits that `waits` picks, as DEQUEUED; in steps of `batch` entries.
  using Whom = std::function<bool(const LocalOwner &)>;
  using WhichWait = std::function<bool(const Waiter &)>;
  Tally clear(const Whom &whom, const WhichWait &waits, uint32_t batch);
  void close_owner(LocalOwner &owner);
  void close_instance(LocalOwner &unnamed, bool leave);

  // by_value.cpp. NOT_OWNER: the lock carries another value.
  Status release_by_value(Bytes key, Bytes expected);
  Status extend_by_value(Bytes key, Bytes expected, Nanos ttl, bool add, HoldView &after);
  Status update_by_value(Bytes key, Bytes expected, Bytes value);

  // views.cpp
  bool is_locked(Bytes key);
  bool is_queued(Bytes key);
  std::unique_ptr<KeyInfo> inspect(Bytes key, bool with_waiters);
  std::unique_ptr<KeyInfo> inspect_global();
  // The next keys that are held (or waited for), of `budget` entries at most, copied under a shard's lock in small
  // steps.
  void list_step(Ask::Which which, Bytes prefix, uint32_t budget, ListPosition &position,
                 std::vector<std::unique_ptr<KeyInfo>> &out);
  void stats(liblock_stats &stats);
  void check_invariants();
  uint64_t highest_token();

  void add_owner(LocalOwner *owner);
  void remove_owner(LocalOwner *owner);
  void keep_zombie(std::shared_ptr<LocalOwner> owner);

  // instances.cpp
  // A context that is open on the table.
  class Instance {
   public:
    // It does so until it closes. On any thread; where it cannot, it does not.
    virtual void sweep_from_now_on() noexcept = 0;

   protected:
    ~Instance() = default;
  };
  // instance: until it was closed.
  void add_instance(const LocalOwner &unnamed, Instance &instance);
  void list_instances(const LocalOwner &self, bool zombies_only, std::vector<InstanceInfo> &out);
  bool has_zombies();
  // Their locks were cleared. Returns how many there were.
  uint64_t forget_zombies();

  // Runs after locks were let go; called by Deferred.
  void reap(Record &record);
  void look_at_leases(Record &record);
  void look_at_global();

  std::atomic<bool> leases_used{false};  // some lock had an expiry: sweeps are worth while

 private:
  friend class LockedShards;
  friend class ShardLocks;
  struct Position {
    uint32_t hash;
    uint32_t shard;
  };
  enum class Availability : uint8_t { Free, Own, Busy, AlreadyHeld };
  enum class EndReason : uint8_t { Released, Expired, TakenAway };
  // Whether a request may take a key although the global lock is asked for. Ticket: the pending global lock
  // waits until it is dropped, so that it cannot be granted while the request is being served.
  enum class Pass : uint8_t { No, Free, Ticket };

  Position position_of(Bytes key) const {
    const uint64_t hash = hash_bytes(key, hash_seed_);
    return {static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(hash) & (kShards - 1)};
  }
  Nanos deadline_after(Nanos ttl) const {
    return ttl == kNever ? kNever : clock_.coarse() + clock_.coarse_lag_max() + ttl;
  }
  // When a hold began whose deadline was set just now; the clock is not asked twice.
  Nanos start_of(Nanos deadline, Nanos ttl) const {
    const bool is_leased = deadline != kNever && ttl != kNever;
    return is_leased ? deadline - ttl - clock_.coarse_lag_max() : clock_.coarse();
  }

  // fast_path.hpp, holds.cpp; with the shard's lock, which the second one lets go
  bool release_simple(Shard &shard, const Owner &instance, Handle h);
  Status release_locked(Shard &shard, const Owner &instance, Handle h);
  LocalRequest *hand_over(Shard &shard, uint32_t index, const Owner &instance, Handle h);
  // holds.cpp; all with the shard's lock
  bool take_credit(Shard &shard);
  bool refill_credit(Shard &shard);
  void reclaim_credit();
  void begin_hold(Shard &shard, uint32_t index, LocalOwner &owner, Nanos deadline, uint64_t token);
  void end_hold(Shard &shard, uint32_t index, EndReason reason, bool thin, Deferred &deferred);
  void lose(Shard &shard, uint32_t index, EndReason reason, Deferred &deferred);
  bool end_if_overdue(Shard &shard, uint32_t index, Nanos now, Deferred &deferred);
  // The entry of a key, without a hold whose lease is over; kNoEntry: there is none.
  uint32_t find_current(Shard &shard, const Position &at, Bytes key, Deferred &deferred);
  void pass_on(Shard &shard, uint32_t index, Deferred &deferred);
  Waiter *next_to_serve(Shard &shard, Entry &entry, Pass &pass, Deferred &deferred);
  void hand_to(Shard &shard, uint32_t index, Waiter &waiter, Deferred &deferred);
  void nudge(Waiter &waiter, Deferred &deferred);
  void nudge_head(Shard &shard, uint32_t index, Deferred &deferred);
  void finish(Waiter &waiter, Status status, Deferred &deferred);
  void end_watches(WaitQueue &queue, Waiter::Kind kind, Handle watched, Status status, Deferred &deferred);
  void drop_idle_entry(Shard &shard, uint32_t index);

  // compound.cpp
  Record *prepare_record(LocalOwner &owner, std::span<const Bytes> keys, const AcquireParams &params,
                         Waiter &waiter);
  void fill_keys(Record &record, std::span<const Bytes> keys);
  bool fill_few_keys(Record &record, std::span<const Bytes> keys);
  void fill_many_keys(Record &record, std::span<const Bytes> keys);
  void fill_refs(Record &record, std::span<const Bytes> sorted);
  void keep_keys(Record &record);
  void insert_all(Record &record);
  bool take_free(Record &record, LocalOwner &owner, Nanos deadline);
  void advance(Record &record, Waiter &waiter, Deferred &deferred);
  std::shared_ptr<LocalOwner> take_or_queue(Record &record, Waiter &waiter, Deferred &deferred);
  Availability availability(Shard &shard, uint32_t index, const LocalOwner &owner,
                            const AcquireParams &params, bool gated) const;
  bool take_all(Record &record, Waiter &waiter, Deferred &deferred);
  void take_ref(Shard &shard, KeyRef &ref, Nanos deadline, uint64_t token, Deferred &deferred);
  void drop_ref(Shard &shard, KeyRef &ref, Deferred &deferred);
  Status try_fails(Record &record, uint32_t busy, Waiter &waiter, Deferred &deferred);
  Status queue_for(Record &record, uint32_t busy, Waiter &waiter, Deferred &deferred);
  bool has_credits(const Record &record, Shard &shard);
  void give_back_held(Record &record, Deferred &deferred);
  static uint32_t handles_on(const Entry &entry);

  // records.cpp
  void complete_record(Record &record, Waiter &waiter, bool all_reentered, uint64_t token, Nanos deadline);
  void raise_owner_tokens(LocalOwner &owner, uint64_t token);
  // After the end of a compound acquire, with no lock held: keeps the record or gives everything back.
  void conclude(Waiter &waiter, Deferred *deferred = nullptr);
  void abandon(Record &record, Deferred *outer);
  void unlink_and_unpin(Record &record);
  void unpin(Record &record);
  bool release_undisturbed(Record &record);
  Status release_record(const Owner &instance, Handle h);
  Status release_disturbed(Shard &home, Record &record, ShardLocks &locks);
  Status stale(Shard &shard, Handle h, bool consume) const;

  // own_waits.cpp
  static bool goes_on_with_own(const Waiter &waiter);
  // It was granted what its owner did not hold, and others of his may wait for that: whoever was queued before the
  // grant is seen, since that was under the lock of the same shard.
  bool has_own_waits(const Waiter &waiter) const {
    if (waiter.record == nullptr || waiter.grant.status != Status::OK) return false;
    if ((waiter.grant.flags & LIBLOCK_RESULT_REENTERED) != 0) return false;
    if (waiter.owner->own_waits.load(std::memory_order_relaxed) != 0) return true;
    return waiter.record->global && waiter.owner->named();
  }
  static bool has_others_of_own(const Record &record, const Waiter &waiter);
  // nullptr: nothing is to be looked at. Else the look drops the pin.
  Record *pin_for_own_waits(const Waiter &waiter) const {
    if (!has_own_waits(waiter)) return nullptr;
    waiter.record->pins.fetch_add(1, std::memory_order_relaxed);
    return waiter.record;
  }
  void end_and_look(LocalRequest &request, Record &taken, Deferred &deferred);
  void look_at_own_waits(LocalOwner &owner, Record &taken, Deferred &deferred);
  bool look_at_own_waits_for(const KeyRef &ref, LocalOwner &owner, Deferred &deferred);
  void look_at_all_own_waits(LocalOwner &owner, Deferred &deferred);
  void goes_on(Waiter &waiter, Shard &shard, Deferred &deferred);
  // To the queue that it left for that.
  static bool comes_back(Waiter &waiter) {
    return waiter.place_kept_for != nullptr && std::exchange(waiter.place_kept_for, nullptr) == waiter.wanted;
  }
  void reenter_global(LocalOwner &owner, Deferred &deferred);

  // waiting.cpp
  void attempt(Waiter &waiter, Deferred &deferred);
  void attempt_thin(Waiter &waiter, Deferred &deferred);
  Status enqueue(Waiter &waiter, Shard &shard, uint32_t index, Deferred &deferred);
  static void count_thread(Waiter &waiter);
  void leave_queue(Waiter &waiter, Shard &shard);
  void recount_waiters();
  // With no shard's lock held.
  void recount_waiters_at_bound() {
    if (waiters_.load(std::memory_order_relaxed) >= static_cast<uint64_t>(options_.waiters_max)) recount_waiters();
  }
  void wait_blocking(Waiter &waiter);
  void go_on(Waiter &waiter, Deferred &deferred);
  void end(LocalRequest &request, Deferred *deferred);
  bool was_handed_one_of_several(const Waiter &waiter) const;
  bool spin_as_head(Waiter &waiter);
  void plan(Waiter &waiter, Nanos began_at);
  Nanos act_for(Waiter &waiter, Nanos now, Deferred &deferred);
  void after_leaving(Shard &shard, uint32_t index, Deferred &deferred);
  Nanos tend_in_queue(Waiter &waiter, uint32_t where, Nanos now, Deferred &deferred);
  bool place_of(const Waiter &waiter, size_t &position, size_t &length);
  Nanos tell_place(Waiter &waiter, Nanos now);
  Nanos tend_deadlock(Waiter &waiter, Nanos now);
  Status begin_watching(Waiter &waiter, Bytes key);
  Status begin_watching_key(Waiter &waiter, Bytes key);
  Status begin_watching_lock(Waiter &waiter);
  Status begin_watching_record(Waiter &waiter);
  void watch_elsewhere(const KeyRef &going, Deferred &deferred);
  Status begin_watching_global(Waiter &waiter);
  bool end_wait(Waiter &waiter, Status status, Deferred &deferred);

  // global_lock.cpp
  struct Global {
    std::mutex mutex;
    WaitQueue queue;                // guarded by mutex, as all below but the atomics
    std::vector<Record *> handles;  // of the holder, youngest last; empty: not held
    LocalOwner *owner = nullptr;
    Waiter *pending = nullptr;  // asked for: all shards are gated
    uint64_t token = 0;
    std::atomic<Nanos> deadline{kNever};  // written under mutex
    // Keys held by others that the pending one waits for. Leaves 0 never by itself: who passes holds a
    // ticket.
    std::atomic<int64_t> remaining{0};
    std::atomic<LocalOwner *> gate_owner{nullptr};  // named owner of the pending or granted global lock
    // Some gate is shut or about to be: gates go up and down one by one, a request that needs a record sees
    // all of them as one.
    std::atomic<bool> gating{false};
  };
  void attempt_global(Waiter &waiter, Deferred &deferred);
  bool gate_all(LocalOwner &owner);
  void ungate_all(Deferred &deferred);
  void begin_pending(Waiter &waiter, Deferred &deferred);
  void grant_global(Waiter &waiter, Deferred &deferred);
  void hold_global_again(Waiter &waiter, Deferred &deferred);
  void lose_global(EndReason reason, Deferred &deferred);
  void free_global(Deferred &deferred);
  void next_global(Deferred &deferred);
  void leave_global(Waiter &waiter, Status status, Deferred &deferred);
  void dequeue_global(Waiter &waiter, Deferred &deferred);
  bool end_global_wait(Waiter &waiter, Status status, Deferred &deferred);
  Pass try_pass(const LocalOwner &owner, const Record *record);
  void drop_pass(Pass pass, Deferred &deferred);
  // With the shard's lock: the lease of one of its keys begins or moves. The pending global lock comes to see it by the
  // earliest lease that it knows of, and sleeps where it knows of none.
  static void lease_moved(const Shard &shard, Nanos deadline, Deferred &deferred) {
    if (shard.gated && deadline != kNever) deferred.global_must_look();
  }
  // Drops it whatever ends the attempt: with a ticket that is left behind nobody would ever have the global lock.
  struct Passing {
    LockTable &table;
    const Pass pass;
    Deferred &deferred;
    ~Passing() { table.drop_pass(pass, deferred); }
  };
  void count_gated_hold(const LocalOwner &owner, int64_t change, Deferred *deferred);
  Status release_global(const Owner &instance, Handle h);
  void reap_global(Record &record);
  bool end_global_if_overdue(Nanos now);
  bool end_global_if_overdue(Nanos now, Deferred &deferred);
  bool is_behind_lease(const Shard &shard) const;
  // With the shard's lock: some lease ends the wait for this key.
  bool is_leased(Shard &shard, uint32_t index) const {
    if (shard.deadline(index) != kNever || is_behind_lease(shard)) return true;
    const Entry &entry = shard.entry(index);
    return entry.refs != nullptr && ends_by_some_key(entry);
  }
  void tell_global_lease(Deferred &deferred);
  void nudge_global_head(Deferred &deferred);
  Nanos tend_global(const Waiter &waiter, Nanos now, Deferred &deferred);

  // leases.cpp
  HoldView view_record(const Record &record, Nanos now);
  HoldView view_global(Handle h);
  Status extend_global(Handle h, const std::function<Nanos(Nanos)> &new_deadline, Nanos set_ttl,
                       HoldView &after, Deferred &deferred);
  void arm_timers(Entry &entry, Nanos deadline);
  void arm_timer(Record &record, Nanos deadline);
  Nanos timer_due(const Record &record, Nanos deadline);
  Nanos tend_global_lease(Handle h, Nanos now);

  // first_end.cpp
  Nanos first_end(const Record &record);
  void tell_first_end(Record &record, Deferred &deferred);
  static bool ends_by_some_key(const Entry &entry);
  static Nanos end_by_any_key(const Entry &entry, Nanos now, Deferred &deferred);
  void renewed_as_one(Record &record, Deferred &deferred);
  static void look_at_others(const Entry &entry, Nanos deadline, Deferred &deferred);
  static bool is_over_by_others(const Entry &entry, Nanos now);
  bool tries_again(Waiter &waiter, const Entry &entry, Deferred &deferred) {
    return entry.refs != nullptr && has_others_looked_at(waiter, entry, deferred);
  }
  bool has_others_looked_at(Waiter &waiter, const Entry &entry, Deferred &deferred);

  // given_back.cpp
  void extend_shared(Shard &shard, KeyRef &ref, Nanos deadline, Deferred &deferred);
  void set_shared(Shard &shard, uint32_t index, Nanos deadline, Deferred &deferred);
  void begin_lease(Shard &shard, uint32_t index, Nanos deadline, Deferred &deferred);
  static void forget_extensions(const Entry &entry);
  void give_back_extension(Shard &shard, const KeyRef &gone, const KeyRef *older, Deferred &deferred);
  void set_global_deadline(Nanos deadline, Deferred &deferred);
  void give_back_global_extension(Record &gone, size_t above, Deferred &deferred);

  // admin.cpp
  Status find_owned(const LocalOwner &owner, std::span<const Bytes> keys, std::vector<KeyRef *> &refs,
                    Deferred &deferred);
  enum class Waits : uint8_t { ForLocks, AlsoWatches };
  size_t end_waits_of_entry(Shard &shard, uint32_t index, const WhichWait &waits, Waits which, Status status,
                            Deferred &deferred);
  size_t end_global_waits(const WhichWait &waits, Waits which, Status status);
  template <typename Visit>
  uint64_t for_each_entry(uint32_t batch, Visit visit);

  void instance_closed(const LocalOwner &unnamed, bool left_locks, bool left_unnamed);  // instances.cpp
  void sweep_what_was_left();
  void forget_idle_owners();

  // carrying.cpp
  static const KeyRef *oldest_on(const Entry &entry);
  void hand_on_carried(const KeyRef &ref, bool locks_all);
  void hand_on_global(const Record &gone);
  Status set_carried(Handle h, Bytes value, const Bytes *expected = nullptr);
  std::vector<Handle> carriers_of(Handle h);
  bool is_of_global(Handle h);
  Status update_global(Handle h, Bytes value);

  // by_value.cpp
  const std::string *carried(Shard &shard, uint32_t index, Handle &h);
  Status carries(Shard &shard, uint32_t index, Bytes expected, Handle &h);
  Status find_by_value(Bytes key, Bytes expected, Handle &h, const void *&instance);

  // views.cpp
  void describe_start(const Record &record, Nanos now, KeyInfo &info) const;
  std::unique_ptr<KeyInfo> describe(Shard &shard, uint32_t index, bool with_waiters, Nanos now);

  // tracing.cpp; where the waiter has a trace
  void trace_step(const Waiter &waiter, int32_t entry, uint64_t count, Deferred &deferred);
  void trace_queue(const Waiter &waiter, Shard &shard, uint32_t index, int32_t entry, Deferred &deferred);
  void trace_busy(const Waiter &waiter, Shard &shard, uint32_t index, Deferred &deferred);
  void trace_retry(const Waiter &waiter, Deferred &deferred);
  void trace_hand_off(const Waiter &waiter, Shard &shard, uint32_t index, uint64_t token, Deferred &deferred);
  void trace_global(const Waiter &waiter, bool idle, Deferred &deferred);
  void trace_global_hand_off(const Waiter &waiter, uint64_t token, Deferred &deferred);
  void trace_requeue(const Waiter &waiter, const WaitQueue &queue, Deferred &deferred);
  void trace_deadlock(const Waiter &waiter, size_t owners, Deferred &deferred);

  // deadlock.cpp
  void edges_of_wait(const Waiter &waiter, WaitEdges &edges);
  void edges_of_global_wait(const Waiter &waiter, WaitEdges &edges);
  void edges_of_owner(const LocalOwner &owner, WaitEdges &edges);
  bool edge_stands(const WaitEdge &edge, Waiter *&waiter);
  bool break_cycle(const WaitEdges &cycle, const Waiter &searcher, Deferred &deferred);
  bool search_deadlock(Waiter &waiter, LocalOwner &owner);
  static bool is_only_one_of(LocalOwner &owner);

  const TableOptions options_;
  const Clock clock_;
  Random random_;
  SpinHabit spin_habit_;  // its own rule
  const uint64_t hash_seed_;
  // One block, so that the lines of a shard with few keys are found without reading the shard. Pages that no
  // shard uses are never touched.
  std::unique_ptr<Chunk[]> first_chunks_;
  std::unique_ptr<Shard[]> shards_;
  Global global_;
  std::atomic<int64_t> credit_pool_;
  std::atomic<uint64_t> waiters_{0};  // those who left a shard's queue are taken off by recount_waiters()
  std::atomic<uint64_t> serial_{0};
  std::mutex owners_mutex_;                           // before LocalOwner::mutex
  std::vector<LocalOwner *> owners_;                  // named ones; guarded by owners_mutex_
  // Of contexts that were closed and left locks behind, which point at them. Guarded by owners_mutex_.
  std::vector<std::shared_ptr<LocalOwner>> zombies_;
  struct Member {
    const void *instance;  // only compared, and only while it is open
    Instance *sweeper;     // only while it is open
    std::string id;
    Nanos closed_at;  // and locks were left behind; kNever: open
  };
  std::vector<Member> instances_;  // guarded by owners_mutex_
  struct {
    std::atomic<uint64_t> contended{0}, timeouts{0}, canceled{0}, deadlocks{0}, deadlock_searches{0},
        renewals{0}, sweeps{0}, global_acquired{0}, global_released{0}, global_expired{0}, global_taken{0};
  } counters_;
};

}  // namespace liblock
