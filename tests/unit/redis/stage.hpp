// SPDX-License-Identifier: MIT
// A server and two processes with an instance of the Redis context each.
#pragma once

#include "redis/instance.hpp"
#include "sim/process.hpp"

namespace unit {

using Wanted = WantedOf<liblock::AcquireRequest>;

class Process : public ProcessOf<liblock::Instance, liblock::AcquireRequest> {
 public:
  Process(World &world, const std::string &name, const Node &node, liblock::InstanceOptions options = {})
      : ProcessOf(world, name, [&](const std::shared_ptr<Host> &host, const std::string &id) {
          options.connection.address.target.host = "sim";
          options.connection.address.target.port = node.port();
          return std::make_shared<liblock::Instance>(host, options, id, host->clock(), world.random.next());
        }) {}
};

// One server and two processes, which most tests need.
struct Stage {
  explicit Stage(uint64_t seed = 1, const liblock::InstanceOptions &options = {})
      : world(seed),
        node(world.add_node("server")),
        a(world, "a", node, options),
        b(world, "b", node, options) {}
  bool is_free(const std::string &key) { return node.ask({"EXISTS", "liblock:" + key}).is(0); }

  World world;
  Node &node;
  Process a, b;
};

}  // namespace unit
