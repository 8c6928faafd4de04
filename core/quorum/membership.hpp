// SPDX-License-Identifier: MIT
// Which configuration this instance goes by, and which of its servers are the nodes of it. Marks what has no mark;
// takes over a newer configuration from whoever has one, and brings nodes that have an older one up to it. Loop
// thread.
//
//   nodes have         then
//   no mark, any       the configuration that their addresses give (alike for all who name them) is theirs: they are
//                      marked, and silent for max_ttl_ms, once as many answer as must vote
//   a mark, some       the newest of theirs counts; those without a mark join it, and are silent
//   marks of others    that of most counts; whoever belongs to another cluster is refused. Until half of those that
//                      were named have been of it, no lock is granted, since a stranger may stand in a node's place,
//                      nor by a cluster of which no more are than of another one; and until a lock was asked for, the
//                      cluster of more of them is gone over to. From one that was begun here nobody goes over
//   no mark, and one   nothing is marked: what was named by mistake (a replica, a server twice) would be in the
//   is refused         configuration for good
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "quorum/configuration.hpp"
#include "quorum/node.hpp"

namespace liblock::quorum {

class Membership {
 public:
  explicit Membership(Instance &instance) : instance_(instance) {}

  // A node has said what it is; or its state is another one.
  void heard(Node &node);
  void changed(Node &node);

  bool is_known() const { return known_; }
  // Half of the servers that were named, and more than were of another cluster, have said that they are of its cluster,
  // or were.
  bool is_vouched_for() const { return vouched_for_; }
  Failure why_not_vouched_for() const;
  // A lock is asked for by it: it is not gone over from any more.
  void use() { was_used_ = true; }
  const Configuration &configuration() const { return configuration_; }
  Nanos max_ttl() const { return nanos_from_ms(configuration_.max_ttl_ms); }
  NodeSet ready() const;
  // No more will be known soon than is.
  bool is_settled() const;
  // Nothing is marked before a server that was named and refused is there, or is named no more, nor before as many
  // answer as must vote.
  bool is_held_up() const;
  // Of a lock on these nodes. votes 0: of all nodes what the configuration or the context says, of a subset all.
  QuorumRule rule(NodeSet subset, int32_t votes) const;
  // The least that anybody's lock may need.
  QuorumRule least_rule() const { return rule_of(0); }
  // Those that know of every token: in a joint configuration the old nodes, which were there before it as well.
  QuorumRule knowing_rule() const {
    const Members &now = configuration_.now;
    return {nodes_of(now), now.votes, static_cast<uint32_t>(now.all.size())};
  }
  // Those named by id or address; false: one is none of ours.
  bool find(const std::vector<std::string> &names, NodeSet &nodes) const;
  bool is_member(const Node &node) const {
    return ((nodes_of(configuration_.now) | nodes_of(configuration_.next)) & node.bit()) != 0;
  }
  // It was a node, as it seems, before another took its place: it has the mark of one that the configuration has no
  // more, or none, where half of the named servers are of the quorum.
  bool was_exchanged(const Node &node) const;
  // More than half of the servers that the url names have this quorum's mark: no other one can be meant as well.
  bool has_most_of_what_is_named() const;
  // It was named when others were looked at, and so marked, by whoever named it not; nobody has begun their quorum.
  bool was_left_out(const Node &node) const;
  // Takes over a configuration that the caller has brought to a quorum of nodes.
  void adopt(const Configuration &configuration);
  // The same of one for which the caller has just marked all the servers that were named: they are not what they last
  // said, and it is not gone over from any more.
  void begin(const Configuration &configuration);

 private:
  class MarkCall;
  QuorumRule rule_of(int32_t votes) const;
  NodeSet nodes_of(const Members &members) const;
  void decide();
  uint32_t votes_to_begin() const;
  void look_again();
  size_t marked_by(const std::string &cluster) const;
  const Node &itself(size_t named) const;
  bool is_contested() const;
  void count_vouchers();
  bool is_rather(const Configuration &one, const Configuration &other) const;
  bool has_met_strangers(const std::string &cluster) const;
  bool names_half_of_it() const;
  void go_over_to(const Configuration &configuration);
  bool is_one_of_its_kind(const Node &node) const;
  void forget_strangers();
  void refuse_copies();
  void place(Node &node);
  void tell(Node &node, std::unique_ptr<MarkCall> call);
  void mark(Node &node, const std::string &node_id);
  void bring_up(Node &node, const Configuration::Identity &identity);
  bool stands_for(const Node &node, const Member &member) const;
  Node *find_node(const Member &member) const;
  void add_missing_nodes();

  Instance &instance_;
  bool known_ = false;
  bool was_held_up_ = false;
  bool vouched_for_ = false;
  bool was_used_ = false;
  Configuration configuration_;
};

}  // namespace liblock::quorum
