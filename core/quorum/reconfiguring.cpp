// SPDX-License-Identifier: MIT
// See reconfiguring.hpp.
#include "quorum/reconfiguring.hpp"

#include <algorithm>
#include <set>

#include "base/read_number.hpp"
#include "quorum/deciding.hpp"
#include "quorum/instance.hpp"
#include "quorum/node_list.hpp"

namespace liblock::quorum {

namespace {

constexpr Nanos kPause = 100 * kMillisecond;

class Reconfiguring final : public FanOut, public Timer {
 public:
  Reconfiguring(Instance &instance, AskDone done) : FanOut(instance), done_(std::move(done)) {}
  ~Reconfiguring() override {
    instance_.asking.pauses.erase(this);
    instance_.runtime->cancel(*this);
  }

  void begin(const NodesChange &change) {
    self_ = std::static_pointer_cast<Reconfiguring>(shared_from_this());
    if (!instance_.membership.is_known()) return end(instance_.why_no_nodes());
    std::string message;
    if (const Status status = read(change, message); status != Status::OK)
      return end({status, false, message});
    instance_.observers.know(observing_);
    // Nobody may have asked them anything for long.
    for (const auto &node : instance_.nodes()) {
      if (node->is_connected()) node->ask_anew();
    }
    give_up_at_ = instance_.runtime->now() + instance_.options.nodes.front().connect_timeout;
    fire(0);
  }
  void look() {
    const Membership &membership = instance_.membership;
    if (!membership.is_settled() && instance_.runtime->now() < give_up_at_) return later(kPause / 10);
    // A stranger's quorum would be brought to the servers that are named now.
    if (membership.is_known() && !membership.is_vouched_for()) return end(membership.why_not_vouched_for());
    if (!aim())
      return end({Status::LIMIT, false,
                  "a context knows at most " + std::to_string(2 * kNodesMax) +
                      " servers, with those that were removed since it was opened; call it with a new one"});
    // How many nodes keep their votes is known only now.
    std::string why;
    if (const Status status = check_votes(votes_, target_.all.size(), why); status != Status::OK)
      return end({status, false, why});
    before_ = membership.configuration();
    if (!is_taken_up()) return;
    give_up_at_ = instance_.runtime->now() + instance_.options.nodes.front().connect_timeout + kPause;
    step_ = Step::Reaching;
    fire(0);
  }

  void fire(Nanos) override {
    const std::shared_ptr<Reconfiguring> kept = self_;
    instance_.asking.pauses.erase(this);
    instance_.runtime->cancel(*this);
    if (instance_.is_closing) return end({Status::CLOSED, false, "the context is closed"});
    switch (step_) {
      case Step::Looking:
        return look();
      case Step::Reaching:
        return reach();
      case Step::Deciding:
        return decide_which();
      case Step::Joint:
      case Step::Stable:
        return tell();
      case Step::Settling:
        return settle();
    }
  }

 private:
  enum class Step : uint8_t { Looking, Reaching, Deciding, Joint, Settling, Stable };

  Status read(const NodesChange &change, std::string &message) {
    keeps_nodes_ = change.keeps_nodes;
    votes_ = change.votes;
    if (keeps_nodes_) return Status::OK;
    ConnectionDefaults defaults = instance_.options.defaults;
    const std::vector<Bytes> servers(change.servers.begin(), change.servers.end());
    const std::vector<Bytes> observers(change.observers.begin(), change.observers.end());
    return read_nodes(servers, observers, defaults, named_, observing_, message);
  }
  // The members of the new configuration: known addresses keep their ids. False: too many servers were known here.
  bool aim() {
    const Configuration &now = instance_.membership.configuration();
    observers_ = now.observers;
    target_ = now.is_joint() ? now.next : now.now;
    if (!keeps_nodes_) {
      target_.all.clear();
      observers_.clear();
      for (const ConnectionOptions &observer : observing_) observers_.push_back(observer.address.redacted());
      for (const ConnectionOptions &node : named_) {
        const std::string address = node.address.redacted();
        const Member *known = now.find_address(address);
        target_.all.push_back({known != nullptr ? known->id : next_id(now), address});
        if (known != nullptr) continue;
        Node *candidate = instance_.add_candidate(node);
        if (candidate == nullptr) return false;
        candidates_.push_back(candidate);
      }
    }
    target_.votes = votes_needed(votes_, target_.all.size());
    return true;
  }
  // One that a node had which was removed is not given to another: there would be two who vote as one. What an epoch
  // gives is behind all that was given before it, however many nodes have gone since.
  std::string next_id(const Configuration &now) const {
    uint64_t largest = (now.epoch - 1) * kNodesMax;
    for (const Members *members : {&now.now, &now.next, &target_}) {
      for (const Member &m : members->all) {
        uint64_t number = 0;
        read_number(std::string_view(m.id).substr(1), number);
        largest = std::max(largest, number);
      }
    }
    return "n" + std::to_string(largest + 1);
  }
  // A change that was begun goes on; another one must wait for its end.
  bool is_taken_up() {
    if (!before_.is_joint()) {
      if (before_.now == target_ && before_.observers == observers_) {
        end({Status::OK, false, ""});
        return false;
      }
      joint_ = before_;
      ++joint_.epoch;
      joint_.next = target_;
      return true;
    }
    if (take_up(before_)) return true;
    end_by_others(before_);
    return false;
  }
  // False: it leads to other nodes, or votes.
  bool take_up(const Configuration &joint) {
    if (joint.next.votes != target_.votes || addresses(joint.next) != addresses(target_)) return false;
    joint_ = joint;
    target_ = joint.next;
    return true;
  }
  // Whoever made the same change has gone on with it.
  void follow(const Configuration &theirs) {
    if (theirs.is_joint() && theirs.now == before_.now && step_ != Step::Stable && take_up(theirs)) {
      before_ = theirs;
      step_ = Step::Joint;
      return later(kPause);
    }
    const bool is_done = !theirs.is_joint() && theirs.now.votes == target_.votes &&
                         addresses(theirs.now) == addresses(target_) && theirs.observers == observers_;
    is_done ? end_well() : end_by_others(theirs);
  }
  void end_well() {
    std::string why;
    for (const Node *node : candidates_) {  // those that answer are being asked anew
      if (node->state() == Node::State::Down || node->state() == Node::State::Refused)
        why += (why.empty() ? "" : "; ") + node->why() + "; it is a node now, and counts as one that is down";
    }
    end({Status::OK, false, why});
  }
  void end_by_others(const Configuration &theirs) {
    if (!theirs.is_joint())
      return end({Status::NODES_MISMATCH, false,
                  "another change of the quorum's nodes has just ended; look at liblock_quorum_status, and "
                  "call again where yours is still wanted"});
    std::string nodes;
    for (const Member &member : theirs.next.all) nodes += " " + member.address;
    end({Status::NODES_MISMATCH, false,
         "another change is being made; call again when it has ended. Where whoever made it is gone, finish "
         "it by liblock_quorum_set_nodes with votes " +
             std::to_string(theirs.next.votes) + " and its nodes:" + nodes});
  }
  static std::set<std::string> addresses(const Members &members) {
    std::set<std::string> all;
    for (const Member &member : members.all) all.insert(member.address);
    return all;
  }

  NodeSet nodes_of(const Members &members, bool connected_only) const {
    NodeSet nodes = 0;
    for (const auto &node : instance_.nodes()) {
      const bool is_of = std::any_of(members.all.begin(), members.all.end(), [&](const Member &m) {
        return node->id.empty() ? m.address == node->address : m.id == node->id;
      });
      if (is_of && (!connected_only || node->is_connected())) nodes |= node->bit();
    }
    return nodes;
  }
  bool stands_on(NodeSet nodes, const Members &members) const {
    return static_cast<uint32_t>(std::popcount(nodes & nodes_of(members, false))) >= members.votes;
  }

  // Another name of a node; a replica, and whatever else could never be one.
  const Node *find_unfit() const {
    const auto is_unfit = [&](const Node *node) {
      return node->state() == Node::State::Refused || before_.find_id(node->id) != nullptr;
    };
    const auto found = std::find_if(candidates_.begin(), candidates_.end(), is_unfit);
    return found != candidates_.end() ? *found : nullptr;
  }
  bool is_of_others(const Node &node) const {
    Configuration::Identity identity;
    return Configuration::parse_who(node.hello().who, identity) && identity.cluster != before_.cluster;
  }
  std::string why_unfit(const Node &node) const {
    const Member *same = before_.find_id(node.id);
    return same == nullptr
               ? node.why()
               : node.address + ": it is the same server as " + same->address + ": one server is one node";
  }

  void reach() {
    const bool new_answer = stands_on(nodes_of(target_, true), target_);
    const bool old_answer = stands_on(nodes_of(joint_.now, true), joint_.now);
    const bool all_answer = std::popcount(nodes_of(target_, true)) == static_cast<int>(target_.all.size());
    if (!all_answer && instance_.runtime->now() < give_up_at_) return later(kPause / 2);
    if (const Node *unfit = before_.is_joint() ? nullptr : find_unfit(); unfit != nullptr)
      return end({is_of_others(*unfit) ? Status::NODES_MISMATCH : Status::INVALID_ARGUMENT, false,
                  "nothing was changed; " + why_unfit(*unfit)});
    if (!new_answer || !old_answer) {
      std::string why = std::string("too few of the ") + (new_answer ? "old" : "new") + " nodes answer";
      for (const auto &node : instance_.nodes()) {
        if (!node->is_connected() && !node->why().empty()) why += "; " + node->why();
      }
      return end({Status::NO_QUORUM, false, why});
    }
    give_up_at_ = instance_.runtime->now() + 20 * instance_.options.nodes.front().command_timeout;
    step_ = before_.is_joint() ? Step::Joint : Step::Deciding;
    fire(0);
  }

  void decide_which() {
    const auto kept = self_;
    decide(instance_, before_, joint_,
           [kept](const Failure &failure, const Configuration &next) { kept->decided(failure, next); });
  }
  void decided(const Failure &failure, const Configuration &next) {
    const Configuration &known = instance_.membership.configuration();
    if (!(known == before_)) return follow(known);
    const bool may_pass = failure.status == Status::BUSY || failure.status == Status::NO_QUORUM;
    if (may_pass && instance_.runtime->now() < give_up_at_) return later(kPause);
    // Nobody has been told anything yet.
    if (failure.status == Status::BUSY) return end({Status::NODES_MISMATCH, false, failure.text});
    if (failure.status != Status::OK) return end(failure);
    if (!take_up(next)) return end_by_others(next);
    step_ = Step::Joint;
    tell();
  }

  const Configuration &told() const { return step_ == Step::Joint ? joint_ : stable_; }
  // The nodes of the configuration of this step, and of the one before, that answer.
  void tell() {
    const NodeSet nodes = nodes_of(joint_.now, true) | nodes_of(joint_.next, true);
    acknowledged_ = 0;
    open_ = nodes;
    if (nodes == 0) return told_all();
    for (const auto &node : instance_.nodes()) {
      if ((nodes & node->bit()) != 0) ask_anyhow(*node);
    }
  }
  void encode(Call &call) override {
    const Node &node = call.node;
    const Member *member = node.id.empty() ? told().find_address(node.address) : told().find_id(node.id);
    Configuration::Identity was;
    const bool is_marked = Configuration::parse_who(node.hello().who, was);
    // Who is not in the new configuration is told who he was last: he refuses everybody from then on.
    const std::string id = member != nullptr ? member->id : was.node;
    // Who was removed before and comes back has another id now.
    const bool is_back = is_marked && was.cluster == told().cluster && was.node != id;
    const bool is_new = !is_marked || is_back;
    if (is_new) {
      call.begin_again(scripts::mark);
    } else {
      call.begin_again(scripts::configure);
    }
    call.put_node_key();
    if (!is_new) {
      const std::string last = step_ == Step::Joint ? before_.who(id) : joint_.who(id);
      call.argument(last + " " + before_.who(id));
    }
    call.argument(told().who(id));
    call.argument(node.boot());
    call.argument(told().to_text());
    call.argument(told().max_ttl_ms);
    if (is_new) call.argument(told().trusts_disk ? Bytes("1") : Bytes("0"));
    if (is_new) call.argument(Bytes("join"));
    if (is_back) call.argument(node.hello().who);
  }
  bool fits(const Call &, const Reply &reply) const override {
    return (reply.at(0).text == "OK" || reply.at(0).text == "NEW") && reply.has_integers(1, 1);
  }
  void answered(Call &call, const Reply &reply) override {
    if (reply.at(0).text == "OK") acknowledged_ |= call.node.bit();
    done(call);
  }
  void failed(Call &call, const Failure &failure) override {
    why_ = call.node.address + ": " + failure.text;
    done(call);
  }
  void done(const Call &call) {
    open_ &= ~call.node.bit();
    if (open_ == 0) told_all();
  }
  void told_all() {
    const bool stands = stands_on(acknowledged_, joint_.next) &&
                        (step_ == Step::Stable || stands_on(acknowledged_, joint_.now));
    const Configuration &known = instance_.membership.configuration();
    const bool is_overtaken =
        known.epoch > told().epoch || (known.epoch == told().epoch && !(known == told()));
    if (!stands && is_overtaken) return follow(known);
    if (!stands) {
      if (instance_.runtime->now() >= give_up_at_)
        return end({step_ == Step::Joint && acknowledged_ == 0 ? Status::NODES_MISMATCH : Status::IN_DOUBT,
                    false, "the change was begun and is not finished: the same call takes it up; " + why_});
      for (const auto &node : instance_.nodes()) {
        if (node->is_connected()) node->look_again();
      }
      return later(kPause);
    }
    instance_.membership.adopt(told());
    for (const auto &node : instance_.nodes()) {
      if (node->is_connected()) node->look_again();
    }
    if (step_ == Step::Stable) return end_well();
    step_ = Step::Settling;
    settled_at_ = instance_.clock.now() + instance_.membership.max_ttl() / 100 * 101;
    settle();
  }

  // As long as it takes: nothing is lost by waiting, and whoever closes the context ends it. No lease is left then that
  // old nodes have alone; and the new ones are told which tokens those gave out, of which a quorum of them may have
  // seen none.
  void settle() {
    const Configuration &known = instance_.membership.configuration();
    if (known.epoch > joint_.epoch) return follow(known);
    const Nanos now = instance_.clock.now();
    NodeSet voting = 0;
    for (const auto &node : instance_.nodes()) {
      if (node->is_ready() && !node->is_silent(now)) voting |= node->bit();
    }
    if (now < settled_at_ || !stands_on(voting, joint_.next)) return later(kPause);
    if (is_carrying_over_) return;
    is_carrying_over_ = true;
    instance_.recovery.carry_over([kept = self_](NodeSet told) { kept->carried_over(told); });
  }
  void carried_over(NodeSet told) {
    is_carrying_over_ = false;
    if (!stands_on(told, joint_.next)) return later(kPause);
    stable_ = joint_;
    ++stable_.epoch;
    stable_.now = joint_.next;
    stable_.next = {};
    stable_.observers = observers_;
    give_up_at_ = instance_.runtime->now() + 20 * instance_.options.nodes.front().command_timeout;
    step_ = Step::Stable;
    tell();
  }

  void later(Nanos time) {
    if (instance_.is_closing) return end({Status::CLOSED, false, "the context is closed"});
    instance_.asking.pauses.insert(this);  // the end of the context does not wait for it
    instance_.runtime->arm(*this, instance_.runtime->now() + time);
  }
  void end(const Failure &failure) {
    const std::shared_ptr<Reconfiguring> kept = std::move(self_);
    instance_.asking.pauses.erase(this);
    instance_.runtime->cancel(*this);
    // Who has become no node is none to wait for.
    for (Node *node : candidates_) {
      if (--node->candidacies == 0 && node->is_connected() && !instance_.is_closing) node->look_again();
    }
    candidates_.clear();
    // Of one that never answered nothing more is heard that would take it off the list.
    if (!instance_.is_closing) instance_.board.write(instance_);
    std::exchange(done_, nullptr)(failure.status, failure.text);
  }

  AskDone done_;
  std::shared_ptr<Reconfiguring> self_;  // until its end
  Step step_ = Step::Looking;
  Configuration before_, joint_, stable_;
  Members target_;
  std::vector<std::string> observers_;
  std::vector<ConnectionOptions> named_, observing_;
  std::vector<Node *> candidates_;
  bool keeps_nodes_ = false;
  int32_t votes_ = 0;
  NodeSet open_ = 0, acknowledged_ = 0;
  bool is_carrying_over_ = false;
  Nanos give_up_at_ = 0;  // by the runtime's clock
  Nanos settled_at_ = 0;  // by the lease clock
  std::string why_;
};

}  // namespace

void reconfigure(Instance &instance, const NodesChange &change, AskDone done) {
  std::make_shared<Reconfiguring>(instance, std::move(done))->begin(change);
}

}  // namespace liblock::quorum
