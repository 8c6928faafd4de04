// SPDX-License-Identifier: MIT
// Acquires of this instance over the nodes, from the call to their end. Who waits stands in a line on every node, by a
// ticket that he brings along, so that nodes agree on who is first whatever order they heard of them in. A node whose
// key becomes free keeps it for the first for a moment and calls him; looking again by a timer is the safety net, and
// the sign of life. Loop thread.
//
//   state    meaning                                              left by
//   Asking   an attempt is at the nodes, or waits for nodes       a verdict; nodes; an end
//   Waiting  it stands in line, perhaps with an attempt that      a node that calls, the timer: Asking; its turn in the
//            has failed and is kept, since it is the first; or    front; an end
//            it stands in the front (passing_on.hpp)
//   Over     finished() was called                                -
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/key_info.hpp"
#include "engine/trace.hpp"
#include "quorum/attempt.hpp"
#include "remote/front_request.hpp"

namespace liblock::quorum {

class Instance;

class Request : public FrontRequest {
 public:
  using FrontRequest::FrontRequest;

  // What an attempt of it says.
  LockKeys wanted_keys() const;  // those that its owner does not hold already
  Nanos lease_asked(Nanos max_ttl) const;
  const std::string &owner_field() const { return owner_->field; }
  bool asks_too_much(Nanos max_ttl) const;
  // Somebody listens to what each attempt of it saw.
  bool tells_attempts() const { return params_.trace != nullptr && params_.trace->logs_attempts(); }
  bool is_on_some_nodes() const { return subset_ != kEveryNode; }
  bool barges() const { return params_.order == LIBLOCK_ORDER_ANY; }
  int64_t ticket_us() const { return ticket_us_; }
  Bytes line_id() const { return line_id_; }
  const std::string &value() const { return value_; }
  const std::string &metadata() const { return metadata_; }

 protected:
  ~Request() override = default;

 private:
  friend class Waiting;

  void may_look() { looks_left_ = kLooks, counts_looks_ = false; }

  static constexpr uint8_t kLooks = 3;
  static constexpr Nanos kShortPause = 2 * kMillisecond;

  std::shared_ptr<Attempt> attempt_;
  std::shared_ptr<Request *> committing_;  // set while its value is being written
  AttemptId line_id_;                      // empty: it stands in no line
  int64_t ticket_us_ = 0;
  Nanos try_at_ = kNever, requeue_at_ = kNever;  // by the runtime's clock
  Nanos pause_ = kShortPause;     // of the first in line, before he asks those again that refused
  int64_t foreign_left_ms_ = -1;  // of the lease of a foreign client that was met
  NodeSet subset_ = kEveryNode;
  NodeSet seen_by_ = 0;  // nodes where it may stand in line
  NodeSet called_ = 0;   // nodes that called while their answer was under way
  int32_t place_ = -1, length_ = -1;
  uint32_t attempts_ = 0;
  uint32_t foreign_looks_ = 0;   // that met the same one
  uint8_t looks_left_ = kLooks;  // at what the nodes are, before it counts as trouble
  uint8_t tries_left_ = 3;       // of who does not wait and is before his rivals
  bool was_called_ = false;      // by a node that has become free
  bool waits_for_nodes_ = false;
  bool counts_looks_ = false;    // those of others
  uint64_t looks_seen_ = 0;      // of all, so far
};

class Waiting final : public RemoteWaiting {
 public:
  explicit Waiting(Instance &instance);

  // Of attempts.
  void won(Request &request, Attempt &attempt);
  void failed(Request &request, Attempt &attempt);
  // A node keeps the key for it: line id and lock key.
  void called(Node &node, Bytes message);
  // An administrator sent these away: ids in lines, one behind the other.
  void sent_away(Bytes ids);
  // Those who stand in the front as well: of one owner, or of all, and the lock key.
  void standing_sent_away(Bytes message);
  void nodes_changed();
  // The quorum is about to go by another one.
  void configuration_changed();
  void look_at_all();
  void on_timer(RemoteRequest &request, Nanos now) override;
  // It stood in the front until now: it goes to the nodes; it has a lease that another one had.
  void send_from_front(Request &request) { ask(request); }
  void passed_on(Request &request, const std::shared_ptr<GrantLease> &lease);

 private:
  void send_attempt(RemoteRequest &request) override;
  bool is_under_way(const RemoteRequest &request) const override {
    return static_cast<const Request &>(request).attempt_ != nullptr;
  }
  bool others_need(const RemoteRequest &request) const override {
    return static_cast<const Request &>(request).leads_others();
  }
  void let_go(RemoteRequest &request) override;
  void withdraw(RemoteRequest &remote) override;
  void ask_anew(RemoteRequest &remote) override;
  void arm(RemoteRequest &request) override;
  Status ending_of(Status usual) const override;
  Status may_reenter(const RemoteRequest &request, const Lease &held) const override;

  void note_unknown_nodes() const;
  void count_looks(Request &request);
  bool looks_anew(Request &request);
  void wait_for_nodes(Request &request);
  void stand(Request &request);
  void commit(Request &request, const std::shared_ptr<Attempt> &attempt,
              const std::shared_ptr<GrantLease> &lease);
  bool is_first(const Request &request, const Attempt &attempt) const;
  bool has_rivals(const Attempt &attempt) const;
  Failure cause_of(const Request &request, const Attempt &attempt) const;
  bool ends_by(Request &request, const Failure &failure);
  void troubled(Request &request, const Failure &failure);
  void wait_until(Request &request, Nanos at);
  Nanos next_look(Request &request, const Attempt &attempt) const;
  Nanos foreign_look(Request &request, int64_t left_ms) const;
  bool unite_tokens(const Request &request, const Attempt &attempt);
  static void note_votes(Request &request, NodeSet granted_by, NodeSet nodes);
  static void note_votes(Request &request, const Attempt &attempt) {
    note_votes(request, attempt.ballot().granted_by(), attempt.ballot().rule().nodes());
  }
  void note_place(Request &request, const Attempt &attempt);
  void drop_attempt(Request &request);
  void leave_lines(Request &request, NodeSet nodes);
  bool is_too_late(const Request &request, const GrantLease &lease) const;
  void came_too_late(Request &request);
  // telling.cpp
  static void tell_beginning(const Request &request);
  void tell_busy(Request &request, const Attempt &attempt) const;
  static void tell_failed(const Request &request, const Failure &failure);
  static void tell_requeued(const Request &request);
  void tell_granted(const Request &request, uint64_t token) const;
  std::shared_ptr<GrantLease> lease_of(Request &request, const Attempt &attempt) const;

  Instance &instance_;
  uint64_t looks_ = 0;  // at the nodes anew
  // By their names there, which are the requests' own.
  std::unordered_map<Bytes, Request *, std::hash<Bytes>, std::equal_to<>,
                     SpareAllocator<std::pair<const Bytes, Request *>>>
      lines_;
};

}  // namespace liblock::quorum
