// SPDX-License-Identifier: MIT
// A timer that several threads arm, stop and give up without knowing of each other: it is deleted with its
// last reference. Every stay in the runtime's heap holds one, so that a timer which fires while it is being
// stopped is still there; due() must therefore be harmless after disarm(). Arming it never fails.
#pragma once

#include <atomic>
#include <memory>

#include "runtime/runtime.hpp"

namespace liblock {

class CountedTimer : public Timer {
 public:
  explicit CountedTimer(std::shared_ptr<Runtime> runtime) : runtime_(std::move(runtime)) {}

  void pin() { references_.fetch_add(1, std::memory_order_relaxed); }
  void unpin() {
    if (is_sole() || references_.fetch_sub(1, std::memory_order_acq_rel) == 1) last_reference_gone();
  }
  // The caller's reference is the only one: nobody else can make another.
  bool is_sole() const { return references_.load(std::memory_order_acquire) == 1; }
  // due() comes at `at` or earlier; not at all once disarmed. Throws std::bad_alloc.
  void arm(Nanos at) {
    if (at == kNever || disarmed_.load()) return;
    pin();
    try {
      if (!runtime_->arm(*this, at)) unpin();
    } catch (...) {
      unpin();  // without memory it has no stay to hold one for
      throw;
    }
    if (disarmed_.load() && runtime_->cancel(*this)) unpin();  // disarm() came in between and did not see it
  }
  void disarm() {
    disarmed_.store(true);
    if (runtime_->cancel(*this)) unpin();
  }
  void fire(Nanos now) final {
    if (!disarmed_.load()) arm(due(now));
    unpin();
  }
  Runtime &runtime() { return *runtime_; }

 protected:
  ~CountedTimer() override = default;
  // When to come again; kNever: only when armed again.
  virtual Nanos due(Nanos now) = 0;
  virtual void last_reference_gone() { delete this; }

 private:
  Aside *aside() final { return &aside_; }

  const std::shared_ptr<Runtime> runtime_;
  std::atomic<uint32_t> references_{1};
  std::atomic<bool> disarmed_{false};
  Aside aside_;
};

}  // namespace liblock
