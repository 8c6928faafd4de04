// SPDX-License-Identifier: MIT
// See quorum_run.hpp. Operators give the quorum other nodes while it is at work, some of them die of it, and others
// finish what they began. What counts as a quorum is read from the servers, whenever one of them is told.
#include <algorithm>
#include <cstdlib>

#include "quorum_run.hpp"

namespace unit {

using liblock::quorum::Configuration;
using liblock::quorum::Member;
using liblock::quorum::Members;

namespace {

std::string url_of(const Node &node) { return "redis://sim:" + std::to_string(node.port()); }

// Whose mark it has; empty: nobody's.
std::string cluster_of(Node &node) {
  Configuration::Identity identity;
  return Configuration::parse_who(node.ask({"HGET", "ll1:node", "who"}).text, identity) ? identity.cluster : "";
}

}  // namespace

std::vector<Node *> QuorumRun::nodes_of(const Members &members) const {
  std::vector<Node *> all;
  for (Node *node : nodes_) {
    const std::string address = url_of(*node) + "/0";
    const bool is_one = std::any_of(members.all.begin(), members.all.end(),
                                    [&](const Member &member) { return member.address == address; });
    if (is_one) all.push_back(node);
  }
  return all;
}

// The newest configuration that a quorum was told is the one by which leases count, also where it is lost afterwards.
void QuorumRun::look_at_configuration() {
  std::map<std::string, std::vector<Node *>> told;
  for (Node *node : nodes_) {
    const std::string record = node->ask({"HGET", "ll1:node", "record"}).text;
    if (!record.empty()) told[record].push_back(node);
  }
  for (const auto &[record, nodes] : told) {
    Configuration found;
    if (!Configuration::parse(record, found)) continue;
    const bool is_another = found.cluster != standing_.cluster && standing_.epoch != 0;
    if (is_another ? can_vote_again() : found.epoch <= standing_.epoch) continue;
    const auto stands_on = [&, of = &nodes](const Members &members) {
      const std::vector<Node *> all = nodes_of(members);
      const auto count = std::count_if(all.begin(), all.end(), [&](Node *node) {
        return std::find(of->begin(), of->end(), node) != of->end();
      });
      return static_cast<uint32_t>(count) >= members.votes;
    };
    if (!stands_on(found.now) || (found.is_joint() && !stands_on(found.next))) continue;
    say("the configuration of epoch %llu stands%s", static_cast<unsigned long long>(found.epoch),
        found.is_joint() ? ", and is joint" : "");
    if (is_another) {
      ++counters_["quorums_forgotten"];
      was_forgotten_ = true;
    }
    standing_ = found;
    voters_ = nodes_of(found.now);
    votes_ = found.now.votes;
    watch_.set_voters(voters_, votes_);
    ++counters_[found.is_joint() ? "joint_stood" : "changes_stood"];
  }
}

// Whether as many nodes of the quorum that stands are left as must vote: others have the mark of a quorum that whoever
// came next began, since they had lost their data, and no context that knew of theirs had told them again. Of a joint
// configuration either half may be the one that goes on.
bool QuorumRun::can_vote_again() const {
  const auto may_be_of_it = [&](Node *node) {
    const std::string cluster = cluster_of(*node);
    return cluster.empty() || cluster == standing_.cluster;
  };
  const auto can_vote = [&](const Members &members) {
    const std::vector<Node *> all = nodes_of(members);
    return std::count_if(all.begin(), all.end(), may_be_of_it) >= static_cast<ptrdiff_t>(members.votes);
  };
  return can_vote(standing_.now) || (standing_.is_joint() && can_vote(standing_.next));
}

// Whoever goes by a quorum that was forgotten is granted nothing. Operators open it anew, and empty what it took of the
// nodes of the other one.
void QuorumRun::open_forgotten_anew() {
  if (!was_forgotten_) return check_clusters();
  for (size_t i = 0, count = processes_.size(); i < count && wrong_.empty(); ++i) {
    Process &process = *processes_[i];
    if (process.host().is_killed() || !goes_by_another(process)) continue;
    Wanted &lock = process.acquire({"k0"}, without_waiting(swarm_.max_ttl_ms, false));
    world_.run_until([&] { return lock.ended(); }, 2 * swarm_.time_out_ms + 1'000);
    if (!lock.is(Status::NO_QUORUM) && !lock.is(Status::QUARANTINED))
      return wrong("p" + std::to_string(i) + " is not refused by a quorum that is not its own");
    say("p%zu is opened anew", i);
    ++counters_["opened_anew"];
    process.host().kill();
    add_process();
  }
  for (Node *node : nodes_) {
    const std::string cluster = cluster_of(*node);
    if (cluster.empty() || cluster == standing_.cluster) continue;
    node->flush_data();
    watch_.forgot(*node);
  }
  world_.run_for(swarm_.max_ttl() * 21 / 10 + 2'000 * kMillisecond);
  check_clusters();
}

bool QuorumRun::goes_by_another(Process &process) const {
  const auto &membership = process.instance().membership;
  return standing_.epoch != 0 && membership.is_known() && membership.configuration().cluster != standing_.cluster;
}

void QuorumRun::check_clusters() {
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (!processes_[i]->host().is_killed() && goes_by_another(*processes_[i]))
      wrong("p" + std::to_string(i) + " goes by another quorum than the one that stands");
  }
}

// Some of those that there are, and some new ones.
std::vector<Node *> QuorumRun::draw_nodes() {
  std::vector<Node *> drawn = voters_;
  const bool may_grow = drawn.size() < 7 && nodes_.size() < swarm_.servers + 5;
  const int64_t kind = roll(3);
  const bool removes = kind != 0 || !may_grow, adds = kind != 1 && may_grow;
  for (int64_t count = 1 + (one_in(4) ? 1 : 0); count > 0; --count) {
    if (removes && (drawn.size() > 3 || adds))
      drawn.erase(drawn.begin() + roll(static_cast<int64_t>(drawn.size())));
    if (adds) drawn.push_back(&add_spare_node());
  }
  return drawn;
}

Node &QuorumRun::add_spare_node() {
  Node &node = world_.add_node("n" + std::to_string(nodes_.size() + 1));
  nodes_.push_back(&node);
  watch_.watch(node);
  watch_.forgot(node);
  for (const auto &process : processes_) set_link(process->host(), node);
  return node;
}

void QuorumRun::begin_change(size_t by, const std::vector<Node *> &nodes, int32_t votes) {
  std::string names;
  for (const Node *node : nodes) names += " n" + std::to_string(node->port());
  say("p%zu changes the nodes to%s", by, names.c_str());
  ++counters_["changes_begun"];
  if (standing_.is_joint()) ++counters_["changes_taken_up"];
  ask(
      by, "set_nodes", Ask::What::SetNodes,
      [&](Ask &asked) {
        for (const Node *node : nodes) asked.change.servers.push_back(url_of(*node));
        asked.change.votes = votes;
      },
      [this, nodes](Question &ended) {
        --changes_open_;
        say("a change of nodes is %s %s", liblock::status_name(static_cast<liblock_status>(ended.status)),
            ended.message.c_str());
        if (!ended.is(Status::OK)) return;
        if (nodes == goal_) goal_.clear();
        name_nodes(nodes);
      });
  ++changes_open_;
}

// Whoever comes from now on is told of these.
void QuorumRun::name_nodes(const std::vector<Node *> &nodes) {
  options_ = over(nodes, options_);
  options_.defaults.command_timeout = options_.defaults.connect_timeout = swarm_.time_out_ms * kMillisecond;
  for (auto &node : options_.nodes) {
    node.command_timeout = swarm_.time_out_ms * kMillisecond;
    node.connect_timeout = swarm_.time_out_ms * kMillisecond;
  }
}

void QuorumRun::change_nodes() {
  next_change_ = world_.now() + (200 + roll(3 * swarm_.max_ttl_ms)) * kMillisecond;
  const bool is_able = operator_ != 0 && !processes_[operator_]->host().is_killed();
  if (is_able && changes_open_ != 0) {
    // Whoever dies in the middle leaves it to the next.
    if (!one_in(3)) return;
    fault("operator_kill");
    processes_[operator_]->host().kill();
    changes_open_ = 0;
    return;
  }
  if (!is_able) {
    changes_open_ = 0;
    if (processes_.size() >= 14) return;
    add_process();
    set_network(processes_.back()->host());
    operator_ = processes_.size() - 1;
    next_change_ = world_.now() + 300 * kMillisecond;
    return;
  }
  if (processes_[operator_]->host().is_paused()) return;
  if (standing_.is_joint())
    return begin_change(operator_, nodes_of(standing_.next), static_cast<int32_t>(standing_.next.votes));
  if (goal_.empty()) goal_ = draw_nodes();
  begin_change(operator_, goal_, votes_of(goal_));
}

int32_t QuorumRun::votes_of(const std::vector<Node *> &nodes) const {
  return swarm_.asks_more && nodes.size() > 3 ? static_cast<int32_t>(nodes.size() / 2 + 2) : 0;
}

// In peace, whatever was begun comes to its end.
void QuorumRun::finish_change() {
  if (!standing_.is_joint()) return;
  const std::vector<size_t> able = free_processes();
  bool is_over = false;
  Status status = Status::INTERNAL;
  const std::vector<Node *> nodes = nodes_of(standing_.next);
  ask(
      able.back(), "set_nodes_in_peace", Ask::What::SetNodes,
      [&](Ask &asked) {
        for (const Node *node : nodes) asked.change.servers.push_back(url_of(*node));
        asked.change.votes = static_cast<int32_t>(standing_.next.votes);
      },
      [&](Question &ended) {
        is_over = true;
        status = ended.status;
      });
  world_.run_until([&] { return is_over; }, 3 * swarm_.max_ttl_ms + 5'000);
  if (!is_over || status != Status::OK)
    wrong(std::string("a change of nodes does not come to its end in peace: ") +
          liblock::status_name(static_cast<liblock_status>(status)));
}

}  // namespace unit
