// SPDX-License-Identifier: MIT
// How fast the simulated world goes: six hosts that lock a few keys on five nodes each by itself, as a stand-in for
// an engine that needs a quorum of them. An operation asks all five nodes. Prints simulated seconds per second.
// Usage: bench-world SECONDS OPERATIONS [--seeds A-B ...]: operations per second, of all hosts together
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "redis/stage.hpp"
#include "seeds.hpp"

using namespace unit;

namespace {

constexpr size_t kNodes = 5, kHosts = 6, kKeys = 3;

// Instances on one host, one for each node.
struct Client {
  Client(World &world, const std::string &name, const std::vector<Node *> &nodes)
      : host(world.add_host(name).shared()) {
    host->turn();  // its clock shows its time
    for (const Node *node : nodes) {
      liblock::InstanceOptions options;
      options.connection.address.target.host = "sim";
      options.connection.address.target.port = node->port();
      const std::string id = name + "." + std::to_string(node->port());
      instances.push_back(
          std::make_shared<liblock::Instance>(host, options, id, host->clock(), world.random.next()));
      nobodies.push_back(std::make_shared<liblock::RemoteOwner>(this, id, 0, "", false));
      instances.back()->unnamed = nobodies.back();
    }
    held.resize(nodes.size());
  }
  void acquire(const std::string &key) {
    for (size_t i = 0; i < held.size(); ++i)
      held[i] = std::make_unique<Wanted>(*instances[i], *nobodies[i], std::vector{key},
                                         without_waiting(3'000), host);
  }
  uint64_t give_back() {
    uint64_t count = 0;
    for (size_t i = 0; i < held.size(); ++i) {
      if (!held[i]->is(Status::OK)) continue;
      ++count;
      liblock::run_once(*host, [instance = instances[i], handle = held[i]->grant().handle] {
        instance->release(handle, [](Status, const std::string &) {});
      });
    }
    is_idle = true;
    return count;
  }
  bool has_answers() const {
    return std::all_of(held.begin(), held.end(), [](const auto &one) { return one->ended(); });
  }
  void end(World &world) {
    size_t open = instances.size();
    liblock::run_once(*host, [&] {
      for (const auto &instance : instances) instance->close(false, [&] { --open; });
    });
    EXPECT(world.run_until([&] { return open == 0; }, 10'000));
    world.run_ms(1);
    instances.clear();
  }

  const std::shared_ptr<Host> host;
  std::vector<std::shared_ptr<liblock::Instance>> instances;
  std::vector<std::shared_ptr<liblock::RemoteOwner>> nobodies;
  std::vector<std::unique_ptr<Wanted>> held;
  bool is_idle = true;
};

struct Load {
  explicit Load(uint64_t seed) : world(seed) {
    world.delay_least = kMillisecond / 5;
    world.delay_most = 5 * kMillisecond;
    for (size_t i = 0; i < kNodes; ++i) nodes.push_back(&world.add_node("n" + std::to_string(i)));
    for (size_t i = 0; i < kHosts; ++i)
      clients.push_back(std::make_unique<Client>(world, "h" + std::to_string(i), nodes));
  }
  ~Load() {
    for (const auto &client : clients) client->end(world);
  }
  void act() {
    Client &client = *clients[static_cast<size_t>(world.random.up_to(kHosts - 1))];
    if (client.is_idle) {
      client.acquire("k" + std::to_string(world.random.up_to(kKeys - 1)));
      client.is_idle = false;
    } else if (client.has_answers()) {
      grants += client.give_back();
    }
  }
  void run(int64_t ms, int64_t gap_most_us) {
    const Nanos until = world.now() + ms * kMillisecond;
    while (world.now() < until) {
      world.run_for(world.random.up_to(gap_most_us) * 1'000);
      act();
    }
  }

  World world;
  std::vector<Node *> nodes;
  std::vector<std::unique_ptr<Client>> clients;
  uint64_t grants = 0;
};

}  // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s SECONDS OPERATIONS [--seeds A-B ...]\n", argv[0]);
    return 2;
  }
  const int64_t seconds = std::strtoll(argv[1], nullptr, 10);
  const int64_t gap_most_us = 2'000'000 / std::max(1LL, std::strtoll(argv[2], nullptr, 10));
  liblock_test::SeedsOptions options;
  options.to = 10;
  if (!options.read(argc - 2, argv + 2)) return 2;
  const auto report = liblock_test::run_seeds(
      "bench-world", options, [&](uint64_t seed, liblock_test::Counters &counters, bool) {
        Load load(seed);
        load.run(seconds * 1'000, gap_most_us);
        counters["grants"] += load.grants;
        counters["trace"] += load.world.trace.value();  // equal for equal runs
        for (const Node *node : load.nodes) counters["script_calls"] += node->script_calls();
        return std::string();
      });
  liblock_test::Tap tap;
  report.print(tap, options);
  const double simulated = static_cast<double>(report.seeds) * static_cast<double>(seconds);
  char text[200];
  std::snprintf(text, sizeof text,
                "%.0f simulated s: %.0f times real time, %.0f per process; %.2f us for each call", simulated,
                simulated / report.seconds, simulated / report.seed_seconds,
                report.seed_seconds * 1e6 / static_cast<double>(report.counters.get("script_calls")));
  tap.comment(text);
  return tap.finish();
}
