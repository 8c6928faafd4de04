// SPDX-License-Identifier: MIT
// What a context leaves behind that closes with LEAVE: leases that nobody asks for, and owners that keys still name.
#include "../support/manual.hpp"
#include "../support/unit.hpp"
#include "local/local_engine.hpp"

using namespace liblock;
using unit::World;

namespace {

TableOptions ten_locks() {
  TableOptions options = World::no_deadlock_search();
  options.locks_max = 10;
  options.cleanup_interval_ms = 50;
  return options;
}

// One context on the table of a world.
struct Opened {
  explicit Opened(const World &world)
      : engine(world.table, "instance", this, [runtime = world.runtime] { return runtime; }) {}
  ~Opened() { close(false); }
  Opened(const Opened &) = delete;
  Opened &operator=(const Opened &) = delete;
  void close(bool leave) {
    if (!std::exchange(is_closed, true)) engine.close(leave, [] {});
  }
  Status take(const std::string &key, Nanos ttl = kNever) {
    AcquireParams params = unit::trying();
    params.ttl = ttl;
    const Bytes bytes = key;
    return engine.acquire(engine.unnamed_owner(), {&bytes, 1}, params).status;
  }
  void take_ten_for_ms(int64_t ttl_ms) {
    for (int n = 0; n < 10; ++n) EXPECT(take("k" + std::to_string(n), nanos_from_ms(ttl_ms)) == Status::OK);
  }

  bool is_closed = false;
  LocalEngine engine;
};

}  // namespace

UNIT_TEST(leases_that_were_left_are_swept_by_a_context_that_has_used_none) {
  World world(ten_locks());
  Opened closes(world), stays(world);
  closes.take_ten_for_ms(30);
  closes.close(true);
  world.advance_ms(40);
  EXPECT(world.stats().locks_held == 10);
  EXPECT(stays.take("another") == Status::LIMIT);
  world.advance_ms(20);
  EXPECT(world.stats().locks_held == 0 && world.stats().sweeps >= 1);
  EXPECT(stays.take("another") == Status::OK);
}

UNIT_TEST(leases_that_were_left_are_swept_though_whoever_would_do_so_closes_and_by_whoever_opens_next) {
  for (const bool leave : {false, true}) {
    World world(ten_locks());
    Opened closes(world), closes_next(world);
    closes.take_ten_for_ms(200);
    closes.close(true);
    closes_next.close(leave);
    world.advance_ms(100);
    EXPECT(world.stats().sweeps == 0);
    const Opened comes(world);
    world.advance_ms(150);
    EXPECT(world.stats().locks_held == 0);
  }
}

UNIT_TEST(a_context_that_leaves_no_lease_has_nobody_sweep) {
  World world(ten_locks());
  Opened closes(world);
  const Opened stays(world);
  EXPECT(closes.take("k") == Status::OK);
  closes.close(true);
  world.advance_ms(1'000);
  EXPECT(world.stats().sweeps == 0 && world.runtime->timers.size() == 0);
}

UNIT_TEST(owners_that_left_nothing_are_gone_and_others_when_it_is_cleared) {
  World world;
  std::weak_ptr<Owner> idle, holds;
  {
    Opened closes(world);
    auto idle_one = closes.engine.make_owner("idle");
    auto holder = closes.engine.make_owner("holder");
    idle = idle_one;
    holds = holder;
    const Bytes key = "k";
    EXPECT(closes.engine.acquire(*holder, {&key, 1}, unit::trying()).status == Status::OK);
    closes.close(true);
  }
  EXPECT(idle.expired() && !holds.expired());
  EXPECT(world.table->inspect("k", false)->is_zombie);
  const auto dead = [](const LocalOwner &owner) { return owner.zombie.load(); };
  const auto nobody = [](const Waiter &) { return false; };
  EXPECT(world.table->clear(dead, nobody, 500).locks == 1);
  EXPECT(world.table->forget_zombies() == 1 && holds.expired());
}

UNIT_MAIN("what is left behind", cmocka_unit_test(leases_that_were_left_are_swept_by_a_context_that_has_used_none),
          cmocka_unit_test(
              leases_that_were_left_are_swept_though_whoever_would_do_so_closes_and_by_whoever_opens_next),
          cmocka_unit_test(a_context_that_leaves_no_lease_has_nobody_sweep),
          cmocka_unit_test(owners_that_left_nothing_are_gone_and_others_when_it_is_cleared))
