// SPDX-License-Identifier: MIT
// Deadlock search among named owners, begun by a waiter after deadlock_delay_ms and never by an uncontended
// acquire. Edges are read one queue at a time; a cycle is reported only after all its edges were seen at one
// moment, under all their locks. Complete because every edge comes with a wait: the wait that closes a cycle
// searches last, and then all other edges stand. An edge leads to the holder and to the next named waiter
// ahead, whose own edges lead on.
#include <algorithm>
#include <optional>

#include "local/shard_locks.hpp"
#include "local/wait_graph.hpp"

namespace liblock {

namespace {

bool is_other(const LocalOwner *owner, const LocalOwner &self) {
  return owner != nullptr && owner != &self && owner->named();
}

Waiter *waiter_with(const WaitQueue &queue, uint64_t serial) {
  for (const auto *list : {&queue.strict, &queue.any}) {
    for (Waiter *w = list->front(); w != nullptr; w = WaitQueue::Waiters::next(w)) {
      if (w->serial.load() == serial) return w;
    }
  }
  return nullptr;
}

}  // namespace

// With the shard's lock. What one keyed wait waits for.
void LockTable::edges_of_wait(const Waiter &waiter, WaitEdges &edges) {
  const LocalOwner &self = *waiter.owner;
  Shard &shard = shards_[waiter.where.load()];
  const Entry &entry = shard.entry(waiter.index);
  WaitEdge edge{&self, nullptr, waiter.serial.load(), shard.number(), waiter.index};
  const auto add = [&](const LocalOwner *to) {
    if (!is_other(to, self)) return;
    edge.to = to->shared_from_this();
    edges.push_back(edge);
  };
  add(entry.owner);
  if (shard.gated) add(global_.gate_owner.load());
  if (waiter.params->order == LIBLOCK_ORDER_ANY) return;
  for (const Waiter *w = WaitQueue::Waiters::prev(&waiter); w != nullptr; w = WaitQueue::Waiters::prev(w)) {
    if (!is_other(w->owner, self)) continue;
    add(w->owner);
    break;
  }
}

// With owners_mutex_ and global_.mutex: the global lock waits for everybody who holds a key, or holds it, or
// is ahead.
void LockTable::edges_of_global_wait(const Waiter &waiter, WaitEdges &edges) {
  const LocalOwner &self = *waiter.owner;
  const auto add = [&](const LocalOwner *to) {
    if (is_other(to, self))
      edges.push_back({&self, to->shared_from_this(), waiter.serial.load(), Waiter::kGlobalQueue, 0});
  };
  if (global_.pending != &waiter) {
    add(global_.owner);
    if (global_.pending != nullptr) add(global_.pending->owner);
    return;
  }
  for (const LocalOwner *owner : owners_) {
    if (owner->keys_held.load() > 0) add(owner);
  }
}

void LockTable::edges_of_owner(const LocalOwner &owner, WaitEdges &edges) {
  auto &self = const_cast<LocalOwner &>(owner);
  const std::lock_guard lock(self.mutex);
  for (Record *r = self.records.front(); r != nullptr; r = List<Record, &Record::owner_links>::next(r)) {
    if (r->all_held.load()) continue;
    if (r->global) {
      const std::lock_guard global_lock(global_.mutex);
      if (r->queued != nullptr) edges_of_global_wait(*r->queued, edges);
    } else {
      const ShardLocks locks(*this, *r);
      if (r->queued != nullptr) edges_of_wait(*r->queued, edges);
    }
  }
}

// Whether the edge stands. With the locks of all shards of the cycle, and global_.mutex where it has global
// edges.
bool LockTable::edge_stands(const WaitEdge &edge, Waiter *&waiter) {
  WaitEdges now;
  if (edge.shard == Waiter::kGlobalQueue) {
    waiter = global_.pending != nullptr && global_.pending->serial.load() == edge.serial
                 ? global_.pending
                 : waiter_with(global_.queue, edge.serial);
    if (waiter == nullptr) return false;
    edges_of_global_wait(*waiter, now);
  } else {
    Shard &shard = shards_[edge.shard];
    const WaitQueue *queue = edge.index < shard.entries_end() ? shard.entry(edge.index).queue : nullptr;
    waiter = queue != nullptr ? waiter_with(*queue, edge.serial) : nullptr;
    if (waiter == nullptr) return false;
    edges_of_wait(*waiter, now);
  }
  return std::any_of(now.begin(), now.end(), [&](const WaitEdge &e) { return e.to == edge.to; });
}

// Ends one wait of the cycle if the whole of it stands at this moment. True: it did.
bool LockTable::break_cycle(const WaitEdges &cycle, const Waiter &searcher, Deferred &deferred) {
  std::optional<std::lock_guard<std::mutex>> global_lock;
  LockedShards shards(*this);
  for (const WaitEdge &edge : cycle) {
    if (edge.shard == Waiter::kGlobalQueue) {
      if (!global_lock) global_lock.emplace(global_.mutex);
    } else {
      shards.add(edge.shard);
    }
  }
  shards.lock();
  Waiter *victim = nullptr;
  bool stands = true;
  for (const WaitEdge &edge : cycle) {
    Waiter *waiter = nullptr;
    stands = stands && edge_stands(edge, waiter);
    if (!stands) break;
    const bool youngest = searcher.params->on_deadlock == LIBLOCK_ON_DEADLOCK_FAIL_YOUNGEST;
    if (waiter == &searcher && (!youngest || victim == nullptr)) victim = waiter;
    if (youngest && (victim == nullptr || waiter->serial.load() > victim->serial.load())) victim = waiter;
  }
  if (stands) counters_.deadlocks.fetch_add(1, std::memory_order_relaxed);
  if (stands && searcher.params->trace != nullptr) trace_deadlock(searcher, cycle.size(), deferred);
  if (!stands || searcher.params->on_deadlock == LIBLOCK_ON_DEADLOCK_REPORT_ONLY) return stands;
  const uint32_t where = victim->where.load();
  if (where == Waiter::kGlobalQueue) {
    shards.unlock();  // opening the gates takes them again
    leave_global(*victim, Status::DEADLOCK, deferred);
    return true;
  }
  const uint32_t index = victim->index;
  leave_queue(*victim, shards_[where]);
  after_leaving(shards_[where], index, deferred);
  finish(*victim, Status::DEADLOCK, deferred);
  return true;
}

bool LockTable::is_only_one_of(LocalOwner &owner) {
  const std::lock_guard lock(owner.mutex);
  return owner.records.size() == 1;
}

// False: a cycle was found that did not stand any more, so that the search says nothing.
bool LockTable::search_deadlock(Waiter &waiter, LocalOwner &owner) {
  // Nobody waits for one who holds nothing, joined at the end of a queue, and stands in no other.
  const bool holds = owner.keys_held.load() > 0 || global_.gate_owner.load() == &owner;
  if (!holds && waiter.params->order == LIBLOCK_ORDER_FIFO && is_only_one_of(owner)) return true;
  counters_.deadlock_searches.fetch_add(1, std::memory_order_relaxed);
  Deferred deferred(*this);
  const std::lock_guard owners_lock(owners_mutex_);
  WaitEdges first;
  edges_of_owner(owner, first);
  for (const WaitEdge &edge : first) {
    if (edge.serial != waiter.serial.load()) continue;
    const WaitEdges cycle =
        find_cycle(edge, [this](const LocalOwner &next, WaitEdges &edges) { edges_of_owner(next, edges); });
    if (!cycle.empty()) return break_cycle(cycle, waiter, deferred);
  }
  return true;
}

}  // namespace liblock
