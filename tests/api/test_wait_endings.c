/* SPDX-License-Identifier: MIT
 *
 * How a wait ends, and with which status: wait_ms, retries, back-off as data and as callback. Lower bounds of
 * time are asserted (nobody gives up early, up to two ticks of the coarse clock); upper bounds never.
 */
#include "api.h"
#include "recorder.h"
#include "worker.h"

enum { COARSE_LAG_MS = 20 };

static liblock_result fail_waiting(liblock_context *context, const liblock_acquire_options *options,
                                   liblock_status expected) {
  liblock_result result = empty_result();
  liblock_lock lock = 1;
  assert_status(expected, liblock_acquire(context, KEY("held"), options, &lock, &result));
  assert_true(lock == 0);
  assert_int_equal(result.status, expected);
  assert_int_equal(stats_of(context).waiters, 0);
  return result;
}

static void a_wait_of_zero_tries_once_and_ends_busy(void **state) {
  take(*state, "held");
  const liblock_acquire_options options = waits(0);
  const liblock_result result = fail_waiting(*state, &options, LIBLOCK_BUSY);
  assert_int_equal(result.attempts, 1);
}

static void zero_retries_try_once_and_end_busy(void **state) {
  take(*state, "held");
  liblock_acquire_options options = acquire_options();
  options.retries = 0;
  const liblock_result result = fail_waiting(*state, &options, LIBLOCK_BUSY);
  assert_int_equal(result.attempts, 1);
}

static void zero_retries_and_zero_wait_still_get_a_free_key(void **state) {
  liblock_acquire_options options = waits(0);
  options.retries = 0;
  take_with(*state, "free", &options);
}

static void a_try_ignores_the_waiting_options(void **state) {
  take(*state, "held");
  liblock_acquire_options options = waits(-1);
  options.retries = 50;
  liblock_lock lock = 1;
  assert_status(LIBLOCK_BUSY, liblock_try_acquire(*state, KEY("held"), &options, &lock, NULL));
  assert_int_equal(stats_of(*state).contended, 0);
}

static void wait_ms_ends_as_timeout_and_not_before_its_time(void **state) {
  take(*state, "held");
  const liblock_acquire_options options = waits(60);
  const int64_t begin = now_ms();
  const liblock_result result = fail_waiting(*state, &options, LIBLOCK_TIMEOUT);
  assert_true(now_ms() - begin >= 60 - COARSE_LAG_MS);
  assert_true(result.waited_ms >= 60 - COARSE_LAG_MS);
  assert_int_equal(result.queue_position, 0);
}

static void a_wait_that_timed_out_leaves_the_queue_in_order(void **state) {
  liblock_context *context = *state;
  recorder *r = recorder_new(context, true);
  const liblock_lock held = take(context, "held");
  const liblock_acquire_options brief = waits(40);
  request_key(context, r, 0, "held", &brief);
  for (int tag = 1; tag < 4; tag++) request_key(context, r, tag, "held", NULL);
  assert_true(recorder_await(r, 1));
  assert_int_equal(recorder_at(r, 0).tag, 0);
  assert_status(LIBLOCK_TIMEOUT, recorder_at(r, 0).completion.status);
  assert_ok(liblock_release(context, held, NULL));
  assert_true(recorder_await(r, 4));
  for (int i = 1; i < 4; i++) {
    assert_int_equal(recorder_at(r, (size_t)i).tag, i);
    assert_ok(recorder_at(r, (size_t)i).completion.status);
  }
  recorder_free(r);
}

static void retries_end_as_retries_exhausted_after_as_many_intervals(void **state) {
  take(*state, "held");
  liblock_acquire_options options = acquire_options();
  options.retries = 3;
  options.retry_interval_ms = 20;
  options.retry_jitter_ms = 0;
  const liblock_result result = fail_waiting(*state, &options, LIBLOCK_RETRIES_EXHAUSTED);
  assert_int_equal(result.attempts, 4);
  assert_true(result.waited_ms >= 60 - COARSE_LAG_MS);
}

static void whichever_of_wait_and_retries_ends_first_names_the_status(void **state) {
  take(*state, "held");
  liblock_acquire_options options = waits(30);
  options.retries = 1000000;
  fail_waiting(*state, &options, LIBLOCK_TIMEOUT);
  options = waits(600000);
  options.retries = 2;
  options.retry_interval_ms = 5;
  fail_waiting(*state, &options, LIBLOCK_RETRIES_EXHAUSTED);
}

static void an_elapsed_retry_interval_changes_no_place_in_the_queue(void **state) {
  liblock_context *context = *state;
  const liblock_lock held = take(context, "held");
  liblock_acquire_options options = acquire_options();
  options.retries = 1000000;
  options.retry_interval_ms = 1;
  options.retry_jitter_ms = 0;
  worker *first = worker_acquires(context, "held", &options);
  await_waiters(context, 1);
  worker *second = worker_acquires(context, "held", NULL);
  await_waiters(context, 2);
  let_pass_ms(30);
  assert_ok(liblock_release(context, held, NULL));
  liblock_lock lock = 0;
  assert_ok(worker_join(first, &lock, NULL));
  assert_false(worker_is_done(second));
  assert_ok(liblock_release(context, lock, NULL));
  assert_ok(worker_join(second, &lock, NULL));
}

static void jitter_adds_up_to_its_bound_and_never_takes_away(void **state) {
  take(*state, "held");
  liblock_acquire_options options = acquire_options();
  options.retries = 2;
  options.retry_interval_ms = 15;
  options.retry_jitter_ms = 15;
  const liblock_result result = fail_waiting(*state, &options, LIBLOCK_RETRIES_EXHAUSTED);
  assert_true(result.waited_ms >= 30 - COARSE_LAG_MS);
}

static void linear_back_off_grows_by_its_step(void **state) {
  take(*state, "held");
  liblock_acquire_options options = acquire_options();
  options.retries = 3;
  options.retry_interval_ms = 10;
  options.retry_jitter_ms = 0;
  options.backoff = LIBLOCK_BACKOFF_LINEAR;
  options.backoff_step_ms = 30;
  const liblock_result result = fail_waiting(*state, &options, LIBLOCK_RETRIES_EXHAUSTED);
  assert_true(result.waited_ms >= 10 + 40 + 70 - COARSE_LAG_MS);
}

static void exponential_back_off_multiplies_and_stops_at_its_cap(void **state) {
  take(*state, "held");
  liblock_acquire_options options = acquire_options();
  options.retries = 3;
  options.retry_interval_ms = 10;
  options.retry_jitter_ms = 0;
  options.backoff = LIBLOCK_BACKOFF_EXPONENTIAL;
  options.backoff_base = 4;
  const liblock_result grown = fail_waiting(*state, &options, LIBLOCK_RETRIES_EXHAUSTED);
  assert_true(grown.waited_ms >= 10 + 40 + 160 - COARSE_LAG_MS);
  options.retries = 60;
  options.retry_interval_ms = 1;
  options.backoff_base = 1000;
  options.backoff_cap_ms = 2;
  const liblock_result capped = fail_waiting(*state, &options, LIBLOCK_RETRIES_EXHAUSTED);
  assert_true(capped.waited_ms >= 60);
}

/* A back-off callback runs where its attempt runs: for a blocking acquire, here. */
struct backing_off {
  uint32_t attempts[16];
  size_t calls;
  int64_t answers[16];
};

static int64_t back_off(uint32_t attempt, void *user_data) {
  struct backing_off *seen = user_data;
  const size_t call = seen->calls < 15 ? seen->calls : 15;
  seen->attempts[call] = attempt;
  seen->calls++;
  return seen->answers[call];
}

static void a_negative_answer_of_the_back_off_callback_is_invalid_argument(void **state) {
  take(*state, "held");
  static struct backing_off seen;
  seen = (struct backing_off){.answers = {1, 1, -1}};
  liblock_acquire_options options = acquire_options();
  options.retries = 10;
  options.backoff_callback = back_off;
  options.backoff_user_data = &seen;
  fail_waiting(*state, &options, LIBLOCK_INVALID_ARGUMENT);
  assert_int_equal(seen.calls, 3);
}

static void the_back_off_callback_counts_from_zero_and_its_value_is_used_as_it_is(void **state) {
  take(*state, "held");
  static struct backing_off seen;
  seen = (struct backing_off){.answers = {0, 40, 5, 0}};
  liblock_acquire_options options = acquire_options();
  options.retries = 4;
  options.retry_interval_ms = 3600000;
  options.backoff_callback = back_off;
  options.backoff_user_data = &seen;
  const liblock_result result = fail_waiting(*state, &options, LIBLOCK_RETRIES_EXHAUSTED);
  assert_int_equal(seen.calls, 4);
  for (uint32_t i = 0; i < 4; i++) assert_int_equal(seen.attempts[i], i);
  assert_int_equal(result.attempts, 5);
  assert_true(result.waited_ms >= 45 - COARSE_LAG_MS);
}

static void the_hugest_intervals_and_jitters_do_not_wrap_around(void **state) {
  take(*state, "held");
  for (int32_t backoff = LIBLOCK_BACKOFF_FIXED; backoff <= LIBLOCK_BACKOFF_EXPONENTIAL; backoff++) {
    liblock_acquire_options options = waits(15);
    options.retries = 5;
    options.retry_interval_ms = INT64_MAX;
    options.retry_jitter_ms = INT64_MAX;
    options.backoff = backoff;
    options.backoff_base = 1000;
    options.backoff_step_ms = INT64_MAX;
    options.backoff_cap_ms = INT64_MAX;
    fail_waiting(*state, &options, LIBLOCK_TIMEOUT);
  }
}

static void every_failed_wait_is_counted_once(void **state) {
  take(*state, "held");
  const liblock_acquire_options brief = waits(5);
  fail_waiting(*state, &brief, LIBLOCK_TIMEOUT);
  liblock_acquire_options few = acquire_options();
  few.retries = 1;
  few.retry_interval_ms = 1;
  fail_waiting(*state, &few, LIBLOCK_RETRIES_EXHAUSTED);
  const liblock_stats stats = stats_of(*state);
  assert_int_equal(stats.timeouts, 2);
  assert_int_equal(stats.contended, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(a_wait_of_zero_tries_once_and_ends_busy),
      fresh(zero_retries_try_once_and_end_busy),
      fresh(zero_retries_and_zero_wait_still_get_a_free_key),
      fresh(a_try_ignores_the_waiting_options),
      fresh(wait_ms_ends_as_timeout_and_not_before_its_time),
      fresh(a_wait_that_timed_out_leaves_the_queue_in_order),
      fresh(retries_end_as_retries_exhausted_after_as_many_intervals),
      fresh(whichever_of_wait_and_retries_ends_first_names_the_status),
      fresh(an_elapsed_retry_interval_changes_no_place_in_the_queue),
      fresh(jitter_adds_up_to_its_bound_and_never_takes_away),
      fresh(linear_back_off_grows_by_its_step),
      fresh(exponential_back_off_multiplies_and_stops_at_its_cap),
      fresh(a_negative_answer_of_the_back_off_callback_is_invalid_argument),
      fresh(the_back_off_callback_counts_from_zero_and_its_value_is_used_as_it_is),
      fresh(the_hugest_intervals_and_jitters_do_not_wrap_around),
      fresh(every_failed_wait_is_counted_once),
  };
  return cmocka_run_group_tests_name("wait endings", tests, NULL, NULL);
}
