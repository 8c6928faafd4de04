// SPDX-License-Identifier: MIT
// A real redis-server of one's own: on a unix socket in a new temporary directory, without persistence, with one
// data base. It dies with the test, whichever way that ends, and its directory goes with it.
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

 private:
  explicit RedisProcess(std::string directory) : directory_(std::move(directory)) {}
  void start();
  bool connect();

  std::string directory_;
  pid_t pid_ = -1;
  redisContext *client_ = nullptr;
};

}  // namespace liblock_test
