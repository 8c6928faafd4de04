// SPDX-License-Identifier: MIT
// See deciding.hpp.
#include "quorum/deciding.hpp"

#include <algorithm>
#include <utility>

#include "base/read_number.hpp"
#include "quorum/instance.hpp"
#include "quorum/rounds.hpp"

namespace liblock::quorum {

namespace {

constexpr size_t kNumberDigits = 16;

class Deciding final : public Rounds {
 public:
  Deciding(Instance &instance, const Configuration &before, const Configuration &proposed, Decided done)
      : Rounds(instance), before_(before), proposed_(proposed), done_(std::move(done)) {}

 private:
  // A ballot of its own.
  void round() override {
    if (!(instance_.membership.configuration() == before_))
      return end({Status::NODES_MISMATCH, false, "the quorum's nodes were changed meanwhile"});
    AttemptId id;
    if (!instance_.attempt_ids.next(id)) return end({Status::INTERNAL, false, ""});
    const std::string number = std::to_string(instance_.next_ticket());
    ballot_ = std::string(kNumberDigits - std::min(kNumberDigits, number.size()), '0') + number;
    ballot_ += id.text();
    rule_ = instance_.membership.knowing_rule();
    next_ = proposed_;
    taken_by_.clear();
    proposes_ = false;
    ask_them();
  }
  void ask_them() {
    agreed_ = 0;
    ask_round(instance_.membership.ready() & rule_.nodes());
  }
  void encode(Call &call) override {
    call.begin_again(scripts::decide);
    call.put_node_key();
    call.argument(before_.who(call.node.id));
    call.argument(call.node.boot());
    call.argument(ballot_);
    call.argument(proposes_ ? next_.to_text() : std::string());
  }
  bool fits(const Call &, const Reply &reply) const override {
    const Bytes what = reply.at(0).text;
    if (!reply.has_integers(1, 1) || !reply.at(2).is(Reply::Kind::Text)) return false;
    return what == "NO" || (what == "OK" && reply.at(3).is(Reply::Kind::Text));
  }
  void heard(Call &call, const Reply &reply) override {
    const Bytes ballot = reply.at(2).text;
    if (reply.at(0).text == "NO") {
      is_contended_ = true;
      int64_t number = 0;
      if (read_number(ballot.substr(0, kNumberDigits), number) && number > 0)
        instance_.saw_number(static_cast<uint64_t>(number));
      return;
    }
    agreed_ |= call.node.bit();
    if (!proposes_) take_over(std::string(ballot), reply.at(3).text);
    if (!rule_.is_reached(agreed_)) return;
    if (proposes_) return end({Status::OK, false, ""});
    proposes_ = true;
    ask_them();
  }
  // What was taken for another epoch is of no interest any more.
  void take_over(const std::string &ballot, Bytes record) {
    Configuration taken;
    if (ballot <= taken_by_ || !Configuration::parse(record, taken)) return;
    const bool follows = taken.cluster == before_.cluster && taken.epoch == before_.epoch + 1 &&
                         taken.is_joint() && taken.now == before_.now;
    if (!follows) return;
    taken_by_ = ballot;
    next_ = std::move(taken);
  }
  void not_heard(Call &, const Failure &failure) override { why_ = failure.text; }
  void undecided() override {
    if (pause()) return;
    if (instance_.is_closing) return closed();
    if (is_contended_)
      return end({Status::BUSY, false, "others are changing the quorum's nodes at this moment; call again"});
    Failure failure = instance_.why_no_quorum(rule_);
    if (!why_.empty()) failure.text += "; " + why_;
    end(failure);
  }
  void closed() override { end({Status::CLOSED, false, "the context is closed"}); }
  void end(const Failure &failure) {
    set_over();
    std::exchange(done_, nullptr)(failure, next_);
  }

  const Configuration before_, proposed_;
  Decided done_;
  QuorumRule rule_;
  Configuration next_;
  std::string ballot_, taken_by_;  // of next_, where it is another one's
  bool proposes_ = false, is_contended_ = false;
  NodeSet agreed_ = 0;
  std::string why_;
};

}  // namespace

void decide(Instance &instance, const Configuration &before, const Configuration &proposed, Decided done) {
  std::make_shared<Deciding>(instance, before, proposed, std::move(done))->begin();
}

}  // namespace liblock::quorum
