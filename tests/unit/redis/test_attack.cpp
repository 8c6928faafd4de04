// SPDX-License-Identifier: MIT
// What was found by attacking the wait queues of a server: each of these failed once. Time and network are moved by
// hand; the server runs the real scripts.
#include "redis/inspecting.hpp"
#include "stage.hpp"

using namespace unit;

UNIT_TEST(a_waiter_of_an_instance_that_has_only_asked_for_replicas_keeps_its_place) {
  Stage s;
  AcquireParams durable = waiting_ms(60'000);
  durable.replicas = 1;
  durable.replicas_timeout = 10 * kMillisecond;
  Wanted &held = s.a.take("k");
  Wanted &in_time = s.b.acquire({"k"}, [&] {
    AcquireParams params = durable;
    params.wait = 100 * kMillisecond;
    return params;
  }());
  Wanted &waiter = s.b.acquire({"k"}, durable);
  s.world.run_ms(200);
  EXPECT(in_time.is(Status::TIMEOUT));
  s.world.run_ms(10'000);
  s.a.release(held.grant().handle);
  s.world.run_ms(100);
  EXPECT(waiter.is(Status::OK));
}

UNIT_MAIN("attacks on wait queues",
          cmocka_unit_test(a_waiter_of_an_instance_that_has_only_asked_for_replicas_keeps_its_place))
