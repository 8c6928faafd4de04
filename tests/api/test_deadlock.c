/* SPDX-License-Identifier: MIT
 *
 * Deadlock detection over named owners: every cycle is reported, none that is not there, and it can be
 * switched off. Waits are asynchronous, so that one test thread builds every cycle in a known order.
 */
#include "api.h"
#include "recorder.h"
#include "worker.h"

enum { RING_MAX = 8 };

struct ring {
  liblock_context *context;
  recorder *ends;
  int size;
  liblock_owner *owners[RING_MAX];
  liblock_lock locks[RING_MAX];
  char keys[RING_MAX][4];
};

/* Owner i holds key i. */
static struct ring ring_of(liblock_context *context, int size) {
  struct ring ring = {.context = context, .ends = recorder_new(context, true), .size = size};
  for (int i = 0; i < size; i++) {
    ring.keys[i][0] = 'k';
    ring.keys[i][1] = (char)('0' + i);
    ring.owners[i] = open_owner(context, ring.keys[i]);
    const liblock_acquire_options mine = owned_by(ring.owners[i]);
    ring.locks[i] = take_with(context, ring.keys[i], &mine);
  }
  return ring;
}

/* Owner i asks for the key of owner i + 1. */
static void ask_for_next(struct ring *ring, int i, int32_t on_deadlock) {
  liblock_acquire_options mine = owned_by(ring->owners[i]);
  mine.on_deadlock = on_deadlock;
  request_key(ring->context, ring->ends, i, ring->keys[(i + 1) % ring->size], &mine);
}

static void end_ring(struct ring *ring) {
  for (int i = 0; i < ring->size; i++) liblock_owner_free(ring->owners[i]);
  assert_true(recorder_await(ring->ends, (size_t)ring->size));
  recorder_free(ring->ends);
}

static void a_cycle_of_two_owners_is_reported_to_one_of_them(void **state) {
  struct ring ring = ring_of(*state, 2);
  ask_for_next(&ring, 0, LIBLOCK_ON_DEADLOCK_FAIL_SELF);
  await_waiters(*state, 1);
  ask_for_next(&ring, 1, LIBLOCK_ON_DEADLOCK_FAIL_SELF);
  assert_true(recorder_await(ring.ends, 1));
  assert_status(LIBLOCK_DEADLOCK, recorder_at(ring.ends, 0).completion.status);
  assert_true(recorder_at(ring.ends, 0).completion.lock == 0);
  assert_int_equal(stats_of(*state).deadlocks, 1);
  end_ring(&ring);
}

static void the_others_of_a_cycle_go_on_when_the_loser_gives_way(void **state) {
  struct ring ring = ring_of(*state, 2);
  ask_for_next(&ring, 0, LIBLOCK_ON_DEADLOCK_FAIL_SELF);
  ask_for_next(&ring, 1, LIBLOCK_ON_DEADLOCK_FAIL_SELF);
  assert_true(recorder_await(ring.ends, 1));
  const int loser = recorder_at(ring.ends, 0).tag;
  assert_ok(liblock_is_held(*state, ring.locks[0]));
  assert_ok(liblock_is_held(*state, ring.locks[1]));
  assert_ok(liblock_release(*state, ring.locks[loser], NULL));
  assert_true(recorder_await(ring.ends, 2));
  assert_int_equal(recorder_at(ring.ends, 1).tag, 1 - loser);
  assert_ok(recorder_at(ring.ends, 1).completion.status);
  end_ring(&ring);
}

static void cycles_of_every_length_are_reported_once(void **state) {
  for (int size = 2; size <= RING_MAX; size++) {
    const uint64_t before = stats_of(*state).deadlocks;
    struct ring ring = ring_of(*state, size);
    for (int i = 0; i < size; i++) ask_for_next(&ring, i, LIBLOCK_ON_DEADLOCK_FAIL_SELF);
    assert_true(recorder_await(ring.ends, 1));
    assert_status(LIBLOCK_DEADLOCK, recorder_at(ring.ends, 0).completion.status);
    let_pass_ms(20);
    assert_int_equal(recorder_count(ring.ends), 1);
    assert_int_equal(stats_of(*state).deadlocks, before + 1);
    end_ring(&ring);
  }
}

static bool one_is_done(void *argument) {
  worker **waits = argument;
  return worker_is_done(waits[0]) || worker_is_done(waits[1]);
}

/* Which of the two finds the cycle is a matter of time; that one of them is told, and the other served, is
 * not. */
static void of_two_threads_that_block_each_other_one_is_told(void **state) {
  liblock_context *context = *state;
  for (int round = 0; round < 20; round++) {
    liblock_owner *owners[2] = {open_owner(context, "one"), open_owner(context, "two")};
    const char *const keys[2] = {"a", "b"};
    worker *waits[2];
    for (int i = 0; i < 2; i++) {
      const liblock_acquire_options mine = owned_by(owners[i]);
      take_with(context, keys[i], &mine);
    }
    for (int i = 0; i < 2; i++) {
      const liblock_acquire_options mine = owned_by(owners[i]);
      waits[i] = worker_acquires(context, keys[1 - i], &mine);
    }
    assert_soon(one_is_done, waits);
    const int loser = worker_is_done(waits[0]) ? 0 : 1;
    liblock_lock lock = 1;
    assert_status(LIBLOCK_DEADLOCK, worker_join(waits[loser], &lock, NULL));
    assert_true(lock == 0);
    liblock_owner_free(owners[loser]);
    assert_ok(worker_join(waits[1 - loser], NULL, NULL));
    liblock_owner_free(owners[1 - loser]);
  }
}

static void fail_youngest_ends_the_wait_that_began_last(void **state) {
  struct ring ring = ring_of(*state, 3);
  ask_for_next(&ring, 1, LIBLOCK_ON_DEADLOCK_FAIL_YOUNGEST);
  let_pass_ms(5);
  ask_for_next(&ring, 0, LIBLOCK_ON_DEADLOCK_FAIL_YOUNGEST);
  let_pass_ms(5);
  ask_for_next(&ring, 2, LIBLOCK_ON_DEADLOCK_FAIL_YOUNGEST);
  assert_true(recorder_await(ring.ends, 1));
  assert_int_equal(recorder_at(ring.ends, 0).tag, 2);
  assert_status(LIBLOCK_DEADLOCK, recorder_at(ring.ends, 0).completion.status);
  end_ring(&ring);
}

struct deadlock_count {
  liblock_context *context;
  uint64_t at_least;
};

static bool deadlocks_counted(void *argument) {
  const struct deadlock_count *c = argument;
  return stats_of(c->context).deadlocks >= c->at_least;
}

static void report_only_counts_and_lets_both_wait(void **state) {
  struct ring ring = ring_of(*state, 2);
  ask_for_next(&ring, 0, LIBLOCK_ON_DEADLOCK_REPORT_ONLY);
  ask_for_next(&ring, 1, LIBLOCK_ON_DEADLOCK_REPORT_ONLY);
  struct deadlock_count c = {*state, 1};
  assert_soon(deadlocks_counted, &c);
  assert_int_equal(recorder_count(ring.ends), 0);
  assert_int_equal(stats_of(*state).waiters, 2);
  end_ring(&ring);
}

static void a_chain_that_is_no_cycle_is_never_reported(void **state) {
  struct ring ring = ring_of(*state, 6);
  for (int i = 0; i < 5; i++) ask_for_next(&ring, i, LIBLOCK_ON_DEADLOCK_FAIL_SELF);
  let_pass_ms(100);
  assert_int_equal(recorder_count(ring.ends), 0);
  assert_int_equal(stats_of(*state).deadlocks, 0);
  for (int i = 5; i > 0; i--) {
    assert_ok(liblock_release(*state, ring.locks[i], NULL));
    assert_true(recorder_await(ring.ends, (size_t)(6 - i)));
    assert_ok(recorder_at(ring.ends, (size_t)(5 - i)).completion.status);
  }
  ring.size = 5;
  liblock_owner_free(ring.owners[5]);
  end_ring(&ring);
}

static void a_lock_without_an_owner_takes_part_in_no_cycle(void **state) {
  liblock_context *context = *state;
  const liblock_acquire_options brief = waits(60);
  take(context, "a");
  take(context, "b");
  worker *waiting = worker_acquires(context, "b", &brief);
  liblock_lock lock = 0;
  assert_status(LIBLOCK_TIMEOUT, liblock_acquire(context, KEY("a"), &brief, &lock, NULL));
  assert_status(LIBLOCK_TIMEOUT, worker_join(waiting, NULL, NULL));
  assert_int_equal(stats_of(context).deadlocks, 0);
}

/* Searching before waiting makes the one who closes the cycle the one who finds it. */
static liblock_context *open_searching_at_once(void) {
  liblock_context_options options = context_options();
  options.deadlock_delay_ms = 0;
  return open_local("local:", &options);
}

static bool has_searched(void *argument) { return stats_of(argument).deadlock_searches == 1; }

/* The first wait has searched, and found nothing: from now on it finds nothing any more. */
static void await_first_search(liblock_context *context) {
  assert_soon(has_searched, context);
  let_pass_ms(5);
}

static void keys_kept_by_a_waiting_lock_on_many_keys_close_a_cycle(void **state) {
  (void)state;
  liblock_context *context = open_searching_at_once();
  recorder *ends = recorder_new(context, true);
  liblock_owner *one = open_owner(context, "one");
  liblock_owner *two = open_owner(context, "two");
  const liblock_acquire_options ones = owned_by(one);
  liblock_acquire_options twos = owned_by(two);
  const liblock_bytes keys[] = {BYTES("a"), BYTES("b")};
  take_with(context, "b", &twos);
  liblock_request request = 0;
  assert_ok(liblock_acquire_many_async(context, keys, 2, &ones, recorder_callback, recorder_slot(ends, 1),
                                       &request));
  await_first_search(context);
  liblock_lock lock = 0;
  twos.wait_ms = GENEROUS_MS;
  assert_status(LIBLOCK_DEADLOCK, liblock_acquire(context, KEY("a"), &twos, &lock, NULL));
  liblock_owner_free(two);
  assert_true(recorder_await(ends, 1));
  assert_ok(recorder_at(ends, 0).completion.status);
  liblock_owner_free(one);
  end_context(context);
  recorder_free(ends);
}

static void switched_off_a_cycle_waits_until_its_time_is_up(void **state) {
  (void)state;
  liblock_context_options options = context_options();
  options.deadlock_detection = 0;
  liblock_context *context = open_local("local:", &options);
  struct ring ring = ring_of(context, 2);
  ask_for_next(&ring, 0, LIBLOCK_ON_DEADLOCK_FAIL_SELF);
  liblock_acquire_options brief = owned_by(ring.owners[1]);
  brief.wait_ms = 60;
  liblock_lock lock = 0;
  assert_status(LIBLOCK_TIMEOUT, liblock_acquire(context, KEY("k0"), &brief, &lock, NULL));
  assert_int_equal(stats_of(context).deadlocks, 0);
  assert_int_equal(stats_of(context).deadlock_searches, 0);
  ring.size = 1;
  liblock_owner_free(ring.owners[1]);
  end_ring(&ring);
  end_context(context);
}

static void a_delay_of_zero_searches_before_waiting(void **state) {
  (void)state;
  liblock_context *context = open_searching_at_once();
  struct ring ring = ring_of(context, 2);
  ask_for_next(&ring, 0, LIBLOCK_ON_DEADLOCK_FAIL_SELF);
  await_first_search(context);
  ask_for_next(&ring, 1, LIBLOCK_ON_DEADLOCK_FAIL_SELF);
  assert_true(recorder_await(ring.ends, 1));
  assert_int_equal(recorder_at(ring.ends, 0).tag, 1);
  assert_status(LIBLOCK_DEADLOCK, recorder_at(ring.ends, 0).completion.status);
  end_ring(&ring);
  end_context(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(a_cycle_of_two_owners_is_reported_to_one_of_them),
      fresh(the_others_of_a_cycle_go_on_when_the_loser_gives_way),
      fresh(cycles_of_every_length_are_reported_once),
      fresh(of_two_threads_that_block_each_other_one_is_told),
      fresh(fail_youngest_ends_the_wait_that_began_last),
      fresh(report_only_counts_and_lets_both_wait),
      fresh(a_chain_that_is_no_cycle_is_never_reported),
      fresh(a_lock_without_an_owner_takes_part_in_no_cycle),
      cmocka_unit_test(keys_kept_by_a_waiting_lock_on_many_keys_close_a_cycle),
      cmocka_unit_test(switched_off_a_cycle_waits_until_its_time_is_up),
      cmocka_unit_test(a_delay_of_zero_searches_before_waiting),
  };
  return cmocka_run_group_tests_name("deadlock", tests, NULL, NULL);
}
