// SPDX-License-Identifier: MIT
// Everything but acquires: questions, changes of locks that are held, administration, waits for a change.
// Each is one call, or a few, to servers; ends on the loop's thread.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "engine/ask.hpp"
#include "remote/ending.hpp"
#include "runtime/timer_heap.hpp"

namespace liblock {

class RemoteInstance;
struct HeldLock;

class Asking {
 public:
  explicit Asking(RemoteInstance &instance) : instance_(instance) {}

  void start(Ask &ask);
  // Those begin that came before.
  void servers_are_known();
  // A wait is asked to end; of anything else nothing is done.
  void end(Ask &ask, Status status);
  void end_all(Status status);
  // The lock of this handle is no longer held.
  void lock_is_gone(Handle handle, Status how);

  // Those who let time pass between two questions: fired when it is over, and when the context closes. Who is fired
  // takes itself out.
  std::set<Timer *> pauses;

 private:
  class InspectCall;
  class Watch;

  static bool may_wait(const Ask &ask);
  void release_keys(Ask &ask);
  void change(Ask &ask);
  void close_owner(Ask &ask);
  void watch(Ask &ask);
  // The lock, when it is held; else the ask has ended.
  HeldLock *held(Ask &ask);
  static void finish(Ask &ask, Status status, const std::string &message = {}, Confirmed confirmed = {});

  RemoteInstance &instance_;
  std::vector<Ask *> early_;  // questions that came before it was known of the servers how they are
  std::map<const Ask *, Watch *> watches_;
  std::set<std::pair<Handle, Ask *>> waits_lost_;  // of these: those that wait for the loss of a lock
};

}  // namespace liblock
