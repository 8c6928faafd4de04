// SPDX-License-Identifier: MIT
// Looks at what the servers of a quorum answer, and counts what happens there. It also knows which of them may have
// forgotten tokens: from a loss, or a restart after which nobody can tell, until one is told a floor.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "seeds.hpp"
#include "sim/node.hpp"

namespace unit {

class QuorumWatch {
 public:
  using Node = liblock_test::sim::Node;
  QuorumWatch(const liblock_test::sim::World &world, liblock_test::Counters &counters)
      : world_(world), counters_(counters) {}
  void watch(Node &node);
  // Of whom so many must vote.
  void set_voters(const std::vector<Node *> &voters, size_t votes);
  // A node was told a configuration.
  std::function<void()> on_configured;
  // This server may have forgotten what it knew.
  void forgot(const Node &node);
  // A lock under this id was given back: nothing that was asked for before can be carried out after that time.
  void gave_back(const std::string &id, liblock::Nanos until) { gave_back_[id] = until; }
  // What was carried out nevertheless; empty: nothing.
  const std::string &carried_out_late() const { return carried_out_late_; }
  // Whether so many would have, with this one, that a token may be known to none of those that vote next.
  bool is_last_to_know(const Node &node) const;
  // So many have at once that a token may be known to none of those that vote next.
  bool is_by_clock() const { return is_by_clock_; }

 private:
  struct State {
    bool forgot = false;
    uint64_t removed = 0;
    std::map<std::string, int64_t> claims;  // until when each key is kept for somebody, by the server's clock
  };
  using Words = liblock_test::sim::Words;
  using Reply = liblock_test::lua_shim::Reply;

  void saw(Node &node, State &state, const Words &words, const Reply &reply);
  void saw_script(Node &node, State &state, const std::string &name, const Words &words, const Reply &reply);
  void saw_acquire(Node &node, State &state, const Words &words, const Reply &reply);
  void saw_extend(Node &node, const Words &words, const Reply &reply);
  void saw_release(Node &node, State &state, const Words &words, const Reply &reply);

  size_t count_forgetful(const Node *without) const;
  void look_at_clock();
  void wrote(const Node &node, const std::string &id);

  const liblock_test::sim::World &world_;
  liblock_test::Counters &counters_;
  std::vector<Node *> voters_;
  size_t votes_ = 0;
  std::map<const Node *, State> states_;
  bool is_by_clock_ = false;
  std::unordered_map<std::string, liblock::Nanos> gave_back_;
  std::string carried_out_late_;
};

}  // namespace unit
