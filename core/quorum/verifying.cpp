// SPDX-License-Identifier: MIT
// See verifying.hpp.
#include "quorum/verifying.hpp"

#include <algorithm>

#include "quorum/instance.hpp"

namespace liblock::quorum {

namespace {

class Verify final : public FanOut {
 public:
  Verify(Instance &instance, const std::vector<LeaseRef> &leases, AskDone done)
      : FanOut(instance), done_(std::move(done)) {
    for (const LeaseRef &lease : leases) {
      const auto grant = std::static_pointer_cast<GrantLease>(lease);
      items_.push_back(
          {grant, grant->held_keys(), instance.membership.rule(grant->subset, grant->votes)});
    }
  }
  void begin() {
    for (const Item &item : items_) open_ |= item.rule.nodes();
    open_ &= instance_.membership.ready();
    if (open_ == 0) return end();
    ask_all(open_);
  }

 private:
  struct Item {
    std::shared_ptr<GrantLease> lease;
    LockKeys keys;
    QuorumRule rule;
    NodeSet ours = 0, gone = 0;
    bool is_decided = false;
  };
  void encode(Call &call) override {
    call.begin_again(scripts::read);
    call.put_node_key();
    for (const Item &item : items_) {
      for (const Bytes key : item.keys) call.put_key(key);
    }
    call.argument(call.who());
    call.argument(Bytes("0"));
    call.argument(Bytes("0"));
  }
  bool fits(const Call &, const Reply &reply) const override {
    size_t keys = 0;
    for (const Item &item : items_) keys += item.keys.size();
    return reply.has_integers(0, 1) && reply.elements.size() == 1 + keys;
  }
  ReplyLimits limits() const override {
    size_t keys = 1;
    for (const Item &item : items_) keys += item.keys.size();
    return {keys * 16 * 1'024, keys * 160 + 16, 4};
  }
  void answered(Call &call, const Reply &reply) override {
    size_t at = 1;
    for (Item &item : items_) {
      bool is_ours = true;
      for (size_t i = 0; i < item.keys.size(); ++i) {
        ServerRecord record;
        const Reply &seen = reply.at(at++);
        is_ours = is_ours && parse_record(seen.at(0).text, record) && record.id == item.lease->id;
      }
      // Who may have forgotten it says nothing by that, nor one whose clock jumped, where it has ended too early.
      const Nanos now = instance_.clock.now();
      const bool may_have_forgotten = call.node.is_silent(now) || call.node.is_stepped(now);
      if (is_ours || !may_have_forgotten) (is_ours ? item.ours : item.gone) |= call.node.bit();
      decide(item);
    }
    done(call);
  }
  void failed(Call &call, const Failure &failure) override {
    why_ = failure.text;
    done(call);
  }
  // What is gone is lost at once: who took it away may have it by now, and some node may answer late.
  void decide(Item &item) {
    if (item.is_decided) return;
    const bool is_ours = item.rule.is_reached(item.ours);
    const bool is_gone = !is_ours && item.rule.is_gone(item.gone);
    item.is_decided = is_ours || is_gone;
    if (!is_gone) return;
    status_ = Status::LOST;
    instance_.keeper.lose(item.lease);
  }
  bool all_decided() const {
    return std::all_of(items_.begin(), items_.end(), [](const Item &item) { return item.is_decided; });
  }
  void done(const Call &call) {
    open_ &= ~call.node.bit();
    if (open_ == 0 || all_decided()) end();
  }
  void end() {
    if (!all_decided() && status_ == Status::OK) status_ = Status::NO_QUORUM;
    if (done_ != nullptr) std::exchange(done_, nullptr)(status_, status_ == Status::OK ? "" : why_);
  }

  std::vector<Item> items_;
  AskDone done_;
  NodeSet open_ = 0;
  Status status_ = Status::OK;
  std::string why_ = "no node can be reached";
};

class Ping final : public FanOut {
 public:
  Ping(Instance &instance, AskDone done) : FanOut(instance), done_(std::move(done)) {}
  void begin() {
    rule_ = instance_.membership.rule(kEveryNode, 0);
    open_ = instance_.membership.ready() & rule_.nodes();
    if (open_ == 0) return end();
    ask_all(open_);
  }

 private:
  void encode(Call &call) override {
    call.begin_again(scripts::hello);
    call.put_node_key();
    call.argument(call.node.boot());
  }
  bool fits(const Call &, const Reply &reply) const override { return reply.has_integers(0, 1); }
  void answered(Call &call, const Reply &) override {
    answered_ |= call.node.bit();
    done(call);
  }
  void failed(Call &call, const Failure &) override { done(call); }
  void done(const Call &call) {
    open_ &= ~call.node.bit();
    if (open_ == 0 || rule_.is_reached(answered_)) end();
  }
  void end() {
    if (done_ == nullptr) return;
    if (instance_.membership.is_known() && rule_.is_reached(answered_))
      return std::exchange(done_, nullptr)(Status::OK, "");
    const Failure why =
        instance_.membership.is_known() ? instance_.why_no_quorum(rule_) : instance_.why_no_nodes();
    std::exchange(done_, nullptr)(why.status, why.text);
  }

  AskDone done_;
  QuorumRule rule_;
  NodeSet open_ = 0, answered_ = 0;
};

}  // namespace

void verify(Instance &instance, const std::vector<LeaseRef> &leases, AskDone done) {
  std::make_shared<Verify>(instance, leases, std::move(done))->begin();
}

void ping(Instance &instance, AskDone done) { std::make_shared<Ping>(instance, std::move(done))->begin(); }

}  // namespace liblock::quorum
