// SPDX-License-Identifier: MIT
// Looks a name up on a thread of its own, whose end is told on the loop's thread. Not in libuv's thread pool: a
// forked child has the pool's books without its threads, and libuv joins these when the child exits. And a process
// that ends does not wait for a name server.
//
// Nothing cancels a lookup; at most kLookupsMax of a process are under way.
#pragma once

#include <netdb.h>
#include <uv.h>

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace liblock {

class Lookup {
 public:
  static constexpr int kLookupsMax = 64;
  // 0, or why the name has no address: libuv's number.
  using Done = std::function<void(int status, std::vector<sockaddr_storage> addresses)>;

  // 0: done will be called, once, after this has returned.
  static int begin(uv_loop_t *loop, std::string host, uint16_t port, Done done);

 private:
  Lookup(std::string host, uint16_t port, Done done);
  ~Lookup() { --under_way_; }
  void run();
  void ring();

  static std::atomic<int> under_way_;
  uv_async_t over_{};
  const std::string host_, port_;
  const Done done_;
  // Of the thread until it is over, of the loop's from then on.
  int status_ = 0;
  std::vector<sockaddr_storage> addresses_;
  std::atomic<bool> is_over_{false};
};

}  // namespace liblock
