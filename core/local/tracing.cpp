// SPDX-License-Identifier: MIT
// What the table tells of a waiter. Instrumentation, where it has a trace: under the locks under which it is true, so
// that what is told of one lock keeps its order; the Deferred sends it on its way when they are let go. And its
// on_queued, with no lock at all.
#include <algorithm>

#include "engine/progress.hpp"
#include "local/lock_table.hpp"

namespace liblock {

namespace {

const Waiter *first_of(const WaitQueue *queue) {
  if (queue == nullptr) return nullptr;
  return queue->strict.empty() ? queue->any.front() : queue->strict.front();
}

void see_queue(const Waiter &waiter, const WaitQueue *queue, Sight &sight) {
  if (queue == nullptr) return;
  sight.length = static_cast<int64_t>(queue->waiting());
  if (waiter.where.load() != Waiter::kNowhere) sight.position = static_cast<int64_t>(queue->position(waiter));
  if (const Waiter *first = first_of(queue); first != nullptr) sight.first = first->owner->id();
}

}  // namespace

// count: what the entry counts.
void LockTable::trace_step(const Waiter &waiter, int32_t entry, uint64_t count, Deferred &deferred) {
  Trace &trace = *waiter.params->trace;
  Sight sight;
  sight.count = count;
  trace.attempt(entry, sight);
  deferred.tell(trace);
}

// With the shard's lock, as those below.
void LockTable::trace_queue(const Waiter &waiter, Shard &shard, uint32_t index, int32_t entry,
                            Deferred &deferred) {
  Trace &trace = *waiter.params->trace;
  Sight sight;
  see_queue(waiter, shard.entry(index).queue, sight);
  sight.key = shard.entry(index).key();
  trace.attempt(entry, sight);
  deferred.tell(trace);
}

// Who is first, and what is in the way: the holder, or the others in the queue.
void LockTable::trace_busy(const Waiter &waiter, Shard &shard, uint32_t index, Deferred &deferred) {
  Trace &trace = *waiter.params->trace;
  Sight sight;
  bool is_held = true;  // by the global lock, where there is no entry
  if (index != kNoEntry) {
    const Entry &entry = shard.entry(index);
    see_queue(waiter, entry.queue, sight);
    sight.key = entry.key();
    is_held = entry.held() || shard.gated;
    if (entry.held()) {
      const Nanos left = clock_.left_until(shard.deadline(index));
      sight.held_by = entry.owner->id();
      sight.instance = entry.owner->instance_id();
      sight.token = entry.token;
      sight.remaining_ms = left == kNever ? -1 : ms_from_nanos(left);
      sight.hold_count = handles_on(entry);
    }
  }
  trace.attempt(LIBLOCK_ENTRY_ATTEMPT_FIRST_IN_QUEUE, sight);
  trace.attempt(is_held ? LIBLOCK_ENTRY_ATTEMPT_STILL_HELD : LIBLOCK_ENTRY_ATTEMPT_NOT_FIRST, sight);
  deferred.tell(trace);
}

// An interval that elapsed counts as an attempt, and changes no place. With no lock of the table.
void LockTable::trace_retry(const Waiter &waiter, Deferred &deferred) {
  if (!waiter.params->trace->logs_attempts()) return;
  const uint32_t where = waiter.where.load();
  if (where >= kShards) return;  // it waits for the global lock, or for nothing any more
  Shard &shard = shards_[where];
  const std::lock_guard lock(shard.mutex);
  if (waiter.where.load() != where) return;
  trace_step(waiter, LIBLOCK_ENTRY_ATTEMPT_STARTED, waiter.attempts.load(), deferred);
  trace_step(waiter, LIBLOCK_ENTRY_ATTEMPT_READY, 0, deferred);
  trace_busy(waiter, shard, waiter.index, deferred);
}

void LockTable::trace_hand_off(const Waiter &waiter, Shard &shard, uint32_t index, uint64_t token,
                               Deferred &deferred) {
  Trace &trace = *waiter.params->trace;
  const Entry &entry = shard.entry(index);
  Sight sight;
  sight.key = entry.key();
  sight.position = 0;
  sight.length = entry.queue != nullptr ? static_cast<int64_t>(entry.queue->waiting()) : 0;
  sight.token = token;
  trace.handed_off(sight);
  deferred.tell(trace);
}

// With global_.mutex, as the next one. idle: nobody else has asked for the global lock.
void LockTable::trace_global(const Waiter &waiter, bool idle, Deferred &deferred) {
  if (!waiter.params->trace->logs_attempts()) return;
  trace_step(waiter, LIBLOCK_ENTRY_ATTEMPT_STARTED, waiter.attempts.load(), deferred);
  trace_step(waiter, LIBLOCK_ENTRY_ATTEMPT_READY, 0, deferred);
  if (idle) return trace_step(waiter, LIBLOCK_ENTRY_ATTEMPT_FREE, 0, deferred);
  Trace &trace = *waiter.params->trace;
  Sight sight;
  sight.length = static_cast<int64_t>(global_.queue.waiting());
  const Waiter *first = global_.pending != nullptr ? global_.pending : first_of(&global_.queue);
  if (first != nullptr) sight.first = first->owner->id();
  if (global_.owner != nullptr) {
    const Nanos left = clock_.left_until(global_.deadline.load());
    sight.held_by = global_.owner->id();
    sight.instance = global_.owner->instance_id();
    sight.token = global_.token;
    sight.remaining_ms = left == kNever ? -1 : ms_from_nanos(left);
    sight.hold_count = static_cast<uint32_t>(global_.handles.size());
  }
  trace.attempt(LIBLOCK_ENTRY_ATTEMPT_FIRST_IN_QUEUE, sight);
  const bool is_held = global_.owner != nullptr;
  trace.attempt(is_held ? LIBLOCK_ENTRY_ATTEMPT_STILL_HELD : LIBLOCK_ENTRY_ATTEMPT_NOT_FIRST, sight);
}

void LockTable::trace_global_hand_off(const Waiter &waiter, uint64_t token, Deferred &deferred) {
  Trace &trace = *waiter.params->trace;
  Sight sight;
  sight.position = 0;
  sight.length = static_cast<int64_t>(global_.queue.waiting());
  sight.token = token;
  trace.handed_off(sight);
  deferred.tell(trace);
}

void LockTable::trace_requeue(const Waiter &waiter, const WaitQueue &queue, Deferred &deferred) {
  Trace &trace = *waiter.params->trace;
  Sight sight;
  see_queue(waiter, &queue, sight);
  trace.requeued(sight);
  deferred.tell(trace);
}

// With the locks of all queues of the cycle.
void LockTable::trace_deadlock(const Waiter &waiter, size_t owners, Deferred &deferred) {
  Trace &trace = *waiter.params->trace;
  Sight sight;
  sight.count = owners;
  trace.deadlock_found(sight);
  deferred.tell(trace);
}

// False: it waits no more. A place far back was counted when it was queued: not once more at the first look.
bool LockTable::place_of(const Waiter &waiter, size_t &position, size_t &length) {
  constexpr int64_t kFarBack = 256;
  const uint32_t where = waiter.where.load();
  if (where == Waiter::kNowhere) return false;
  if (where == Waiter::kGlobalQueue) {
    const std::lock_guard lock(global_.mutex);
    if (waiter.where.load() != where) return false;
    const bool is_pending = global_.pending == &waiter;
    const size_t ahead = global_.pending != nullptr ? 1 : 0;
    position = is_pending ? 0 : ahead + global_.queue.position(waiter);
    length = ahead + global_.queue.waiting();
    return true;
  }
  Shard &shard = shards_[where];
  const std::lock_guard lock(shard.mutex);
  if (waiter.where.load() != where) return false;
  const WaitQueue &queue = *shard.entry(waiter.index).queue;
  const int64_t queued_at = waiter.grant.queue_position;
  position =
      waiter.look_at == 0 && queued_at > kFarBack ? static_cast<size_t>(queued_at) : queue.position(waiter);
  length = queue.waiting();
  return true;
}

// With no lock of the table. A look takes time in proportion to the place, and everybody may ask for one: far back in a
// long queue it comes less often, so that all of them together take a tenth of a CPU at most. How long a step takes
// depends on whose memory is near; a look that was interrupted says nothing of that. Returns when to look again.
Nanos LockTable::tell_place(Waiter &waiter, Nanos now) {
  constexpr Nanos kStepLeast = 10, kStepMost = 200, kShare = 10;
  if (now < waiter.look_at) return waiter.look_at;
  const Nanos began_at = clock_.now();
  size_t position, length;
  if (!place_of(waiter, position, length)) return kNever;
  const auto steps = static_cast<Nanos>(position);
  const Nanos took = std::clamp(clock_.now() - began_at, kStepLeast * steps, kStepMost * steps);
  waiter.params->progress->stands(static_cast<int64_t>(position), static_cast<int64_t>(length));
  const Nanos interval = nanos_from_ms(std::max<int64_t>(1, waiter.params->retry.interval_ms));
  return waiter.look_at = now + std::max(interval, kShare * took * static_cast<Nanos>(length));
}

}  // namespace liblock
