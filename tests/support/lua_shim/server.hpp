// SPDX-License-Identifier: MIT
// One Redis server as a value: data in memory, time a number that the test moves, scripts run in an embedded
// Lua 5.1. It answers as Redis 7.0 does, byte for byte where a client could look. It starts nothing, waits for
// nothing and draws nothing: the same calls on the same clock give the same replies.
//
// A server belongs to one thread. Different servers share nothing that they could notice. A hook must not call the
// server that runs it, nor run a script of another one, and must not throw.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reply.hpp"

namespace liblock_test::lua_shim {

class Dataset;
struct Internals;

// Arguments for the time of one call: views of strings that the caller keeps.
class Args {
 public:
  Args() = default;
  Args(std::initializer_list<std::string_view> list) : views_(list) {}
  Args(const std::vector<std::string_view> &list) : views_(list) {}
  Args(const std::vector<std::string> &list) : views_(list.begin(), list.end()) {}
  Args(std::span<const std::string_view> list) : views_(list.begin(), list.end()) {}
  operator std::span<const std::string_view>() const { return views_; }

 private:
  std::vector<std::string_view> views_;
};

class Server {
 public:
  // The clock (microseconds of wall time) must outlive the server. The name tells servers apart: it makes the
  // run id.
  explicit Server(const int64_t *clock_us, std::string_view name = "server");
  ~Server();
  Server(const Server &) = delete;
  Server &operator=(const Server &) = delete;

  // Any command, its name first.
  Reply command(const Args &argv);
  Reply eval(std::string_view body, const Args &keys = {}, const Args &args = {});
  Reply evalsha(std::string_view sha1, const Args &keys = {}, const Args &args = {});

  // As after a restart without persistence: no data, no scripts, another run id.
  void wipe();
  // As after a restart that found its data again: no scripts, another run id.
  void restart();
  // The data as it is now; and that of then, or of another server, in place of what there is.
  using Snapshot = std::shared_ptr<const Dataset>;
  Snapshot save() const;
  void load(const Snapshot &snapshot);

  // Called for each PUBLISH; answers how many receivers there were.
  std::function<int(std::string_view channel, std::string_view message)> on_publish;
  // Called for each channel of PUBSUB NUMSUB; answers how many subscribe to it, or -1: that is not permitted.
  std::function<int(std::string_view channel)> on_numsub;
  // Called for each command of a script, its name first; answers whether the user may run it.
  std::function<bool(std::span<const std::string_view> words)> on_permission;

  // Failures that last until they are taken back.
  bool out_of_memory = false;  // maxmemory is reached and nothing may be evicted
  bool read_only = false;      // a replica
  bool hides_run_id = false;   // as a proxy in front of servers does
  bool loading = false;        // the data set is being loaded

  // Members that ZREM took out of sorted sets.
  uint64_t members_removed = 0;

  // What the server says of itself.
  int64_t replicas = 0;  // the answer to WAIT
  int64_t maxmemory = 0;
  std::string maxmemory_policy = "noeviction";
  std::string redis_version = "7.0.15";
  const std::string &run_id() const;

 private:
  std::unique_ptr<Internals> internals_;
};

}  // namespace liblock_test::lua_shim
