// SPDX-License-Identifier: MIT
// What threads do while the gates of the global lock go up one by one, held in the middle by a shard that the test
// keeps locked.
#include <chrono>
#include <thread>

#include "../support/stage.hpp"
#include "local/shard_locks.hpp"

using namespace liblock;
using unit::World;

namespace {

// A wait that stops before it first looks after itself, as a thread does that has just lost its CPU.
struct Held {
  std::atomic<bool> is_there{false}, may_go{false};
  static int64_t stop(uint32_t, void *self) {
    auto &held = *static_cast<Held *>(self);
    held.is_there.store(true);
    while (!held.may_go.load()) std::this_thread::yield();
    return INT64_MAX;
  }
};

template <typename Holds>
bool comes_to(Holds holds) {
  const auto give_up_at = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > give_up_at) return false;
    std::this_thread::yield();
  }
  return true;
}

struct Stage : unit::Stage {
  std::shared_ptr<LocalOwner> x = world.owner("x"), y = world.owner("y"), z = world.owner("z");

  uint32_t shard_of(Bytes key) {
    const Handle h = take({key});
    EXPECT(release(h) == Status::OK);
    return handle::shard(h);
  }
  // A key whose shard comes after the others'.
  std::string key_behind(uint32_t shard) {
    for (int n = 0;; ++n) {
      const std::string key = "k" + std::to_string(n);
      if (shard_of(key) > shard) return key;
    }
  }
  // Whoever holds nothing and needs a record finds a free key shut as soon as some gate is about to be.
  bool is_gating(Bytes free_key) {
    const Grant grant = table().acquire(*y, {&free_key, 1}, unit::trying());
    if (grant.status == Status::OK) EXPECT(table().release(*y, grant.handle) == Status::OK);
    return grant.status == Status::BUSY;
  }
  size_t waiters_of(Bytes key) { return table().inspect(key, true)->waiter_count(); }
};

// On a thread of its own: takes, and gives back at once.
struct Turn {
  Stage &stage;
  LocalOwner &owner;
  std::vector<Bytes> keys;
  AcquireParams params;
  std::atomic<bool> is_over{false};
  Status status = Status::INTERNAL;
  std::thread thread{[this] {
    const Grant grant = stage.table().acquire(owner, keys, params);
    status = grant.status;
    if (status == Status::OK) status = stage.table().release(owner, grant.handle);
    is_over.store(true);
  }};
};

}  // namespace

// The global lock waited for the key of a thread that slept before a free one: it had been told to try, and saw that
// somebody had queued in order meanwhile, whom nobody served since the gate was about to shut.
UNIT_TEST(a_key_that_was_left_free_for_a_thread_goes_to_whoever_queued_before_it_came) {
  Stage stage;
  const uint32_t stopped = stage.shard_of("gate");
  const std::string wanted = stage.key_behind(stopped);
  const Handle outer = stage.ask(*stage.x, {"outer"})->grant.handle;
  const Handle in_the_way = stage.take({wanted});

  Held held;
  AcquireParams any;
  any.order = LIBLOCK_ORDER_ANY;
  any.retry.callback = Held::stop;
  any.retry.user_data = &held;
  Turn told{stage, *stage.x, {wanted}, any};
  EXPECT(comes_to([&] { return held.is_there.load(); }));

  Record of_the_gate;
  of_the_gate.inline_order[0] = static_cast<uint16_t>(stopped);
  of_the_gate.lock_count = 1;
  ShardLocks gate(stage.table(), of_the_gate);
  Turn global{stage, *stage.nobody, {}, {}};
  EXPECT(comes_to([&] { return stage.is_gating("free"); }));
  EXPECT(stage.release(in_the_way) == Status::OK);  // free for `told`, who is told so
  Turn in_order{stage, *stage.z, {wanted}, {}};
  EXPECT(comes_to([&] { return stage.waiters_of(wanted) == 2; }));
  held.may_go.store(true);
  const bool is_served = comes_to([&] { return in_order.is_over.load(); });
  gate.unlock();
  const bool goes_on = comes_to([&] { return told.is_over.load(); });
  const bool waits = !global.is_over.load();
  const Status given_back = stage.release(outer);
  told.thread.join();
  in_order.thread.join();
  global.thread.join();
  EXPECT(is_served && goes_on && waits && given_back == Status::OK);
  EXPECT(told.status == Status::OK && in_order.status == Status::OK && global.status == Status::OK);
  const liblock_stats stats = stage.world.stats();
  EXPECT(stats.locks_held == 0 && stats.waiters == 0);
}

UNIT_MAIN("gates",
          cmocka_unit_test(a_key_that_was_left_free_for_a_thread_goes_to_whoever_queued_before_it_came))
