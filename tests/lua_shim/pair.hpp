// SPDX-License-Identifier: MIT
// The shim and a real redis-server, told the same. Orders that Redis draws from a hash are compared sorted, times with
// tolerance.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <utility>

#include "lua_shim/server.hpp"
#include "lua_shim/text.hpp"
#include "redis_process.hpp"
#include "trace.hpp"

// After the standard headers, whose names cmocka redefines.
#include "../unit/support/unit.hpp"

namespace liblock_test {

using lua_shim::Reply;

inline constexpr int64_t kToleranceMs = 60'000;

class Pair {
 public:
  // agrees: whether these words may be answered so by Redis and so by the shim.
  using Agrees = std::function<bool(const Words &words, const Reply &real, const Reply &ours)>;
  explicit Pair(Agrees agrees = agree) : agrees_(std::move(agrees)) {
    shim_.on_publish = [](std::string_view, std::string_view) { return 0; };
  }

  // Both answers, the shim's on the clock of now; they must agree.
  Reply both(const Words &words) {
    now_us_ = std::chrono::duration_cast<std::chrono::microseconds>(
                  std::chrono::system_clock::now().time_since_epoch())
                  .count();
    const Reply real = redis_.command(words);
    Reply ours = shim_.command(words);
    ++step_;
    if (!agrees_(words, real, ours)) {
      throw unit::Failure{"step " + std::to_string(step_) + ": " + Reply::array(quote(words)).to_text() +
                          "\n  redis: " + real.to_text() + "\n  shim:  " + ours.to_text()};
    }
    return ours;
  }

  // The whole data, key by key.
  void compare_all() {
    EXPECT(all_keys(false) == all_keys(true));
    static const std::map<std::string, Words> kReaders = {{"string", {"GET"}},
                                                          {"hash", {"HGETALL"}},
                                                          {"list", {"LRANGE", "0", "-1"}},
                                                          {"set", {"SMEMBERS"}},
                                                          {"zset", {"ZRANGE", "0", "-1", "WITHSCORES"}}};
    for (const std::string &key : all_keys(false)) {
      Words words = kReaders.at(both({"TYPE", key}).text);
      words.insert(words.begin() + 1, key);
      both(words);
      both({"PTTL", key});
    }
  }

  std::vector<std::string> all_keys(bool real) {
    std::vector<std::string> keys;
    std::string cursor = "0";
    do {
      const Words words = {"SCAN", cursor, "COUNT", "3", "MATCH", "*"};
      const Reply reply = real ? redis_.command(words) : shim_.command(words);
      EXPECT(reply.items.size() == 2);
      cursor = reply.items[0].text;
      for (const Reply &key : reply.items[1].items) keys.push_back(key.text);
    } while (cursor != "0");
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    return keys;
  }

  void run(Trace &trace, uint64_t steps) {
    for (uint64_t i = 0; i < steps; ++i) {
      Words words = trace.next();
      if (words[0] == "EVAL" && words.size() > 1 && trace.below(2) == 0) {
        const Reply loaded = both({"SCRIPT", "LOAD", words[1]});
        if (loaded.kind == Reply::Kind::String) words[0] = "EVALSHA", words[1] = loaded.text;
      }
      both(words);
      if (i % 500 == 499) compare_all();
      if (trace.below(400) == 0) both({trace.below(2) == 0 ? "FLUSHALL" : "DBSIZE"});
      if (trace.below(600) == 0) both({"SCRIPT", "FLUSH"});
    }
    compare_all();
  }

  lua_shim::Server &shim() { return shim_; }
  RedisProcess &redis() { return redis_; }
  int64_t *clock() { return &now_us_; }

  static bool agree(const Words &words, Reply real, Reply ours) {
    const std::string name = lua_shim::lower_case(words[0]);
    if (name == "smembers") {
      const auto by_text = [](const Reply &a, const Reply &b) { return a.text < b.text; };
      std::sort(real.items.begin(), real.items.end(), by_text);
      std::sort(ours.items.begin(), ours.items.end(), by_text);
    }
    if (name == "pttl" || name == "ttl" || name == "pexpiretime") {
      const bool times = real.integer > kToleranceMs && ours.integer > kToleranceMs;
      if (times) return std::abs(real.integer - ours.integer) < kToleranceMs;
    }
    // The walk over the keys has an order of its own; compare_all compares what it finds.
    if (name == "scan" && real.kind == Reply::Kind::Array) return ours.kind == Reply::Kind::Array;
    return real == ours;
  }

 private:
  static std::vector<Reply> quote(const Words &words) {
    std::vector<Reply> out;
    for (const std::string &word : words) out.push_back(Reply::string(word));
    return out;
  }

  const Agrees agrees_;
  RedisProcess redis_;
  int64_t now_us_ = 0;
  lua_shim::Server shim_{&now_us_};
  uint64_t step_ = 0;
};

}  // namespace liblock_test
