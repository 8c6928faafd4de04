// SPDX-License-Identifier: MIT
// One call to each node about some leases, alike in what is said once: a renewal of many, or what one holder asked for.
// A node is told of those that it may have, and of no others: what is written there is given back there. Each lease is
// decided by itself, as soon as a quorum of its nodes has answered; from there on it may be renewed again, however long
// the other nodes, and the other leases, take. Loop thread.
#pragma once

#include <string>
#include <vector>

#include "quorum/keeper.hpp"

namespace liblock::quorum {

class Keeper::Round final : public FanOut {
 public:
  enum class How : uint8_t { Renew, Set, GiveBack };
  Round(Keeper &keeper, How how, AskDone done);

  void add(const GrantRef &lease, Nanos ttl);
  bool empty() const { return items_.empty(); }
  void begin();

 private:
  struct Item {
    GrantRef lease;
    Nanos ttl;
    uint32_t sequence;
    LockKeys keys;
    GrantLease::Renewal renewal = {};  // as this is to make it
    QuorumRule rule = {};
    NodeSet open = 0, ours = 0, gone = 0;
    NodeSet told = 0;                                // their calls are about it, as they were sent last
    NodeSet left_out = 0;                            // far behind: asked where the others cannot do it
    NodeSet silent = 0;                              // of ours
    NodeSet knowing = 0;                             // they know of nothing newer than its value
    NodeSet lost = 0;                                // they had lost it, or have, and may have known
    std::vector<GrantLease::Restored> settles = {};  // as it was when this began
    bool in_doubt = false;                           // a node may have heard of it, and has not answered
    bool is_over = false;                            // the round has counted for it, or cannot any more
  };
  static constexpr size_t kFields = 5;  // of each key in an answer

  void encode(Call &call) override;
  void put(Call &call, const Item &item) const;
  bool fits(const Call &call, const Reply &reply) const override;
  ReplyLimits limits() const override;
  void answered(Call &call, const Reply &reply) override;
  void read(Call &call, const Reply &reply, Item &item, size_t at);
  void note_knowledge(Item &item, const Node &node, bool is_ours, int64_t knows);
  void take_value(GrantLease &lease, const Reply &reply, size_t at) const;
  void failed(Call &call, const Failure &failure) override;
  void count(Item &item);
  void ask_also(Item &wanting, NodeSet others);
  void end_item(Item &item);
  void take_back(const Item &item) const;
  bool sets() const { return how_ != How::Renew; }
  void note_asked(NodeSet nodes);
  void one_over(Status status);
  void call_done(const Call &call);
  void end();

  Keeper &keeper_;
  const How how_;
  AskDone done_;
  std::vector<Item> items_;
  NodeSet asked_ = 0, open_calls_ = 0;
  Nanos asked_at_ = 0;
  bool is_too_long_ = false;
  Status worst_ = Status::OK;
  std::string why_ = "no node can be reached";
};

}  // namespace liblock::quorum
