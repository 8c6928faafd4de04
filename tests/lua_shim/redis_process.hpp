// SPDX-License-Identifier: MIT
// A real redis-server of one's own: on a unix socket in a new temporary directory, with one data base, written to disk
// only when the test says so. It dies with the test, whichever way that ends, and its directory goes with it.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lua_shim/reply.hpp"

struct redisContext;

namespace liblock_test {

class RedisProcess {
 public:
  // Returns when the server answers; throws std::runtime_error when it does not.
  RedisProcess();
  ~RedisProcess();
  RedisProcess(const RedisProcess &) = delete;
  RedisProcess &operator=(const RedisProcess &) = delete;

  lua_shim::Reply command(std::span<const std::string> argv);
  lua_shim::Reply command(const std::vector<std::string> &argv) {
    return command(std::span<const std::string>(argv));
  }

  enum class Data : unsigned char { Kept, Lost, RolledBack };
  // Another process in its place, with the data of now, none, or those of the snapshot.
  void restart(Data data);
  void take_snapshot();
  // By a connection of its own, which nobody reads; until a restart or unsubscribe().
  void subscribe(const std::string &channel);
  void unsubscribe();
  // Throws away what subscribers were told, so that the server need not keep it.
  void drain();

 private:
  explicit RedisProcess(std::string directory) : directory_(std::move(directory)) {}
  void start();
  bool connect();

  std::string directory_;
  pid_t pid_ = -1;
  redisContext *client_ = nullptr;
  std::vector<redisContext *> subscribers_;
};

}  // namespace liblock_test
