// SPDX-License-Identifier: MIT
// See founding.hpp.
#include "quorum/founding.hpp"


#include "quorum/instance.hpp"

namespace liblock::quorum {

namespace {

class Founding final : public FanOut {
 public:
  Founding(Instance &instance, bool by_force, AskDone done)
      : FanOut(instance), by_force_(by_force), done_(std::move(done)) {}

  void begin() {
    const QuorumOptions &options = instance_.options;
    std::vector<std::string> addresses;
    uint64_t epoch = 0;
    NodeSet nodes = 0;
    for (const ConnectionOptions &named : options.nodes) {
      const Node &node = *instance_.nodes()[addresses.size()];
      addresses.push_back(named.address.redacted());
      if (!node.is_connected()) return end_without(node);
      if (!node.hello().who.empty()) epoch = std::max(epoch, node.hello().configuration.epoch);
      nodes |= node.bit();
    }
    if (const std::string why = by_force_ ? "" : why_not_new(instance_); !why.empty())
      return end(Status::NODES_MISMATCH, why);
    configuration_ = Configuration::first(addresses, votes_needed(options.votes, addresses.size()),
                                          options.max_ttl / kMillisecond,
                                          options.restart == QuorumOptions::Restart::TrustFsync);
    configuration_.observers.clear();
    for (const ConnectionOptions &observer : options.observers)
      configuration_.observers.push_back(observer.address.redacted());
    configuration_.epoch = epoch + 1;
    open_ = nodes;
    for (const auto &node : instance_.nodes()) {
      if ((nodes & node->bit()) != 0) ask_anyhow(*node);
    }
  }

 private:
  // One that answers and is refused since others were marked as a quorum without it, by whoever looked at them.
  void end_without(const Node &node) {
    const bool was_left_out = node.state() == Node::State::Refused && instance_.membership.was_left_out(node);
    if (!was_left_out) return end(Status::NO_QUORUM, "a quorum begins with all its nodes; " + node.why());
    end(Status::NODES_MISMATCH, node.why());
  }
  void encode(Call &call) override {
    const Member *member = configuration_.find_address(call.node.address);
    call.begin_again(scripts::mark);
    call.put_node_key();
    call.argument(configuration_.who(member->id));
    call.argument(call.node.boot());
    call.argument(configuration_.to_text());
    call.argument(configuration_.max_ttl_ms);
    call.argument(configuration_.trusts_disk ? Bytes("1") : Bytes("0"));
    call.argument(by_force_ ? Bytes("replace") : Bytes("begin"));
  }
  bool fits(const Call &, const Reply &reply) const override {
    return reply.at(0).text == "OK" && reply.has_integers(1, 1);
  }
  void answered(Call &call, const Reply &) override {
    ++marked_;
    done(call);
  }
  void failed(Call &call, const Failure &failure) override {
    in_doubt_ = in_doubt_ || failure.sent;
    refused_ = failure.sent ? refused_ : call.node.address + ": " + failure.text;
    done(call);
  }
  void done(const Call &call) {
    open_ &= ~call.node.bit();
    if (open_ != 0) return;
    const bool is_whole = marked_ == configuration_.now.all.size();
    if (is_whole) instance_.membership.begin(configuration_);
    for (const auto &node : instance_.nodes()) {
      if (node->is_connected()) node->look_again();
    }
    if (is_whole) return end(Status::OK, "");
    if (marked_ == 0 && !in_doubt_) return end(Status::NODES_MISMATCH, refused_);
    end(Status::IN_DOUBT, "some nodes are marked, others may not be: once more, with LIBLOCK_QUORUM_INIT_FORCE");
  }
  void end(Status status, const std::string &why) { std::exchange(done_, nullptr)(status, why); }

  const bool by_force_;
  AskDone done_;
  Configuration configuration_;
  NodeSet open_ = 0;
  size_t marked_ = 0;
  bool in_doubt_ = false;
  std::string refused_;
};

}  // namespace

std::string why_not_new(const Instance &instance) {
  const Membership &membership = instance.membership;
  for (size_t n = 0; n < instance.options.nodes.size(); ++n) {
    const Node &node = *instance.nodes()[n];
    const Hello &hello = node.hello();
    if (!hello.who.empty() && !hello.never_voted())
      return node.address +
             ": it is part of a quorum already, and needs no init; where too few nodes vote, since they lost their "
             "data, wait in a process that stays. LIBLOCK_QUORUM_INIT_FORCE marks it anew, only where no lock of that "
             "quorum can be held any more";
    const bool was_made = !hello.who.empty() && hello.configuration.epoch > 1;
    if (was_made || node.may_have_voted() || (membership.is_known() && membership.configuration().epoch > 1))
      return node.address +
             ": it was part of a quorum before it lost its data, and locks of then may be held still; wait "
             "for the end of its quarantine in a process that stays, or LIBLOCK_QUORUM_INIT_FORCE marks it anew where "
             "nobody can hold one";
  }
  // Others of the quorum that they are of may hold locks by what the named ones have forgotten.
  for (const auto &node : instance.nodes()) {
    const bool is_of_it =
        membership.is_known() && node->hello().configuration.cluster == membership.configuration().cluster;
    if (is_of_it && !node->hello().who.empty() && node->may_have_voted())
      return node->address + ": it votes in the quorum that the named servers are part of, which needs nothing; "
                             "name all its servers, or LIBLOCK_QUORUM_INIT_FORCE takes these out of it, only where no "
                             "lock of that quorum can be held any more";
  }
  return {};
}

void found(Instance &instance, bool by_force, AskDone done) {
  std::make_shared<Founding>(instance, by_force, std::move(done))->begin();
}

}  // namespace liblock::quorum
