// SPDX-License-Identifier: MIT
// Values of one key over a quorum: who changes them, what is read, and what each node has.
#pragma once

#include "stage.hpp"

namespace unit {

inline AcquireParams carrying(liblock::Bytes value, int64_t ttl_ms = 30'000) {
  AcquireParams params = waiting_ms(10'000, ttl_ms);
  params.value = value;
  return params;
}

struct ValueScene : Stage {
  using Stage::Stage;
  Question &change(Process &by, const std::string &expected, const std::string &value) {
    return by.about("k", Ask::What::UpdateKey, [&](Ask &ask) {
      ask.text = expected;
      ask.value = value;
    });
  }
  Question &read(Process &by) {
    Question &asked = by.about("k", Ask::What::Read, [](Ask &ask) { ask.from = Ask::From::Quorum; });
    world.run_ms(500);
    return asked;
  }
  bool is_read(const std::string &value) {
    Question &asked = read(*b);
    return asked.is(Status::OK) && asked.infos.front()->value == value;
  }
  size_t nodes_with(const std::string &value) {
    size_t count = 0;
    for (size_t n = 0; n < nodes.size(); ++n) count += held_on("k") != 0 && value_on(n, "k") == value;
    return count;
  }
  void cut(Process &from, const std::vector<size_t> &on) {
    for (const size_t n : on) world.link(from.host(), *nodes[n]).cut();
  }
  void mend(Process &from, const std::vector<size_t> &on) {
    for (const size_t n : on) world.link(from.host(), *nodes[n]).mend();
  }
  // Of the record: the third of what stands behind the @.
  std::string state_on(size_t node) {
    const std::string held = nodes[node]->ask({"GET", "liblock:k"}).text;
    const size_t at = held.find(',', held.find(',', held.find('@')) + 1) + 1;
    return held.substr(at, held.find(',', at) - at);
  }
  // Another coordinator's promise, that he gave nobody any more word of.
  void promise(const std::vector<size_t> &on, int64_t for_ms) {
    for (const size_t n : on) {
      const int64_t now_us = nodes[n]->clock_us();
      nodes[n]->ask({"SET", "ll1:p:{liblock:k}",
                     std::to_string(now_us) + "|" + std::to_string(now_us + for_ms * 1'000) + "|" +
                         std::string(32, 'e')});
    }
  }
};

}  // namespace unit
