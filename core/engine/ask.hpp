// SPDX-License-Identifier: MIT
// Anything but an acquire that is asked of a backend: what, and how it ended. Blocking calls keep it on their
// stack and wait; asynchronous ones keep it until its end was delivered. ended() comes exactly once, on any
// thread, with no lock of the engine held, and may be the end of the object.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/acquire_params.hpp"
#include "engine/handle.hpp"
#include "engine/key_info.hpp"
#include "engine/owner.hpp"

namespace liblock {

// What is known of a held lock, from memory.
struct HoldView {
  Status status = Status::INVALID_HANDLE;
  uint64_t token = 0;
  Nanos deadline = kNever;  // by the engine's clock
  uint32_t hold_count = 0;
};

class Ask {
 public:
  enum class What : uint8_t {
    Release,      // lock
    ReleaseKeys,  // owner, keys
    Extend,       // lock, ttl, add
    Update,       // lock, text
    Verify,       // lock
    Ping,
    IsLocked,  // keys: one
    IsQueued,  // keys: one
    Inspect,   // keys: one; flag: with the waiters
    List,      // text: only keys that begin so; flag: those with waiters; number: where to go on, 0 = from
               // the start, and at the end
    ForceRelease,  // keys: one; flag: the waiters go as well
    Clear,         // number: Engine::Whom; text: its identity
    CloseOwner,    // owner
    WaitLost,      // lock, wait
    WaitHeld,      // keys: one; wait
    WaitReleased,  // keys: one; wait
    Export,        // lock; number: bytes that there is room for; text is the answer
    Adopt,         // text, owner, params; lock is the answer
  };
  virtual ~Ask() = default;
  virtual void ended() = 0;

  What what = What::Ping;
  Handle lock = 0;
  std::shared_ptr<Owner> owner;
  std::vector<std::string> keys;
  Nanos ttl = kNever;
  bool flag = false;  // Extend: adds; ForceRelease: drops the queue
  Nanos wait = kNever;
  std::string text;
  uint64_t number = 0;
  const AcquireParams *params = nullptr;

  // How it ended.
  Status status = Status::INTERNAL;
  HoldView view;
  uint64_t count = 0;
  std::vector<std::unique_ptr<KeyInfo>> infos;
  std::string message;  // more than the status' own text
};

}  // namespace liblock
