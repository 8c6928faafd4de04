// SPDX-License-Identifier: MIT
// A world in one thread: hosts that run the library's own code, servers that run its own scripts, and a network
// between them, under one time that nothing but this moves. What happens follows from the seed and from what the
// test does, so that a failure can be replayed.
//
//   time       true time; each host and each server has a clock of its own that is set and goes as the test says
//   event      something at a time: bytes arrive, a connection opens or ends, whatever the test asked for
//   turn       a host's loop once round: its tasks, its timers, what it sends, what it tells the user; only hosts
//              that have something to do turn
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "happening.hpp"
#include "kernel.hpp"

namespace liblock_test::sim {

using liblock::kMillisecond;
using liblock::Nanos;

class Host;
class Link;
class Node;

class World {
 public:
  explicit World(uint64_t seed = 1);
  ~World();
  World(const World &) = delete;
  World &operator=(const World &) = delete;

  Nanos now() const { return now_; }
  liblock::Random random;
  uint64_t writes = 0;       // of hosts, to whatever they are connected with
  uint64_t connections = 0;  // that hosts have begun to make
  Trace trace;               // of all that has arrived anywhere: equal for two runs of one seed

  // A bytes' way in one direction, drawn anew for each piece; those of one connection never overtake. A link can
  // have its own.
  Nanos delay_least = kMillisecond / 10;
  Nanos delay_most = kMillisecond / 10;
  size_t piece_bytes_max = SIZE_MAX;  // what is written arrives in pieces of at most so many
  Nanos delay() { return delay_least + random.up_to(delay_most - delay_least); }

  template <typename Do>
  void at(Nanos when, Do what) {
    happenings_.add(when < now_ ? now_ : when, std::move(what));
  }
  template <typename Do>
  void after(Nanos time, Do what) {
    at(now_ + time, std::move(what));
  }
  void run_for(Nanos time);
  void run_ms(int64_t ms) { run_for(ms * kMillisecond); }
  // Until it holds, at most so long; says whether it does.
  bool run_until(const std::function<bool()> &holds, int64_t ms_max);

  Host &add_host(const std::string &name);
  // Reached by its number as port, from 1 on.
  Node &add_node(const std::string &name);
  Node *node_at(uint16_t port);
  // From now on connections to this node's port reach another one.
  void redirect(const Node &from, Node &to);
  Link &link(Host &host, const Node &node);
  const std::vector<std::unique_ptr<Node>> &nodes() const { return nodes_; }
  const std::vector<std::shared_ptr<Host>> &hosts() const { return hosts_; }

 private:
  void turn_hosts();
  Nanos next_wake() const;
  void move_to(Nanos time);
  bool step(Nanos until);  // false: nothing happens before

  KernelRandom kernel_random_;
  Nanos now_ = 0;
  Happenings happenings_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Node *> by_port_;
  std::vector<std::shared_ptr<Host>> hosts_;
};

}  // namespace liblock_test::sim
