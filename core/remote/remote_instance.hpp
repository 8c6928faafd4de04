// SPDX-License-Identifier: MIT
// One opened context on one server or several, as the loop's thread sees it: what it holds and is asked, whatever the
// servers are. Other threads hand it tasks (through the runtime's inbox), and look at its Holds. What is said to
// servers is the engine's own: the virtual functions. Each `done` comes once, perhaps before the call returns.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/ask.hpp"
#include "engine/events.hpp"
#include "remote/asking.hpp"
#include "remote/attempt_ids.hpp"
#include "remote/ending.hpp"
#include "remote/inspection.hpp"
#include "remote/keyspace.hpp"
#include "remote/reentry.hpp"
#include "runtime/runtime.hpp"

namespace liblock {

class RemoteWaiting;

struct RemoteOptions {
  std::string prefix = "liblock:";
  Nanos first_lease = 3'000 * kMillisecond;  // longest lease of a grant that will be renewed
  size_t locks_max = 16'777'216;
  size_t waiters_max = 1'000'000;
};

class RemoteInstance : public Ask::Place {
 public:
  RemoteInstance(std::shared_ptr<Runtime> runtime_of_it, const RemoteOptions &options, std::string id_of_it,
                 Clock clock_of_it, uint64_t seed);

  // Loop thread.
  void begin(Ask &ask) override { asking.start(ask); }
  // Ends everything; `closed` is called when the servers know, or time is up.
  virtual void close(bool leave, std::function<void()> closed) = 0;
  // Any thread.
  virtual void zombies(liblock_zombies_status &) const {}

  // Acquires.
  virtual RemoteWaiting &waits() = 0;
  // A grant that was asked for at that time is held from now on.
  virtual void begin_lease(const LeaseRef &lease, Nanos sent_at) = 0;
  // It is kept no longer, without a word to servers.
  virtual void let_go(Lease &lease) = 0;
  // Keys that no handle holds any more; handle and token: of the lock that they were as a whole, or 0. done may be
  // nullptr, as of the next three.
  virtual void send_release(HeldLock::Parts parts, Handle handle, uint64_t token, AskDone done) = 0;
  // Nothing has changed when it could not be sent.
  virtual void set_leases(const std::vector<LeaseRef> &leases, const Extension &extension, AskDone done) = 0;
  virtual void update_leases(const std::vector<LeaseRef> &leases, const std::string &value, AskDone done) = 0;
  // Whether the servers know them.
  virtual void verify_leases(const std::vector<LeaseRef> &leases, AskDone done) = 0;
  // False: it will be known soon which of them can be asked, and asking.servers_are_known() says so.
  virtual bool knows_servers() const { return true; }
  virtual void inspect(Bytes lock_key, Inspection &inspection) = 0;
  // The same with what costs more, and, when wanted, with who waits.
  virtual void inspect_in_detail(Bytes lock_key, bool with_waiters, Inspection &inspection) = 0;
  // One key, from where the ask says: of one server there is one answer.
  virtual void read(const Ask &ask, Inspection &inspection) {
    inspect_in_detail(keyspace.lock_key(ask.keys[0]), ask.flag, inspection);
  }
  virtual void ping(AskDone done) = 0;
  // List, ListInstances, Clear, ForceRelease, ReleaseKey, ExtendKey, UpdateKey, Adopt; Export, of a lock that is held;
  // what only quorums have is UNSUPPORTED elsewhere.
  virtual void start_other(Ask &ask, AskDone done) = 0;

  // Arms a timer for a time of our clock, which is not the runtime's.
  void arm(Timer &timer, Nanos at);
  // Gives a handle back.
  void release(Handle handle, AskDone done);
  void release_part(HeldLock &lock, size_t part, AskDone done);
  // Sets the leases of a lock anew. done may be nullptr.
  void extend(Handle handle, const Extension &extension, AskDone done);
  static std::vector<LeaseRef> leases_of(const HeldLock &lock);
  // The lease is set by other means than a reentry.
  void forget_extensions(const Lease &lease);
  // So many keys of it more, or less, among those that this instance says it holds.
  void count(Lease &lease, int64_t keys);
  // A lease that was lost: the locks that it belongs to are told, each once.
  void tell_loss(const Lease &lease);

  // Any thread. What a status meant when something ended with it last: of servers, whatever went wrong last; of what
  // callers do wrong, the last of that kind. Empty: nothing is known.
  std::string last_trouble(Status status = Status::CONNECT) const;
  void note_trouble(Status status, const std::string &text);

  const std::shared_ptr<Runtime> runtime;
  const Clock clock;
  Random random;
  const std::string id;
  const Keyspace keyspace;
  const Nanos first_lease;
  const size_t waiters_max;
  AttemptIds attempt_ids;
  Holds holds;
  Reentry reentry;
  Asking asking;
  Events events;
  bool is_closing = false;
  std::weak_ptr<RemoteOwner> unnamed;  // of all locks that belong to their handle alone
  // Any thread; counted on the loop's.
  struct Counts {
    std::atomic<uint64_t> acquired{0}, released{0}, contended{0}, expired{0}, taken_away{0}, timeouts{0},
        canceled{0}, renewals{0}, waiters{0}, handed_off{0}, passed_on{0}, deadlocks{0}, deadlock_searches{0};
    std::atomic<int64_t> keys_held{0};
  } counts;

 protected:
  ~RemoteInstance() = default;
  // The first step of a closing: waits end; locks are released, unless they are to be left.
  void end_all(bool leave);

 private:
  // extensions.cpp
  struct Extensions {
    std::vector<HeldLock::Extended> all;
    std::shared_ptr<CompletionSink> told;
  };
  Extensions take_extensions(HeldLock &lock, const Lease *only);
  void give_back(const Extensions &unused);

  mutable std::mutex trouble_mutex_;
  std::string trouble_;                     // guarded by trouble_mutex_
  std::map<Status, std::string> mistakes_;  // guarded by trouble_mutex_
};

}  // namespace liblock
