// SPDX-License-Identifier: MIT
// One opened context on a server, as the loop's thread sees it: everything that is under way, and the one
// connection that it all goes over. Other threads hand it tasks (through the runtime's inbox), and look at its
// Holds. Lives until its last task and connection are done.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "engine/ask.hpp"
#include "engine/events.hpp"
#include "redis/asking.hpp"
#include "redis/attempt_ids.hpp"
#include "redis/cleaner.hpp"
#include "redis/keeper.hpp"
#include "redis/keyspace.hpp"
#include "redis/places.hpp"
#include "redis/presence.hpp"
#include "redis/reentry.hpp"
#include "redis/replica_turns.hpp"
#include "redis/waiting.hpp"

namespace liblock {

struct InstanceOptions {
  ConnectionOptions connection;
  std::string prefix = "liblock:";
  Nanos alive = 3'000 * kMillisecond;        // a waiter that is silent so long is dead
  Nanos first_lease = 3'000 * kMillisecond;  // longest lease of a grant that will be renewed
  int64_t foreign_gap_ms = 100;              // how often a release leaves the key free at most; -1: never
  Nanos deadlock_delay =
      100 * kMillisecond;          // a wait that has lasted so long looks for a cycle; kNever: none does
  Nanos zombie_interval = kNever;  // between two signs of life; kNever: none, and it flushes nobody
  size_t locks_max = 16'777'216;
  size_t waiters_max = 1'000'000;
};

class Instance final : public Link::User, public std::enable_shared_from_this<Instance> {
 public:
  Instance(std::shared_ptr<Runtime> runtime_of_it, const InstanceOptions &options_of_it, std::string id_of_it,
           Clock clock_of_it, uint64_t seed);
  ~Instance();

  // Loop thread. Ends everything; `closed` is called when the server knows, or time is up.
  void close(bool leave, std::function<void()> closed);

  // Arms a timer for a time of our clock, which is not the runtime's.
  void arm(Timer &timer, Nanos at);
  // Gives a handle back; done comes once.
  using Released = std::function<void(Status, const std::string &why)>;
  void release(Handle handle, Released done);
  void release_part(HeldLock &lock, size_t part, Released done);
  // Sets the leases of a lock anew; renews: they are renewed from now on, if they were not before. done may be
  // nullptr.
  void extend(Handle handle, Nanos ttl, bool renews, bool add, Released done);
  static std::vector<LeaseRef> leases_of(const HeldLock &lock);
  // An administrator's call of this instance took the key from these, and sent the waiters away too.
  void taken_away(const std::string &lock_key, const std::vector<LeaseRef> &leases, bool waiters_too);
  // The lease is set by other means than a reentry.
  void forget_extensions(const Lease &lease);
  // Nothing is to be done for a closing any more?
  void closing_goes_on();

  // Any thread.
  std::string last_trouble() const;
  void note_trouble(const std::string &text);

  const std::shared_ptr<Runtime> runtime;
  const Clock clock;
  Random random;
  const InstanceOptions options;
  const std::string id;
  const Keyspace keyspace;
  AttemptIds attempt_ids;
  Link link;
  Holds holds;
  Reentry reentry;
  Keeper keeper;
  Cleaner cleaner;
  Waiting waiting;
  Places places;
  ReplicaTurns replica_turns;
  Presence presence;
  Asking asking;
  Events events;
  bool is_closing = false;
  size_t attempts_open = 0;           // sent, and without an end
  std::weak_ptr<RedisOwner> unnamed;  // of all locks that belong to their handle alone
  // Any thread; counted on the loop's.
  struct Counts {
    std::atomic<uint64_t> acquired{0}, released{0}, contended{0}, expired{0}, taken_away{0}, timeouts{0},
        canceled{0}, renewals{0}, waiters{0}, handed_off{0}, deadlocks{0}, deadlock_searches{0};
    std::atomic<int64_t> keys_held{0};
  } counts;

 private:
  void on_connected(const ServerInfo &info, bool another) override;
  void on_disconnected(Status status, const std::string &text) override;
  void on_listening() override;
  void on_message(Bytes message) override;
  bool needs_server() override;
  // A lock may be taken away, or become free.
  bool needs_messages() override { return !waiting.empty() || !keeper.empty(); }
  // extensions.cpp
  struct Extensions {
    std::vector<HeldLock::Extended> all;
    std::shared_ptr<CompletionSink> told;
  };
  Extensions take_extensions(HeldLock &lock, const Lease *only);
  void give_back(const Extensions &unused);
  void send_release(std::vector<HeldLock::Part> parts, Handle handle, uint64_t token, Released done);
  class ReleaseCall;
  struct CloseTimer final : public Timer {
    explicit CloseTimer(Instance &i) : instance(i) {}
    void fire(Nanos) override;
    Instance &instance;
  };

  size_t releases_open_ = 0;
  bool close_overdue_ = false;
  bool eviction_told_ = false;
  std::function<void()> closed_;
  CloseTimer close_timer_{*this};
  mutable std::mutex trouble_mutex_;
  std::string trouble_;  // guarded by trouble_mutex_
};

}  // namespace liblock
