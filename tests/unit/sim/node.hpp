// SPDX-License-Identifier: MIT
// A server on the network: the shim's data and scripts, connections, channels, and what can go wrong with it. It
// counts the commands that it is sent.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lua_shim/server.hpp"
#include "resp.hpp"
#include "wire.hpp"

namespace liblock_test::sim {

class Node {
 public:
  Node(World &world, const std::string &name, uint16_t port);

  uint16_t port() const { return port_; }
  // Its data, looked at without a network, at this moment.
  lua_shim::Reply ask(const std::vector<std::string> &words);
  // What it was sent so far, by command in lower case; scripts by EVALSHA and EVAL.
  uint64_t count(const std::string &command) const;
  uint64_t script_calls() const { return count("evalsha") + count("eval"); }

  bool is_up() const { return up_; }
  enum class Data { Kept, Lost };
  // Ends all connections and refuses new ones, until it starts again.
  void stop(Data data);
  void start() { up_ = true; }
  // Ends those that subscribe, or all others.
  void end_connections(bool subscribers);
  // Requests arrive and are not looked at until it goes on, whoever has given up meanwhile.
  void freeze() { frozen_ = true; }
  void thaw();
  // What it carries out from now on is not answered, on the connections that there are now.
  void lose_answers();
  // Its wall clock.
  void step_clock_ms(int64_t ms) { offset_us_ += ms * 1'000; }

  lua_shim::Server &server() { return server_; }

 private:
  friend class Wire;
  void accept(const std::shared_ptr<Wire> &wire) { wires_.push_back(wire); }
  void forget(Wire &wire);
  void serve(Wire &wire, std::string &bytes);
  lua_shim::Reply answer(Wire &wire, const Words &words);
  int publish(std::string_view channel, std::string_view message);
  void look_at_clock();

  World &world_;
  const uint16_t port_;
  int64_t offset_us_ = 1'700'000'000'000'000;
  int64_t clock_us_ = 0;
  lua_shim::Server server_;
  bool up_ = true;
  bool frozen_ = false;
  std::vector<std::shared_ptr<Wire>> wires_;
  std::map<std::string, uint64_t> counts_;
  std::vector<std::pair<std::shared_ptr<Wire>, Words>> kept_back_;  // while frozen
};

}  // namespace liblock_test::sim
