/* SPDX-License-Identifier: MIT
 *
 * The entries of single attempts: written where log_attempts, or the acquire itself, asks for them.
 */
#include <stdio.h>

#include "listener.h"
#include "recorder.h"
#include "worker.h"

static void log_attempts(liblock_context *context) {
  liblock_instrument_options options;
  liblock_instrument_options_init(&options, sizeof options);
  options.log_attempts = 1;
  assert_ok(liblock_set_instruments(context, &options));
}

static void expect_written(listener *l, const char *expected) {
  char names[2048];
  entries_written(l, names, sizeof names);
  assert_string_equal(names, expected);
}

static void attempts_are_not_written_unless_somebody_asks(void **state) {
  listener *l = listen_to_log(*state);
  assert_ok(liblock_release(*state, take(*state, "k"), NULL));
  expect_written(l, "acquire_started cycle_started obtained released ");
}

static void an_acquire_can_ask_for_its_own(void **state) {
  listener *l = listen_to_log(*state);
  liblock_acquire_options options = acquire_options();
  options.instrument = LIBLOCK_INSTRUMENT_ATTEMPTS;
  take_with(*state, "k", &options);
  take(*state, "other");
  assert_int_equal(listener_count_written(l, LIBLOCK_ENTRY_ATTEMPT_STARTED), 1);
  assert_int_equal(listener_count_written(l, LIBLOCK_ENTRY_OBTAINED), 2);
}

static void an_attempt_at_a_held_key_says_who_holds_it(void **state) {
  liblock_owner *owner = open_owner(*state, "holder");
  liblock_acquire_options mine = owned_by(owner);
  mine.ttl_ms = 60000;
  const liblock_lock lock = take_with(*state, "k", &mine);
  uint64_t token = 0;
  assert_ok(liblock_fencing_token(*state, lock, &token));
  listener *l = listen_to_log(*state);
  log_attempts(*state);
  assert_status(LIBLOCK_BUSY, probe(*state, "k"));
  expect_written(l,
                 "acquire_started cycle_started attempt_started attempt_ready attempt_overdue_removed "
                 "attempt_first_in_queue attempt_still_held dequeued_on_limit ");
  char id[160], held_by[200], lock_token[64], instance[80], of_instance[120];
  assert_ok(liblock_owner_id(*state, owner, id, sizeof id, NULL));
  assert_ok(liblock_instance_id(*state, instance, sizeof instance, NULL));
  snprintf(held_by, sizeof held_by, " held_by=%s", id);
  snprintf(lock_token, sizeof lock_token, " lock_token=%llu", (unsigned long long)token);
  snprintf(of_instance, sizeof of_instance, " lock_instance=%s", instance);
  const written held = entry_written(l, LIBLOCK_ENTRY_ATTEMPT_STILL_HELD, 0);
  assert_true(has_field(&held, held_by) && has_field(&held, lock_token) && has_field(&held, of_instance));
  assert_true(has_field(&held, " lock_remaining_ms=") && has_field(&held, " lock_hold_count=1"));
  assert_true(has_field(&held, " first_in_queue="));
  const written removed = entry_written(l, LIBLOCK_ENTRY_ATTEMPT_OVERDUE_REMOVED, 0);
  assert_true(has_field(&removed, " count=0"));
  liblock_owner_free(owner);
}

static void an_attempt_at_a_free_key_says_so(void **state) {
  listener *l = listen_to_log(*state);
  log_attempts(*state);
  take(*state, "k");
  expect_written(l,
                 "acquire_started cycle_started attempt_started attempt_ready attempt_overdue_removed "
                 "attempt_free obtained ");
}

static void an_overdue_holder_that_is_removed_is_counted(void **state) {
  const liblock_acquire_options brief = with_ttl(15);
  const liblock_lock lock = take_with(*state, "k", &brief);
  await_lost(*state, lock);
  listener *l = listen_to_log(*state);
  log_attempts(*state);
  take(*state, "k");
  const written removed = entry_written(l, LIBLOCK_ENTRY_ATTEMPT_OVERDUE_REMOVED, 0);
  assert_true(has_field(&removed, " count=1"));
}

/* Intervals that elapsed in one go, since the machine stood still, are counted each and written once. */
static void a_waiter_writes_its_place_and_each_interval(void **state) {
  const liblock_lock lock = take(*state, "k");
  recorder *r = recorder_new(*state, true);
  request_key(*state, r, 0, "k", NULL);
  await_waiters(*state, 1);
  listener *l = listen_to_log(*state);
  log_attempts(*state);
  liblock_acquire_options options = acquire_options();
  options.retries = 2;
  options.retry_interval_ms = 10;
  options.retry_jitter_ms = 0;
  liblock_lock second = 0;
  size_t started = 0, of_this;
  do {
    assert_status(LIBLOCK_RETRIES_EXHAUSTED, liblock_acquire(*state, KEY("k"), &options, &second, NULL));
    of_this = listener_count_written(l, LIBLOCK_ENTRY_ATTEMPT_STARTED) - started;
    assert_in_range(of_this, 2, 3);
    started += of_this;
    const written last = entry_written(l, LIBLOCK_ENTRY_ATTEMPT_STARTED, started - 1);
    assert_true(has_field(&last, " count=3"));
  } while (of_this != 3);
  assert_int_equal(listener_count_written(l, LIBLOCK_ENTRY_ATTEMPT_STILL_HELD), started);
  const written queued = entry_written(l, LIBLOCK_ENTRY_ATTEMPT_QUEUED, 0);
  assert_true(has_field(&queued, " queue_position=1") && has_field(&queued, " queue_length=2"));
  assert_ok(liblock_release(*state, lock, NULL));
  assert_true(recorder_await(r, 1));
  recorder_free(r);
}

static void the_global_lock_is_in_the_way_as_a_holder_is(void **state) {
  liblock_owner *owner = open_owner(*state, "o");
  const liblock_acquire_options mine = owned_by(owner);
  liblock_lock global = 0, second = 0;
  assert_ok(liblock_acquire_global(*state, &mine, &global, NULL));
  char id[160], held_by[200];
  assert_ok(liblock_owner_id(*state, owner, id, sizeof id, NULL));
  snprintf(held_by, sizeof held_by, " held_by=%s", id);
  listener *l = listen_to_log(*state);
  log_attempts(*state);
  assert_status(LIBLOCK_BUSY, probe(*state, "k"));
  assert_int_equal(listener_count_written(l, LIBLOCK_ENTRY_ATTEMPT_STILL_HELD), 1);
  const liblock_acquire_options once = try_once();
  assert_status(LIBLOCK_BUSY, liblock_acquire_global(*state, &once, &second, NULL));
  const written held = entry_written(l, LIBLOCK_ENTRY_ATTEMPT_STILL_HELD, 1);
  assert_true(has_field(&held, held_by));
  liblock_owner_free(owner);
}

static void a_queue_ttl_that_is_reached_is_written(void **state) {
  const liblock_lock lock = take(*state, "k");
  recorder *r = recorder_new(*state, true);
  listener *l = listen_to_log(*state);
  log_attempts(*state);
  liblock_acquire_options impatient = acquire_options();
  impatient.queue_ttl_ms = 20;
  request_key(*state, r, 0, "k", &impatient);
  const written reached = entry_written(l, LIBLOCK_ENTRY_ATTEMPT_QUEUE_TTL_REACHED, 0);
  assert_true(has_field(&reached, " queue_ttl_ms=20") && has_field(&reached, " key=k"));
  assert_ok(liblock_release(*state, lock, NULL));
  assert_true(recorder_await(r, 1));
  recorder_free(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(attempts_are_not_written_unless_somebody_asks),
      fresh(an_acquire_can_ask_for_its_own),
      fresh(an_attempt_at_a_held_key_says_who_holds_it),
      fresh(an_attempt_at_a_free_key_says_so),
      fresh(an_overdue_holder_that_is_removed_is_counted),
      fresh(a_waiter_writes_its_place_and_each_interval),
      fresh(the_global_lock_is_in_the_way_as_a_holder_is),
      fresh(a_queue_ttl_that_is_reached_is_written),
  };
  return cmocka_run_group_tests_name("attempts in the log", tests, NULL, NULL);
}
