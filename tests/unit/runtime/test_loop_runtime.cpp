// SPDX-License-Identifier: MIT
// A runtime on a loop of the caller's: what comes while the loop is left, and afterwards, is not lost.
#include <uv.h>

#include <thread>
#include <vector>

#include "../support/unit.hpp"
#include "runtime/loop_runtime.hpp"

using namespace liblock;

namespace {

struct Task final : LoopTask {
  void run() override {
    ran_on.push_back(std::this_thread::get_id());
    if (another != nullptr) runtime->run_on_loop(*another);
  }
  LoopRuntime *runtime = nullptr;
  Task *another = nullptr;
  std::vector<std::thread::id> ran_on;
};

struct Delivered final : Notice {
  void deliver() override { delivered_on.push_back(std::this_thread::get_id()); }
  void dispose() override { ++disposed; }
  std::vector<std::thread::id> delivered_on;
  int disposed = 0;
};

struct OwnLoop {
  OwnLoop() {
    EXPECT(uv_loop_init(&uv) == 0);
    runtime = LoopRuntime::make(&uv);
  }
  // Until the runtime's handles are closed; nothing else is on it.
  void leave() {
    runtime->close();
    while (uv_run(&uv, UV_RUN_DEFAULT) != 0) {}
    EXPECT(uv_loop_close(&uv) == 0);
  }
  uv_loop_t uv;
  std::shared_ptr<LoopRuntime> runtime;
};

}  // namespace

UNIT_TEST(what_comes_once_the_loop_was_left_is_run_by_whoever_brings_it) {
  OwnLoop loop;
  loop.leave();
  Task task;
  Delivered notice;
  std::thread late([&] {
    loop.runtime->run_on_loop(task);
    loop.runtime->post(&notice);
  });
  const std::thread::id who = late.get_id();
  late.join();
  EXPECT(task.ran_on == std::vector{who});
  EXPECT(notice.delivered_on == std::vector{who} && notice.disposed == 1);
}

UNIT_TEST(what_the_last_turn_brings_about_is_run_in_it) {
  OwnLoop loop;
  Task first, second;
  first.runtime = loop.runtime.get();
  first.another = &second;
  Delivered notice;
  loop.runtime->run_on_loop(first);
  loop.runtime->post(&notice);
  loop.leave();
  const std::vector here{std::this_thread::get_id()};
  EXPECT(first.ran_on == here && second.ran_on == here);
  EXPECT(notice.delivered_on == here && notice.disposed == 1);
}

UNIT_TEST(whoever_calls_while_the_loop_is_left_is_answered) {
  constexpr size_t kCalls = 2'000;
  OwnLoop loop;
  std::vector<Task> tasks(kCalls);
  std::vector<Delivered> notices(kCalls);
  std::thread other([&] {
    for (size_t n = 0; n < kCalls; ++n) {
      loop.runtime->run_on_loop(tasks[n]);
      loop.runtime->post(&notices[n]);
      if (n == kCalls / 2) loop.runtime->close();
    }
  });
  while (uv_run(&loop.uv, UV_RUN_DEFAULT) != 0) {}
  other.join();
  EXPECT(uv_loop_close(&loop.uv) == 0);
  for (size_t n = 0; n < kCalls; ++n) EXPECT(tasks[n].ran_on.size() == 1 && notices[n].disposed == 1);
}

UNIT_MAIN("a runtime on the caller's loop",
          cmocka_unit_test(what_comes_once_the_loop_was_left_is_run_by_whoever_brings_it),
          cmocka_unit_test(what_the_last_turn_brings_about_is_run_in_it),
          cmocka_unit_test(whoever_calls_while_the_loop_is_left_is_answered))
