// SPDX-License-Identifier: MIT
// What becomes of requests of a named owner that wait while another of his is granted, where others are in between.
#include "../support/stage.hpp"

using namespace liblock;
using unit::Request;

namespace {

struct Stage : unit::Stage {
  using unit::Stage::Stage;
  std::shared_ptr<LocalOwner> me = world.owner("me");

  void release(const Request *mine) { EXPECT(table().release(*me, mine->grant.handle) == Status::OK); }
  void release(Handle h) { EXPECT(unit::Stage::release(h) == Status::OK); }
};

bool is(const Request *request, Status status) { return request->done && request->grant.status == status; }

}  // namespace

// As one does who comes now.
UNIT_TEST(a_request_that_waits_goes_on_with_a_key_that_another_of_its_owner_got_on_its_way_to_the_next) {
  Stage stage;
  const Handle a = stage.take({"a"}), b = stage.take({"b"});
  const Request *both = stage.ask(*stage.me, {"a", "b"}), *one = stage.ask(*stage.me, {"a"});
  stage.release(a);
  const Request *newcomer = stage.ask(*stage.me, {"a"});
  EXPECT(!both->done && is(newcomer, Status::OK) && is(one, Status::OK));
  stage.release(b);
  EXPECT(is(both, Status::OK));
}

// A long queue is not gone through for them.
UNIT_TEST(requests_of_an_owner_in_a_long_queue_of_others_reenter_as_well) {
  Stage stage;
  const Handle held = stage.take({"k"});
  Request *first = stage.ask(*stage.me, {"k"});
  std::vector<Request *> others;
  for (int i = 0; i < 200; ++i) others.push_back(stage.ask({"k"}));
  Request *last = stage.ask(*stage.me, {"k"}), *more = stage.ask(*stage.me, {"k", "l"});
  Request *elsewhere = stage.ask(*stage.me, {"z"});
  stage.release(held);
  EXPECT(is(first, Status::OK) && is(last, Status::OK) && is(more, Status::OK));
  EXPECT(!others.front()->done && stage.me->own_waits.load() == 0);
  for (const Request *mine : {first, last, more, elsewhere}) stage.release(mine);
  for (Request *other : others) stage.end(other);
  EXPECT(stage.world.stats().waiters == 0 && stage.world.stats().locks_held == 0);
}

// It left the queue to go on, and before it had looked the key was somebody else's. By a clock that stands still all of
// them came at the same time.
UNIT_TEST(a_request_that_finds_the_key_of_its_owner_given_back_meanwhile_has_its_place_again) {
  for (const int32_t order : {LIBLOCK_ORDER_FIFO, LIBLOCK_ORDER_ANY}) {
    Stage stage;
    AcquireParams params;
    params.order = order;
    const Handle both = stage.take({"k", "n"});
    Request *first = stage.ask(*stage.me, {"k"}, params);
    Request *a = stage.ask({"k"}, params), *b = stage.ask({"k"}, params);
    Request *second = stage.ask(*stage.me, {"k"}, params), *c = stage.ask({"k"}, params);
    Request *third = stage.ask(*stage.me, {"k"}, params), *elsewhere = stage.ask({"n"});
    elsewhere->on_end = [&] { stage.release(first); };
    stage.release(both);
    EXPECT(is(first, Status::OK) && is(a, Status::OK) && !b->done);
    stage.end(a);
    EXPECT(is(b, Status::OK) && !second->done);
    stage.end(b);
    EXPECT(is(second, Status::OK) && is(third, Status::OK) && !c->done);
    stage.release(second);
    stage.release(third);
    stage.end(c);
  }
}

UNIT_TEST(a_place_that_was_given_up_after_queue_ttl_does_not_come_back) {
  Stage stage;
  AcquireParams any, moving;
  any.order = moving.order = LIBLOCK_ORDER_ANY;
  moving.queue_ttl = nanos_from_ms(50);
  const Handle both = stage.take({"k", "n"});
  Request *first = stage.ask(*stage.me, {"k"}, any), *moved = stage.ask(*stage.me, {"k"}, moving);
  Request *a = stage.ask({"k"}, any), *b = stage.ask({"k"}, any), *elsewhere = stage.ask({"n"});
  stage.world.advance_ms(0);
  stage.world.advance_ms(50);
  elsewhere->on_end = [&] { stage.release(first); };
  stage.release(both);
  stage.end(a);
  EXPECT(is(b, Status::OK) && !moved->done);
  stage.end(b);
  stage.release(moved);
}

UNIT_TEST(who_goes_on_to_the_queue_of_another_key_finds_the_room_that_he_has_left) {
  TableOptions options = unit::World::no_deadlock_search();
  options.waiters_max = 1;
  Stage stage(options);
  const Handle a = stage.take({"a"}), b = stage.take({"b"});
  Request *both = stage.ask({"a", "b"});
  stage.release(a);
  EXPECT(!both->done);
  stage.release(b);
  stage.end(both);
}

// He holds nothing, and joined at the end of a queue; but another of his requests is waited for.
UNIT_TEST(an_owner_who_only_waits_and_closes_a_cycle_by_a_second_wait_is_told) {
  Stage stage{TableOptions()};
  const auto other = stage.world.owner("other"), third = stage.world.owner("third");
  stage.take({"k"});
  stage.ask(*other, {"m"});
  stage.ask(*third, {"l"});
  Request *mine = stage.ask(*stage.me, {"k"}), *behind = stage.ask(*other, {"k"});
  Request *of_third = stage.ask(*third, {"m"});
  for (int i = 0; i < 20; ++i) stage.world.advance_ms(10);
  Request *closing = stage.ask(*stage.me, {"l"});
  for (int i = 0; i < 20; ++i) stage.world.advance_ms(10);
  EXPECT(is(closing, Status::DEADLOCK));
  for (Request *waiting : {mine, behind, of_third}) {
    EXPECT(!waiting->done);
    stage.table().ask_to_end(waiting->waiter, Status::CANCELED);
  }
}

// While the ticket of the first is out, which keeps the global lock waiting until it has its key.
UNIT_TEST(the_global_lock_waits_for_what_an_owner_holds_whatever_the_end_of_a_request_of_his_brings) {
  Stage stage;
  Request *kept = stage.ask(*stage.me, {"h"});
  const Handle a = stage.take({"a"}), b = stage.take({"b"});
  Request *both = stage.ask(*stage.me, {"a", "b"}), *one = stage.ask(*stage.me, {"a"});
  Request *global = stage.ask({}), *next = nullptr;
  one->on_end = [&] {
    stage.table().ask_to_end(global->waiter, Status::CANCELED);
    next = stage.ask({});
  };
  stage.release(a);
  EXPECT(is(one, Status::OK) && is(global, Status::CANCELED) && !both->done && !next->done);
  stage.release(b);
  EXPECT(is(both, Status::OK) && !next->done);
  stage.release(kept);
  stage.release(both);
  EXPECT(!next->done && stage.table().is_locked("a"));
  stage.release(one);
  EXPECT(is(next, Status::OK));
  stage.end(next);
}

// The end of each brings that of the next: one behind the other, however many.
UNIT_TEST(a_long_line_of_requests_each_of_which_ends_by_the_end_of_the_one_before_it_needs_no_stack) {
  Stage stage;
  AcquireParams fails;
  fails.on_conflict = LIBLOCK_ON_CONFLICT_FAIL;
  const Handle a = stage.take({"a"});
  std::vector<Request *> line;
  for (int i = 0; i < 30'000; ++i) line.push_back(stage.ask(*stage.me, {"a", "b"}, fails));
  const Request *b = stage.ask(*stage.me, {"b"});
  EXPECT(is(b, Status::OK) && !line.front()->done);
  stage.release(a);
  for (const Request *request : line) EXPECT(is(request, Status::ALREADY_HELD));
  stage.release(b);
  EXPECT(stage.world.stats().waiters == 0 && stage.world.stats().locks_held == 0);
}

// Of each owner one is granted the key, and another, which would not reenter, gives back the key of the next owner.
UNIT_TEST(so_does_a_long_line_of_owners_each_of_which_ends_a_request_of_the_one_before_it) {
  Stage stage;
  constexpr size_t kOwners = 10'000;
  AcquireParams fails;
  fails.on_conflict = LIBLOCK_ON_CONFLICT_FAIL;
  std::vector<std::string> keys;  // a later one comes before an earlier one
  for (size_t i = 0; i <= kOwners; ++i) keys.push_back("k" + std::to_string(99'999 - i));
  const Handle first = stage.take({keys[0]});
  std::vector<std::shared_ptr<LocalOwner>> owners;
  std::vector<Request *> taking, failing;
  for (size_t i = 0; i < kOwners; ++i) {
    owners.push_back(stage.world.owner("o"));
    taking.push_back(stage.ask(*owners[i], {keys[i]}));
    failing.push_back(stage.ask(*owners[i], {keys[i + 1], keys[i]}, fails));
  }
  stage.release(first);
  for (size_t i = 0; i < kOwners; ++i) {
    EXPECT(is(taking[i], Status::OK) && is(failing[i], Status::ALREADY_HELD));
    EXPECT(stage.table().release(*owners[i], taking[i]->grant.handle) == Status::OK);
  }
  EXPECT(stage.world.stats().waiters == 0 && stage.world.stats().locks_held == 0);
}

UNIT_MAIN("going_on",
          cmocka_unit_test(
              a_request_that_waits_goes_on_with_a_key_that_another_of_its_owner_got_on_its_way_to_the_next),
          cmocka_unit_test(requests_of_an_owner_in_a_long_queue_of_others_reenter_as_well),
          cmocka_unit_test(a_request_that_finds_the_key_of_its_owner_given_back_meanwhile_has_its_place_again),
          cmocka_unit_test(a_place_that_was_given_up_after_queue_ttl_does_not_come_back),
          cmocka_unit_test(who_goes_on_to_the_queue_of_another_key_finds_the_room_that_he_has_left),
          cmocka_unit_test(an_owner_who_only_waits_and_closes_a_cycle_by_a_second_wait_is_told),
          cmocka_unit_test(the_global_lock_waits_for_what_an_owner_holds_whatever_the_end_of_a_request_of_his_brings),
          cmocka_unit_test(
              a_long_line_of_requests_each_of_which_ends_by_the_end_of_the_one_before_it_needs_no_stack),
          cmocka_unit_test(so_does_a_long_line_of_owners_each_of_which_ends_a_request_of_the_one_before_it))
