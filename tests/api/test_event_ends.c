/* SPDX-License-Identifier: MIT
 *
 * Events of acquires that end without a lock, of locks and waits that an administrator ends, and of closing.
 */
#include "listener.h"
#include "recorder.h"
#include "worker.h"

static liblock_status acquire_failing(liblock_context *context, const liblock_acquire_options *options) {
  liblock_lock lock = 0;
  return liblock_acquire(context, KEY("k"), options, &lock, NULL);
}

static void an_acquire_that_reaches_a_limit_is_told_with_its_status(void **state) {
  take(*state, "k");
  listener *l = listen_to_events(*state);
  liblock_acquire_options options = try_once();
  options.event_tag = 1;
  assert_status(LIBLOCK_BUSY, acquire_failing(*state, &options));
  options.wait_ms = 15;
  options.event_tag = 2;
  assert_status(LIBLOCK_TIMEOUT, acquire_failing(*state, &options));
  options.wait_ms = -1;
  options.retries = 2;
  options.retry_interval_ms = 5;
  options.retry_jitter_ms = 0;
  options.event_tag = 3;
  assert_status(LIBLOCK_RETRIES_EXHAUSTED, acquire_failing(*state, &options));
  const liblock_status expected[] = {LIBLOCK_BUSY, LIBLOCK_TIMEOUT, LIBLOCK_RETRIES_EXHAUSTED};
  for (size_t i = 0; i < 3; i++) {
    const heard end = event_heard(l, LIBLOCK_EVENT_DEQUEUED_ON_LIMIT, i);
    assert_int_equal(end.event.status, expected[i]);
    assert_true(end.event.tag == i + 1 && end.event.lock == 0);
    assert_string_equal(end.key, "k");
    assert_int_equal(end.event.hold_us, -1);
  }
  assert_true(event_heard(l, LIBLOCK_EVENT_DEQUEUED_ON_LIMIT, 1).event.elapsed_us >= 15000);
  assert_int_equal(event_heard(l, LIBLOCK_EVENT_DEQUEUED_ON_LIMIT, 1).event.queue_position, 0);
  assert_int_equal(event_heard(l, LIBLOCK_EVENT_DEQUEUED_ON_LIMIT, 2).event.attempts, 3);
  assert_int_equal(listener_count(l, 0), 3);
}

static void an_acquire_of_several_keys_says_which_one_was_in_its_way(void **state) {
  take(*state, "b");
  listener *l = listen_to_events(*state);
  const liblock_bytes keys[] = {BYTES("c"), BYTES("a"), BYTES("b")};
  liblock_lock lock = 0;
  liblock_acquire_options options = try_once();
  assert_status(LIBLOCK_BUSY, liblock_acquire_many(*state, keys, 3, &options, &lock, NULL));
  options.wait_ms = 15;
  assert_status(LIBLOCK_TIMEOUT, liblock_acquire_many(*state, keys, 3, &options, &lock, NULL));
  for (size_t i = 0; i < 2; i++) {
    const heard end = event_heard(l, LIBLOCK_EVENT_DEQUEUED_ON_LIMIT, i);
    assert_string_equal(end.key, "b");
    assert_string_equal(end.keys, "c,a,b,");
  }
}

/* It waits for one key after the other. */
static void an_acquire_that_came_past_one_key_names_the_next(void **state) {
  const liblock_lock first = take(*state, "a");
  take(*state, "b");
  listener *l = listen_to_events(*state);
  recorder *r = recorder_new(*state, false);
  const liblock_bytes keys[] = {BYTES("b"), BYTES("a")};
  liblock_request request = 0;
  assert_ok(
      liblock_acquire_many_async(*state, keys, 2, NULL, recorder_callback, recorder_slot(r, 0), &request));
  await_waiters(*state, 1);
  assert_ok(liblock_release(*state, first, NULL));
  await_waiters(*state, 1);
  assert_ok(liblock_cancel(*state, request));
  assert_true(recorder_await(r, 1));
  assert_string_equal(event_heard(l, LIBLOCK_EVENT_FAILED, 0).key, "b");
  recorder_free(r);
}

static void an_acquire_that_fails_otherwise_is_told_with_its_status(void **state) {
  listener *l = listen_to_events(*state);
  recorder *r = recorder_new(*state, false);
  liblock_owner *owner = open_owner(*state, "o");
  liblock_acquire_options mine = owned_by(owner);
  take_with(*state, "k", &mine);
  mine.on_conflict = LIBLOCK_ON_CONFLICT_FAIL;
  assert_status(LIBLOCK_ALREADY_HELD, acquire_failing(*state, &mine));
  assert_int_equal(event_heard(l, LIBLOCK_EVENT_FAILED, 0).event.status, LIBLOCK_ALREADY_HELD);
  const liblock_request request = request_key(*state, r, 0, "k", NULL);
  assert_ok(liblock_cancel(*state, request));
  assert_true(recorder_await(r, 1));
  assert_int_equal(event_heard(l, LIBLOCK_EVENT_FAILED, 1).event.status, LIBLOCK_CANCELED);
  liblock_owner_free(owner);
  recorder_free(r);
}

static void a_grant_that_comes_too_late_is_told_as_failed_only(void **state) {
  listener *l = listen_to_events(*state);
  recorder *r = recorder_new(*state, false);
  liblock_owner *owner = open_owner(*state, "o");
  liblock_acquire_options mine = owned_by(owner);
  mine.ttl_ms = 5000;
  take_with(*state, "k", &mine);
  let_pass_ms(50);
  mine.min_remaining_ms = 5000;
  assert_status(LIBLOCK_TOO_LATE, acquire_failing(*state, &mine)); /* it reenters what has begun to run out */
  assert_int_equal(event_heard(l, LIBLOCK_EVENT_FAILED, 0).event.status, LIBLOCK_TOO_LATE);
  assert_int_equal(listener_count(l, LIBLOCK_EVENT_REENTERED), 0);
  liblock_owner_free(owner);
  recorder_free(r);
}

static void what_is_refused_at_once_is_no_acquire_to_tell_about(void **state) {
  listener *l = listen_to_events(*state);
  liblock_acquire_options options = with_ttl(0);
  assert_status(LIBLOCK_INVALID_ARGUMENT, acquire_failing(*state, &options));
  assert_ok(liblock_clear(*state, NULL, NULL, NULL));
  assert_true(listener_await(l, LIBLOCK_EVENT_CLEARED, 1));
  assert_int_equal(listener_count(l, 0), 1);
}

static void a_cycle_of_owners_is_told_with_the_wait_that_found_it(void **state) {
  listener *l = listen_to_events(*state);
  recorder *r = recorder_new(*state, true);
  liblock_owner *one = open_owner(*state, "one"), *two = open_owner(*state, "two");
  liblock_acquire_options ones = owned_by(one), twos = owned_by(two);
  take_with(*state, "a", &ones);
  take_with(*state, "b", &twos);
  ones.event_tag = 1;
  request_key(*state, r, 0, "b", &ones);
  twos.event_tag = 2;
  request_key(*state, r, 1, "a", &twos);
  const heard found = event_heard(l, LIBLOCK_EVENT_DEADLOCK_FOUND, 0);
  assert_int_equal(found.event.status, LIBLOCK_DEADLOCK);
  assert_int_equal(found.event.count, 2);
  assert_string_equal(found.key, found.event.tag == 1 ? "b" : "a");
  const heard failed = event_heard(l, LIBLOCK_EVENT_FAILED, 0);
  assert_int_equal(failed.event.status, LIBLOCK_DEADLOCK);
  assert_true(failed.event.tag == found.event.tag && failed.event.tag != 0);
  liblock_owner_free(two);
  liblock_owner_free(one);
  assert_true(recorder_await(r, 2));
  recorder_free(r);
}

static void a_forced_release_is_told_with_the_loss_and_the_dequeued_waits(void **state) {
  listener *l = listen_to_events(*state);
  recorder *r = recorder_new(*state, false);
  const liblock_lock lock = take(*state, "k");
  request_key(*state, r, 0, "k", NULL);
  await_waiters(*state, 1);
  assert_status(LIBLOCK_NOT_HELD, liblock_force_release(*state, KEY("free"), 0, NULL));
  assert_ok(liblock_force_release(*state, KEY("k"), LIBLOCK_DROP_QUEUE, NULL));
  assert_true(recorder_await(r, 1));
  const heard forced = event_heard(l, LIBLOCK_EVENT_FORCE_RELEASED, 0);
  assert_string_equal(forced.key, "k");
  assert_true(forced.event.elapsed_us >= 0);
  assert_int_equal(forced.event.count, 1);
  assert_true(event_heard(l, LIBLOCK_EVENT_LOST, 0).event.lock == lock);
  assert_int_equal(event_heard(l, LIBLOCK_EVENT_DEQUEUED, 0).event.status, LIBLOCK_DEQUEUED);
  assert_int_equal(listener_count(l, LIBLOCK_EVENT_FORCE_RELEASED), 1);
  recorder_free(r);
}

static void each_way_to_clear_is_told_with_its_count(void **state) {
  listener *l = listen_to_events(*state);
  liblock_owner *owner = open_owner(*state, "o");
  const liblock_acquire_options mine = owned_by(owner);
  char owner_id[160], instance[80];
  assert_ok(liblock_owner_id(*state, owner, owner_id, sizeof owner_id, NULL));
  assert_ok(liblock_instance_id(*state, instance, sizeof instance, NULL));
  take(*state, "a");
  take(*state, "b");
  take_with(*state, "c", &mine);
  assert_ok(liblock_clear_owner(*state, owner_id, strlen(owner_id), NULL, NULL, NULL));
  assert_int_equal(event_heard(l, LIBLOCK_EVENT_OWNER_CLEARED, 0).event.count, 1);
  assert_string_equal(event_heard(l, LIBLOCK_EVENT_OWNER_CLEARED, 0).owner, owner_id);
  assert_ok(liblock_clear_instance(*state, "nobody", 6, NULL, NULL, NULL));
  assert_string_equal(event_heard(l, LIBLOCK_EVENT_INSTANCE_CLEARED, 0).instance, "nobody");
  assert_int_equal(event_heard(l, LIBLOCK_EVENT_INSTANCE_CLEARED, 0).event.count, 0);
  assert_ok(liblock_clear_dead(*state, NULL, NULL, NULL));
  assert_int_equal(event_heard(l, LIBLOCK_EVENT_DEAD_CLEARED, 0).event.count, 0);
  assert_ok(liblock_clear(*state, NULL, NULL, NULL));
  const heard cleared = event_heard(l, LIBLOCK_EVENT_CLEARED, 0);
  assert_int_equal(cleared.event.count, 2);
  assert_true(cleared.event.elapsed_us >= 0);
  assert_string_equal(cleared.instance, instance);
  assert_int_equal(listener_count(l, LIBLOCK_EVENT_LOST), 3);
  liblock_owner_free(owner);
}

static void a_closed_owner_is_told_with_the_locks_that_it_gave_back(void **state) {
  listener *l = listen_to_events(*state);
  liblock_owner *owner = open_owner(*state, "o"), *other = open_owner(*state, "p");
  const liblock_acquire_options mine = owned_by(owner), others = owned_by(other);
  char owner_id[160];
  assert_ok(liblock_owner_id(*state, owner, owner_id, sizeof owner_id, NULL));
  take_with(*state, "a", &mine);
  take_with(*state, "b", &mine);
  take_with(*state, "c", &others);
  assert_ok(liblock_owner_close(owner));
  const heard closed = event_heard(l, LIBLOCK_EVENT_OWNER_CLOSED, 0);
  assert_string_equal(closed.owner, owner_id);
  assert_int_equal(closed.event.count, 2);
  assert_int_equal(listener_count(l, LIBLOCK_EVENT_HOLD_AND_RELEASE), 2);
  liblock_owner_free(owner);
  liblock_owner_free(other);
}

static void *hold_as_thread(void *context) {
  liblock_acquire_options options = acquire_options();
  options.owner = LIBLOCK_OWNER_THREAD;
  liblock_lock lock = 0;
  return liblock_acquire(context, KEY("k"), &options, &lock, NULL) == LIBLOCK_OK ? context : NULL;
}

static void a_thread_that_ends_closes_its_owner(void **state) {
  listener *l = listen_to_events(*state);
  pthread_t thread;
  void *held = NULL;
  assert_int_equal(pthread_create(&thread, NULL, hold_as_thread, *state), 0);
  assert_int_equal(pthread_join(thread, &held), 0);
  assert_non_null(held);
  assert_int_equal(event_heard(l, LIBLOCK_EVENT_OWNER_CLOSED, 0).event.count, 1);
  assert_int_equal(listener_count(l, LIBLOCK_EVENT_HOLD_AND_RELEASE), 1);
}

static void count_last(const liblock_completion *completion, void *user_data) {
  (void)completion;
  latch_add(user_data, 1);
}

static void closing_tells_of_what_it_gives_back_and_then_nothing_more(void **state) {
  (void)state;
  liblock_context *context = open_local("local:", NULL);
  listener *l = listen_to_events(context);
  recorder *r = recorder_new(context, false);
  latch last;
  latch_init(&last);
  take(context, "k");
  request_key(context, r, 0, "k", NULL);
  await_waiters(context, 1);
  assert_ok(liblock_close_async(context, count_last, &last));
  assert_true(latch_await(&last, 1));
  assert_true(recorder_await(r, 1));
  const size_t told = listener_count(l, 0);
  assert_int_equal(listener_count(l, LIBLOCK_EVENT_HOLD_AND_RELEASE), 1);
  assert_int_equal(listener_count(l, LIBLOCK_EVENT_FAILED), 1);
  assert_int_equal(event_heard(l, LIBLOCK_EVENT_FAILED, 0).event.status, LIBLOCK_CLOSED);
  liblock_context_free(context);
  let_pass_ms(20);
  assert_int_equal(listener_count(l, 0), told);
  latch_destroy(&last);
  recorder_free(r);
}

static void locks_that_a_close_leaves_are_not_told_as_released(void **state) {
  (void)state;
  liblock_context_options options = context_options();
  options.on_close = LIBLOCK_ON_CLOSE_LEAVE;
  liblock_context *stays = open_local("local:left", &options);
  liblock_context *goes = open_local("local:left", &options);
  listener *l = listen_to_events(goes);
  latch last;
  latch_init(&last);
  take(goes, "k");
  assert_ok(liblock_close_async(goes, count_last, &last));
  assert_true(latch_await(&last, 1));
  assert_int_equal(listener_count(l, LIBLOCK_EVENT_HOLD_AND_RELEASE), 0);
  assert_int_equal(listener_count(l, LIBLOCK_EVENT_OBTAINED), 1);
  liblock_context_free(goes);
  listener *other = listen_to_events(stays);
  assert_ok(liblock_clear_dead(stays, NULL, NULL, NULL));
  assert_int_equal(event_heard(other, LIBLOCK_EVENT_DEAD_CLEARED, 0).event.count, 1);
  end_context(stays);
  latch_destroy(&last);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(an_acquire_that_reaches_a_limit_is_told_with_its_status),
      fresh(an_acquire_of_several_keys_says_which_one_was_in_its_way),
      fresh(an_acquire_that_came_past_one_key_names_the_next),
      fresh(an_acquire_that_fails_otherwise_is_told_with_its_status),
      fresh(a_grant_that_comes_too_late_is_told_as_failed_only),
      fresh(what_is_refused_at_once_is_no_acquire_to_tell_about),
      fresh(a_cycle_of_owners_is_told_with_the_wait_that_found_it),
      fresh(a_forced_release_is_told_with_the_loss_and_the_dequeued_waits),
      fresh(each_way_to_clear_is_told_with_its_count),
      fresh(a_closed_owner_is_told_with_the_locks_that_it_gave_back),
      fresh(a_thread_that_ends_closes_its_owner),
      cmocka_unit_test(closing_tells_of_what_it_gives_back_and_then_nothing_more),
      cmocka_unit_test(locks_that_a_close_leaves_are_not_told_as_released),
  };
  return cmocka_run_group_tests_name("ends in events", tests, NULL, NULL);
}
