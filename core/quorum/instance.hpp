// SPDX-License-Identifier: MIT
// One opened context on a quorum of servers, as the loop's thread sees it. Time, randomness and connections come from
// outside, so that the same code runs in production and in a simulated world. Lives until its last task and connection
// are done.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "quorum/cleaner.hpp"
#include "quorum/keeper.hpp"
#include "quorum/key_names.hpp"
#include "quorum/membership.hpp"
#include "quorum/observers.hpp"
#include "quorum/passing_on.hpp"
#include "quorum/quorum_options.hpp"
#include "quorum/recovery.hpp"
#include "quorum/scripts.hpp"
#include "quorum/status_board.hpp"
#include "quorum/verifying_all.hpp"
#include "quorum/waiting.hpp"
#include "remote/releases_left.hpp"
#include "remote/remote_instance.hpp"

namespace liblock::quorum {

// How long a key that became free is kept for who is next.
inline constexpr int64_t kClaimMs = 50;

// Appends a call that gives keys back, leaves lines, or both.
void put_release(ScriptCall &call, const LockKeys &lock_keys, Bytes id, Bytes line_id);

class Instance final : public RemoteInstance, public std::enable_shared_from_this<Instance> {
 public:
  // wall_us: the time of day, which decides nothing but how large a token is proposed and who counts as first in line.
  using WallClock = std::function<int64_t()>;
  Instance(std::shared_ptr<Runtime> runtime_of_it, QuorumOptions options_of_it, std::string id_of_it,
           Clock clock_of_it, uint64_t seed, WallClock wall_us);
  ~Instance();

  // Begins to reach the nodes.
  void start();
  // opened is called once it is known of each node how it is, as far as it can be.
  void when_opened(std::function<void(Status, const std::string &)> opened);
  const std::vector<std::unique_ptr<Node>> &nodes() const { return nodes_; }
  void add_node(const std::string &address);
  // How a server is reached that somebody else has named. False: it cannot be, and that was noted.
  bool connection_like_nodes(const std::string &address, ConnectionOptions &connection);
  // One that is to be a node soon: it is reached, and belongs to no configuration yet. Null: there are too many.
  Node *add_candidate(const ConnectionOptions &connection);

  // Of nodes.
  void nodes_changed();
  void on_listening(Node &node);
  void on_message(Node &node, Bytes message);
  bool needs_messages() const { return !waiting.empty() || !keeper.empty(); }
  void tell_node(const Node &node, int32_t kind, Status status, const std::string &text);
  void listen();

  // Numbers that tokens must exceed; the same order serves as tickets.
  // One that no node can have given out says nothing.
  void saw_number(uint64_t number) {
    if (number <= kNumbersMax) high_ = std::max(high_, number);
  }
  int64_t wall_us() const { return wall_us_(); }
  uint64_t propose_token() const;
  int64_t next_ticket();

  Failure why_no_nodes() const;
  Failure why_no_quorum(const QuorumRule &rule) const;
  Failure why_quarantined(const QuorumRule &rule) const;
  // Those for which not too much waits.
  NodeSet keeping_up(NodeSet ready) const;
  // Without those for which so much waits that they would set the pace of all, where the others are enough.
  NodeSet keeping_up(const QuorumRule &rule, NodeSet ready) const;
  // Which nodes a quorum does without, and why; empty: none.
  std::string why_not_all(const QuorumRule &rule) const;

  // Nothing of it may stay, wherever it was not heard of.
  void undo_lease(GrantLease &lease);
  void closing_goes_on();

  void close(bool leave, std::function<void()> closed) override;
  RemoteWaiting &waits() override { return waiting; }
  void begin_lease(const LeaseRef &lease, Nanos sent_at) override;
  void let_go(Lease &lease) override { keeper.let_go(lease); }
  void send_release(HeldLock::Parts parts, Handle handle, uint64_t token, AskDone done) override;
  void set_leases(const std::vector<LeaseRef> &leases, const Extension &extension, AskDone done) override;
  // questions.cpp
  void update_leases(const std::vector<LeaseRef> &leases, const std::string &value, AskDone done) override;
  void verify_leases(const std::vector<LeaseRef> &leases, AskDone done) override;
  bool knows_servers() const override { return has_heard_; }
  void inspect(Bytes lock_key, Inspection &inspection) override;
  void inspect_in_detail(Bytes lock_key, bool with_waiters, Inspection &inspection) override;
  void read(const Ask &ask, Inspection &inspection) override;
  void ping(AskDone done) override;
  void start_other(Ask &ask, AskDone done) override;

  const QuorumOptions options;
  StatusBoard board;
  Membership membership;
  Recovery recovery;
  Keeper keeper;
  VerifyingAll verifying_all;
  Cleaner cleaner;
  Waiting waiting;
  PassingOn passing_on;
  Observers observers;
  size_t attempts_open = 0;         // that answers may come to
  std::vector<Attempt *> given_up;  // of those, the ones that nobody waits for; they take themselves out
  // For status, tests and benchmarks; any thread.
  struct Counts {
    std::atomic<uint64_t> won_at_once{0}, won_by_raise{0}, raises{0}, written_anew{0}, floors{0},
        clock_derived{0}, quarantines{0}, steps{0};
    // Grants that came when a quorum had granted already; rounds that needed a node that is silent; calls to undo,
    // those that were repeated, and those that found what nobody had heard of; grants too late to be used.
    std::atomic<uint64_t> surplus{0}, kept_by_silent{0}, undone{0}, undone_again{0}, orphans{0}, too_late{0};
    void won(const Attempt &attempt) { ++(attempt.ballot().is_raising() ? won_by_raise : won_at_once); }
  } counts_quorum;

 private:
  class ReleaseRound;
  static constexpr uint64_t kNumbersMax = kTokensEnd - 1;
  struct CloseTimer final : public Timer {
    explicit CloseTimer(Instance &i) : instance(i) {}
    void fire(Nanos now) override;
    Instance &instance;
  };
  void tell_opened();
  NodeSet where_it_may_be(const GrantLease &lease) const;
  std::string why_no_floor() const;

  const WallClock wall_us_;
  std::vector<std::unique_ptr<Node>> nodes_;
  uint64_t high_ = 0;
  size_t releases_open_ = 0;  // that some node is still to answer
  ReleasesLeft releases_;     // that no quorum has answered
  ReleaseRound *growing_round_ = nullptr;  // that others may join
  bool has_heard_ = false;                 // of each node how it is, at least once
  bool close_overdue_ = false;
  std::function<void(Status, const std::string &)> opened_;
  std::function<void()> closed_;
  CloseTimer close_timer_{*this};
};

}  // namespace liblock::quorum
