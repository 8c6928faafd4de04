/* SPDX-License-Identifier: MIT
 *
 * Every counter moves by exactly what happened, and none moves for what did not.
 */
#include "api.h"
#include "recorder.h"
#include "worker.h"

static void a_fresh_table_counts_nothing(void **state) {
  liblock_stats stats = stats_of(*state);
  liblock_stats zero;
  liblock_stats_init(&zero, sizeof zero);
  assert_memory_equal(&stats, &zero, sizeof stats);
}

static void an_uncontended_pair_counts_as_one_grant_and_one_release(void **state) {
  for (int i = 0; i < 5; i++) assert_ok(liblock_release(*state, take(*state, "k"), NULL));
  const liblock_stats stats = stats_of(*state);
  assert_int_equal(stats.acquired, 5);
  assert_int_equal(stats.released, 5);
  assert_int_equal(stats.contended, 0);
  assert_int_equal(stats.handed_off, 0);
  assert_int_equal(stats.locks_held, 0);
}

static void a_failed_try_is_no_grant(void **state) {
  take(*state, "k");
  assert_status(LIBLOCK_BUSY, probe(*state, "k"));
  const liblock_stats stats = stats_of(*state);
  assert_int_equal(stats.acquired, 1);
  assert_int_equal(stats.timeouts, 0);
  assert_int_equal(stats.locks_held, 1);
}

static void a_reentry_is_a_grant_but_no_second_lock(void **state) {
  liblock_owner *owner = open_owner(*state, "o");
  const liblock_acquire_options mine = owned_by(owner);
  take_with(*state, "k", &mine);
  take_with(*state, "k", &mine);
  const liblock_stats stats = stats_of(*state);
  assert_int_equal(stats.acquired, 2);
  assert_int_equal(stats.locks_held, 1);
  liblock_owner_free(owner);
}

static void a_hand_off_counts_as_contended_and_handed_off(void **state) {
  liblock_context *context = *state;
  const liblock_lock lock = take(context, "k");
  worker *next = worker_acquires(context, "k", NULL);
  await_waiters(context, 1);
  assert_int_equal(stats_of(context).contended, 1);
  assert_ok(liblock_release(context, lock, NULL));
  assert_ok(worker_join(next, NULL, NULL));
  const liblock_stats stats = stats_of(context);
  assert_int_equal(stats.handed_off, 1);
  assert_int_equal(stats.acquired, 2);
  assert_int_equal(stats.waiters, 0);
}

static void an_overdue_lock_counts_as_expired_once_and_taken_over_by_who_wanted_it(void **state) {
  const liblock_acquire_options brief = with_ttl(15);
  const liblock_lock lock = take_with(*state, "k", &brief);
  await_lost(*state, lock);
  take(*state, "k");
  assert_status(LIBLOCK_LOST, liblock_release(*state, lock, NULL));
  const liblock_stats stats = stats_of(*state);
  assert_int_equal(stats.expired, 1);
  assert_true(stats.taken_over <= 1);
  assert_int_equal(stats.released, 0);
}

static void ends_of_waits_are_counted_by_kind(void **state) {
  liblock_context *context = *state;
  recorder *r = recorder_new(context, false);
  take(context, "k");
  const liblock_acquire_options brief = waits(5);
  liblock_lock lock = 0;
  assert_status(LIBLOCK_TIMEOUT, liblock_acquire(context, KEY("k"), &brief, &lock, NULL));
  const liblock_request request = request_key(context, r, 0, "k", NULL);
  assert_ok(liblock_cancel(context, request));
  assert_true(recorder_await(r, 1));
  const liblock_stats stats = stats_of(context);
  assert_int_equal(stats.timeouts, 1);
  assert_int_equal(stats.canceled, 1);
  assert_int_equal(stats.contended, 2);
  recorder_free(r);
}

static void locks_and_waiters_are_counted_while_they_last(void **state) {
  const liblock_bytes keys[] = {BYTES("a"), BYTES("b"), BYTES("c")};
  recorder *r = recorder_new(*state, true);
  liblock_lock lock = 0;
  assert_ok(liblock_acquire_many(*state, keys, 3, NULL, &lock, NULL));
  request_key(*state, r, 0, "a", NULL);
  request_key(*state, r, 1, "b", NULL);
  liblock_stats stats = stats_of(*state);
  assert_int_equal(stats.locks_held, 3);
  assert_int_equal(stats.waiters, 2);
  assert_ok(liblock_release(*state, lock, NULL));
  assert_true(recorder_await(r, 2));
  stats = stats_of(*state);
  assert_int_equal(stats.locks_held, 0);
  assert_int_equal(stats.waiters, 0);
  recorder_free(r);
}

static void a_sweep_counts_itself_and_what_it_looked_at(void **state) {
  const liblock_acquire_options leased = with_ttl(600000);
  take_with(*state, "a", &leased);
  take_with(*state, "b", &leased);
  assert_ok(liblock_sweep(*state, NULL, NULL));
  const liblock_stats stats = stats_of(*state);
  assert_int_equal(stats.sweeps, 1);
  assert_true(stats.sweep_entries >= 2);
  assert_true(stats.sweep_entries_per_hold_max <= 64);
}

static void counters_of_a_named_table_are_shared(void **state) {
  (void)state;
  liblock_context *one = open_local("local:counters", NULL);
  liblock_context *two = open_local("local:counters", NULL);
  take(one, "k");
  assert_int_equal(stats_of(two).acquired, 1);
  assert_int_equal(stats_of(two).locks_held, 1);
  end_context(one);
  assert_int_equal(stats_of(two).locks_held, 0);
  end_context(two);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(a_fresh_table_counts_nothing),
      fresh(an_uncontended_pair_counts_as_one_grant_and_one_release),
      fresh(a_failed_try_is_no_grant),
      fresh(a_reentry_is_a_grant_but_no_second_lock),
      fresh(a_hand_off_counts_as_contended_and_handed_off),
      fresh(an_overdue_lock_counts_as_expired_once_and_taken_over_by_who_wanted_it),
      fresh(ends_of_waits_are_counted_by_kind),
      fresh(locks_and_waiters_are_counted_while_they_last),
      fresh(a_sweep_counts_itself_and_what_it_looked_at),
      cmocka_unit_test(counters_of_a_named_table_are_shared),
  };
  return cmocka_run_group_tests_name("statistics", tests, NULL, NULL);
}
