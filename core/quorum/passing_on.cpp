// SPDX-License-Identifier: MIT
// See passing_on.hpp.
#include "quorum/passing_on.hpp"

#include "quorum/instance.hpp"

namespace liblock::quorum {

// Who holds, as of when it begins; told when a quorum has answered, or cannot any more.
class PassingOn::HolderRound final : public FanOut {
 public:
  HolderRound(PassingOn &passing_on, const FrontLine &line, uint64_t tokens)
      : FanOut(passing_on.instance_),
        passing_on_(passing_on),
        lock_key_(*line.lock_key),
        lease_(std::static_pointer_cast<GrantLease>(line.lease->self.lock())),
        rule_(instance_.membership.rule(lease_->subset, lease_->votes)),
        token_(lease_->token),
        owner_(lease_->owner),
        ticket_us_(lease_->ticket_us),
        standing_(line.standing.size()),
        first_(line.token_end),
        tokens_(tokens) {}
  void begin() {
    open_ = rule_.nodes() & instance_.membership.ready();
    ask_all(open_);
  }

 private:
  void encode(Call &call) override {
    call.begin_again(scripts::pass_on);
    call.put_node_key();
    call.put_key(lock_key_);
    call.argument(call.who());
    call.argument(call.node.boot());
    call.argument(lease_->id);
    call.argument(static_cast<int64_t>(token_));
    call.argument(owner_);
    call.argument(instance_.id);
    call.argument(ticket_us_);
    call.argument(static_cast<int64_t>(first_ - 1 + tokens_));
    call.argument(static_cast<int64_t>(standing_));
  }
  bool fits(const Call &, const Reply &reply) const override {
    const Bytes what = reply.at(0).text;
    return (what == "OK" && reply.has_integers(1, 3)) || (what == "GONE" && reply.has_integers(1, 2));
  }
  void answered(Call &call, const Reply &reply) override {
    const NodeSet node = call.node.bit();
    const bool counts = reply.at(2).integer == 1;
    if (reply.at(0).text == "OK") {
      knowing_ |= node;
      if (counts) reserving_ |= node;
      others_wait_ = others_wait_ || reply.at(3).integer != 0;
    } else if (counts) {
      gone_ |= node;  // who may have forgotten it says nothing by that
    }
    one_ended(node);
  }
  void failed(Call &call, const Failure &) override { one_ended(call.node.bit()); }
  void one_ended(NodeSet node) {
    open_ &= ~node;
    const bool is_gone = rule_.is_gone(gone_);
    const bool is_reserved = rule_.is_reached(reserving_);
    const bool is_decided = is_gone || is_reserved || !rule_.is_reached(reserving_ | open_);
    if (!is_decided || is_told_) return;
    if (!is_gone && !is_reserved && !rule_.is_reached(knowing_) && open_ != 0) return;
    is_told_ = true;
    if (instance_.is_closing) return;
    Told what;
    what.holds = is_gone                      ? Told::Holds::No
                 : rule_.is_reached(knowing_) ? Told::Holds::Yes
                                              : Told::Holds::Unknown;
    what.others_wait = others_wait_;
    if (is_reserved) what.token_first = first_, what.tokens = tokens_;
    if (what.holds == Told::Holds::Yes) instance_.observers.held(*lease_);
    passing_on_.told(lock_key_, lease_->id, what);
  }

  PassingOn &passing_on_;
  const std::string lock_key_;
  const std::shared_ptr<GrantLease> lease_;
  const QuorumRule rule_;
  const uint64_t token_;
  const std::string owner_;
  const int64_t ticket_us_;
  const size_t standing_;
  const uint64_t first_, tokens_;
  NodeSet open_ = 0, knowing_ = 0, reserving_ = 0, gone_ = 0;
  bool others_wait_ = false;
  bool is_told_ = false;
};

PassingOn::PassingOn(Instance &instance)
    : RemotePassingOn(instance, Front::options(instance.options.front_budget, instance.options.foreign_gap_ms,
                                               instance.options.front_tokens)),
      instance_(instance) {}

bool PassingOn::can_tell() const {
  const Membership &membership = instance_.membership;
  return membership.is_known() && membership.rule(kEveryNode, 0).is_reached(membership.ready());
}

// Of whichever quorum an outsider waits on, one node's messages come here.
bool PassingOn::hears() const {
  if (!instance_.membership.is_known()) return false;
  NodeSet heard = 0;
  for (const auto &node : instance_.nodes()) {
    if (node->link.is_listening()) heard |= node->bit();
  }
  return instance_.membership.rule(kEveryNode, 0).meets_all(heard);
}

// A lock on all nodes, by as many votes as the context asks for.
bool PassingOn::may_stand(FrontRequest &request) const {
  const auto &acquire = static_cast<const Request &>(request);
  const Membership &membership = instance_.membership;
  if (!membership.is_known() || acquire.asks_too_much(membership.max_ttl())) return false;
  request.ttl_most = membership.max_ttl();
  return request.wants.nodes == nullptr && request.wants.votes == 0 && !acquire.tells_attempts();
}

void PassingOn::send_word(FrontLine &line, uint64_t tokens) {
  std::make_shared<HolderRound>(*this, line, tokens)->begin();
}

void PassingOn::send(FrontRequest &request) {
  instance_.waiting.send_from_front(static_cast<Request &>(request));
}

void PassingOn::hand(FrontRequest &request, const LeaseRef &lease) {
  instance_.waiting.passed_on(static_cast<Request &>(request), std::static_pointer_cast<GrantLease>(lease));
}

void PassingOn::lose(const LeaseRef &lease) { instance_.keeper.lose(lease); }

std::shared_ptr<RemotePassingOn> PassingOn::kept() { return {instance_.shared_from_this(), this}; }

}  // namespace liblock::quorum
