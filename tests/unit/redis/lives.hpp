// SPDX-License-Identifier: MIT
// A server and two instances that say every 10 s that they live: silent counts from 40 s on, and alive_ms is 3 s.
// Others are put on the list by hand.
#pragma once

#include "redis/presence.hpp"

#include "stage.hpp"

namespace unit {

using liblock::InstanceInfo;

inline constexpr char kList[] = "ll1:n:{liblock:}";
inline constexpr char kTurn[] = "ll1:t:{liblock:}";

inline liblock::InstanceOptions with_interval(int64_t interval_ms = 10'000) {
  liblock::InstanceOptions options;
  if (interval_ms > 0) options.zombie_interval = liblock::nanos_from_ms(interval_ms);
  return options;
}

struct Lives : Stage {
  explicit Lives(uint64_t seed = 1) : Stage(seed, with_interval()) {}
  // For an hour, and never renewed: what nobody takes away outlives every test.
  Wanted &hold(Process &by, const std::string &key) {
    return by.take(key, waiting_ms(10'000, 3'600'000, false));
  }
  size_t listed() { return static_cast<size_t>(node.ask({"ZCARD", kList}).integer); }
  std::string whose_turn() { return node.ask({"GET", kTurn}).text; }
  static liblock_zombies_status status(const Process &of) {
    liblock_zombies_status status{};
    const_cast<Process &>(of).instance().presence.status(status);
    return status;
  }
  int64_t now_us() { return std::stoll(node.ask({"TIME"}).items.at(0).text) * 1'000'000; }
  void forge(int many, const std::string &name = "x") {
    const int64_t long_ago_us = now_us() - 60'000'000;
    for (int n = 0; n < many; ++n)
      node.ask({"ZADD", kList, std::to_string(long_ago_us + n), name + std::to_string(n) + "@far|10000"});
  }
  std::vector<InstanceInfo> list(Process &by, bool zombies_only) {
    std::vector<InstanceInfo> all;
    for (liblock::ListPosition position; !position.at_end;) {
      Question question;
      question.what = Ask::What::ListInstances;
      question.flag = zombies_only;
      question.position = position;
      run_once(by.host(), [&] { by.instance().asking.start(question); });
      EXPECT(world.run_until([&] { return question.ends == 1; }, 20'000));
      EXPECT(question.status == Status::OK && question.instances.size() <= 100);
      all.insert(all.end(), question.instances.begin(), question.instances.end());
      position = question.position;
    }
    return all;
  }
};

}  // namespace unit
