// SPDX-License-Identifier: MIT
// A process that holds a key over five nodes and another one that has spoken with them, for tests of the front.
#pragma once

#include "stage.hpp"

namespace unit::front {

using What = Ask::What;

inline liblock::QuorumOptions with_front(int64_t budget_ms = 0, int64_t gap_ms = -1) {
  liblock::QuorumOptions options;
  options.front_budget = liblock::nanos_from_ms(budget_ms);
  options.foreign_gap_ms = gap_ms;
  return options;
}

// `a` holds the key, and both have spoken with all nodes and listen.
struct Scene : Stage {
  explicit Scene(const liblock::QuorumOptions &options = with_front(),
                 const AcquireParams &params = waiting_ms(10'000))
      : Stage(5, 1, true, options), held(a->take("k", params)) {
    b->release(b->take("other").grant().handle);
    world.run_ms(50);
  }
  uint64_t calls() const {
    uint64_t all = 0;
    for (const Node *node : nodes) all += node->script_calls();
    return all;
  }
  std::string record(size_t node) { return nodes[node]->ask({"GET", "liblock:k"}).text; }
  uint64_t fence(size_t node) {
    const std::string text = nodes[node]->ask({"GET", "ll1:f:{liblock:k}"}).text;
    return text.empty() ? 0 : std::stoull(text);
  }
  // On how many nodes who is granted the key next must have a larger token than that.
  int exceeding(uint64_t token) {
    int count = 0;
    for (size_t n = 0; n < nodes.size(); ++n) count += fence(n) >= token;
    return count;
  }
  int recorded(const std::string &what) {
    int count = 0;
    for (size_t n = 0; n < nodes.size(); ++n) count += record(n).find(what) != std::string::npos;
    return count;
  }
  int64_t queued(size_t node = 0) { return nodes[node]->ask({"ZCARD", "ll1:k:{liblock:k}"}).integer; }
  uint64_t passed_on() { return a->instance().counts.passed_on.load(); }
  std::vector<Wanted *> line_of(int count, const AcquireParams &params = waiting_ms(600'000)) {
    std::vector<Wanted *> line;
    for (int i = 0; i < count; ++i) {
      line.push_back(&a->acquire({"k"}, params));
      world.run_ms(1);
    }
    return line;
  }
  // Less than any way to a node.
  void in_no_time() { world.run_for(kMillisecond / 100); }
  Wanted &held;
};

}  // namespace unit::front
