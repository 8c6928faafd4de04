// SPDX-License-Identifier: MIT
// How waits end, moved by hand: by time, by retries, by cancel, by closing, by bounds; and in which order
// those that are served come.
#include "../support/stage.hpp"

using namespace liblock;
using unit::Request;
using unit::World;

namespace {

struct Stage : unit::Stage {
  using unit::Stage::Stage;
  void cancel(Request *request) { table().ask_to_end(request->waiter, Status::CANCELED); }
  void release(Handle h) { EXPECT(unit::Stage::release(h) == Status::OK); }
};

bool ended_as(const Request *request, Status status) {
  return request->done && request->grant.status == status;
}

AcquireParams in_order(int32_t order, int32_t priority = 0) {
  AcquireParams params;
  params.order = order;
  params.priority = priority;
  return params;
}

AcquireParams waiting_ms(int64_t ms) {
  AcquireParams params;
  params.wait = nanos_from_ms(ms);
  return params;
}

}  // namespace

UNIT_TEST(a_wait_times_out_when_its_time_is_over_and_not_before) {
  Stage stage;
  const Handle held = stage.take({"k"});
  Request *waiting = stage.ask({"k"}, waiting_ms(50));
  stage.world.advance_ms(49);
  EXPECT(!waiting->done);
  stage.world.advance_ms(1);
  EXPECT(ended_as(waiting, Status::TIMEOUT) && waiting->grant.handle == 0);
  stage.release(held);
  EXPECT(stage.world.stats().waiters == 0 && stage.world.stats().locks_held == 0);
}

UNIT_TEST(retries_run_out_after_as_many_intervals_and_keep_the_place_until_then) {
  Stage stage;
  const Handle held = stage.take({"k"});
  AcquireParams params;
  params.retry.retries_max = 3;
  params.retry.interval_ms = 10;
  params.retry.jitter_ms = 0;
  Request *counting = stage.ask({"k"}, params);
  Request *behind = stage.ask({"k"});
  stage.world.advance_ms(0);
  for (int i = 0; i < 29; ++i) stage.world.advance_ms(1);
  EXPECT(!counting->done);
  stage.world.advance_ms(1);
  EXPECT(ended_as(counting, Status::RETRIES_EXHAUSTED));
  stage.release(held);
  stage.end(behind);
}

UNIT_TEST(a_single_attempt_says_busy_and_leaves_no_trace) {
  Stage stage;
  const Handle held = stage.take({"k"});
  EXPECT(ended_as(stage.ask({"k"}, unit::trying()), Status::BUSY));
  EXPECT(ended_as(stage.ask({"a", "k"}, unit::trying()), Status::BUSY));
  EXPECT(!stage.table().is_locked("a") && stage.world.stats().waiters == 0);
  stage.release(held);
  EXPECT(stage.world.stats().locks_held == 0);
}

UNIT_TEST(whoever_is_cancelled_leaves_the_others_in_their_places) {
  for (size_t leaver = 0; leaver < 3; ++leaver) {
    Stage stage;
    const Handle held = stage.take({"k"});
    std::vector<Request *> waiting;
    for (int i = 0; i < 3; ++i) waiting.push_back(stage.ask({"k"}));
    stage.cancel(waiting[leaver]);
    EXPECT(ended_as(waiting[leaver], Status::CANCELED));
    stage.release(held);
    for (size_t i = 0; i < 3; ++i) {
      if (i != leaver) stage.end(waiting[i]);
    }
    EXPECT(stage.world.stats().waiters == 0 && stage.world.stats().locks_held == 0);
  }
}

UNIT_TEST(a_request_that_was_handed_one_of_its_keys_gives_it_back_when_it_ends) {
  for (const bool times_out : {false, true}) {
    Stage stage;
    const Handle a = stage.take({"a"});
    const Handle b = stage.take({"b"});
    Request *pair = stage.ask({"a", "b"}, waiting_ms(50));
    stage.release(a);
    EXPECT(!pair->done && stage.table().is_locked("a"));
    Request *behind = stage.ask({"a"});
    if (times_out) {
      stage.world.advance_ms(50);
    } else {
      stage.cancel(pair);
    }
    EXPECT(ended_as(pair, times_out ? Status::TIMEOUT : Status::CANCELED));
    stage.end(behind);
    stage.release(b);
    EXPECT(stage.world.stats().locks_held == 0);
  }
}

UNIT_TEST(after_its_queue_ttl_a_waiter_is_behind_everybody_who_came_meanwhile) {
  Stage stage;
  const Handle held = stage.take({"k"});
  AcquireParams moving;
  moving.queue_ttl = nanos_from_ms(20);
  Request *first = stage.ask({"k"}, moving);
  stage.world.advance_ms(10);
  Request *second = stage.ask({"k"});
  stage.world.advance_ms(10);
  stage.release(held);
  EXPECT(second->done && !first->done);
  stage.end(second);
  stage.end(first);
}

UNIT_TEST(orders_on_one_key_have_one_line) {
  Stage stage;
  const Handle held = stage.take({"k"});
  stage.world.advance_ms(1);
  Request *fifo = stage.ask({"k"}, in_order(LIBLOCK_ORDER_FIFO));
  Request *any = stage.ask({"k"}, in_order(LIBLOCK_ORDER_ANY));
  Request *low = stage.ask({"k"}, in_order(LIBLOCK_ORDER_PRIORITY, -1));
  Request *high = stage.ask({"k"}, in_order(LIBLOCK_ORDER_PRIORITY, 1));
  Request *lifo = stage.ask({"k"}, in_order(LIBLOCK_ORDER_LIFO));
  stage.release(held);
  for (Request *request : {lifo, high, fifo, low, any}) {
    EXPECT(request->done);
    stage.end(request);
  }
}

UNIT_TEST(an_any_request_is_served_before_those_who_came_a_millisecond_later) {
  Stage stage;
  const Handle held = stage.take({"k"});
  Request *any = stage.ask({"k"}, in_order(LIBLOCK_ORDER_ANY));
  Request *soon = stage.ask({"k"});
  stage.world.advance_ms(2);
  Request *late = stage.ask({"k"});
  stage.release(held);
  EXPECT(soon->done && !any->done);
  stage.end(soon);
  EXPECT(any->done && !late->done);
  stage.end(any);
  stage.end(late);
}

UNIT_TEST(waiters_max_is_exact_and_room_is_found_again_when_somebody_leaves) {
  TableOptions options = World::no_deadlock_search();
  options.waiters_max = 3;
  Stage stage(options);
  Handle held = stage.take({"k"});
  std::vector<Request *> waiting;
  for (int i = 0; i < 3; ++i) waiting.push_back(stage.ask({"k"}));
  EXPECT(ended_as(stage.ask({"k"}), Status::LIMIT));
  EXPECT(ended_as(stage.ask({}), Status::LIMIT));
  EXPECT(ended_as(stage.ask({"k"}, unit::trying()), Status::BUSY));
  stage.release(held);  // handed on: one waiter less
  waiting.push_back(stage.ask({"k"}));
  EXPECT(!waiting.back()->done && ended_as(stage.ask({"k"}), Status::LIMIT));
  stage.cancel(waiting[1]);
  waiting.push_back(stage.ask({"k"}));
  EXPECT(!waiting.back()->done && ended_as(stage.ask({"k"}), Status::LIMIT));
  for (Request *request : waiting) {
    if (!ended_as(request, Status::CANCELED)) stage.end(request);
  }
  EXPECT(stage.world.stats().waiters == 0);
}

UNIT_TEST(locks_max_is_exact_wherever_the_keys_lie) {
  TableOptions options = World::no_deadlock_search();
  options.locks_max = 5;
  Stage stage(options);
  std::vector<Handle> held;
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> keys;
    for (int i = 0; i < 6; ++i) keys.push_back("k" + std::to_string(round) + "-" + std::to_string(i));
    held.push_back(stage.take({keys[0], keys[1]}));
    held.push_back(stage.take({keys[2], keys[3], keys[4]}));
    EXPECT(ended_as(stage.ask({keys[5]}), Status::LIMIT));
    for (const Handle h : held) stage.release(h);
    held.clear();
  }
  EXPECT(stage.world.stats().locks_held == 0);
}

UNIT_TEST(closing_an_owner_ends_its_waits_and_hands_on_what_it_held) {
  Stage stage;
  const auto x = stage.world.owner("x");
  Request *held = stage.ask(*x, {"a"});
  const Handle b = stage.take({"b"});
  Request *waiting = stage.ask(*x, {"b", "c"});
  Request *global = stage.ask(*x, {});
  Request *behind = stage.ask({"a"});
  EXPECT(held->done && !waiting->done && !global->done && !behind->done);
  stage.table().close_owner(*x);
  EXPECT(ended_as(waiting, Status::CLOSED) && ended_as(global, Status::CLOSED));
  stage.end(behind);
  stage.release(b);
  EXPECT(ended_as(stage.ask(*x, {"d"}), Status::CLOSED));
  stage.table().remove_owner(x.get());
  EXPECT(stage.world.stats().locks_held == 0 && stage.world.stats().waiters == 0);
}

UNIT_TEST(closing_an_instance_releases_or_leaves_and_touches_no_other) {
  for (const bool leave : {false, true}) {
    Stage stage;
    int other_instance = 0;
    auto other = std::make_shared<LocalOwner>(&other_instance, "other", 0, "", false);
    const Handle mine = stage.take({"mine"});
    Request *theirs = stage.ask(*other, {"theirs"});
    Request *my_wait = stage.ask({"theirs"});
    Request *their_wait = stage.ask(*other, {"mine"});
    stage.table().close_instance(*stage.nobody, leave);
    EXPECT(ended_as(my_wait, Status::CLOSED));
    EXPECT(theirs->done && stage.table().is_locked("theirs"));
    EXPECT(their_wait->done != leave && stage.table().is_locked("mine"));
    if (leave) {
      EXPECT(stage.table().inspect("mine", false)->is_zombie);
      liblock::Tally tally;
      EXPECT(stage.table().force_release("mine", false, tally) == Status::OK);
      EXPECT(tally.locks == 1 && tally.queues == 1 && tally.waiters == 1);
    }
    EXPECT(their_wait->done);
    for (Request *request : {theirs, their_wait})
      EXPECT(stage.table().release(*other, request->grant.handle) == Status::OK);
    EXPECT(stage.table().view(&stage.world, mine).status != Status::OK);
    EXPECT(stage.world.stats().locks_held == 0);
  }
}

// Whoever closes it marks its owner first and looks at each key once: at the one that the watch would go to, perhaps
// before it came there.
UNIT_TEST(a_watch_whose_context_is_closing_does_not_go_on_to_another_key_of_its_lock) {
  int ended_by_the_move = 0;
  for (const Bytes first : {"a", "b"}) {
    Stage stage;
    const auto holder = stage.world.owner("holder");
    Request *held = stage.ask(*holder, {"a", "b"});
    auto *watching = new Request(stage.world.table, stage.world.runtime);
    watching->pin();
    stage.requests.push_back(watching);
    stage.table().watch(*watching, Waiter::Kind::WatchLost, {}, held->grant.handle, *stage.nobody, watching->params);
    stage.nobody->closed.store(true);
    EXPECT(stage.table().release_keys(*holder, {{first}}) == Status::OK);
    if (watching->done) ++ended_by_the_move;
    stage.table().close_instance(*stage.nobody, false);
    EXPECT(ended_as(watching, Status::CLOSED));
  }
  EXPECT(ended_by_the_move == 1);
}

UNIT_MAIN("waits", cmocka_unit_test(a_wait_times_out_when_its_time_is_over_and_not_before),
          cmocka_unit_test(retries_run_out_after_as_many_intervals_and_keep_the_place_until_then),
          cmocka_unit_test(a_single_attempt_says_busy_and_leaves_no_trace),
          cmocka_unit_test(whoever_is_cancelled_leaves_the_others_in_their_places),
          cmocka_unit_test(a_request_that_was_handed_one_of_its_keys_gives_it_back_when_it_ends),
          cmocka_unit_test(after_its_queue_ttl_a_waiter_is_behind_everybody_who_came_meanwhile),
          cmocka_unit_test(orders_on_one_key_have_one_line),
          cmocka_unit_test(an_any_request_is_served_before_those_who_came_a_millisecond_later),
          cmocka_unit_test(waiters_max_is_exact_and_room_is_found_again_when_somebody_leaves),
          cmocka_unit_test(locks_max_is_exact_wherever_the_keys_lie),
          cmocka_unit_test(closing_an_owner_ends_its_waits_and_hands_on_what_it_held),
          cmocka_unit_test(closing_an_instance_releases_or_leaves_and_touches_no_other),
          cmocka_unit_test(a_watch_whose_context_is_closing_does_not_go_on_to_another_key_of_its_lock))
