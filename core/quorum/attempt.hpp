// SPDX-License-Identifier: MIT
// One attempt of an acquire at all its nodes, with an identity of its own. It outlives its request: what of it is
// granted after it was given up is undone. Loop thread.
//
//   stage     meaning                                                     left by
//   Open      nodes are asked; some may have refused and been asked again a quorum, or none any more
//   Raising   a quorum granted it, the token is made one                  the same
//   Failed    no quorum: the request keeps it, or gives it up             a node that calls; give_up()
//   Won       the lease has it from here on                               -
//   GivenUp   it must not be anywhere                                     -
#pragma once

#include <string>
#include <vector>

#include "quorum/ballot.hpp"
#include "quorum/fan_out.hpp"
#include "quorum/grant_lease.hpp"

namespace liblock::quorum {

class Request;

// Why a node has refused.
struct Refusal {
  bool is_busy = false;
  size_t key = 0;
  int64_t left_ms = -1;  // of the holder's lease, or of whom the key is kept for
  int64_t place = -1, length = 0;
  int64_t held_us = -1;  // -1: nobody holds it, it is kept for somebody who waits
  int64_t holder_ticket_us = 0;
  int64_t least_ticket_us = 0;
  bool is_foreign = false;
  std::string holder;  // his record, where somebody listens
  Failure failure;     // where it is not busy
};

class Attempt final : public FanOut {
 public:
  enum class Stage : uint8_t { Open, Raising, Failed, Won, GivenUp };

  // bound: what its owner holds already and goes on with under the new token.
  Attempt(Instance &instance, Request &request, const AttemptId &id, const QuorumRule &rule,
          std::vector<LeaseRef> bound);
  ~Attempt() override;
  void begin(NodeSet nodes);
  // A node that has refused is asked once more. Nobody asks for it by another configuration: configuration_changed().
  void ask_again(Node &node);
  void ask_refused();
  // Nodes that were left out, being far behind, and with which it could still be won.
  NodeSet others_that_decide() const;
  // They are asked, once it has failed without them.
  void ask_also(NodeSet nodes);
  void give_up();
  // After it was won: the lease that it made, which late answers belong to. The request may go before they come.
  void belongs_to(const std::shared_ptr<GrantLease> &lease, const AttemptId &line_id) {
    lease_ = lease;
    line_id_ = line_id;
    request_ = nullptr;
  }

  Stage stage() const { return stage_; }
  const Ballot &ballot() const { return ballot_; }
  const AttemptId &id() const { return id_; }
  const LockKeys &lock_keys() const { return lock_keys_; }
  const std::vector<LeaseRef> &bound() const { return bound_; }
  // The last one of a node, by its index.
  const Refusal &refusal(size_t node) const;
  NodeSet asked() const { return asked_; }
  Nanos began_at() const { return began_at_; }
  Nanos lease() const { return lease_asked_; }
  uint32_t votes_shown() const { return votes_shown_; }
  // A node that granted has seen somebody in line.
  bool others_wait() const { return others_wait_; }
  // By each node's time: until then a call of it without an answer could still be carried out.
  std::array<int64_t, 32> doubts() const;

 private:
  class Raise;
  Refusal &begin_refusal(const Node &node);
  void encode(Call &call) override;
  bool fits(const Call &, const Reply &reply) const override;
  void answered(Call &call, const Reply &reply) override;
  void failed(Call &call, const Failure &failure) override;
  bool may_be_passed() const override;
  void refused(Node &node, const Reply &reply);
  void undo(Node &node, bool is_answered);
  void clear_the_way_for(const Attempt &next);
  void end_turn();
  void count();

  Request *request_;  // nullptr: it has ended, or has another attempt
  const AttemptId id_;
  const LockKeys lock_keys_;
  const std::vector<LeaseRef> bound_;
  Ballot ballot_;
  Stage stage_ = Stage::Open;
  bool is_beginning_ = false;  // no node has heard of it
  bool takes_turn_;            // of RemoteWaiting: it counts among those
  Nanos began_at_ = 0;
  const Nanos lease_asked_;
  const uint32_t votes_shown_;  // as in GrantLease
  const uint64_t tokens_;       // that each grant reserves, from its own on
  bool others_wait_ = false;
  uint64_t proposal_ = 0;
  NodeSet asked_ = 0;
  NodeSet was_late_ = 0;
  NodeSet undone_unheard_ = 0;     // behind the very call that has not been answered yet
  SpareVector<Refusal> refusals_;  // up to the last node that has refused
  std::array<int64_t, 32> not_after_us_{};
  std::array<uint64_t, 32> generation_{};
  std::shared_ptr<GrantLease> lease_;
  AttemptId line_id_;  // once it was won: where a late refusal has put it
};

}  // namespace liblock::quorum
