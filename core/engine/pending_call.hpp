// SPDX-License-Identifier: MIT
// An asynchronous call between the context that accepted it and the engine that works on it. ended() comes
// exactly once, on any thread, with no lock of the engine held. The engine builds its side of the call inside
// the call (engine_room), so that a request is one piece of memory:
//
//   reference to   held by                          until
//   the call       the context                      its end was delivered
//                  whoever cancels it               it has asked
//   engine's side  the call                         its own last reference goes (drop)
//                  timers that were set for it      they are stopped or have fired
//
// The memory goes back (gone) with the last reference to the engine's side.
#pragma once

#include <atomic>
#include <cstddef>

#include "engine/acquire_params.hpp"

namespace liblock {

class Ask;

class PendingCall {
 public:
  virtual void ended(const Grant &grant) = 0;
  // What it asks, where it is no acquire.
  virtual Ask *asked() { return nullptr; }

  void pin() { references_.fetch_add(1, std::memory_order_relaxed); }
  void unpin() {
    if (is_sole() || references_.fetch_sub(1, std::memory_order_acq_rel) == 1) let_go();
  }
  // The only reference left is the caller's: nobody else can make another one.
  bool is_sole() const { return references_.load(std::memory_order_acquire) == 1; }

  // Its end is known; nobody may ask it to end any more.
  bool is_over() const { return over_.load(std::memory_order_relaxed); }

  // The engine's side. Set before the call can end.
  class EnginePart {
   public:
    // Ends it in place when only the call refers to it, since that will stay so; else false.
    virtual bool destroy_if_sole() = 0;
    // Gives the call's reference up. The last one calls gone().
    virtual void drop() = 0;

   protected:
    ~EnginePart() = default;
  };
  EnginePart *engine_part = nullptr;
  // Where that is built, if the call is one that engines build it in. The call says where: what every end touches
  // should lie together, and the room is large.
  static constexpr size_t kEngineRoom = 784;
  virtual std::byte *engine_room() { return nullptr; }

  // Nobody refers to the call or to its engine's side any more: its memory may go.
  virtual void gone() = 0;

 protected:
  ~PendingCall() = default;
  void set_over() { over_.store(true, std::memory_order_relaxed); }

 private:
  void let_go() {
    if (engine_part != nullptr) {
      engine_part->drop();
    } else {
      gone();
    }
  }

  std::atomic<bool> over_{false};
  std::atomic<uint32_t> references_{1};
};

}  // namespace liblock
