// SPDX-License-Identifier: MIT
// Acquires that need a record: several keys as one, a named owner, something to carry. All of a record's
// shards are locked together whenever its keys are looked at, so that an attempt takes all keys or knows the
// first busy one. A request that cannot have all keeps those before the first busy one in byte order and
// queues for that one; since everybody goes in that order, requests that hold nothing else cannot block each
// other in a circle.
#include <algorithm>

#include "local/record_cache.hpp"
#include "local/shard_locks.hpp"

namespace liblock {

Record *LockTable::prepare_record(LocalOwner &owner, std::span<const Bytes> keys, const AcquireParams &params,
                                  Waiter &waiter) {
  Record *record = take_blank_record();
  record->owner = &owner;
  record->global = keys.empty();
  record->pins.store(2, std::memory_order_relaxed);  // one of the acquire that runs, one of the handle
  waiter.record = record;
  record->ttl = params.ttl;
  record->renew = params.renew;
  record->losses = params.losses;
  record->runtime = params.runtime;
  try {
    if (params.on_lost != nullptr) {
      record->on_lost = params.on_lost;
      record->on_lost_user_data = params.on_lost_user_data;
      if (record->lost_call == nullptr) record->lost_call = std::make_unique<LostCall>();
    }
    fill_keys(*record, keys);
    record->value.assign(params.value);
    for (const liblock_metadata &m : params.metadata) {
      record->metadata.emplace_back(std::string(static_cast<const char *>(m.name.data), m.name.size),
                                    std::string(static_cast<const char *>(m.value.data), m.value.size));
    }
    if (owner.named() && params.on_conflict == LIBLOCK_ON_CONFLICT_REENTER_EXTEND)
      record->left_before.assign(std::max(record->key_count, 1u), kNotExtended);
  } catch (...) {
    waiter.record = nullptr;
    give_back_record(record);
    throw;
  }
  if (owner.named()) {
    const std::lock_guard lock(owner.mutex);
    owner.records.push_back(record);
  }
  return record;
}

// Several free keys without an owner and with nothing to carry: no waiter, no conclusion.
bool LockTable::try_compound(LocalOwner &owner, std::span<const Bytes> keys, Nanos ttl, FastGrant &grant) {
  if (keys.size() > Record::kInlineKeys) return false;
  Record *record = take_blank_record();
  if (!fill_few_keys(*record, keys)) {
    give_back_record(record);
    return false;
  }
  record->owner = &owner;
  const Nanos deadline = deadline_after(ttl);
  record->since = start_of(deadline, ttl);
  record->initial_ttl = ttl;
  bool taken = false;
  try {
    const ShardLocks locks(*this, *record);
    taken = take_free(*record, owner, deadline);
    grant.handle = record->handle;
    grant.token = record->token;
  } catch (const std::bad_alloc &) {
    // Nothing has changed; the long way says NO_MEMORY, or finds some.
  }
  if (!taken) give_back_record(record);
  return taken;
}

// A handle and an entry for every key, or bad_alloc and nothing.
void LockTable::insert_all(Record &record) {
  uint32_t inserted = 0;
  try {
    for (; inserted < record.key_count; ++inserted) {
      KeyRef &ref = record.refs[inserted];
      ref.index = shards_[ref.shard].insert(ref.hash, ref.key);
    }
    shards_[record.home].assign_handle(record);
  } catch (...) {
    while (inserted-- > 0) shards_[record.refs[inserted].shard].erase(record.refs[inserted].index);
    throw;
  }
}

// With the locks of all its shards. False: some key is not simply free; nothing has changed.
bool LockTable::take_free(Record &record, LocalOwner &owner, Nanos deadline) {
  if (owner.closed.load(std::memory_order_relaxed)) return false;
  uint64_t token = 0;
  for (uint32_t i = 0; i < record.key_count; ++i) {
    KeyRef &ref = record.refs[i];
    Shard &shard = shards_[ref.shard];
    if (shard.gated || shard.credit < record.key_count || shard.find(ref.hash, ref.key) != kNoEntry)
      return false;
    token = std::max(token, shard.last_token());
  }
  insert_all(record);
  ++token;
  for (uint32_t i = 0; i < record.key_count; ++i) {
    KeyRef &ref = record.refs[i];
    Shard &shard = shards_[ref.shard];
    Chunk &chunk = shard.chunk_of(ref.index);
    Entry &entry = chunk.entries[ref.index % kEntriesPerChunk];
    entry.owner = &owner;
    entry.token = token;
    entry.refs = &ref;
    chunk.deadlines[ref.index % kEntriesPerChunk] = deadline;
    ref.state = KeyRef::State::Held;
    shard.raise_token(token);
    ++shard.held;
    ++shard.grants;
    --shard.credit;
  }
  if (deadline != kNever && !leases_used.load(std::memory_order_relaxed)) leases_used.store(true);
  record.token = token;
  record.taken.store(record.key_count, std::memory_order_relaxed);
  record.pins.store(1, std::memory_order_relaxed);
  record.all_held.store(true, std::memory_order_relaxed);
  return true;
}

// gated: the pass decides who goes first, not the queue.
LockTable::Availability LockTable::availability(Shard &shard, uint32_t index, const LocalOwner &owner,
                                                const AcquireParams &params, bool gated) const {
  if (index == kNoEntry) return Availability::Free;
  const Entry &entry = shard.entry(index);
  if (!entry.held()) {
    const bool others_first = entry.queue != nullptr && !entry.queue->strict.empty();
    return others_first && params.order != LIBLOCK_ORDER_ANY && !gated ? Availability::Busy
                                                                       : Availability::Free;
  }
  if (entry.owner != &owner || !owner.named() || params.on_conflict == LIBLOCK_ON_CONFLICT_WAIT) {
    return Availability::Busy;
  }
  return params.on_conflict == LIBLOCK_ON_CONFLICT_FAIL ? Availability::AlreadyHeld : Availability::Own;
}

// The owner, where others of his may wait for what it has on its way; the record is pinned then.
[[gnu::always_inline]] inline std::shared_ptr<LocalOwner> LockTable::take_or_queue(Record &record, Waiter &waiter,
                                                                                   Deferred &deferred) {
  const AcquireParams &params = *waiter.params;
  LocalOwner &owner = *record.owner;
  Nanos now = 0;  // read where a lease asks for it
  uint64_t overdue = 0;
  const bool is_traced = params.trace != nullptr && params.trace->logs_attempts();
  if (is_traced) trace_step(waiter, LIBLOCK_ENTRY_ATTEMPT_STARTED, waiter.attempts.load(), deferred);
  const ShardLocks locks(*this, record);
  if (is_traced) trace_step(waiter, LIBLOCK_ENTRY_ATTEMPT_READY, 0, deferred);
  // Not only the gates of its own shards: who was queued at a free key because another of its shards is shut
  // already must not make this one wait behind him for a key that nobody will hand on.
  const bool gated = global_.gating.load();
  const Passing passing{*this, gated ? try_pass(owner, &record) : Pass::No, deferred};
  uint32_t busy = record.key_count;
  Status failed = Status::OK;
  for (uint32_t i = 0; i < record.key_count && failed == Status::OK; ++i) {
    KeyRef &ref = record.refs[i];
    if (ref.state == KeyRef::State::Held) continue;
    Shard &shard = shards_[ref.shard];
    ref.index = shard.find(ref.hash, ref.key);
    if (ref.index != kNoEntry && shard.deadline(ref.index) != kNever) {
      if (now == 0) now = clock_.now();
      if (end_if_overdue(shard, ref.index, now, deferred)) {
        ++shard.counters.taken_over;
        ++overdue;
        waiter.grant.flags |= LIBLOCK_RESULT_TOOK_OVER;
        ref.index = shard.find(ref.hash, ref.key);
      }
    }
    const Availability found = availability(shard, ref.index, owner, params, gated);
    if (found == Availability::AlreadyHeld) failed = Status::ALREADY_HELD;
    // All its shards count as shut while one is: gates go up and down one by one, and a request that took a
    // key behind an open one and queued at a shut one would be waited for without being served.
    const bool shut = found == Availability::Free && gated && passing.pass == Pass::No;
    if ((found == Availability::Busy || shut) && busy == record.key_count) busy = i;
  }
  if (owner.closed.load(std::memory_order_relaxed)) failed = Status::CLOSED;
  if (record.lost.load()) failed = Status::DEQUEUED;
  if (is_traced) trace_step(waiter, LIBLOCK_ENTRY_ATTEMPT_OVERDUE_REMOVED, overdue, deferred);
  if (failed == Status::OK && busy == record.key_count) {
    if (is_traced) trace_step(waiter, LIBLOCK_ENTRY_ATTEMPT_FREE, 0, deferred);
    if (!take_all(record, waiter, deferred)) failed = Status::LIMIT;
  } else if (failed == Status::OK && params.tries_once()) {
    failed = try_fails(record, busy, waiter, deferred);
  } else if (failed == Status::OK) {
    failed = queue_for(record, busy, waiter, deferred);
    if (failed == Status::OK && has_others_of_own(record, waiter)) {
      record.pins.fetch_add(1, std::memory_order_relaxed);
      return owner.shared_from_this();
    }
  }
  if (failed != Status::OK) finish(waiter, failed, deferred);
  return nullptr;
}

// One attempt for all keys that are still wanted. Ends the waiter, or queues it for the first busy key.
void LockTable::advance(Record &record, Waiter &waiter, Deferred &deferred) {
  const std::shared_ptr<LocalOwner> owner = take_or_queue(record, waiter, deferred);
  if (owner != nullptr) look_at_own_waits(*owner, record, deferred);
}

// OK: it goes on.
Status LockTable::try_fails(Record &record, uint32_t busy, Waiter &waiter, Deferred &deferred) {
  waiter.grant.busy_key = busy;
  const KeyRef &ref = record.refs[busy];
  Shard &shard = shards_[ref.shard];
  if (ref.index != kNoEntry && tries_again(waiter, shard.entry(ref.index), deferred)) return Status::OK;
  const Trace *trace = waiter.params->trace;
  if (trace != nullptr && trace->logs_attempts()) trace_busy(waiter, shard, ref.index, deferred);
  return Status::BUSY;
}

// Takes what comes before the busy key and queues for that one. OK: it is queued.
Status LockTable::queue_for(Record &record, uint32_t busy, Waiter &waiter, Deferred &deferred) {
  if (record.handle == 0) shards_[record.home].assign_handle(record);
  keep_keys(record);
  for (uint32_t i = 0; i < busy; ++i) {
    KeyRef &ref = record.refs[i];
    if (ref.state == KeyRef::State::Held) continue;
    Shard &shard = shards_[ref.shard];
    if (!take_credit(shard)) return Status::LIMIT;
    take_ref(shard, ref, kNever, shard.next_token(), deferred);
  }
  KeyRef &ref = record.refs[busy];
  Shard &shard = shards_[ref.shard];
  uint32_t index = shard.find(ref.hash, ref.key);
  if (index == kNoEntry) index = shard.insert(ref.hash, ref.key);  // free, but the global lock shuts it
  waiter.wanted = &ref;
  waiter.grant.busy_key = busy;
  ref.index = index;
  const Status queued = enqueue(waiter, shard, index, deferred);
  if (queued != Status::OK) {
    drop_idle_entry(shard, index);
  } else if (waiter.params->trace != nullptr && waiter.params->trace->logs_attempts()) {
    trace_queue(waiter, shard, index, LIBLOCK_ENTRY_ATTEMPT_QUEUED, deferred);
    trace_busy(waiter, shard, index, deferred);
  }
  return queued;
}

// All wanted keys are free or the owner's own. False: a bound was reached, nothing more was taken.
bool LockTable::take_all(Record &record, Waiter &waiter, Deferred &deferred) {
  const AcquireParams &params = *waiter.params;
  bool all_reentered = true;
  uint64_t token = 0;
  for (uint32_t i = 0; i < record.key_count; ++i) {
    const KeyRef &ref = record.refs[i];
    Shard &shard = shards_[ref.shard];
    token = std::max(token, shard.last_token());
    if (ref.state == KeyRef::State::Held) {
      all_reentered &= ref.reentered;
      continue;
    }
    const bool own = ref.index != kNoEntry && shard.entry(ref.index).held();
    all_reentered &= own;
    if (!own && !has_credits(record, shard)) return false;
  }
  if (record.handle == 0) shards_[record.home].assign_handle(record);
  ++token;
  const Nanos deadline = deadline_after(params.ttl);
  bool shares = false;
  for (uint32_t i = 0; i < record.key_count; ++i) {
    KeyRef &ref = record.refs[i];
    Shard &shard = shards_[ref.shard];
    if (ref.state != KeyRef::State::Held) {
      take_credit(shard);
      take_ref(shard, ref, deadline, token, deferred);
    }
    if (!ref.reentered) {
      if (deadline != kNever || shard.deadline(ref.index) != kNever)
        begin_lease(shard, ref.index, deadline, deferred);
    } else {
      if (params.on_conflict == LIBLOCK_ON_CONFLICT_REENTER_EXTEND)
        extend_shared(shard, ref, deadline, deferred);
      shares = true;
    }
    if (all_reentered) continue;
    shard.entry(ref.index).token = token;
    shard.raise_token(token);
  }
  if (deadline != kNever) leases_used.store(true, std::memory_order_relaxed);
  if (all_reentered) {
    token = 0;
    for (uint32_t i = 0; i < record.key_count; ++i) {
      const KeyRef &ref = record.refs[i];
      token = std::max(token, shards_[ref.shard].entry(ref.index).token);
    }
  }
  complete_record(record, waiter, all_reentered, token, deadline);
  record.ends_at = deadline;
  if (shares) {
    tell_first_end(record, deferred);
    waiter.grant.remaining = clock_.left_until(record.ends_at);
  }
  if (!record.owner->named() && waiter.waits_begun.load(std::memory_order_relaxed) == 0) {
    // Nobody else has seen the acquire, and it has nothing to conclude.
    record.pins.store(1, std::memory_order_relaxed);
    waiter.record = nullptr;
  }
  finish(waiter, Status::OK, deferred);
  return true;
}

// Credits for all of the record's wanted keys in this shard.
bool LockTable::has_credits(const Record &record, Shard &shard) {
  uint32_t wanted = 0;
  for (uint32_t i = 0; i < record.key_count; ++i) {
    wanted += record.refs[i].shard == shard.number() && record.refs[i].state != KeyRef::State::Held;
  }
  while (shard.credit < wanted) {
    if (!refill_credit(shard)) return false;
  }
  return true;
}

void LockTable::take_ref(Shard &shard, KeyRef &ref, Nanos deadline, uint64_t token, Deferred &deferred) {
  if (ref.index == kNoEntry) ref.index = shard.insert(ref.hash, ref.key);
  const uint32_t index = ref.index;
  Entry &entry = shard.entry(index);
  ref.reentered = entry.held();
  if (ref.reentered) {
    LIBLOCK_ASSERT(entry.owner == ref.record->owner && entry.refs != nullptr);
    ++shard.counters.reentered;
  } else {
    begin_hold(shard, index, *ref.record->owner, deadline, token);
    lease_moved(shard, deadline, deferred);
    if (entry.queue != nullptr) end_watches(*entry.queue, Waiter::Kind::WatchHeld, 0, Status::OK, deferred);
  }
  ref.state = KeyRef::State::Held;
  ref.next = entry.refs;
  entry.refs = &ref;
  ref.record->taken.fetch_add(1, std::memory_order_relaxed);
}

void LockTable::complete_record(Record &record, Waiter &waiter, bool all_reentered, uint64_t token,
                                Nanos deadline) {
  const AcquireParams &params = *waiter.params;
  record.all_held = true;
  record.since = start_of(deadline, params.ttl);
  record.initial_ttl = params.ttl;
  if (params.max_hold != kNever) record.hold_until = clock_.now() + params.max_hold;
  if (all_reentered && params.on_conflict != LIBLOCK_ON_CONFLICT_REENTER_EXTEND) {
    // The inner lock rides on the outer one's lease; only its handle is its own.
    record.ttl = record.hold_until = kNever;
    record.renew = false;
    record.on_lost = nullptr;
    record.losses.reset();
    record.value.clear();
    record.metadata.clear();
  }
  if (const KeyRef *older = record.key_count != 0 ? record.refs[0].next : nullptr; older != nullptr) {
    record.since = older->record->since;
    record.initial_ttl = older->record->initial_ttl;
  }
  record.token = token;
  Grant &grant = waiter.grant;
  grant.handle = record.handle;
  grant.token = token;
  if (all_reentered) grant.flags |= LIBLOCK_RESULT_REENTERED;
  grant.hold_count = 1;
  grant.remaining = deadline == kNever ? kNever : params.ttl;
  if (record.key_count == 0) return;
  grant.hold_count = handles_on(shards_[record.refs[0].shard].entry(record.refs[0].index));
}

uint32_t LockTable::handles_on(const Entry &entry) {
  uint32_t count = 0;
  for (const KeyRef *ref = entry.refs; ref != nullptr; ref = ref->next) ++count;
  return entry.held() ? std::max(count, 1u) : 0;
}

// One handle less on the key. The hold ends with the last one; the caller passes the key on.
void LockTable::drop_ref(Shard &shard, KeyRef &ref, Deferred &deferred) {
  Entry &entry = shard.entry(ref.index);
  KeyRef **link = &entry.refs;
  while (*link != &ref) link = &(*link)->next;
  const KeyRef *const older = *link = std::exchange(ref.next, nullptr);
  ref.state = KeyRef::State::GivenBack;
  ref.record->taken.fetch_sub(1, std::memory_order_relaxed);
  // Before the hold ends with it: that is a release of this key, also where the lock was lost by another one.
  if (entry.queue != nullptr) {
    const Status told = ref.record->lost.load() ? Status::LOST : Status::NOT_HELD;
    end_watches(*entry.queue, Waiter::Kind::WatchLost, ref.record->handle, told, deferred);
  }
  if (entry.refs == nullptr) {
    end_hold(shard, ref.index, EndReason::Released, false, deferred);
    return;
  }
  ++shard.counters.reentries_released;
  if (!ref.record->left_before.empty()) give_back_extension(shard, ref, older, deferred);
}

void LockTable::give_back_held(Record &record, Deferred &deferred) {
  for (uint32_t i = 0; i < record.key_count; ++i) {
    KeyRef &ref = record.refs[i];
    if (ref.state != KeyRef::State::Held) continue;
    if (!record.lost.load()) hand_on_carried(ref, true);
    drop_ref(shards_[ref.shard], ref, deferred);
    pass_on(shards_[ref.shard], ref.index, deferred);
  }
}

}  // namespace liblock
