// SPDX-License-Identifier: MIT
// Random calls of all scripts of a quorum's nodes, from a seed: two keys, three attempts, a few waiters, so that calls
// meet each other's data. Their time comes with the call, so that it is the same for two servers; leases are so long
// that none ends meanwhile.
#pragma once

#include <map>
#include <string>

#include "trace.hpp"

namespace liblock_test {

// What PTTL may say lies between these, and nothing else that the scripts answer does.
inline constexpr int64_t kLeastTtlMs = 100'000'000, kLongestTtlMs = 1'000'000'000;

class QuorumTrace {
 public:
  explicit QuorumTrace(uint64_t seed);
  // The next call, or something that another client does to the keys.
  Words next();
  // How often each script was called.
  const std::map<std::string, uint64_t> &calls() const { return calls_; }
  uint64_t below(uint64_t bound) { return random_.below(bound); }

 private:
  std::string one_of(std::initializer_list<const char *> list);
  std::string who();
  std::string boot() { return below(40) == 0 ? "boot2" : "boot1"; }
  std::string id();
  std::string waiter();
  std::string ttl() { return std::to_string((1 + below(9)) * kLeastTtlMs); }
  std::string not_after();
  std::string token();
  std::string record();
  Words arguments(const std::string &script, size_t keys);
  Words extended(size_t keys);
  Words taking_away(const std::string &script);
  Words acquiring();
  Words disturbance();

  Trace random_;
  std::map<std::string, std::string> bodies_;
  std::map<std::string, uint64_t> calls_;
  int64_t now_us_ = 1'700'000'000'000'000;
};

}  // namespace liblock_test
