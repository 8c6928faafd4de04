// SPDX-License-Identifier: MIT
// Anything but an acquire that is asked of a backend: what, and how it ended. Blocking calls keep it on their
// stack and wait; asynchronous ones keep it until its end was delivered. ended() comes exactly once, on any
// thread, with no lock of the engine held, and may be the end of the object.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/acquire_params.hpp"
#include "engine/handle.hpp"
#include "engine/instance_info.hpp"
#include "engine/key_info.hpp"
#include "engine/owner.hpp"
#include "engine/quorum_view.hpp"
#include "base/parking.hpp"
#include "runtime/inbox.hpp"

namespace liblock {

class Runtime;

// What is known of a held lock, from memory.
struct HoldView {
  Status status = Status::INVALID_HANDLE;
  uint64_t token = 0;
  Nanos deadline = kNever;  // by the engine's clock
  uint32_t hold_count = 0;
};

// What a call that goes over many keys has counted.
struct Tally {
  uint64_t locks = 0;
  uint64_t queues = 0;
  uint64_t waiters = 0;  // sent away
  uint64_t steps = 0;
  uint64_t instances = 0;  // taken off the list
};

// Where a listing stands between its steps; a fresh one is at the start.
struct ListPosition {
  bool at_end = false;
  bool is_second_round = false;    // on a server, queues come after locks
  bool is_round_over = false;      // nothing more is to be found in it
  uint64_t next = 0;               // the engine's own
  uint64_t passed = 0;             // the same, of a list of instances
  std::vector<std::string> found;  // on a server, and not looked at yet
  // Over a quorum, whose nodes have the same keys one after the other: what was shown, as hashes by a seed of its own.
  std::unordered_set<uint64_t> shown;
  uint64_t shown_seed = 0;
};

class Ask : public LoopTask {
 public:
  // Where it begins, with an engine that works on a loop's thread.
  class Place {
   public:
    virtual void begin(Ask &ask) = 0;

   protected:
    ~Place() = default;
  };
  enum class Which : uint8_t { Locks, Queues, Keys };
  enum class From : uint8_t { Nearest, Master, Quorum };  // in the order of LIBLOCK_READ_…
  enum class What : uint8_t {
    Release,      // lock
    ReleaseKeys,  // owner, keys
    Extend,       // lock, ttl, add
    Update,       // lock, text
    Verify,       // lock
    Ping,
    IsLocked,       // keys: one
    IsQueued,       // keys: one
    Inspect,        // keys: one; flag: with the waiters
    List,           // one step: which, text: only keys that begin so, position, batch: keys to look for; flag
    ForceRelease,   // keys: one; flag: the waiters go as well; tally says what was there
    Clear,          // number: Engine::Whom; text: its identity; batch, scan_batch, dead_after; tally
    CloseOwner,     // owner
    WaitLost,       // lock, wait
    WaitHeld,       // keys: one; wait; node; flag: infos is the answer
    WaitReleased,   // keys: one; wait
    ReleaseKey,     // keys: one; text: the value that its lock must carry
    ExtendKey,      // the same; ttl, flag: adds; view.deadline is the answer
    UpdateKey,      // the same; value
    Export,         // lock; number: bytes that there is room for; text is the answer
    Adopt,          // text, owner, params; lock is the answer
    ListInstances,  // one step: position; flag; instances is the answer
    Read,           // keys: one; from, node; infos is the answer
    QuorumInit,     // flag: also where nodes are marked
    SetNodes,       // change
    QuorumStatus,   // quorum is the answer: from memory, on the caller's thread before start() returns
  };
  virtual ~Ask() = default;
  virtual void ended() = 0;
  // On the loop's thread. May be the end of the object.
  void run() final {
    const std::shared_ptr<Place> kept = std::move(place);
    kept->begin(*this);
  }

  std::shared_ptr<Place> place;  // until it has begun
  Parking *waits_at = nullptr;   // of a thread that waits for its end
  bool is_awaited = true;        // somebody is told of its end
  // By who is told of it, first thing.
  void stop_counting() {
    if (counted_in != nullptr) std::exchange(counted_in, nullptr)->go();
  }
  Attendance *counted_in = nullptr;  // while somebody waits for it who does not sleep

  What what = What::Ping;
  Handle lock = 0;
  std::shared_ptr<Owner> owner;
  std::vector<std::string> keys;
  Nanos ttl = kNever;
  bool flag = false;  // Extend: adds; ForceRelease: drops the queue; lists: zombies only; and as said above
  Nanos wait = kNever;
  // Of a wait that must not keep the thread it is asked on: where its time is kept. Null: it may.
  std::shared_ptr<Runtime> runtime;
  bool waits_for_servers = true;  // a question: until it is known of each how it is
  std::string text;
  std::string value;
  uint64_t number = 0;
  const AcquireParams *params = nullptr;
  Which which = Which::Locks;
  uint32_t batch = 500;
  uint32_t scan_batch = 500;
  Nanos dead_after = kNever;  // Clear: requests that have waited longer count as dead
  From from = From::Nearest;
  std::string node;  // Read, WaitHeld: the one to ask, as in AcquireParams::nodes; empty: any
  NodesChange change;
  ListPosition position;

  // How it ended.
  Status status = Status::INTERNAL;
  HoldView view;
  uint64_t count = 0;
  Tally tally;
  std::vector<std::unique_ptr<KeyInfo>> infos;
  std::vector<InstanceInfo> instances;
  std::unique_ptr<QuorumView> quorum;
  uint8_t votes = 0;    // of a quorum, also of a failure: nodes that did it
  uint8_t nodes = 0;    // the same: nodes asked; 0: not a quorum's
  std::string message;  // more than the status' own text
};

}  // namespace liblock
