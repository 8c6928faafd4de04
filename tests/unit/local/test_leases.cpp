// SPDX-License-Identifier: MIT
// What time does to a lock, moved by hand: leases end for whoever looks, late holders hear LOST and touch
// nobody, extensions and renewals move the end, sweeps go in small steps and miss nothing.
#include <atomic>
#include <system_error>
#include <thread>

#include "../support/stage.hpp"
#include "local/local_engine.hpp"

using namespace liblock;
using unit::for_ms;
using unit::Request;
using unit::World;

namespace {

struct Stage : unit::Stage {
  // Of a free key, without a request.
  Handle hold(const std::string &key, int64_t ttl_ms) {
    const Bytes bytes = key;
    const Grant grant = table().acquire(*nobody, {&bytes, 1}, for_ms(ttl_ms));
    EXPECT(grant.status == Status::OK);
    return grant.handle;
  }
  Status state(Handle h) { return table().view(&world, h).status; }
  int64_t left_ms(Handle h) { return ms_from_nanos(table().view(&world, h).deadline - world.now.load()); }
  Request *watch_release(Bytes key) {
    auto *watch = new Request(world.table, world.runtime);
    watch->pin();
    requests.push_back(watch);
    table().watch(*watch, Waiter::Kind::WatchReleased, key, 0, *nobody, watch->params);
    return watch;
  }
  Status extend(Handle h, int64_t ms, bool add) {
    HoldView after;
    return table().extend(&world, h, ms < 0 ? kNever : nanos_from_ms(ms), add, after);
  }
};

// An engine on the manual clock, whose lease timers the world fires.
struct EngineStage {
  World world;
  LocalEngine engine{world.table, "instance", this, [this] { return world.runtime; }};

  ~EngineStage() {
    engine.close(false, [] {});
  }
  Grant acquire(std::vector<Bytes> keys, AcquireParams params) {
    params.runtime = world.runtime;
    const Grant grant = engine.acquire(engine.unnamed_owner(), keys, params);
    EXPECT(grant.status == Status::OK);
    return grant;
  }
  Status extend(Handle h, int64_t ttl_ms, bool add) {
    struct Extend final : Ask {
      void ended() override {}
    } ask;
    ask.what = Ask::What::Extend;
    ask.lock = h;
    ask.ttl = nanos_from_ms(ttl_ms);
    ask.flag = add;
    engine.start(ask);
    return ask.status;
  }
  void run_for_ms(int64_t ms) {
    for (int64_t i = 0; i < ms; ++i) world.advance_ms(1);
  }
};

AcquireParams renewed(int64_t ttl_ms, int64_t max_hold_ms = -1) {
  AcquireParams params = for_ms(ttl_ms);
  params.renew = true;
  if (max_hold_ms > 0) params.max_hold = nanos_from_ms(max_hold_ms);
  return params;
}

}  // namespace

UNIT_TEST(a_lease_ends_to_the_nanosecond_and_not_before) {
  Stage stage;
  const Handle h = stage.take({"k"}, for_ms(100));
  stage.world.now.fetch_add(100 * kMillisecond - 1);
  EXPECT(stage.state(h) == Status::OK && stage.table().is_locked("k"));
  stage.world.now.fetch_add(1);
  EXPECT(stage.state(h) == Status::LOST && !stage.table().is_locked("k"));
  EXPECT(stage.release(h) == Status::LOST && stage.release(h) == Status::NOT_HELD);
}

UNIT_TEST(whoever_wants_an_overdue_key_takes_it_over_with_a_larger_token) {
  Stage stage;
  for (const bool several : {false, true}) {
    std::vector<Bytes> keys = {"a"};
    if (several) keys.push_back("b");
    Request *first = stage.ask(keys, for_ms(100));
    EXPECT(stage.ask({"a"}, unit::trying())->grant.status == Status::BUSY);
    stage.world.advance_ms(100);
    Request *second = stage.ask(keys);
    EXPECT(second->done && (second->grant.flags & LIBLOCK_RESULT_TOOK_OVER) != 0);
    EXPECT(second->grant.token > first->grant.token);
    EXPECT(stage.release(first->grant.handle) == Status::LOST);
    EXPECT(stage.state(second->grant.handle) == Status::OK);
    EXPECT(stage.release(second->grant.handle) == Status::OK);
  }
}

UNIT_TEST(the_head_of_the_queue_is_served_when_the_holder_becomes_overdue) {
  Stage stage;
  const Handle h = stage.take({"k"}, for_ms(100));
  Request *next = stage.ask({"k"});
  Request *last = stage.ask({"k"});
  stage.world.advance_ms(99);
  EXPECT(!next->done);
  stage.world.advance_ms(1);
  EXPECT(next->done && !last->done);
  EXPECT(stage.release(h) == Status::LOST && !last->done);
  EXPECT(stage.release(next->grant.handle) == Status::OK && last->done);
  EXPECT(stage.release(last->grant.handle) == Status::OK);
}

// It slept on what it had seen: a key without a lease, since its holder was waiting for the other one.
UNIT_TEST(who_waits_for_one_of_several_keys_hears_of_the_lease_that_begins_with_the_last_of_them) {
  for (const Bytes key : {Bytes("a"), Bytes("b")}) {
    Stage stage;
    const Handle busy = stage.take({"b"});
    Request *both = stage.ask({"a", "b"}, for_ms(200));
    Request *watching = stage.watch_release("a");
    Request *behind = stage.ask({key});
    stage.world.advance_ms(1'000);
    EXPECT(stage.release(busy) == Status::OK && both->done && !behind->done && !watching->done);
    stage.world.advance_ms(199);
    EXPECT(!behind->done && !watching->done);
    stage.world.advance_ms(1);
    EXPECT(behind->done && watching->done && watching->grant.status == Status::OK);
    EXPECT(stage.release(both->grant.handle) == Status::LOST);
    stage.end(behind);
  }
}

UNIT_TEST(a_lock_that_loses_one_of_its_keys_loses_all_of_them) {
  Stage stage;
  const Handle h = stage.take({"a", "b", "c"});
  Request *waiting = stage.ask({"c"});
  liblock::Tally tally;
  EXPECT(stage.table().force_release("a", false, tally) == Status::OK);
  EXPECT(tally.locks == 1 && tally.queues == 0);
  EXPECT(stage.state(h) == Status::LOST && waiting->done && !stage.table().is_locked("b"));
  EXPECT(stage.release(h) == Status::LOST);
  EXPECT(stage.release(waiting->grant.handle) == Status::OK);
  EXPECT(stage.world.stats().locks_held == 0);
}

UNIT_TEST(extensions_set_add_and_take_the_end_away) {
  Stage stage;
  for (const std::vector<Bytes> &keys : {std::vector<Bytes>{"a"}, {"a", "b", "c"}}) {
    const Handle h = stage.take(keys, for_ms(100));
    EXPECT(stage.left_ms(h) == 100);
    EXPECT(stage.extend(h, 50, true) == Status::OK && stage.left_ms(h) == 150);
    EXPECT(stage.extend(h, 70, false) == Status::OK && stage.left_ms(h) == 70);
    EXPECT(stage.extend(h, -1, false) == Status::OK);
    stage.world.advance_ms(1'000'000);
    EXPECT(stage.state(h) == Status::OK);
    EXPECT(stage.extend(h, 10, false) == Status::OK);
    stage.world.advance_ms(10);
    EXPECT(stage.extend(h, 10, false) == Status::LOST && stage.extend(h, 10, true) == Status::LOST);
    EXPECT(stage.release(h) == Status::LOST);
  }
}

UNIT_TEST(the_longest_extension_does_not_overflow) {
  Stage stage;
  const Handle h = stage.take({"k"}, for_ms(INT64_MAX));
  for (int i = 0; i < 10; ++i) EXPECT(stage.extend(h, INT64_MAX, true) == Status::OK);
  EXPECT(stage.state(h) == Status::OK && stage.release(h) == Status::OK);
}

UNIT_TEST(a_value_lives_through_extensions_and_goes_with_the_hold) {
  Stage stage;
  const Handle h = stage.take({"k"}, for_ms(100));
  EXPECT(stage.table().update(&stage.world, h, "v") == Status::OK);
  EXPECT(stage.extend(h, 100, true) == Status::OK && stage.table().inspect("k", false)->value == "v");
  EXPECT(stage.release(h) == Status::OK);
  const Handle other = stage.take({"k"});
  EXPECT(stage.table().inspect("k", false)->value.empty());
  EXPECT(stage.table().update(&stage.world, h, "w") == Status::NOT_HELD);
  EXPECT(stage.release(other) == Status::OK);
}

UNIT_TEST(a_renewed_lock_lives_until_its_maximum_hold_and_is_lost_once) {
  EngineStage stage;
  static int losses;
  losses = 0;
  AcquireParams params = renewed(30, 200);
  params.on_lost = [](const liblock_completion *end, void *) { losses += end->status == LIBLOCK_LOST; };
  const Grant grant = stage.acquire({"k"}, params);
  stage.run_for_ms(199);
  EXPECT(stage.engine.view(grant.handle).status == Status::OK && losses == 0);
  stage.run_for_ms(2);
  EXPECT(stage.engine.view(grant.handle).status == Status::LOST && losses == 1);
  stage.run_for_ms(500);
  EXPECT(losses == 1 && stage.engine.release(grant.handle) == Status::LOST);
}

UNIT_TEST(renewal_comes_when_two_thirds_are_left_also_after_an_extension) {
  EngineStage stage;
  for (const bool global : {false, true}) {
    const Grant grant = stage.acquire(global ? std::vector<Bytes>{} : std::vector<Bytes>{"k"}, renewed(90));
    const auto renewals = [&] { return stage.world.stats().renewals; };
    uint64_t before = renewals();
    stage.run_for_ms(31);
    EXPECT(renewals() == before + 1);
    EXPECT(stage.extend(grant.handle, 500, true) == Status::OK);
    before = renewals();
    stage.run_for_ms(450);
    EXPECT(renewals() == before);
    stage.run_for_ms(400);
    EXPECT(renewals() > before && stage.engine.view(grant.handle).status == Status::OK);
    EXPECT(stage.extend(grant.handle, 12, false) == Status::OK);
    stage.run_for_ms(200);
    EXPECT(stage.engine.release(grant.handle) == Status::OK);
    before = renewals();
    stage.run_for_ms(300);
    EXPECT(renewals() == before);
  }
}

UNIT_TEST(a_sweep_ends_what_is_over_and_looks_at_64_entries_per_hold_at_most) {
  Stage stage;
  std::vector<Handle> brief, lasting;
  for (int i = 0; i < 20'000; ++i) {
    const Handle h = stage.hold("k" + std::to_string(i), i % 2 == 0 ? 10 : 1'000);
    (i % 2 == 0 ? brief : lasting).push_back(h);
  }
  EXPECT(stage.table().sweep() == 0);
  stage.world.now.fetch_add(10 * kMillisecond);
  EXPECT(stage.table().sweep() == brief.size() && stage.table().sweep() == 0);
  const liblock_stats after = stage.world.stats();
  EXPECT(after.expired == brief.size() && after.locks_held == lasting.size());
  EXPECT(after.sweep_entries_per_hold_max == 64);
  for (const Handle h : lasting) EXPECT(stage.release(h) == Status::OK);
}

UNIT_TEST(batches_of_any_size_go_over_every_entry_once_per_pass) {
  Stage stage;
  for (int i = 0; i < 3'000; ++i) stage.hold("k" + std::to_string(i), 5);
  uint64_t whole = 0, ended = 0;
  LockTable::SweepPosition all;
  EXPECT(!stage.table().sweep_step(all, UINT64_MAX, ended));
  whole = stage.world.stats().sweep_entries;
  for (const uint64_t batch :
       {uint64_t{1}, uint64_t{7}, uint64_t{63}, uint64_t{64}, uint64_t{100}, uint64_t{5'000}}) {
    const uint64_t before = stage.world.stats().sweep_entries;
    LockTable::SweepPosition position;
    while (stage.table().sweep_step(position, batch, ended)) {}
    EXPECT(stage.world.stats().sweep_entries - before == whole);
  }
  EXPECT(ended == 0);
  stage.world.now.fetch_add(5 * kMillisecond);
  LockTable::SweepPosition position;
  while (stage.table().sweep_step(position, 7, ended)) {}
  EXPECT(ended == 3'000 && stage.world.stats().locks_held == 0);
  stage.table().check_invariants();
}

UNIT_TEST(an_owner_who_comes_when_the_engine_has_closed_gets_nothing_that_nobody_would_give_back) {
  World world;
  LocalEngine closed(world.table, "closed", &world, [&] { return world.runtime; });
  closed.close(false, [] {});
  const std::shared_ptr<Owner> late = closed.make_owner("late");
  const std::vector<Bytes> keys = {"k"};
  EXPECT(closed.acquire(*late, keys, AcquireParams()).status == Status::CLOSED);
  closed.close_owner(late);
  LocalEngine other(world.table, "other", &other, [&] { return world.runtime; });
  EXPECT(other.acquire(other.unnamed_owner(), keys, AcquireParams()).status == Status::OK);
  other.close(false, [] {});
}

UNIT_TEST(who_has_waited_and_gets_no_lease_for_want_of_a_thread_is_told_and_still_counted_as_waiting) {
  World world;
  LocalEngine engine(world.table, "i", &world, []() -> std::shared_ptr<Runtime> {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  });
  const std::vector<Bytes> keys = {"k"};
  const Grant held = engine.acquire(engine.unnamed_owner(), keys, AcquireParams());
  std::atomic<uint64_t> waiting{0};
  AcquireParams params;
  params.ttl = nanos_from_ms(60'000);
  params.wait = kNever;
  params.threads_waiting = &waiting;
  Grant refused;
  std::thread waiter([&] { refused = engine.acquire(engine.unnamed_owner(), keys, params); });
  while (waiting.load() == 0) std::this_thread::yield();
  EXPECT(engine.release(held.handle) == Status::OK);
  waiter.join();
  EXPECT(refused.status == Status::INTERNAL && refused.counted_as_waiting);
  EXPECT(engine.explain(refused.status).find("raise the limit") != std::string::npos);
  EXPECT(engine.acquire(engine.unnamed_owner(), keys, AcquireParams()).status == Status::OK);
  engine.close(false, [] {});
}

UNIT_MAIN("leases", cmocka_unit_test(a_lease_ends_to_the_nanosecond_and_not_before),
          cmocka_unit_test(whoever_wants_an_overdue_key_takes_it_over_with_a_larger_token),
          cmocka_unit_test(the_head_of_the_queue_is_served_when_the_holder_becomes_overdue),
          cmocka_unit_test(
              who_waits_for_one_of_several_keys_hears_of_the_lease_that_begins_with_the_last_of_them),
          cmocka_unit_test(a_lock_that_loses_one_of_its_keys_loses_all_of_them),
          cmocka_unit_test(extensions_set_add_and_take_the_end_away),
          cmocka_unit_test(the_longest_extension_does_not_overflow),
          cmocka_unit_test(a_value_lives_through_extensions_and_goes_with_the_hold),
          cmocka_unit_test(a_renewed_lock_lives_until_its_maximum_hold_and_is_lost_once),
          cmocka_unit_test(renewal_comes_when_two_thirds_are_left_also_after_an_extension),
          cmocka_unit_test(a_sweep_ends_what_is_over_and_looks_at_64_entries_per_hold_at_most),
          cmocka_unit_test(batches_of_any_size_go_over_every_entry_once_per_pass),
          cmocka_unit_test(an_owner_who_comes_when_the_engine_has_closed_gets_nothing_that_nobody_would_give_back),
          cmocka_unit_test(who_has_waited_and_gets_no_lease_for_want_of_a_thread_is_told_and_still_counted_as_waiting))
