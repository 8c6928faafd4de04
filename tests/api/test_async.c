/* SPDX-License-Identifier: MIT
 *
 * Asynchronous acquires: accepted without waiting, ended exactly once by a callback on another thread.
 */
#include "api.h"
#include "recorder.h"
#include "worker.h"

static void a_refused_request_has_no_callback_and_no_id(void **state) {
  recorder *r = recorder_new(*state, false);
  liblock_request request = 7;
  liblock_acquire_options options = acquire_options();
  options.mode = 5;
  assert_status(LIBLOCK_UNSUPPORTED, liblock_acquire_async(*state, KEY("k"), &options, recorder_callback,
                                                           recorder_slot(r, 0), &request));
  assert_true(request == 0);
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_acquire_async(*state, KEY(""), NULL, recorder_callback,
                                                                recorder_slot(r, 0), &request));
  let_pass_ms(30);
  assert_int_equal(recorder_count(r), 0);
  assert_ok(probe(*state, "k"));
  recorder_free(r);
}

static void a_request_for_a_free_key_is_granted_once_on_another_thread(void **state) {
  recorder *r = recorder_new(*state, false);
  const liblock_request request = request_key(*state, r, 3, "k", NULL);
  assert_true(recorder_await(r, 1));
  const record entry = recorder_at(r, 0);
  assert_int_equal(entry.completion.kind, LIBLOCK_KIND_ACQUIRE);
  assert_ok(entry.completion.status);
  assert_true(entry.completion.request == request);
  assert_true(entry.user_data_matches);
  assert_int_equal(entry.completion.struct_size, sizeof(liblock_completion));
  assert_int_equal(entry.completion.remaining_ms, -1);
  assert_false(pthread_equal(entry.thread, pthread_self()));
  uint64_t token = 0;
  assert_ok(liblock_fencing_token(*state, entry.completion.lock, &token));
  assert_true(token == entry.completion.token);
  assert_status(LIBLOCK_BUSY, probe(*state, "k"));
  assert_ok(liblock_release(*state, entry.completion.lock, NULL));
  let_pass_ms(20);
  assert_int_equal(recorder_count(r), 1);
  recorder_free(r);
}

static void a_queued_request_is_handed_the_key_by_a_release(void **state) {
  recorder *r = recorder_new(*state, false);
  const liblock_lock held = take(*state, "k");
  request_key(*state, r, 0, "k", NULL);
  await_waiters(*state, 1);
  assert_int_equal(recorder_count(r), 0);
  assert_ok(liblock_release(*state, held, NULL));
  assert_status(LIBLOCK_BUSY, probe(*state, "k"));
  assert_true(recorder_await(r, 1));
  assert_ok(recorder_at(r, 0).completion.status);
  recorder_free(r);
}

static void a_request_that_may_try_only_once_ends_busy(void **state) {
  recorder *r = recorder_new(*state, false);
  const liblock_acquire_options once = try_once();
  take(*state, "k");
  request_key(*state, r, 0, "k", &once);
  assert_true(recorder_await(r, 1));
  assert_status(LIBLOCK_BUSY, recorder_at(r, 0).completion.status);
  assert_true(recorder_at(r, 0).completion.lock == 0);
  recorder_free(r);
}

static void deadlines_of_requests_run_on_timers(void **state) {
  recorder *r = recorder_new(*state, false);
  take(*state, "k");
  const liblock_acquire_options patient = waits(80);
  const liblock_acquire_options brief = waits(20);
  liblock_acquire_options few = acquire_options();
  few.retries = 3;
  few.retry_interval_ms = 50;
  few.retry_jitter_ms = 0;
  request_key(*state, r, 0, "k", &patient);
  request_key(*state, r, 1, "k", &brief);
  request_key(*state, r, 2, "k", &few);
  assert_true(recorder_await(r, 3));
  assert_int_equal(recorder_at(r, 0).tag, 1);
  for (size_t i = 0; i < 3; i++) {
    const record entry = recorder_at(r, i);
    const int64_t least[] = {80, 20, 150};
    assert_status(entry.tag == 2 ? LIBLOCK_RETRIES_EXHAUSTED : LIBLOCK_TIMEOUT, entry.completion.status);
    assert_true(entry.completion.waited_ms >= least[entry.tag] - 10);
  }
  assert_int_equal(stats_of(*state).waiters, 0);
  recorder_free(r);
}

static void a_request_for_many_keys_is_one_lock(void **state) {
  const liblock_bytes keys[] = {BYTES("b"), BYTES("a"), BYTES("b")};
  recorder *r = recorder_new(*state, false);
  liblock_request request = 0;
  const liblock_lock held = take(*state, "b");
  assert_ok(
      liblock_acquire_many_async(*state, keys, 3, NULL, recorder_callback, recorder_slot(r, 0), &request));
  await_waiters(*state, 1);
  assert_status(LIBLOCK_BUSY, probe(*state, "a"));
  assert_ok(liblock_release(*state, held, NULL));
  assert_true(recorder_await(r, 1));
  assert_ok(recorder_at(r, 0).completion.status);
  assert_int_equal(stats_of(*state).locks_held, 2);
  assert_ok(liblock_release(*state, recorder_at(r, 0).completion.lock, NULL));
  recorder_free(r);
}

static void a_request_for_the_global_lock_waits_for_every_key(void **state) {
  recorder *r = recorder_new(*state, false);
  liblock_request request = 0;
  const liblock_lock held = take(*state, "k");
  assert_ok(liblock_acquire_global_async(*state, NULL, recorder_callback, recorder_slot(r, 0), &request));
  await_waiters(*state, 1);
  assert_ok(liblock_release(*state, held, NULL));
  assert_true(recorder_await(r, 1));
  assert_ok(recorder_at(r, 0).completion.status);
  assert_status(LIBLOCK_BUSY, probe(*state, "k"));
  assert_ok(liblock_release(*state, recorder_at(r, 0).completion.lock, NULL));
  recorder_free(r);
}

static void a_request_carries_its_lease(void **state) {
  recorder *r = recorder_new(*state, false);
  const liblock_acquire_options leased = with_ttl(3600000);
  request_key(*state, r, 0, "k", &leased);
  assert_true(recorder_await(r, 1));
  assert_in_range(recorder_at(r, 0).completion.remaining_ms, 3000000, 3600000);
  recorder_free(r);
}

static void the_end_of_a_request_tells_what_the_result_of_a_call_tells(void **state) {
  recorder *r = recorder_new(*state, false);
  liblock_owner *owner = open_owner(*state, "owner");
  const liblock_acquire_options owned = owned_by(owner);
  request_key(*state, r, 0, "k", &owned);
  assert_true(recorder_await(r, 1));
  const liblock_completion first = recorder_at(r, 0).completion;
  assert_int_equal(first.attempts, 1);
  assert_int_equal(first.hold_count, 1);
  assert_int_equal(first.queue_position, -1);
  assert_int_equal(first.queue_length, -1);
  assert_int_equal(first.flags, 0);
  assert_int_equal(first.votes, 1);
  assert_int_equal(first.nodes, 1);
  assert_int_equal(first.replicas, 0);
  request_key(*state, r, 1, "k", &owned);
  assert_true(recorder_await(r, 2));
  const liblock_completion again = recorder_at(r, 1).completion;
  assert_int_equal(again.flags, LIBLOCK_RESULT_REENTERED);
  assert_int_equal(again.hold_count, 2);
  assert_ok(liblock_release(*state, first.lock, NULL));
  assert_ok(liblock_release(*state, again.lock, NULL));
  liblock_owner_free(owner);
  recorder_free(r);
}

static void a_request_that_waited_tells_its_place_and_its_attempts(void **state) {
  recorder *r = recorder_new(*state, false);
  const liblock_lock held = take(*state, "k");
  liblock_acquire_options options = acquire_options();
  request_key(*state, r, 0, "k", &options);
  await_waiters(*state, 1);
  options.retries = 2;
  options.retry_interval_ms = 5;
  request_key(*state, r, 1, "k", &options);
  assert_true(recorder_await(r, 1));
  const liblock_completion failed = recorder_at(r, 0).completion;
  assert_status(LIBLOCK_RETRIES_EXHAUSTED, failed.status);
  assert_int_equal(failed.attempts, 3);
  assert_int_equal(failed.queue_position, 1);
  assert_int_equal(failed.queue_length, 2);
  assert_int_equal(failed.hold_count, 0);
  assert_int_equal(failed.votes, 0);
  assert_ok(liblock_release(*state, held, NULL));
  assert_true(recorder_await(r, 2));
  const liblock_completion granted = recorder_at(r, 1).completion;
  assert_ok(granted.status);
  assert_int_equal(granted.flags, LIBLOCK_RESULT_WAITED);
  assert_int_equal(granted.queue_position, 0);
  recorder_free(r);
}

static void a_notice_has_no_counts(void **state) {
  recorder *r = recorder_new(*state, false);
  liblock_acquire_options options = with_ttl(5);
  options.on_lost = recorder_callback;
  options.on_lost_user_data = recorder_slot(r, 0);
  take_with(*state, "k", &options);
  assert_true(recorder_await(r, 1));
  const liblock_completion notice = recorder_at(r, 0).completion;
  assert_int_equal(notice.kind, LIBLOCK_KIND_LOST);
  assert_int_equal(notice.attempts, 0);
  assert_int_equal(notice.votes, 0);
  assert_int_equal(notice.queue_position, -1);
  assert_int_equal(notice.queue_length, -1);
  recorder_free(r);
}

static void ten_thousand_requests_end_once_each(void **state) {
  enum { MANY = 10000 };
  recorder *r = recorder_new(*state, true);
  const char *const keys[] = {"a", "b", "c"};
  for (int tag = 0; tag < MANY; tag++) request_key(*state, r, tag, keys[tag % 3], NULL);
  assert_true(recorder_await(r, MANY));
  static unsigned char seen[MANY];
  memset(seen, 0, sizeof seen);
  for (size_t i = 0; i < MANY; i++) {
    const record entry = recorder_at(r, i);
    assert_ok(entry.completion.status);
    assert_ok(entry.released);
    assert_int_equal(seen[entry.tag]++, 0);
  }
  assert_int_equal(recorder_count(r), MANY);
  assert_int_equal(stats_of(*state).locks_held, 0);
  recorder_free(r);
}

static void blocking_and_asynchronous_waiters_share_one_queue(void **state) {
  liblock_context *context = *state;
  recorder *r = recorder_new(context, false);
  const liblock_lock held = take(context, "k");
  request_key(context, r, 0, "k", NULL);
  worker *thread = worker_acquires(context, "k", NULL);
  await_waiters(context, 2);
  request_key(context, r, 1, "k", NULL);
  assert_ok(liblock_release(context, held, NULL));
  assert_true(recorder_await(r, 1));
  assert_int_equal(recorder_at(r, 0).tag, 0);
  assert_false(worker_is_done(thread));
  assert_ok(liblock_release(context, recorder_at(r, 0).completion.lock, NULL));
  liblock_lock lock = 0;
  assert_ok(worker_join(thread, &lock, NULL));
  assert_int_equal(recorder_count(r), 1);
  assert_ok(liblock_release(context, lock, NULL));
  assert_true(recorder_await(r, 2));
  recorder_free(r);
}

static void close_ends_pending_requests_as_closed_and_their_callbacks_still_come(void **state) {
  (void)state;
  liblock_context *context = open_local("local:", NULL);
  recorder *r = recorder_new(context, false);
  take(context, "k");
  for (int tag = 0; tag < 100; tag++) request_key(context, r, tag, "k", NULL);
  assert_ok(liblock_close(context));
  assert_true(recorder_await(r, 100));
  for (int tag = 0; tag < 100; tag++) {
    assert_status(LIBLOCK_CLOSED, recorder_at(r, (size_t)tag).completion.status);
    assert_int_equal(recorder_count_of(r, tag), 1);
  }
  liblock_context_free(context);
  recorder_free(r);
}

static void close_async_ends_by_its_callback_which_is_the_last_one(void **state) {
  (void)state;
  liblock_context *context = open_local("local:", NULL);
  recorder *r = recorder_new(context, false);
  take(context, "k");
  for (int tag = 0; tag < 20; tag++) request_key(context, r, tag, "k", NULL);
  assert_ok(liblock_close_async(context, recorder_callback, recorder_slot(r, 99)));
  assert_true(recorder_await(r, 21));
  const record last = recorder_at(r, 20);
  assert_int_equal(last.tag, 99);
  assert_int_equal(last.completion.kind, LIBLOCK_KIND_CLOSE);
  assert_ok(last.completion.status);
  assert_status(LIBLOCK_CLOSED, liblock_ping(context, NULL));
  liblock_context_free(context);
  recorder_free(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(a_refused_request_has_no_callback_and_no_id),
      fresh(a_request_for_a_free_key_is_granted_once_on_another_thread),
      fresh(a_queued_request_is_handed_the_key_by_a_release),
      fresh(a_request_that_may_try_only_once_ends_busy),
      fresh(deadlines_of_requests_run_on_timers),
      fresh(a_request_for_many_keys_is_one_lock),
      fresh(a_request_for_the_global_lock_waits_for_every_key),
      fresh(a_request_carries_its_lease),
      fresh(the_end_of_a_request_tells_what_the_result_of_a_call_tells),
      fresh(a_request_that_waited_tells_its_place_and_its_attempts),
      fresh(a_notice_has_no_counts),
      fresh(ten_thousand_requests_end_once_each),
      fresh(blocking_and_asynchronous_waiters_share_one_queue),
      cmocka_unit_test(close_ends_pending_requests_as_closed_and_their_callbacks_still_come),
      cmocka_unit_test(close_async_ends_by_its_callback_which_is_the_last_one),
  };
  return cmocka_run_group_tests_name("asynchronous acquire", tests, NULL, NULL);
}
