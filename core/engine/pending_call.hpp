// SPDX-License-Identifier: MIT
// An asynchronous call between the context that accepted it and the engine that works on it. Counted
// references; ended() comes exactly once, on any thread, with no lock of the engine held.
#pragma once

#include <atomic>

#include "engine/acquire_params.hpp"

namespace liblock {

class PendingCall {
 public:
  virtual void ended(const Grant &grant) = 0;

  void pin() { references_.fetch_add(1, std::memory_order_relaxed); }
  void unpin() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  // The engine's side of it; lives as long as this object. Set before the call can end.
  class EnginePart {
   public:
    virtual void drop() = 0;

   protected:
    ~EnginePart() = default;
  };
  EnginePart *engine_part = nullptr;

 protected:
  virtual ~PendingCall() {
    if (engine_part != nullptr) engine_part->drop();
  }

 private:
  std::atomic<uint32_t> references_{1};
};

}  // namespace liblock
