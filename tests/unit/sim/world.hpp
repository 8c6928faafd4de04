// SPDX-License-Identifier: MIT
// A world in one thread: hosts that run the library's own code, servers that run its own scripts, and a network
// between them, under one time that nothing but this moves. What happens follows from the seed and from what the
// test does, so that a failure can be replayed.
//
//   time       true time; each host and each server has a clock of its own that is set and goes as the test says
//   event      something at a time: bytes arrive, a connection opens or ends, whatever the test asked for
//   turn       a host's loop once round: its tasks, its timers, what it sends, what it tells the user
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/random.hpp"

namespace liblock_test::sim {

using liblock::kMillisecond;
using liblock::Nanos;

class Host;
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

  // A bytes' way in one direction, drawn anew for each piece; those of one connection never overtake.
  Nanos delay_least = kMillisecond / 10;
  Nanos delay_most = kMillisecond / 10;
  size_t piece_bytes_max = SIZE_MAX;  // what is written arrives in pieces of at most so many
  Nanos delay() { return delay_least + random.up_to(delay_most - delay_least); }

  void at(Nanos when, std::function<void()> what);
  void after(Nanos time, std::function<void()> what) { at(now_ + time, std::move(what)); }
  void run_for(Nanos time);
  void run_ms(int64_t ms) { run_for(ms * kMillisecond); }
  // Until it holds, at most so long; says whether it does.
  bool run_until(const std::function<bool()> &holds, int64_t ms_max);

  Host &add_host(const std::string &name);
  // Reached by its number as port.
  Node &add_node(const std::string &name);
  Node *node_at(uint16_t port);

 private:
  void turn_hosts();
  Nanos next_wake() const;
  bool step(Nanos until);  // false: nothing happens before

  Nanos now_ = 0;
  uint64_t events_made_ = 0;
  std::map<std::pair<Nanos, uint64_t>, std::function<void()>> events_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::shared_ptr<Host>> hosts_;
};

}  // namespace liblock_test::sim
