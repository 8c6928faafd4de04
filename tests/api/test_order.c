/* SPDX-License-Identifier: MIT
 *
 * In which order waiters are served. Requests are queued one after the other, so their order is known; the
 * grants are recorded as they come, and fencing tokens prove the order a second time.
 */
#include <stdio.h>

#include "api.h"
#include "recorder.h"
#include "worker.h"

enum { CROWD = 64, ROUNDS = 1000, IMPATIENT_TURNS = 800 };

/* Queues `count` requests made by `options_of`, lets them run, and leaves their tags in the order of their
 * grants. */
static void serve(liblock_context *context, int count, liblock_acquire_options (*options_of)(int),
                  int *served) {
  recorder *r = recorder_new(context, true);
  const liblock_lock held = take(context, "k");
  for (int tag = 0; tag < count; tag++) {
    const liblock_acquire_options options = options_of(tag);
    request_key(context, r, tag, "k", &options);
  }
  assert_int_equal(waiters_of(context, "k"), count);
  assert_ok(liblock_release(context, held, NULL));
  assert_true(recorder_await(r, (size_t)count));
  uint64_t last_token = 0;
  for (int i = 0; i < count; i++) {
    const record entry = recorder_at(r, (size_t)i);
    assert_ok(entry.completion.status);
    assert_ok(entry.released);
    assert_true(entry.completion.token > last_token);
    last_token = entry.completion.token;
    served[i] = entry.tag;
  }
  recorder_free(r);
}

static liblock_acquire_options fifo(int tag) {
  (void)tag;
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  return options;
}

static liblock_acquire_options lifo(int tag) {
  liblock_acquire_options options = fifo(tag);
  options.order = LIBLOCK_ORDER_LIFO;
  return options;
}

/* Three levels, mixed; an age step of an hour keeps ageing out of it. */
static liblock_acquire_options by_priority(int tag) {
  liblock_acquire_options options = fifo(tag);
  options.order = LIBLOCK_ORDER_PRIORITY;
  options.priority = tag % 3 - 1;
  options.age_step_ms = 3600000;
  return options;
}

static liblock_acquire_options lifo_when_odd(int tag) { return tag % 2 != 0 ? lifo(tag) : fifo(tag); }

static liblock_acquire_options any(int tag) {
  liblock_acquire_options options = fifo(tag);
  options.order = LIBLOCK_ORDER_ANY;
  return options;
}

static void sixty_four_waiters_are_served_in_the_order_of_their_coming_a_thousand_times(void **state) {
  int inversions = 0;
  int served[CROWD];
  for (int round = 0; round < ROUNDS; round++) {
    serve(*state, CROWD, fifo, served);
    for (int i = 0; i < CROWD; i++) inversions += served[i] != i;
  }
  print_message("# %d rounds of %d waiters: %d inversions\n", ROUNDS, CROWD, inversions);
  assert_int_equal(inversions, 0);
  assert_int_equal(stats_of(*state).locks_held, 0);
}

static void waiting_threads_are_served_in_the_order_of_their_coming(void **state) {
  liblock_context *context = *state;
  for (int round = 0; round < 30; round++) {
    worker *threads[8];
    uint64_t last_token = 0;
    liblock_lock held = take(context, "k");
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
      threads[i] = worker_acquires(context, "k", NULL);
      await_waiters(context, i + 1);
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
      assert_ok(liblock_release(context, held, NULL));
      liblock_result result;
      assert_ok(worker_join(threads[i], &held, &result));
      assert_true(result.token > last_token);
      last_token = result.token;
    }
    assert_ok(liblock_release(context, held, NULL));
  }
}

static void lifo_serves_the_last_comer_first(void **state) {
  int served[CROWD];
  serve(*state, CROWD, lifo, served);
  for (int i = 0; i < CROWD; i++) assert_int_equal(served[i], CROWD - 1 - i);
}

static void a_higher_priority_goes_first_and_equals_in_order_of_coming(void **state) {
  int served[60];
  serve(*state, 60, by_priority, served);
  for (int i = 0; i < 60; i++) assert_int_equal(served[i], 2 - i / 20 + 3 * (i % 20));
}

static void who_waits_in_order_cannot_keep_an_any_waiter_waiting_that_asked_long_before(void **state) {
  recorder *r = recorder_new(*state, true);
  const liblock_acquire_options unordered = any(0);
  const liblock_lock held = take(*state, "k");
  request_key(*state, r, 0, "k", &unordered);
  let_pass_ms(5);
  request_key(*state, r, 1, "k", NULL);
  request_key(*state, r, 2, "k", NULL);
  assert_ok(liblock_release(*state, held, NULL));
  assert_true(recorder_await(r, 3));
  for (int i = 0; i < 3; i++) assert_int_equal(recorder_at(r, (size_t)i).tag, i);
  recorder_free(r);
}

static void mixed_orders_serve_lifo_waiters_first_and_then_fifo_ones(void **state) {
  int served[10];
  const int expected[10] = {9, 7, 5, 3, 1, 0, 2, 4, 6, 8};
  serve(*state, 10, lifo_when_odd, served);
  assert_memory_equal(served, expected, sizeof served);
}

static void any_order_serves_everyone_in_the_end(void **state) {
  liblock_context *context = *state;
  const liblock_acquire_options options = any(0);
  worker *threads[16];
  const liblock_lock held = take(context, "k");
  for (size_t i = 0; i < COUNT_OF(threads); i++) threads[i] = worker_acquires(context, "k", &options);
  let_pass_ms(20);
  for (size_t i = 0; i < COUNT_OF(threads); i++) assert_false(worker_is_done(threads[i]));
  assert_ok(liblock_release(context, held, NULL));
  for (size_t served = 0; served < COUNT_OF(threads);) {
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
      if (threads[i] == NULL || !worker_is_done(threads[i])) continue;
      liblock_lock lock = 0;
      assert_ok(worker_join(threads[i], &lock, NULL));
      threads[i] = NULL;
      served++;
      assert_ok(liblock_release(context, lock, NULL));
    }
  }
  assert_int_equal(stats_of(context).locks_held, 0);
}

struct aged {
  liblock_context *context;
  int64_t at_least;
};

static bool first_waiter_is_aged(void *argument) {
  const struct aged *aged = argument;
  liblock_info *info = NULL;
  if (liblock_inspect_queue(aged->context, KEY("k"), &info, NULL) != LIBLOCK_OK) return false;
  const bool old_enough = liblock_info_waiter_waited_ms(info, 0) >= aged->at_least;
  liblock_info_free(info);
  return old_enough;
}

static void old_against_urgent(liblock_context *context, int64_t age_step_ms, int first, int second) {
  recorder *r = recorder_new(context, true);
  const liblock_lock held = take(context, "k");
  liblock_acquire_options options = fifo(0);
  options.order = LIBLOCK_ORDER_PRIORITY;
  options.age_step_ms = age_step_ms;
  request_key(context, r, 0, "k", &options);
  struct aged aged = {context, 60};
  assert_soon(first_waiter_is_aged, &aged);
  options.priority = 3;
  request_key(context, r, 1, "k", &options);
  assert_ok(liblock_release(context, held, NULL));
  assert_true(recorder_await(r, 2));
  assert_int_equal(recorder_at(r, 0).tag, first);
  assert_int_equal(recorder_at(r, 1).tag, second);
  recorder_free(r);
}

static void waiting_long_enough_outweighs_a_higher_priority(void **state) {
  old_against_urgent(*state, 3600000, 1, 0);
  old_against_urgent(*state, 1, 0, 1);
}

enum { MARK = 7 };

static bool marked_waiter_is_last_of_four(void *argument) {
  liblock_info *info = NULL;
  if (liblock_inspect_queue(argument, KEY("k"), &info, NULL) != LIBLOCK_OK) return false;
  const bool last = liblock_info_waiter_count(info) == 4 && liblock_info_waiter_priority(info, 3) == MARK;
  liblock_info_free(info);
  return last;
}

static void a_waiter_older_than_its_queue_ttl_goes_to_the_end(void **state) {
  liblock_context *context = *state;
  recorder *r = recorder_new(context, true);
  const liblock_lock held = take(context, "k");
  liblock_acquire_options impatient = fifo(0);
  impatient.queue_ttl_ms = 60;
  impatient.priority = MARK; /* without a meaning in FIFO order, but shown */
  request_key(context, r, 0, "k", &impatient);
  for (int tag = 1; tag < 4; tag++) request_key(context, r, tag, "k", NULL);
  assert_soon(marked_waiter_is_last_of_four, context);
  assert_ok(liblock_release(context, held, NULL));
  assert_true(recorder_await(r, 4));
  const int expected[4] = {1, 2, 3, 0};
  for (size_t i = 0; i < 4; i++) assert_int_equal(recorder_at(r, i).tag, expected[i]);
  recorder_free(r);
}

/* A key that is left free is for whoever takes it, and one of those who wait in any order is called; just then his
 * time is over. */
static void who_is_called_for_a_free_key_and_gives_up_leaves_it_to_the_next(void **state) {
  liblock_acquire_options impatient = fifo(0), patient = fifo(0);
  impatient.order = patient.order = LIBLOCK_ORDER_ANY;
  impatient.wait_ms = 1;
  patient.wait_ms = GENEROUS_MS;
  int gave_up = 0;
  for (int turn = 0; turn < IMPATIENT_TURNS; turn++) {
    const liblock_lock held = take(*state, "k");
    worker *first = worker_acquires(*state, "k", &impatient);
    while (stats_of(*state).waiters == 0 && !worker_is_done(first)) continue;
    const int64_t release_at =
        now_ns() + 700000 + turn % 300 * INT64_C(1000); /* about when its time is over */
    worker *second = worker_acquires(*state, "k", &patient);
    while (now_ns() < release_at) continue;
    assert_ok(liblock_release(*state, held, NULL));
    liblock_lock lock = 0;
    const liblock_status status = worker_join(first, &lock, NULL);
    if (status == LIBLOCK_OK) assert_ok(liblock_release(*state, lock, NULL));
    if (status != LIBLOCK_OK) assert_status(LIBLOCK_TIMEOUT, status);
    gave_up += status == LIBLOCK_TIMEOUT;
    assert_ok(worker_join(second, &lock, NULL));
    assert_ok(liblock_release(*state, lock, NULL));
  }
  print_message("# of %d turns %d gave up\n", IMPATIENT_TURNS, gave_up);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(sixty_four_waiters_are_served_in_the_order_of_their_coming_a_thousand_times),
      fresh(waiting_threads_are_served_in_the_order_of_their_coming),
      fresh(lifo_serves_the_last_comer_first),
      fresh(a_higher_priority_goes_first_and_equals_in_order_of_coming),
      fresh(who_waits_in_order_cannot_keep_an_any_waiter_waiting_that_asked_long_before),
      fresh(mixed_orders_serve_lifo_waiters_first_and_then_fifo_ones),
      fresh(any_order_serves_everyone_in_the_end),
      fresh(waiting_long_enough_outweighs_a_higher_priority),
      fresh(a_waiter_older_than_its_queue_ttl_goes_to_the_end),
      fresh(who_is_called_for_a_free_key_and_gives_up_leaves_it_to_the_next),
  };
  return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
