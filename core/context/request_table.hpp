// SPDX-License-Identifier: MIT
// The 64-bit names of pending asynchronous calls (generation 32 | index 32, starting at a random generation,
// so that an ended or forged request is refused; a slot whose generations are used up is retired), and their
// memory, which is kept for the next ones.
#pragma once

#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "base/spin_lock.hpp"
#include "engine/pending_call.hpp"

namespace liblock {

class RequestTable {
 public:
  RequestTable(size_t requests_max, Random &random) : requests_max_(requests_max), random_(random) {}
  ~RequestTable() {
    while (kept_ != nullptr) free_memory(take_kept());
  }
  RequestTable(const RequestTable &) = delete;
  RequestTable &operator=(const RequestTable &) = delete;

  // A cache line: what an end touches begins on one.
  static constexpr size_t kAlignment = 64;
  // Enough for every kind of call.
  static constexpr size_t kCallSize = 1536;
  // Memory for a call; all calls of a table have the same size. While any is out, keeper is kept. Throws
  // std::bad_alloc.
  void *take_memory(size_t size, const std::shared_ptr<void> &keeper);
  // May drop the keeper.
  void give_back_memory(void *memory);

  // 0 when requests_max are pending. The table keeps no reference to the call: it is removed before its last
  // one goes. Throws std::bad_alloc.
  liblock_request add(PendingCall &call);
  // The call's end is about to be delivered, and it will be removed afterwards: it counts no longer. One
  // thread delivers the callbacks of a context.
  void begin_delivery() { delivering_.store(true, std::memory_order_relaxed); }
  // When nobody else refers to the call, its engine's side is destroyed, then `destroy` ends the rest and
  // returns the memory, all under one lock: they must not block. False: somebody does, and the caller's
  // reference is still there.
  // delivered: after begin_delivery().
  template <typename Destroy>
  bool remove(liblock_request id, bool delivered, Destroy destroy) {
    std::shared_ptr<void> keeper;
    void *surplus = nullptr;
    Told told;
    bool is_destroyed;
    {
      const std::lock_guard lock(mutex_);
      PendingCall &call = take_out(id);
      if (delivered) delivering_.store(false, std::memory_order_relaxed);
      if (pending_ == 0 && idle_ != nullptr) told = take_idle();
      is_destroyed = call.is_sole() && call.engine_part->destroy_if_sole();
      if (is_destroyed) surplus = take_back(destroy(), keeper);
    }
    if (told.idle != nullptr) told.idle->nothing_is_pending();
    free_memory(surplus);
    return is_destroyed;
  }
  // The same for a call that gives its memory back itself.
  void forget(liblock_request id);
  // With a reference for the caller; nullptr: it has ended or never was.
  PendingCall *find(liblock_request id);

  class Idle {
   public:
    virtual void nothing_is_pending() = 0;

   protected:
    ~Idle() = default;
  };
  // Told once, when nothing is pending: now, or by whoever takes the last call out, which was delivered then. What
  // keeps this table is kept until that.
  void tell_when_idle(Idle &idle);

 private:
  struct Slot {
    PendingCall *call;
    uint32_t generation;
  };
  struct Kept {
    Kept *next;
  };
  static constexpr size_t kKeptMax = 16'384;

  struct Told {
    Idle *idle = nullptr;
    std::shared_ptr<void> keeper;
  };

  // With mutex_, while the memory of the last call is out.
  Told take_idle() { return {std::exchange(idle_, nullptr), keeper_}; }
  // With mutex_.
  PendingCall &take_out(liblock_request id) {
    const auto index = static_cast<uint32_t>(id);
    PendingCall &call = *std::exchange(slots_[index].call, nullptr);
    --pending_;
    if (++slots_[index].generation != UINT32_MAX) free_.push_back(index);  // has room: see add()
    return call;
  }
  // With mutex_. Returns what is to be freed without it.
  void *take_back(void *memory, std::shared_ptr<void> &keeper) {
    if (--out_ == 0) keeper.swap(keeper_);
    if (kept_count_ == kKeptMax) return memory;
    ++kept_count_;
    kept_ = new (memory) Kept{kept_};
    return nullptr;
  }
  void *take_kept() {
    --kept_count_;
    return std::exchange(kept_, kept_->next);
  }
  static void free_memory(void *memory) {
    if (memory != nullptr) ::operator delete (memory, std::align_val_t{kAlignment});
  }
  liblock_request id_of(uint32_t index) const {
    return static_cast<uint64_t>(slots_[index].generation) << 32 | index;
  }

  const size_t requests_max_;
  Random &random_;
  SpinLock mutex_;
  std::vector<Slot> slots_;     // guarded by mutex_, as all below
  std::vector<uint32_t> free_;  // has room for all of slots_
  size_t pending_ = 0;
  Idle *idle_ = nullptr;
  std::atomic<bool> delivering_{false};  // set without mutex_, by the one thread that delivers
  size_t out_ = 0;                       // calls whose memory is in use
  std::shared_ptr<void> keeper_;         // set while out_ > 0
  Kept *kept_ = nullptr;
  size_t kept_count_ = 0;
};

}  // namespace liblock
