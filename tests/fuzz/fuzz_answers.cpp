// SPDX-License-Identifier: MIT
// Engines on one server, and on three, that answer whatever the input says (answers/liar.hpp), while a program
// acquires, keeps, gives back, looks and leaves in any order, and any time goes by (answers/program.hpp). Whatever is
// answered: nothing is asked without end, every acquire and every other call ends once, with a status that such a call
// may have, a grant has a token and no more time than was asked for, and a closed context leaves nothing behind. The
// first byte chooses the engine.
#include "answers/program.hpp"
#include "quorum/instance.hpp"
#include "redis/instance.hpp"
#include "unit/sim/kernel.hpp"

namespace {

using namespace answers;

liblock::ConnectionOptions server_at(uint16_t port) {
  liblock::ConnectionOptions connection;
  connection.address.target.host = "sim";
  connection.address.target.port = port;
  connection.command_timeout = 200 * kMillisecond;
  return connection;
}

std::shared_ptr<liblock::Instance> on_one(const std::shared_ptr<Loop> &loop, uint8_t how) {
  liblock::InstanceOptions options;
  options.connection = server_at(1);
  options.locks_max = 24;
  options.waiters_max = 16;
  if (how % 2 == 1) options.front_budget = 0, options.foreign_gap_ms = -1;
  if (how / 2 % 2 == 1) options.zombie_interval = 1'000 * kMillisecond;
  return std::make_shared<liblock::Instance>(loop, options, "i1", loop->clock(), how);
}

std::shared_ptr<liblock::quorum::Instance> on_three(const std::shared_ptr<Loop> &loop, uint8_t how) {
  liblock::QuorumOptions options;
  for (uint16_t port = 1; port <= Speech::kPorts; ++port) options.nodes.push_back(server_at(port));
  options.locks_max = 24;
  options.waiters_max = 16;
  if (how % 2 == 1) options.front_budget = 0, options.foreign_gap_ms = -1;
  if (how / 2 % 2 == 1) options.observers.push_back(server_at(4));
  const auto wall_us = [clock = loop->clock()] { return 1'700'000'000'000'000 + clock.now() / 1'000; };
  auto instance = std::make_shared<liblock::quorum::Instance>(loop, options, "i1", loop->clock(), how, wall_us);
  liblock::run_once(*loop, [instance] { instance->start(); });
  return instance;
}

// Its last part is the same for every input: the program leaves.
template <typename Request, typename Make>
void run(Input &input, uint8_t how, Make make) {
  Liar servers(input);
  const auto loop = std::make_shared<Loop>(servers);
  servers.loop = loop.get();
  auto instance = make(loop, how);
  const auto watched = std::weak_ptr(instance);
  {
    Program<Request> program(*instance, loop, servers);
    for (size_t calls = input.calls(); calls > 0; --calls) {
      const uint8_t what = input.next(), on = input.next();
      program.call(what, on, input.next());
    }
    program.leave();
    instance.reset();
  }
  LIBLOCK_ASSERT(watched.expired() && loop->is_idle());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Input input(data, size);
  const uint8_t how = input.engine() / 2;
  const liblock_test::sim::KernelRandom random(how);
  if (input.engine() % 2 == 0) {
    run<liblock::AcquireRequest>(input, how, on_one);
  } else {
    run<liblock::quorum::Request>(input, how, on_three);
  }
  return 0;
}
