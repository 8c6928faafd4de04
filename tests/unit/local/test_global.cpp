// SPDX-License-Identifier: MIT
// The global lock against keyed ones: who passes, who waits, who is next; then many thousand random programs
// whose every step must keep the exclusion, and whose end must leave nobody behind.
#include "../support/stage.hpp"

using namespace liblock;
using unit::Request;
using unit::World;

namespace {

bool is_held(World &world, const Request *request) {
  return request->done && request->grant.status == Status::OK &&
         world.table->view(&world, request->grant.handle).status == Status::OK;
}

Status give_back(World &world, LocalOwner &owner, Request *request) {
  return world.table->release(owner, request->grant.handle);
}

AcquireParams waiting_at_most_ms(int64_t ms) {
  AcquireParams params;
  params.wait = nanos_from_ms(ms);
  return params;
}

struct Stage : unit::Stage {
  std::shared_ptr<LocalOwner> x = world.owner("x");
};

}  // namespace

UNIT_TEST(a_global_request_waits_for_the_last_key_and_says_so) {
  Stage stage;
  Request *a = stage.ask(*stage.nobody, {"A"});
  Request *b = stage.ask(*stage.x, {"B"});
  Request *global = stage.ask(*stage.nobody, {});
  EXPECT(!global->done);
  stage.end(a);
  EXPECT(!global->done);
  stage.end(b);
  EXPECT(is_held(stage.world, global) && (global->grant.flags & LIBLOCK_RESULT_WAITED) != 0);
  EXPECT(global->grant.token > a->grant.token && global->grant.token > b->grant.token);
  stage.end(global);
}

UNIT_TEST(while_it_is_asked_for_newcomers_wait_and_owners_that_hold_a_key_pass) {
  Stage stage;
  Request *outer = stage.ask(*stage.x, {"A"});
  Request *global = stage.ask(*stage.nobody, {});
  Request *newcomer = stage.ask(*stage.nobody, {"B"});
  Request *inner = stage.ask(*stage.x, {"B"});
  EXPECT(!global->done && !newcomer->done && is_held(stage.world, inner));
  stage.end(inner);
  EXPECT(!global->done && !newcomer->done);
  stage.end(outer);
  EXPECT(is_held(stage.world, global) && !newcomer->done);
  stage.end(global);
  EXPECT(is_held(stage.world, newcomer));
  stage.end(newcomer);
}

UNIT_TEST(a_request_between_two_of_its_keys_passes_too) {
  Stage stage;
  Request *b = stage.ask(*stage.nobody, {"B"});
  Request *pair = stage.ask(*stage.nobody, {"A", "B"});
  Request *global = stage.ask(*stage.nobody, {});
  stage.end(b);
  EXPECT(is_held(stage.world, pair) && !global->done);
  stage.end(pair);
  EXPECT(is_held(stage.world, global));
  stage.end(global);
}

UNIT_TEST(a_pending_one_that_is_cancelled_or_times_out_lets_everybody_go) {
  for (const bool times_out : {false, true}) {
    Stage stage;
    Request *a = stage.ask(*stage.nobody, {"A"});
    Request *global = stage.ask(*stage.nobody, {}, waiting_at_most_ms(50));
    Request *behind = stage.ask(*stage.nobody, {"B", "C"});
    EXPECT(!behind->done);
    if (times_out) {
      stage.world.advance_ms(51);
    } else {
      stage.world.table->ask_to_end(global->waiter, Status::CANCELED);
    }
    EXPECT(global->done && global->grant.status == (times_out ? Status::TIMEOUT : Status::CANCELED));
    EXPECT(is_held(stage.world, behind));
    stage.end(behind);
    stage.end(a);
  }
}

UNIT_TEST(of_two_global_requests_the_keyed_ones_between_them_run_in_between) {
  Stage stage;
  Request *first = stage.ask(*stage.nobody, {});
  Request *keyed = stage.ask(*stage.nobody, {"A"});
  Request *second = stage.ask(*stage.nobody, {});
  EXPECT(is_held(stage.world, first) && !keyed->done && !second->done);
  stage.end(first);
  EXPECT(is_held(stage.world, keyed) && !second->done);
  Request *late = stage.ask(*stage.nobody, {"B"});
  EXPECT(!late->done);
  stage.end(keyed);
  EXPECT(is_held(stage.world, second) && !late->done);
  stage.end(second);
  EXPECT(is_held(stage.world, late) && late->grant.token > second->grant.token);
  stage.end(late);
}

UNIT_TEST(a_key_that_becomes_overdue_is_waited_for_no_longer) {
  Stage stage;
  Request *a = stage.ask(*stage.nobody, {"A"}, unit::for_ms(100));
  Request *global = stage.ask(*stage.nobody, {});
  EXPECT(!global->done);
  stage.world.advance_ms(101);
  EXPECT(is_held(stage.world, global));
  EXPECT(give_back(stage.world, *stage.nobody, a) == Status::LOST);
  EXPECT(is_held(stage.world, global));
  stage.end(global);
}

UNIT_TEST(a_lease_that_a_key_is_given_while_it_is_waited_for_is_heard_of) {
  for (const std::vector<Bytes> &keys : {std::vector<Bytes>{"A"}, {"A", "B", "C"}}) {
    Stage stage;
    Request *keyed = stage.ask(*stage.nobody, keys);
    Request *global = stage.ask(*stage.nobody, {});
    stage.world.advance_ms(1'000);
    HoldView after;
    EXPECT(stage.table().extend(&stage.world, keyed->grant.handle, nanos_from_ms(200), false, after) ==
           Status::OK);
    stage.world.advance_ms(199);
    EXPECT(!global->done);
    stage.world.advance_ms(1);
    EXPECT(is_held(stage.world, global));
    stage.end(global);
  }
}

UNIT_TEST(the_lease_of_who_is_let_past_is_heard_of_too) {
  Stage stage;
  Request *outer = stage.ask(*stage.x, {"A"});
  Request *global = stage.ask(*stage.nobody, {});
  stage.world.advance_ms(1'000);
  Request *inner = stage.ask(*stage.x, {"B"}, unit::for_ms(200));
  EXPECT(is_held(stage.world, inner));
  stage.end(outer);
  stage.world.advance_ms(199);
  EXPECT(!global->done);
  stage.world.advance_ms(1);
  EXPECT(is_held(stage.world, global));
  stage.end(global);
}

UNIT_TEST(whose_turn_it_is_looks_at_the_leases_of_those_who_went_between) {
  Stage stage;
  Request *first = stage.ask(*stage.nobody, {});
  Request *keyed = stage.ask(*stage.nobody, {"A"}, unit::for_ms(200));
  Request *second = stage.ask(*stage.nobody, {});
  stage.world.advance_ms(1'000);
  stage.end(first);
  EXPECT(is_held(stage.world, keyed));
  stage.world.advance_ms(199);
  EXPECT(!second->done);
  stage.world.advance_ms(1);
  EXPECT(is_held(stage.world, second));
  stage.end(second);
}

UNIT_TEST(a_global_lock_that_is_overdue_is_taken_over_by_the_next) {
  Stage stage;
  Request *first = stage.ask(*stage.nobody, {}, unit::for_ms(100));
  Request *second = stage.ask(*stage.nobody, {});
  EXPECT(!second->done);
  stage.world.advance_ms(101);
  EXPECT(is_held(stage.world, second));
  EXPECT(give_back(stage.world, *stage.nobody, first) == Status::LOST);
  EXPECT(is_held(stage.world, second));
  stage.end(second);
}

// Nothing but those who wait moves in these stories: a holder's own timer runs on its context's loop, if that runs.
UNIT_TEST(who_waits_for_a_key_ends_a_global_lock_that_is_overdue) {
  for (const bool waits_before : {false, true}) {
    Stage stage;
    Request *in_the_way = stage.ask(*stage.nobody, {"A"});
    Request *global = stage.ask(*stage.nobody, {}, unit::for_ms(200));
    Request *canceled = waits_before ? stage.ask(*stage.nobody, {"B"}) : nullptr;
    Request *keyed = waits_before ? stage.ask(*stage.nobody, {"B"}) : nullptr;
    Request *several = waits_before ? stage.ask(*stage.nobody, {"A", "C"}) : nullptr;
    stage.world.advance_ms(1'000);
    stage.end(in_the_way);
    EXPECT(is_held(stage.world, global));
    if (!waits_before) {
      canceled = stage.ask(*stage.nobody, {"B"});
      keyed = stage.ask(*stage.nobody, {"B"});
      several = stage.ask(*stage.nobody, {"A", "C"});
    }
    stage.world.advance_ms(100);
    stage.world.table->ask_to_end(canceled->waiter, Status::CANCELED);
    stage.world.advance_ms(99);
    EXPECT(canceled->done && !keyed->done && !several->done);
    stage.world.advance_ms(1);
    EXPECT(is_held(stage.world, keyed) && is_held(stage.world, several));
    EXPECT(give_back(stage.world, *stage.nobody, global) == Status::LOST);
    stage.end(keyed);
    stage.end(several);
  }
}

UNIT_TEST(a_lease_that_the_global_lock_is_given_later_is_heard_of_by_those_behind_it) {
  for (const bool reenters : {false, true}) {
    Stage stage;
    Request *global = stage.ask(*stage.x, {});
    Request *keyed = stage.ask(*stage.nobody, {"A"});
    Request *canceled = stage.ask(*stage.nobody, {});
    Request *next = stage.ask(*stage.nobody, {});
    stage.world.advance_ms(1'000);
    if (reenters) {
      AcquireParams again = unit::for_ms(200);
      again.on_conflict = LIBLOCK_ON_CONFLICT_REENTER_EXTEND;
      EXPECT(is_held(stage.world, stage.ask(*stage.x, {}, again)));
    } else {
      HoldView after;
      EXPECT(stage.table().extend(&stage.world, global->grant.handle, nanos_from_ms(200), false, after) ==
             Status::OK);
    }
    if (reenters) stage.world.table->ask_to_end(keyed->waiter, Status::CANCELED);
    stage.world.table->ask_to_end(canceled->waiter, Status::CANCELED);
    stage.world.advance_ms(199);
    EXPECT(!next->done && keyed->done == reenters);
    stage.world.advance_ms(1);
    if (!reenters) stage.end(keyed);
    EXPECT(is_held(stage.world, next));
    stage.end(next);
  }
}

UNIT_TEST(a_named_owner_takes_the_global_lock_again_and_keys_under_it) {
  Stage stage;
  Request *outer = stage.ask(*stage.x, {});
  Request *inner = stage.ask(*stage.x, {});
  Request *key = stage.ask(*stage.x, {"A", "B"});
  EXPECT(is_held(stage.world, inner) && inner->grant.hold_count == 2 && is_held(stage.world, key));
  AcquireParams failing;
  failing.on_conflict = LIBLOCK_ON_CONFLICT_FAIL;
  EXPECT(stage.ask(*stage.x, {}, failing)->grant.status == Status::ALREADY_HELD);
  Request *other = stage.ask(*stage.nobody, {"A"});
  stage.end(outer);
  EXPECT(!other->done);
  stage.end(inner);
  EXPECT(!other->done);  // the key itself is still held
  stage.end(key);
  EXPECT(is_held(stage.world, other));
  stage.end(other);
}

namespace {

// A random program on three keys. Every request is asynchronous; one thread moves everything.
class Program {
 public:
  static constexpr int kOwners = 4;  // the first has no name

  Program(World &world, std::vector<std::shared_ptr<LocalOwner>> &owners, Random &random)
      : world_(world), owners_(owners), random_(random) {}

  void step() {
    switch (pick(8)) {
      case 0:
      case 1:
        ask({kKeys[pick(3)]});
        break;
      case 2: {
        const uint64_t one = pick(3);
        ask({kKeys[one], kKeys[(one + 1) % 3]});
        break;
      }
      case 3:
        ask({});
        break;
      case 4:
      case 5:
        release_some();
        break;
      case 6:
        cancel_some();
        break;
      default:
        world_.advance_ms(static_cast<int64_t>(pick(8)));
        static_cast<void>(world_.table->sweep());
    }
    check();
  }

  // Whoever holds gives back, again and again: then nobody may be left waiting.
  void finish() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t i = 0; i < asked_.size(); ++i) {
        if (!holds(asked_[i])) continue;
        EXPECT(give_back(world_, *owners_[0], asked_[i].request) == Status::OK);
        moved = true;
        check();
      }
    }
    for (const Asked &asked : asked_) {
      EXPECT(asked.request->done);
      asked.request->unpin();
    }
  }

 private:
  struct Asked {
    Request *request;
    size_t owner;
    std::vector<Bytes> keys;  // empty: the global lock
  };
  static constexpr Bytes kKeys[3] = {"A", "B", "C"};

  uint64_t pick(uint64_t bound) { return random_.next() % bound; }
  bool holds(const Asked &asked) { return is_held(world_, asked.request); }

  void ask(std::vector<Bytes> keys) {
    const size_t owner = pick(kOwners);
    AcquireParams params;
    if (pick(4) == 0) params.ttl = nanos_from_ms(1 + static_cast<int64_t>(pick(6)));
    if (pick(4) == 0) params.wait = nanos_from_ms(static_cast<int64_t>(pick(6)));
    params.order = static_cast<int32_t>(pick(4));
    asked_.push_back({world_.ask(*owners_[owner], keys, params), owner, keys});
  }
  void release_some() {
    if (asked_.empty()) return;
    Asked &asked = asked_[pick(asked_.size())];
    if (asked.request->done && asked.request->grant.status == Status::OK)
      static_cast<void>(give_back(world_, *owners_[0], asked.request));
  }
  void cancel_some() {
    if (asked_.empty()) return;
    Asked &asked = asked_[pick(asked_.size())];
    if (!asked.request->done) world_.table->ask_to_end(asked.request->waiter, Status::CANCELED);
  }

  static bool overlap(const Asked &a, const Asked &b) {
    if (a.keys.empty() || b.keys.empty()) return true;
    for (const Bytes key : a.keys) {
      if (std::find(b.keys.begin(), b.keys.end(), key) != b.keys.end()) return true;
    }
    return false;
  }
  void check() {
    for (size_t i = 0; i < asked_.size(); ++i) {
      if (!holds(asked_[i])) continue;
      for (size_t k = 0; k < i; ++k) {
        const bool same = asked_[i].owner == asked_[k].owner && asked_[i].owner != 0;
        if (!same && holds(asked_[k])) EXPECT(!overlap(asked_[i], asked_[k]));
      }
    }
    world_.table->check_invariants();
  }

  World &world_;
  std::vector<std::shared_ptr<LocalOwner>> &owners_;
  Random &random_;
  std::vector<Asked> asked_;
};

}  // namespace

UNIT_TEST(random_programs_keep_the_exclusion_and_leave_nobody_behind) {
  TableOptions options;
  options.deadlock_delay_ms = 3;
  World world(options);
  std::vector<std::shared_ptr<LocalOwner>> owners = {world.owner(""), world.owner("x"), world.owner("y"),
                                                     world.owner("z")};
  const uint64_t programs = unit::scaled(3'000, 60'000, 1'000'000);
  for (uint64_t seed = 1; seed <= programs; ++seed) {
    Random random(seed);
    try {
      Program program(world, owners, random);
      for (int i = 0; i < 16; ++i) program.step();
      program.finish();
      const liblock_stats after = world.stats();
      EXPECT(after.locks_held == 0 && after.waiters == 0);
    } catch (const unit::Failure &failure) {
      throw unit::Failure{"seed " + std::to_string(seed) + ": " + failure.text};
    }
  }
}

UNIT_MAIN("global lock", cmocka_unit_test(a_global_request_waits_for_the_last_key_and_says_so),
          cmocka_unit_test(while_it_is_asked_for_newcomers_wait_and_owners_that_hold_a_key_pass),
          cmocka_unit_test(a_request_between_two_of_its_keys_passes_too),
          cmocka_unit_test(a_pending_one_that_is_cancelled_or_times_out_lets_everybody_go),
          cmocka_unit_test(of_two_global_requests_the_keyed_ones_between_them_run_in_between),
          cmocka_unit_test(a_key_that_becomes_overdue_is_waited_for_no_longer),
          cmocka_unit_test(a_lease_that_a_key_is_given_while_it_is_waited_for_is_heard_of),
          cmocka_unit_test(the_lease_of_who_is_let_past_is_heard_of_too),
          cmocka_unit_test(whose_turn_it_is_looks_at_the_leases_of_those_who_went_between),
          cmocka_unit_test(a_global_lock_that_is_overdue_is_taken_over_by_the_next),
          cmocka_unit_test(who_waits_for_a_key_ends_a_global_lock_that_is_overdue),
          cmocka_unit_test(a_lease_that_the_global_lock_is_given_later_is_heard_of_by_those_behind_it),
          cmocka_unit_test(a_named_owner_takes_the_global_lock_again_and_keys_under_it),
          cmocka_unit_test(random_programs_keep_the_exclusion_and_leave_nobody_behind))
