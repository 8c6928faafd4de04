// SPDX-License-Identifier: MIT
// A server on the network: the shim's data and scripts, connections, channels, and what can go wrong with it. It
// counts the commands that it is sent.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lua_shim/server.hpp"
#include "resp.hpp"
#include "wire.hpp"
#include "world.hpp"

namespace liblock_test::sim {

class Node {
 public:
  Node(World &world, const std::string &name, uint16_t port);

  uint16_t port() const { return port_; }
  // Its data, looked at without a network, at this moment.
  lua_shim::Reply ask(const lua_shim::Args &words);
  // What it was sent so far, by command in lower case; scripts by EVALSHA and EVAL.
  uint64_t count(const std::string &command) const;
  uint64_t script_calls() const { return count("evalsha") + count("eval"); }
  // Sees each command that came over the network, and what is answered to it.
  std::function<void(const Words &words, const lua_shim::Reply &reply)> on_answer;
  // Messages that somebody received.
  uint64_t messages = 0;

  bool is_up() const { return up_; }
  // RolledBack: as it was at the last snapshot, or empty where there was none.
  enum class Data { Kept, Lost, RolledBack };
  // Ends all connections and refuses new ones, until it starts again, with another run id and without scripts.
  void stop(Data data);
  void start() { up_ = true; }
  void take_snapshot() { snapshot_ = server_.save(); }
  // From now on, also while it is down or frozen: the data of that moment.
  void take_snapshots_every(Nanos time);
  // Another server answers at its address, with this one's data, or none: nullptr.
  void become_another(const Node *data_of);

  // Ends those that subscribe, or all others.
  void end_connections(bool subscribers);
  // Sends these bytes to all who do not subscribe, as if they had asked for them.
  void say_unasked(const std::string &bytes);
  // Requests arrive and are not looked at until it goes on, whoever has given up meanwhile.
  void freeze() { frozen_ = true; }
  void thaw();
  bool is_frozen() const { return frozen_; }
  // It takes so long over each request, one behind the other.
  void set_work(Nanos time) { work_ = time; }
  // What it carries out from now on is not answered, on the connections that there are now.
  void lose_answers();

  // Its wall clock, by which keys expire: steps of either sign, and true time * (1 + ppm / 1,000,000).
  void step_clock_ms(int64_t ms) { offset_us_ += ms * 1'000; }
  void set_rate(int64_t ppm);
  int64_t clock_us() const;

  void flush_data() { ask({"FLUSHALL"}); }
  void flush_scripts() { ask({"SCRIPT", "FLUSH"}); }
  // A key goes without a word to anybody; drawn from all, or nothing where there is none. Says which.
  std::string evict_any();
  // A replica refuses writes. Its data is what it had; a real one would soon have its master's.
  void set_replica(bool is) { server_.read_only = is; }

  lua_shim::Server &server() { return server_; }

 private:
  friend class Wire;
  void accept(const std::shared_ptr<Wire> &wire) { wires_.push_back(wire); }
  void forget(Wire &wire);
  void serve(Wire &wire, std::string &bytes);
  lua_shim::Reply answer(Wire &wire, const Words &words);
  lua_shim::Reply carry_out(Wire &wire, const std::string &name_in_lower_case, const Words &words);
  int publish(std::string_view channel, std::string_view message);
  void go_to_work();
  void look_at_clock() { clock_us_ = clock_us(); }

  World &world_;
  const uint16_t port_;
  int64_t offset_us_ = 1'700'000'000'000'000;
  Nanos rate_since_ = 0;
  int64_t ppm_ = 0;
  int64_t clock_us_ = 0;  // of the command that runs
  lua_shim::Server server_;
  lua_shim::Server::Snapshot snapshot_;
  uint64_t snapshot_series_ = 0;
  bool up_ = true;
  bool frozen_ = false;
  std::vector<std::shared_ptr<Wire>> wires_;
  std::map<std::string, uint64_t, std::less<>> counts_;
  Nanos work_ = 0;
  bool is_at_work_ = false;
  std::deque<std::pair<std::shared_ptr<Wire>, Words>> kept_back_;  // while frozen, or at work
};

}  // namespace liblock_test::sim
