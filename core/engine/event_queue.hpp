// SPDX-License-Identifier: MIT
// Events on their way to the callback of one context. push() only links, so that it may be called under the locks
// of an engine and the events of one lock keep their order; deliver_soon() asks the runtime to deliver, and is
// called with no lock held. Who would be one too many is dropped and counted.
//
//   in_flight_   the queue is posted to the runtime as a notice   from deliver_soon() on, until a delivery finds
//                                                                 nothing left
#pragma once

#include <memory>
#include <string>

#include "base/spin_lock.hpp"
#include "base/status.hpp"
#include "runtime/runtime.hpp"

namespace liblock {

// One event, with the memory that it points at.
struct Told {
  explicit Told(int32_t kind);
  liblock_event event{};
  std::shared_ptr<const void> kept;
  std::string message, key, owner, instance, node;

  liblock_event_callback callback = nullptr;
  void *user_data = nullptr;
  Told *next = nullptr;
};

// Microseconds since 1970, for people: it decides nothing.
int64_t wall_clock_us();
inline int64_t us_of(Nanos duration) { return duration / 1'000; }
inline int64_t shown_ms(Nanos ttl) { return ttl == kNever ? -1 : ttl / kMillisecond; }
inline liblock_bytes bytes_of(std::string_view text) { return {text.data(), text.size()}; }

class EventQueue final : public std::enable_shared_from_this<EventQueue>, private Notice {
 public:
  static constexpr size_t kMaxUsual = 65'536;

  // runtime may be nullptr until somebody listens.
  explicit EventQueue(std::shared_ptr<Runtime> runtime) : runtime_(std::move(runtime)) {}
  ~EventQueue() override;

  // callback nullptr: none any more. runtime: nullptr where there is one.
  void listen(uint64_t mask, liblock_event_callback callback, void *user_data,
              std::shared_ptr<Runtime> runtime);
  void set_max(size_t max);
  bool wants_any() const { return mask_.load(std::memory_order_relaxed) != 0; }
  bool wants_some(uint64_t kinds) const { return (mask_.load(std::memory_order_relaxed) & kinds) != 0; }
  bool wants(int32_t kind) const { return (mask_.load(std::memory_order_relaxed) >> kind & 1) != 0; }

  void push(std::unique_ptr<Told> told);
  void deliver_soon();
  // Nothing is emitted any more; what was is posted before this returns.
  void stop();
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  class Last;
  void deliver() override;
  void dispose() override;
  Told *take_all();
  static void deliver_all(Told *told);
  static void free_all(Told *told);

  std::atomic<uint64_t> mask_{0};  // written under mutex_
  std::atomic<uint64_t> dropped_{0};
  SpinLock mutex_;
  std::shared_ptr<Runtime> runtime_;  // guarded by mutex_, as all below
  liblock_event_callback callback_ = nullptr;
  void *user_data_ = nullptr;
  bool stopped_ = false;
  size_t max_ = kMaxUsual;
  size_t size_ = 0;
  Told *head_ = nullptr;
  Told **tail_ = &head_;
  bool in_flight_ = false;
  std::shared_ptr<EventQueue> kept_;  // while it is
};

}  // namespace liblock
