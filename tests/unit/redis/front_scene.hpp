// SPDX-License-Identifier: MIT
// A process that holds a key and another one that has spoken with the server, for tests of the front.
#pragma once

#include "redis/clearing.hpp"
#include "redis/inspecting.hpp"
#include "remote/handing_over.hpp"
#include "stage.hpp"

namespace unit::front {

constexpr const char *kQueue = "ll1:q:{liblock:k}", *kFence = "ll1:f:{liblock:k}";

inline liblock::InstanceOptions with_front(int64_t budget_ms = 0, int64_t gap_ms = 100) {
  liblock::InstanceOptions options;
  options.front_budget = liblock::nanos_from_ms(budget_ms);
  options.foreign_gap_ms = gap_ms;
  return options;
}

// `a` holds the key, and both have spoken with the server and listen.
struct Scene : Stage {
  explicit Scene(const liblock::InstanceOptions &options = with_front(0, -1),
                 const AcquireParams &params = waiting_ms(10'000))
      : Stage(1, options), held(a.take("k", params)) {
    b.release(b.take("other").grant().handle);
    world.run_ms(50);
  }
  // Who waits in the server's queue.
  int64_t queued() { return node.ask({"ZCARD", kQueue}).integer; }
  std::string record() { return node.ask({"GET", "liblock:k"}).text; }
  uint64_t passed_on() { return a.instance().counts.passed_on.load(); }
  void force(Process &by, bool drops_queue) {
    run_once(by.host(), [&by, drops_queue] {
      force_away(by.instance(), {"liblock:k", {}, drops_queue}, [](Status, const std::string &) {});
    });
    world.run_ms(5);
  }
  Wanted &held;
};

inline std::vector<Wanted *> line_of(Scene &s, int count, const AcquireParams &params = waiting_ms(60'000)) {
  std::vector<Wanted *> line;
  for (int i = 0; i < count; ++i) {
    line.push_back(&s.a.acquire({"k"}, params));
    s.world.run_ms(1);
  }
  return line;
}

struct Seen final : public liblock::Inspection {
  void seen(std::vector<std::unique_ptr<liblock::KeyInfo>> all) override { infos = std::move(all); }
  void failed(Status, const std::string &) override {}
  std::vector<std::unique_ptr<liblock::KeyInfo>> infos;
};

inline std::unique_ptr<liblock::KeyInfo> inspected(Scene &s, Process &by) {
  Seen seen;
  run_once(by.host(), [&] { inspect_in_detail(by.instance(), "liblock:k", true, seen); });
  EXPECT(s.world.run_until([&] { return !seen.infos.empty(); }, 1'000));
  return std::move(seen.infos.front());
}

}  // namespace unit::front
