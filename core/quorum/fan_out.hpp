// SPDX-License-Identifier: MIT
// One question to several nodes at once, each of which is answered, refused or lost by itself. Calls keep it alive: it
// goes with the last of them, whoever has lost interest before. Loop thread.
#pragma once

#include <memory>

#include "quorum/node.hpp"

namespace liblock::quorum {

class FanOut : public std::enable_shared_from_this<FanOut> {
 public:
  class Call;
  virtual ~FanOut() = default;

 protected:
  explicit FanOut(Instance &instance) : instance_(instance) {}

  // Perhaps again, when it was answered. A node that is not ready fails at once.
  void ask(Node &node);
  void ask_all(NodeSet nodes);
  // What came too late for it, and was not carried out, with its time as it is known now: once. Then it has failed.
  void ask_late(Call &call);
  // A server, whatever it belongs to.
  void ask_anyhow(Node &node);

  // When it is sent, and when it is sent again with the script's body.
  virtual void encode(Call &call) = 0;
  virtual bool fits(const Call &call, const Reply &reply) const = 0;
  virtual void answered(Call &call, const Reply &reply) = 0;
  virtual void failed(Call &call, const Failure &failure) = 0;
  virtual ReplyLimits limits() const { return {}; }
  // As Command has them.
  virtual bool begins_to_grow(Call &) { return false; }
  virtual void ends_growth() {}
  virtual bool may_be_passed() const { return false; }
  // It is for whoever was a node once, and does no harm to others: one that is just saying what it is is asked, too.
  virtual bool takes_back() const { return false; }

  Instance &instance_;
  uint64_t round_ = 0;  // of the calls that are made from now on

 private:
  void send(Call &call);

  NodeSet late_ = 0;
};

class FanOut::Call final : public ServerCall {
 public:
  Call(std::shared_ptr<FanOut> of, Node &asked) : Call(std::move(of), asked, asked.who_changes()) {}
  // Once more what was asked when it was believed to be so.
  Call(std::shared_ptr<FanOut> of, Node &asked, uint64_t known)
      : node(asked), round(of->round_), who_changes(known), of_(std::move(of)) {}
  void sending(Nanos now) override;
  bool fits(const Reply &reply) const override;
  void answered(const Reply &reply) override;
  void failed(const Failure &failure) override;
  ReplyLimits limits() const override { return of_->limits(); }
  bool begins_to_grow() override { return of_->begins_to_grow(*this); }
  void ends_growth() override { of_->ends_growth(); }
  bool may_be_passed() const override { return of_->may_be_passed(); }
  // What the node must be to carry it out: what it was believed to be when this was sent first, since whoever asks
  // counts its answer by the configuration of then. Where it is believed to be another by now, what no node is.
  Bytes who() const { return who_changes == node.who_changes() ? Bytes(node.who()) : Bytes("-"); }

  // The names of a key, behind that of the node.
  void put_node_key();
  void put_key(Bytes lock_key);

  Node &node;
  const uint64_t round;
  const uint64_t who_changes;  // of the node, when it was asked
  Nanos sent_at = 0;
  int64_t not_after_us = 0;
  uint64_t generation = 0;

 private:
  const std::shared_ptr<FanOut> of_;
};

}  // namespace liblock::quorum
