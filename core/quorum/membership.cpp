// SPDX-License-Identifier: MIT
// See membership.hpp.
#include "quorum/membership.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/mutant.hpp"
#include "quorum/instance.hpp"

namespace liblock::quorum {

namespace {

// What its mark names the node in that cluster; empty: it has none of it.
std::string id_in(const std::string &cluster, const Node &node) {
  Configuration::Identity identity;
  const bool is_of_it = Configuration::parse_who(node.hello().who, identity) && identity.cluster == cluster;
  return is_of_it ? identity.node : std::string();
}

std::string why_left_out(const Configuration &configuration) {
  std::string text = "it is no node of a quorum that somebody's look at others made, and nobody has begun; once every "
                     "context that names those is closed, DEL ll1:node there:";
  for (const Member &member : configuration.now.all) text += " " + member.address;
  return text;
}

// Looking at servers marks them, and so gives some to a quorum that nobody begins.
const char *why_a_stranger(const Hello &hello) {
  if (hello.never_voted() && hello.configuration.epoch == 1)
    return "it has the mark of another quorum, in which it has not voted; name the servers of that one, or, where "
           "nobody has begun it, DEL ll1:node takes the mark away, once no context names the others of it";
  return "it belongs to another quorum; name the servers of one; where the own one lost the data of so many nodes that "
         "it cannot vote any more, close the context, and open it with the nodes of the other one; where that one is "
         "given up, FLUSHALL, which takes all that the server has, gives it to this one";
}

// It would be asked and told in turn for ever, as fast as the network goes.
constexpr const char *kForgetful =
    "it answers that it has the quorum's mark, and shows another one or none at the next look; see what deletes or "
    "restores its keys";

}  // namespace

// Marks a server, or takes it from an older configuration to ours. Whatever it answers, it is asked anew what it is.
class Membership::MarkCall final : public ServerCall {
 public:
  MarkCall(Node &node, const Configuration &configuration, const std::string &node_id) : node_(node) {
    begin(scripts::mark);
    key(kNodeKey);
    argument(configuration.who(node_id));
    argument(node.boot());
    argument(configuration.to_text());
    argument(configuration.max_ttl_ms);
    argument(configuration.trusts_disk ? Bytes("1") : Bytes("0"));
    argument(Bytes("join"));
    // It may have been a node before, under an id that no node has any more.
    if (!node.hello().who.empty()) argument(node.hello().who);
  }
  MarkCall(Node &node, const Configuration &configuration, const std::string &node_id,
           const std::string &before)
      : node_(node) {
    begin(scripts::configure);
    key(kNodeKey);
    argument(before);
    argument(configuration.who(node_id));
    argument(node.boot());
    argument(configuration.to_text());
    argument(configuration.max_ttl_ms);
  }
  bool fits(const Reply &reply) const override { return reply.has_integers(1, 1); }
  void answered(const Reply &) override { end(); }
  void failed(const Failure &failure) override {
    if (!failure.sent && failure.status != Status::CLOSED && failure.status != Status::CONNECT) {
      Node &node = node_;
      delete this;
      return node.refuse(failure.status, failure.text);
    }
    delete this;
  }

 private:
  void end() {
    Node &node = node_;
    delete this;
    node.look_again();
  }
  Node &node_;
};

NodeSet Membership::ready() const {
  NodeSet nodes = 0;
  for (const auto &node : instance_.nodes()) {
    if (node->is_ready()) nodes |= node->bit();
  }
  return nodes;
}

bool Membership::is_settled() const {
  const auto &nodes = instance_.nodes();
  return is_held_up() ||
         std::none_of(nodes.begin(), nodes.end(), [](const auto &node) { return node->is_on_its_way(); });
}

// One that has not said yet which it is, or is another one now, stands for whom its address means.
bool Membership::stands_for(const Node &node, const Member &member) const {
  return node.id == member.id ||
         (configuration_.find_id(node.id) == nullptr && node.address == member.address);
}

Node *Membership::find_node(const Member &member) const {
  for (const auto &node : instance_.nodes()) {
    if (stands_for(*node, member)) return node.get();
  }
  return nullptr;
}

// Of the servers that were named, who come first: those that a configuration names speak for it in any case. Copies of
// one node's data count once, and a server that is known by another name as well counts by that.
size_t Membership::marked_by(const std::string &cluster) const {
  std::set<std::string> ids;
  for (size_t i = 0; i < instance_.options.nodes.size(); ++i) ids.insert(id_in(cluster, itself(i)));
  ids.erase("");
  return ids.size();
}

const Node &Membership::itself(size_t named) const {
  const Node &node = *instance_.nodes()[named];
  return node.same_as() != nullptr ? *node.same_as() : node;
}

// As many of the named servers that are there are of one other quorum: which of the two was meant, nobody knows.
bool Membership::is_contested() const {
  const size_t of_ours = marked_by(configuration_.cluster);
  for (size_t i = 0; i < instance_.options.nodes.size(); ++i) {
    if (instance_.nodes()[i]->state() == Node::State::Down) continue;
    Configuration::Identity identity;
    const bool is_others = Configuration::parse_who(itself(i).hello().who, identity) &&
                           identity.cluster != configuration_.cluster;
    if (is_others && marked_by(identity.cluster) >= of_ours) return true;
  }
  return false;
}

bool Membership::has_most_of_what_is_named() const {
  return 2 * marked_by(configuration_.cluster) > instance_.options.nodes.size();
}

void Membership::count_vouchers() {
  const bool are_enough = 2 * marked_by(configuration_.cluster) >= instance_.options.nodes.size();
  vouched_for_ = vouched_for_ || (are_enough && !is_contested());
}

Failure Membership::why_not_vouched_for() const {
  const size_t count = instance_.options.nodes.size();
  std::string text = "of the " + std::to_string(count) + " servers that are named, " +
                     std::to_string(marked_by(configuration_.cluster)) +
                     " belong to the quorum that answers: half of them are needed, and more than belong to another "
                     "one, to tell it from a quorum that stands in its place; bring them up, or name its nodes";
  for (size_t i = 0; i < count; ++i) {
    const Node &node = *instance_.nodes()[i];
    if (!node.is_connected() && id_in(configuration_.cluster, itself(i)).empty()) text += "; " + node.why();
  }
  return {Status::NO_QUORUM, false, text, true};
}

// Whoever came while a stranger stood in a node's place, and met nobody else, went by the stranger's quorum.
bool Membership::has_met_strangers(const std::string &cluster) const {
  return known_ && !(vouched_for_ && was_used_) && cluster != configuration_.cluster &&
         marked_by(cluster) > marked_by(configuration_.cluster);
}

void Membership::go_over_to(const Configuration &configuration) {
  for (const auto &node : instance_.nodes()) node->id = id_in(configuration.cluster, *node);
  vouched_for_ = was_used_ = false;
  adopt(Configuration(configuration));
}

void Membership::heard(Node &node) {
  const Hello &hello = node.hello();
  node.set_waiting();
  Configuration::Identity identity;
  const bool is_marked = Configuration::parse_who(hello.who, identity);
  if (is_marked && has_met_strangers(hello.configuration.cluster)) return go_over_to(hello.configuration);
  // Ids are unique within a cluster only.
  const bool may_be_ours = is_marked && (!known_ || identity.cluster == configuration_.cluster);
  // An id that was removed is nobody's: its server is known by its address, and may be given another id.
  const bool was_removed =
      known_ && identity.epoch <= configuration_.epoch && configuration_.find_id(identity.node) == nullptr;
  node.id = may_be_ours && !was_removed ? identity.node : std::string();
  if (known_) refuse_copies();
  if (!node.is_connected()) return;
  const bool is_of_ours = known_ && is_marked && identity.cluster == configuration_.cluster;
  if (is_of_ours && identity.epoch > configuration_.epoch) adopt(hello.configuration);
  if (known_) {
    place(node);
    count_vouchers();
  } else {
    decide();
  }
  instance_.nodes_changed();
}

void Membership::changed(Node &) {
  if (known_) {
    count_vouchers();  // it may be another name of a node
  } else {
    decide();
  }
  instance_.nodes_changed();
}

bool Membership::is_held_up() const {
  const auto &nodes = instance_.nodes();
  const auto count = [&](Node::State state) {
    const auto is_in = [&](const auto &n) { return n->state() == state; };
    return static_cast<size_t>(std::count_if(nodes.begin(), nodes.end(), is_in));
  };
  if (known_ || count(Node::State::Connecting) != 0) return false;
  return count(Node::State::Refused) != 0 || count(Node::State::Waiting) < votes_to_begin();
}

// Fewer without a mark are no quorum that could ever vote, and may be those that lost theirs: of a quorum that was
// begun with other nodes than are named now, to which they would be lost as another one's.
uint32_t Membership::votes_to_begin() const {
  return votes_needed(instance_.options.votes, instance_.options.nodes.size());
}

// The newest of those that most of the servers go by: one may be a node of another quorum.
bool Membership::is_rather(const Configuration &one, const Configuration &other) const {
  const size_t of_one = marked_by(one.cluster), of_other = marked_by(other.cluster);
  return of_one != of_other ? of_one > of_other : one.epoch > other.epoch;
}

// The first configuration: that of the servers which have one, once all have spoken that will.
void Membership::decide() {
  const auto &nodes = instance_.nodes();
  const bool all_spoke = std::none_of(nodes.begin(), nodes.end(), [](const auto &n) {
    return n->state() == Node::State::Connecting || (n->state() == Node::State::Waiting && n->is_asked());
  });
  if (!all_spoke) return;
  const Configuration *newest = nullptr;
  std::vector<std::string> addresses;
  size_t answering = 0;
  for (const auto &node : nodes) {
    addresses.push_back(node->address);
    if (node->state() != Node::State::Waiting) continue;
    ++answering;
    const Hello &hello = node->hello();
    if (!hello.who.empty() && (newest == nullptr || is_rather(hello.configuration, *newest)))
      newest = &hello.configuration;
  }
  if (answering == 0) return;
  const QuorumOptions &options = instance_.options;
  if (newest != nullptr) return adopt(Configuration(*newest));
  if (is_held_up()) {
    was_held_up_ = true;
    return;
  }
  if (std::exchange(was_held_up_, false)) return look_again();
  adopt(Configuration::first(addresses, votes_to_begin(), options.max_ttl / kMillisecond,
                             options.restart == QuorumOptions::Restart::TrustFsync));
}

// Others may have marked them since they said that they have no mark.
void Membership::look_again() {
  for (const auto &node : instance_.nodes()) {
    if (node->state() == Node::State::Waiting) node->look_again();
  }
}

void Membership::adopt(const Configuration &configuration) {
  const bool is_new = !known_ || !(configuration_ == configuration);
  if (known_ && is_new) instance_.waiting.configuration_changed();
  configuration_ = configuration;
  known_ = true;
  if (is_new && configuration.epoch > 1)
    instance_.events.emit_node(
        LIBLOCK_EVENT_CONFIGURED, Status::OK,
        "the quorum goes by the configuration of epoch " + std::to_string(configuration.epoch), {},
        configuration.now.all.size());
  if (is_new) instance_.observers.follow(configuration);
  forget_strangers();
  refuse_copies();
  add_missing_nodes();
  for (const auto &node : instance_.nodes()) {
    if (node->state() == Node::State::Waiting || node->state() == Node::State::Ready) place(*node);
  }
  count_vouchers();
  instance_.nodes_changed();
}

void Membership::begin(const Configuration &configuration) {
  for (size_t i = 0; i < instance_.options.nodes.size(); ++i) instance_.nodes()[i]->was_marked();
  vouched_for_ = was_used_ = true;
  adopt(configuration);
}

// Nodes that the configuration names and nobody named here are reached as the others are. A server that answers by
// another one's id, whose data it has, is known already: two of it would count as two nodes.
void Membership::add_missing_nodes() {
  const auto is_known_as = [&](const std::string &address) {
    const auto &nodes = instance_.nodes();
    return std::any_of(nodes.begin(), nodes.end(), [&](const auto &n) { return n->address == address; });
  };
  for (const Members *members : {&configuration_.now, &configuration_.next}) {
    for (const Member &member : members->all) {
      if (find_node(member) == nullptr && !is_known_as(member.address)) instance_.add_node(member.address);
    }
  }
}

// Nodes that were heard before it was known whose cluster it is.
void Membership::forget_strangers() {
  for (const auto &node : instance_.nodes()) {
    Configuration::Identity identity;
    const bool is_marked = Configuration::parse_who(node->hello().who, identity);
    if (is_marked && identity.cluster != configuration_.cluster) node->id.clear();
  }
}

// Whether no other server answers by the same id, or this is the one that the configuration means.
bool Membership::is_one_of_its_kind(const Node &node) const {
  const Member *member = node.id.empty() ? nullptr : configuration_.find_id(node.id);
  if (member == nullptr || member->address == node.address) return true;
  const auto &nodes = instance_.nodes();
  return std::none_of(nodes.begin(), nodes.end(), [&](const auto &other) {
    const bool is_meant = member->address == other->address || other->index < node.index;
    return other.get() != &node && other->is_connected() && other->id == node.id && is_meant;
  });
}

void Membership::refuse_copies() {
  const auto &nodes = instance_.nodes();
  for (size_t i = 0; i < nodes.size(); ++i) {
    Node &node = *nodes[i];
    if (!node.is_connected() || is_one_of_its_kind(node)) continue;
    node.id.clear();
    node.refuse(Status::INVALID_ARGUMENT,
                "its data is a copy of another node's; FLUSHALL, which takes all that the server has, makes it a "
                "node of its own again");
  }
}

void Membership::place(Node &node) {
  const Hello &hello = node.hello();
  if (hello.who.empty()) {
    const Member *member = configuration_.find_address(node.address);
    if (member == nullptr && node.candidacies != 0) return;
    if (member == nullptr)
      return node.refuse(Status::INVALID_ARGUMENT,
                         was_left_out(node)
                             ? why_left_out(configuration_)
                             : "it is no node of the quorum's configuration; add it with liblock_quorum_set_nodes, or "
                               "name it as the configuration does");
    return mark(node, member->id);
  }
  Configuration::Identity identity;
  if (!Configuration::parse_who(hello.who, identity) || identity.cluster != configuration_.cluster)
    return node.refuse(Status::INVALID_ARGUMENT, why_a_stranger(hello));
  const bool is_removed = configuration_.find_id(identity.node) == nullptr;
  const bool is_at_most_ours =
      identity.epoch < configuration_.epoch || hello.who == configuration_.who(identity.node);
  const Member *again = is_removed ? configuration_.find_address(node.address) : nullptr;
  // It was a node, was removed, and is to be one again: it has missed what was granted meanwhile, as new ones have.
  if (again != nullptr && is_at_most_ours) return mark(node, again->id);
  if (identity.epoch < configuration_.epoch) return bring_up(node, identity);
  if (hello.who != configuration_.who(identity.node))
    return node.refuse(
        Status::INVALID_ARGUMENT,
        "two changes of the quorum's nodes were begun at once; run liblock_quorum_set_nodes again");
  if (is_removed && node.candidacies != 0) return;
  if (is_removed)
    return node.refuse(Status::INVALID_ARGUMENT, "it is not part of the quorum any more; name its present nodes");
  node.set_who(hello.who);
  node.set_ready(identity.node);
}

// Who names that many of its nodes, also such as are down, means this quorum.
bool Membership::names_half_of_it() const {
  const size_t named = instance_.options.nodes.size();
  size_t of_it = 0;
  for (size_t i = 0; i < named; ++i) {
    const Node &node = *instance_.nodes()[i];
    of_it += configuration_.find_address(node.address) != nullptr || !id_in(configuration_.cluster, itself(i)).empty();
  }
  return 2 * of_it >= named;
}

bool Membership::was_left_out(const Node &node) const {
  const auto is_new = [](const auto &other) { return other->hello().who.empty() || other->hello().never_voted(); };
  return known_ && configuration_.epoch == 1 && node.hello().who.empty() &&
         configuration_.find_address(node.address) == nullptr && std::ranges::all_of(instance_.nodes(), is_new);
}

bool Membership::was_exchanged(const Node &node) const {
  if (!known_ || configuration_.find_address(node.address) != nullptr) return false;
  // One that is unfit, such as another name of a node, has not been asked.
  if (node.hello().who.empty()) return names_half_of_it() && !node.boot().empty();
  Configuration::Identity identity;
  return Configuration::parse_who(node.hello().who, identity) && identity.cluster == configuration_.cluster &&
         configuration_.find_id(identity.node) == nullptr;
}

void Membership::tell(Node &node, std::unique_ptr<MarkCall> call) {
  if (!node.may_be_told()) return node.refuse(Status::PROTOCOL, kForgetful);
  node.send(*call.release());
}

void Membership::mark(Node &node, const std::string &node_id) {
  tell(node, std::make_unique<MarkCall>(node, configuration_, node_id));
}

void Membership::bring_up(Node &node, const Configuration::Identity &identity) {
  tell(node, std::make_unique<MarkCall>(node, configuration_, identity.node, node.hello().who));
}

NodeSet Membership::nodes_of(const Members &members) const {
  NodeSet nodes = 0;
  for (const auto &node : instance_.nodes()) {
    // Nearly always by its id, which is quickly compared.
    const auto has_id = [&](const Member &m) { return node->id == m.id; };
    const auto stands_for_it = [&](const Member &m) { return stands_for(*node, m); };
    const bool is_of =
        std::ranges::any_of(members.all, has_id) || std::ranges::any_of(members.all, stands_for_it);
    if (is_of) nodes |= node->bit();
  }
  return nodes;
}

QuorumRule Membership::rule_of(int32_t votes) const {
  const auto needed = [&](const Members &members) {
    const auto all = static_cast<uint32_t>(members.all.size());
    const uint32_t least = std::clamp(votes_needed(votes, all), members.votes, all);
    return LIBLOCK_MUTANT(one_vote_less) ? least - 1 : least;
  };
  const auto count = [](const Members &members) { return static_cast<uint32_t>(members.all.size()); };
  const Members &now = configuration_.now, &next = configuration_.next;
  QuorumRule rule(nodes_of(now), needed(now), count(now));
  if (configuration_.is_joint()) rule.also(nodes_of(next), needed(next), count(next));
  return rule;
}

QuorumRule Membership::rule(NodeSet subset, int32_t votes) const {
  if (subset == kEveryNode) return rule_of(votes != 0 ? votes : instance_.options.votes);
  const NodeSet of = subset & (nodes_of(configuration_.now) | nodes_of(configuration_.next));
  const auto all = static_cast<uint32_t>(std::popcount(of));
  // Of nodes that were all removed nobody has enough.
  return {of, std::max(1u, votes > 0 ? std::min(static_cast<uint32_t>(votes), all) : all)};
}

bool Membership::find(const std::vector<std::string> &names, NodeSet &nodes) const {
  nodes = 0;
  for (const std::string &name : names) {
    const auto &all = instance_.nodes();
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto &node) {
      const bool is_one = configuration_.find_id(node->id) != nullptr;
      return is_one && (node->id == name || node->address == name);
    });
    if (found == all.end()) return false;
    nodes |= (*found)->bit();
  }
  return nodes != 0;
}

}  // namespace liblock::quorum
