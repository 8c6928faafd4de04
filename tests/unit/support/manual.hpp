// SPDX-License-Identifier: MIT
// A world that stands still: a clock moved by hand, a runtime whose timers fire when it is told to, and a
// lock table with asynchronous requests whose ends are recorded. One thread drives everything.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "local/fast_path.hpp"
#include "local/local_request.hpp"
#include "local/record.hpp"

namespace unit {

class ManualRuntime final : public liblock::Runtime {
 public:
  liblock::Nanos now() const override { return time; }
  bool arm(liblock::Timer &timer, liblock::Nanos at) override { return timers.arm(timer, at); }
  bool cancel(liblock::Timer &timer) override { return timers.cancel(timer); }
  void post(liblock::Notice *notice) override {
    ++posted;
    notice->deliver();
    notice->dispose();
  }
  void run_on_loop(liblock::LoopTask &task) override { task.run(); }
  liblock::ByteStream *make_stream(liblock::ByteStream::Listener &) override {
    LIBLOCK_ASSERT(!"nothing in this world speaks to a server");
    return nullptr;
  }
  void fire_due(liblock::Nanos now) {
    time = now;
    // A timer may arm itself for now again; so many rounds are more than any test needs.
    for (int i = 0; i < 10'000; ++i) {
      liblock::Timer *timer = timers.pop_due(now);
      if (timer == nullptr) return;
      timer->fire(now);
    }
  }
  liblock::Nanos time = 0;
  liblock::TimerHeap timers;
  int posted = 0;
};

class World;

class Request final : public liblock::LocalRequest {
 public:
  using LocalRequest::LocalRequest;
  void finished() override {
    LIBLOCK_ASSERT(!done);  // an end comes once
    done = true;
    grant = waiter.grant;
    if (on_end) on_end();
    unpin();
  }
  liblock::AcquireParams params;
  std::function<void()> on_end;
  bool done = false;
  liblock::Grant grant;
};

class World {
 public:
  explicit World(const liblock::TableOptions &options = no_deadlock_search())
      : table(std::make_shared<liblock::LockTable>(options, liblock::Clock(&now), 0, 1)) {}

  static liblock::TableOptions no_deadlock_search() {
    liblock::TableOptions options;
    options.deadlock_detection = false;
    return options;
  }

  std::shared_ptr<liblock::LocalOwner> owner(const char *name) {
    auto made = std::make_shared<liblock::LocalOwner>(this, "instance", ++owners, name, name[0] != '\0');
    if (made->named()) table->add_owner(made.get());
    return made;
  }
  // The caller unpins it.
  Request *ask(liblock::LocalOwner &who, std::vector<liblock::Bytes> keys,
               const liblock::AcquireParams &params = {}) {
    auto *request = new Request(table, runtime);
    request->pin();
    request->params = params;
    table->submit(*request, who, keys, request->params);
    return request;
  }
  void advance_ms(int64_t ms) {
    now.fetch_add(ms * liblock::kMillisecond);
    runtime->fire_due(now.load());
  }
  liblock_stats stats() {
    liblock_stats s{};
    table->stats(s);
    return s;
  }

  std::atomic<liblock::Nanos> now{1'000 * liblock::kMillisecond};
  std::shared_ptr<ManualRuntime> runtime = std::make_shared<ManualRuntime>();
  std::shared_ptr<liblock::LockTable> table;
  uint64_t owners = 0;
};

inline liblock::AcquireParams trying() {
  liblock::AcquireParams params;
  params.wait = 0;
  return params;
}

inline liblock::AcquireParams for_ms(int64_t ttl_ms) {
  liblock::AcquireParams params;
  params.ttl = liblock::nanos_from_ms(ttl_ms);
  return params;
}

}  // namespace unit
