// SPDX-License-Identifier: MIT
// Servers and processes with an instance of the quorum context each, in a simulated world.
#pragma once

#include "quorum/founding.hpp"
#include "quorum/instance.hpp"
#include "sim/process.hpp"

namespace unit {

using Wanted = WantedOf<liblock::quorum::Request>;

inline liblock::QuorumOptions over(const std::vector<Node *> &nodes, liblock::QuorumOptions options = {}) {
  options.nodes.clear();
  for (const Node *node : nodes) {
    liblock::ConnectionOptions connection;
    connection.address.target.host = "sim";
    connection.address.target.port = node->port();
    connection.command_timeout = 200 * kMillisecond;
    options.nodes.push_back(connection);
  }
  return options;
}

class Process : public ProcessOf<liblock::quorum::Instance, liblock::quorum::Request> {
 public:
  // Its time of day is the world's, and as far ahead as is said.
  Process(World &world, const std::string &name, const liblock::QuorumOptions &options, int64_t ahead_us = 0)
      : ProcessOf(world, name, [&](const std::shared_ptr<Host> &host, const std::string &id) {
          const auto wall_us = [&world, ahead_us] {
            return 1'700'000'000'000'000 + world.now() / 1'000 + ahead_us;
          };
          auto instance = std::make_shared<liblock::quorum::Instance>(host, options, id, host->clock(),
                                                                      world.random.next(), wall_us);
          run_once(*host, [instance] { instance->start(); });
          return instance;
        }) {}
  std::shared_ptr<Answered> found(bool by_force = false) {
    return ask([=, this](auto done) { liblock::quorum::found(instance(), by_force, done); });
  }
};

struct Stage {
  explicit Stage(size_t servers = 5, uint64_t seed = 1, bool founds = true,
                 const liblock::QuorumOptions &options = {})
      : world(seed) {
    for (size_t i = 0; i < servers; ++i) nodes.push_back(&world.add_node("n" + std::to_string(i + 1)));
    a = std::make_unique<Process>(world, "a", over(nodes, options));
    world.run_ms(50);
    if (founds) {
      const auto founded = a->found();
      world.run_ms(50);
      EXPECT(founded->is(Status::OK));
    }
    b = std::make_unique<Process>(world, "b", over(nodes, options));
    world.run_ms(50);
  }
  // On how many servers somebody has it.
  size_t held_on(const std::string &key) {
    size_t held = 0;
    for (Node *node : nodes) held += node->ask({"EXISTS", "liblock:" + key}).is(1);
    return held;
  }
  // A record as the scripts write it, of nobody who lives.
  static std::string record(char id, uint64_t token, const std::string &value, uint64_t version = 1,
                            const std::string &instance = "x") {
    return "ll1|" + std::string(32, id) + "|00000000|" + std::to_string(token) + "|" + instance + "/1/o|" +
           instance + "|@1700000000000000,30000,c," + std::to_string(version) + ",5,0|" + value;
  }
  void write(const std::vector<size_t> &on, const std::string &key, const std::string &record,
             int64_t px_ms = 30'000) {
    for (const size_t n : on) nodes[n]->ask({"SET", "liblock:" + key, record, "PX", std::to_string(px_ms)});
  }
  std::string value_on(size_t node, const std::string &key) {
    const auto held = nodes[node]->ask({"GET", "liblock:" + key});
    return held.text.substr(held.text.rfind('|') + 1);
  }
  uint64_t calls_of(size_t node) const { return nodes[node]->script_calls(); }

  World world;
  std::vector<Node *> nodes;
  std::unique_ptr<Process> a, b;
};

}  // namespace unit
