// SPDX-License-Identifier: MIT
// One opened context on one server: everything that is under way there, and the one connection that it all goes over.
// Lives until its last task and connection are done.
#pragma once

#include <functional>
#include <memory>

#include "redis/cleaner.hpp"
#include "redis/keeper.hpp"
#include "redis/passing_on.hpp"
#include "redis/places.hpp"
#include "redis/presence.hpp"
#include "redis/renaming.hpp"
#include "redis/replica_turns.hpp"
#include "redis/waiting.hpp"
#include "remote/releases_left.hpp"
#include "remote/remote_instance.hpp"

namespace liblock {

struct InstanceOptions : RemoteOptions {
  ConnectionOptions connection;
  Nanos alive = 3'000 * kMillisecond;  // a waiter that is silent so long is dead
  int64_t foreign_gap_ms = 100;        // how often a release leaves the key free at most; -1: never
  Nanos front_budget = -1;             // see remote/front.hpp; negative: there is none
  Nanos deadlock_delay =
      100 * kMillisecond;          // a wait that has lasted so long looks for a cycle; kNever: none does
  Nanos zombie_interval = kNever;  // between two signs of life; kNever: none, and it flushes nobody
};

class Instance final : public RemoteInstance,
                       public Link::User,
                       public std::enable_shared_from_this<Instance> {
 public:
  Instance(std::shared_ptr<Runtime> runtime_of_it, const InstanceOptions &options_of_it, std::string id_of_it,
           Clock clock_of_it, uint64_t seed);
  ~Instance();

  void close(bool leave, std::function<void()> closed) override;
  void zombies(liblock_zombies_status &status) const override { presence.status(status); }
  Waiting &waits() override { return waiting; }
  void begin_lease(const LeaseRef &lease, Nanos sent_at) override { keeper.begin(lease, sent_at); }
  void let_go(Lease &lease) override { keeper.let_go(lease); }
  void send_release(HeldLock::Parts parts, Handle handle, uint64_t token, AskDone done) override;
  void set_leases(const std::vector<LeaseRef> &leases, const Extension &extension, AskDone done) override {
    keeper.extend(leases, extension, std::move(done));
  }
  void update_leases(const std::vector<LeaseRef> &leases, const std::string &value, AskDone done) override {
    keeper.update(leases, value, std::move(done));
  }
  void verify_leases(const std::vector<LeaseRef> &leases, AskDone done) override {
    keeper.verify(leases, std::move(done));
  }
  // questions.cpp
  void inspect(Bytes lock_key, Inspection &inspection) override;
  void inspect_in_detail(Bytes lock_key, bool with_waiters, Inspection &inspection) override;
  void ping(AskDone done) override;
  void start_other(Ask &ask, AskDone done) override;

  // An administrator's call of this instance took the key from these, and sent the waiters away too.
  void taken_away(Bytes lock_key, const std::vector<LeaseRef> &leases, bool waiters_too);
  // Nothing is to be done for a closing any more?
  void closing_goes_on();

  const InstanceOptions options;
  Link link;
  Keeper keeper;
  Cleaner cleaner;
  Waiting waiting;
  Places places;
  PassingOn passing_on;
  ReplicaTurns replica_turns;
  Renaming renaming;
  Presence presence;
  size_t attempts_open = 0;  // sent, and without an end

 private:
  void on_connected(const ServerInfo &info, bool another) override;
  void on_disconnected(Status status, const std::string &text) override;
  void on_listening() override;
  void on_message(Bytes message) override;
  bool needs_server() override;
  // A lock may be taken away, or become free.
  bool needs_messages() override { return !waiting.empty() || !keeper.empty(); }
  class ReleaseCall;
  struct CloseTimer final : public Timer {
    explicit CloseTimer(Instance &i) : instance(i) {}
    void fire(Nanos) override;
    Instance &instance;
  };

  ReleasesLeft releases_;
  ReleaseCall *growing_release_ = nullptr;  // that others may join
  bool close_overdue_ = false;
  bool eviction_told_ = false;
  std::function<void()> closed_;
  CloseTimer close_timer_{*this};
};

}  // namespace liblock
