/* SPDX-License-Identifier: MIT
 *
 * Events of locks that are granted: each comes once, in order, with what it promises to carry. What ends without a
 * lock, and administration, is in test_event_ends.c.
 */
#include "listener.h"
#include "recorder.h"
#include "worker.h"

static liblock_acquire_options tagged(uint64_t tag) {
  liblock_acquire_options options = acquire_options();
  options.event_tag = tag;
  return options;
}

/* Everything that was emitted up to now has come when this has. */
static void await_all(liblock_context *context, listener *l) {
  const size_t before = listener_count(l, LIBLOCK_EVENT_CLEARED);
  assert_ok(liblock_clear(context, NULL, NULL, NULL));
  assert_true(listener_await(l, LIBLOCK_EVENT_CLEARED, before + 1));
}

static void expect_told(liblock_context *context, listener *l, const char *expected) {
  char told[2048];
  await_all(context, l);
  events_told(l, told, sizeof told);
  assert_string_equal(told, expected);
}

static void who_does_not_listen_any_more_is_told_nothing(void **state) {
  listener *l = listen_to_events(*state);
  assert_ok(liblock_set_events(*state, ~UINT64_C(0), NULL, NULL));
  assert_ok(liblock_release(*state, take(*state, "k"), NULL));
  assert_ok(liblock_set_events(*state, ~UINT64_C(0), listener_on_event, l));
  expect_told(*state, l, "CLEARED ");
}

static void a_lock_that_was_there_before_is_not_told_about(void **state) {
  const liblock_lock lock = take(*state, "k");
  listener *l = listen_to_events(*state);
  assert_ok(liblock_release(*state, lock, NULL));
  expect_told(*state, l, "CLEARED ");
}

static void kinds_outside_the_mask_are_not_told(void **state) {
  listener *l = listener_new();
  const uint64_t mask = (UINT64_C(1) << LIBLOCK_EVENT_OBTAINED) | (UINT64_C(1) << LIBLOCK_EVENT_CLEARED);
  assert_ok(liblock_set_events(*state, mask, listener_on_event, l));
  assert_ok(liblock_release(*state, take(*state, "k"), NULL));
  expect_told(*state, l, "OBTAINED CLEARED ");
}

static void a_pair_is_told_as_obtained_and_as_held_and_released(void **state) {
  listener *l = listen_to_events(*state);
  liblock_owner *owner = open_owner(*state, "worker");
  liblock_acquire_options options = tagged(77);
  options.owner = owner;
  options.ttl_ms = 60000;
  const liblock_lock lock = take_with(*state, "orders/17", &options);
  uint64_t token = 0;
  assert_ok(liblock_fencing_token(*state, lock, &token));
  let_pass_ms(20);
  assert_ok(liblock_release(*state, lock, NULL));
  const heard got = event_heard(l, LIBLOCK_EVENT_OBTAINED, 0);
  const heard gone = event_heard(l, LIBLOCK_EVENT_HOLD_AND_RELEASE, 0);
  const heard *both[] = {&got, &gone};
  char owner_id[160], instance[80];
  assert_ok(liblock_owner_id(*state, owner, owner_id, sizeof owner_id, NULL));
  assert_ok(liblock_instance_id(*state, instance, sizeof instance, NULL));
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(both[i]->event.struct_size, sizeof(liblock_event));
    assert_int_equal(both[i]->event.status, LIBLOCK_OK);
    assert_true(both[i]->event.lock == lock && both[i]->event.token == token && both[i]->event.tag == 77);
    assert_string_equal(both[i]->key, "orders/17");
    assert_string_equal(both[i]->keys, "orders/17,");
    assert_string_equal(both[i]->owner, owner_id);
    assert_string_equal(both[i]->instance, instance);
    assert_int_equal(both[i]->event.ttl_ms, 60000);
    assert_true(both[i]->event.acquire_us >= 0 && both[i]->event.acquire_us < 10000000);
    assert_int_equal(both[i]->event.hold_count, 1);
    assert_true(both[i]->event.at_us > INT64_C(1500000000000000));
    assert_true(both[i]->event.obtained_at_us == got.event.obtained_at_us);
  }
  assert_int_equal(got.event.hold_us, -1);
  assert_int_equal(got.event.queue_position, -1);
  assert_true(gone.event.hold_us >= 20000 && gone.event.hold_us < 20000000);
  assert_true(gone.event.elapsed_us >= 0);
  assert_true(gone.event.at_us >= got.event.at_us + 15000);
  liblock_owner_free(owner);
}

static void a_second_release_tells_nothing_more(void **state) {
  listener *l = listen_to_events(*state);
  const liblock_lock lock = take(*state, "k");
  assert_ok(liblock_release(*state, lock, NULL));
  assert_status(LIBLOCK_NOT_HELD, liblock_release(*state, lock, NULL));
  expect_told(*state, l, "OBTAINED HOLD_AND_RELEASE CLEARED ");
}

static void a_reentry_is_told_as_such_and_its_end_too(void **state) {
  listener *l = listen_to_events(*state);
  liblock_owner *owner = open_owner(*state, "o");
  const liblock_acquire_options mine = owned_by(owner);
  const liblock_lock outer = take_with(*state, "k", &mine);
  const liblock_lock inner = take_with(*state, "k", &mine);
  assert_ok(liblock_release(*state, inner, NULL));
  assert_ok(liblock_release(*state, outer, NULL));
  assert_int_equal(event_heard(l, LIBLOCK_EVENT_REENTERED, 0).event.hold_count, 2);
  expect_told(*state, l, "OBTAINED REENTERED HOLD_AND_RELEASE HOLD_AND_RELEASE CLEARED ");
  liblock_owner_free(owner);
}

static void a_reentry_that_sets_the_lease_anew_is_told_as_extended_too(void **state) {
  listener *l = listen_to_events(*state);
  liblock_owner *owner = open_owner(*state, "o");
  liblock_acquire_options mine = owned_by(owner);
  mine.ttl_ms = 30000;
  take_with(*state, "k", &mine);
  mine.on_conflict = LIBLOCK_ON_CONFLICT_REENTER_EXTEND;
  mine.ttl_ms = 90000;
  take_with(*state, "k", &mine);
  assert_int_equal(event_heard(l, LIBLOCK_EVENT_EXTENDED, 0).event.ttl_ms, 90000);
  assert_int_equal(listener_count(l, LIBLOCK_EVENT_REENTERED), 1);
  liblock_owner_free(owner);
}

static void what_such_a_reentry_gives_back_is_told_before_its_end(void **state) {
  listener *l = listen_to_events(*state);
  liblock_owner *owner = open_owner(*state, "o");
  liblock_acquire_options mine = owned_by(owner);
  mine.ttl_ms = 30000;
  const liblock_bytes keys[] = {BYTES("a"), BYTES("b")};
  liblock_lock outer = 0, inner = 0;
  assert_ok(liblock_acquire_many(*state, keys, 2, &mine, &outer, NULL));
  mine.on_conflict = LIBLOCK_ON_CONFLICT_REENTER_EXTEND;
  mine.ttl_ms = 90000;
  mine.event_tag = 8;
  assert_ok(liblock_acquire_many(*state, keys, 2, &mine, &inner, NULL));
  assert_ok(liblock_release(*state, inner, NULL));
  const heard back = event_heard(l, LIBLOCK_EVENT_EXTENDED, 1);
  assert_true(back.event.ttl_ms <= 30000 && back.event.ttl_ms > 20000);
  assert_true(back.event.lock == inner && back.event.tag == 8);
  assert_ok(liblock_release(*state, outer, NULL));
  expect_told(*state, l,
              "SERIES_OBTAINED REENTERED EXTENDED EXTENDED SERIES_HOLD_AND_RELEASE SERIES_HOLD_AND_RELEASE "
              "CLEARED ");
  liblock_owner_free(owner);
}

static void an_extension_is_told_where_it_succeeds(void **state) {
  listener *l = listen_to_events(*state);
  const liblock_acquire_options options = tagged(5);
  const liblock_lock lock = take_with(*state, "k", &options);
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_extend(*state, lock, 0, LIBLOCK_EXTEND_SET, NULL));
  assert_ok(liblock_extend(*state, lock, 45000, LIBLOCK_EXTEND_SET, NULL));
  const heard extended = event_heard(l, LIBLOCK_EVENT_EXTENDED, 0);
  assert_int_equal(extended.event.ttl_ms, 45000);
  assert_true(extended.event.tag == 5 && extended.event.lock == lock && extended.event.hold_us >= 0);
  expect_told(*state, l, "OBTAINED EXTENDED LOST CLEARED ");
}

static void a_lock_on_several_keys_is_a_series(void **state) {
  listener *l = listen_to_events(*state);
  const liblock_bytes keys[] = {BYTES("b"), BYTES("a"), BYTES("c")};
  liblock_lock lock = 0;
  assert_ok(liblock_acquire_many(*state, keys, 3, NULL, &lock, NULL));
  assert_ok(liblock_release(*state, lock, NULL));
  const heard got = event_heard(l, LIBLOCK_EVENT_SERIES_OBTAINED, 0);
  assert_int_equal(got.event.key_count, 3);
  assert_string_equal(got.keys, "b,a,c,");
  assert_string_equal(got.key, "b");
  assert_string_equal(event_heard(l, LIBLOCK_EVENT_SERIES_HOLD_AND_RELEASE, 0).keys, "b,a,c,");
  expect_told(*state, l, "SERIES_OBTAINED SERIES_HOLD_AND_RELEASE CLEARED ");
}

static void the_global_lock_is_told_without_a_key(void **state) {
  listener *l = listen_to_events(*state);
  liblock_lock lock = 0;
  assert_ok(liblock_acquire_global(*state, NULL, &lock, NULL));
  assert_ok(liblock_release(*state, lock, NULL));
  const heard got = event_heard(l, LIBLOCK_EVENT_OBTAINED, 0);
  assert_int_equal(got.event.key.size, 0);
  assert_int_equal(got.event.key_count, 0);
  assert_null(got.event.keys);
  expect_told(*state, l, "OBTAINED HOLD_AND_RELEASE CLEARED ");
}

static void a_release_by_keys_is_told_when_the_last_key_of_a_lock_went(void **state) {
  listener *l = listen_to_events(*state);
  liblock_owner *owner = open_owner(*state, "o");
  const liblock_acquire_options mine = owned_by(owner);
  const liblock_bytes keys[] = {BYTES("a"), BYTES("b")};
  liblock_lock lock = 0;
  assert_ok(liblock_acquire_many(*state, keys, 2, &mine, &lock, NULL));
  assert_ok(liblock_release_keys(*state, owner, &keys[0], 1, NULL));
  await_all(*state, l);
  assert_int_equal(listener_count(l, LIBLOCK_EVENT_SERIES_HOLD_AND_RELEASE), 0);
  assert_ok(liblock_acquire_many(*state, keys, 2, &mine, &lock, NULL));
  assert_ok(liblock_release_keys(*state, owner, keys, 2, NULL));
  assert_true(event_heard(l, LIBLOCK_EVENT_SERIES_HOLD_AND_RELEASE, 0).event.lock == lock);
  liblock_owner_free(owner);
}

static void a_hand_off_is_told_before_the_grant_that_it_brings(void **state) {
  listener *l = listen_to_events(*state);
  recorder *r = recorder_new(*state, false);
  const liblock_lock lock = take(*state, "k");
  const liblock_acquire_options second = tagged(2), third = tagged(3);
  request_key(*state, r, 0, "k", &second);
  request_key(*state, r, 1, "k", &third);
  await_waiters(*state, 2);
  assert_ok(liblock_release(*state, lock, NULL));
  assert_true(recorder_await(r, 1));
  const heard handed = event_heard(l, LIBLOCK_EVENT_HANDED_OFF, 0);
  const heard got = event_heard(l, LIBLOCK_EVENT_OBTAINED, 1);
  assert_true(handed.event.tag == 2 && got.event.tag == 2);
  assert_true(handed.event.token == got.event.token && got.event.token != 0);
  assert_int_equal(handed.event.queue_length, 1);
  assert_string_equal(handed.key, "k");
  assert_int_equal(got.event.queue_position, 0);
  assert_ok(liblock_release(*state, recorder_at(r, 0).completion.lock, NULL));
  assert_true(recorder_await(r, 2));
  assert_ok(liblock_release(*state, recorder_at(r, 1).completion.lock, NULL));
  char told[1024];
  await_all(*state, l);
  events_told(l, told, sizeof told);
  const char *handed_at = strstr(told, "HANDED_OFF ");
  assert_non_null(handed_at);
  assert_non_null(strstr(handed_at, "OBTAINED "));
  assert_int_equal(listener_count(l, LIBLOCK_EVENT_HANDED_OFF), 2);
  assert_int_equal(listener_count(l, LIBLOCK_EVENT_HOLD_AND_RELEASE), 3);
  recorder_free(r);
}

static void a_waiting_thread_is_told_about_as_a_request_is(void **state) {
  listener *l = listen_to_events(*state);
  const liblock_lock lock = take(*state, "k");
  const liblock_acquire_options second = tagged(9);
  worker *w = worker_acquires(*state, "k", &second);
  await_waiters(*state, 1);
  let_pass_ms(15);
  assert_ok(liblock_release(*state, lock, NULL));
  assert_ok(worker_join(w, NULL, NULL));
  const heard got = event_heard(l, LIBLOCK_EVENT_OBTAINED, 1);
  assert_true(got.event.tag == 9);
  assert_true(got.event.acquire_us >= 15000);
  assert_true(event_heard(l, LIBLOCK_EVENT_HANDED_OFF, 0).event.tag == 9);
}

static void a_waiter_that_goes_to_the_end_is_told_as_requeued(void **state) {
  listener *l = listen_to_events(*state);
  recorder *r = recorder_new(*state, true);
  const liblock_lock lock = take(*state, "k");
  liblock_acquire_options impatient = tagged(4);
  impatient.queue_ttl_ms = 300;
  request_key(*state, r, 0, "k", &impatient);
  request_key(*state, r, 1, "k", NULL);
  const heard requeued = event_heard(l, LIBLOCK_EVENT_REQUEUED, 0);
  assert_true(requeued.event.tag == 4);
  assert_string_equal(requeued.key, "k");
  assert_int_equal(requeued.event.queue_position, 1);
  assert_int_equal(requeued.event.queue_length, 2);
  assert_ok(liblock_release(*state, lock, NULL));
  assert_true(recorder_await(r, 2));
  recorder_free(r);
}

static void a_lease_that_ends_is_told_as_lost_once_without_anybody_asking(void **state) {
  listener *l = listen_to_events(*state);
  liblock_acquire_options brief = tagged(6);
  brief.ttl_ms = 20;
  const liblock_lock lock = take_with(*state, "k", &brief);
  const heard lost = event_heard(l, LIBLOCK_EVENT_LOST, 0);
  assert_true(lost.event.lock == lock && lost.event.tag == 6);
  assert_int_equal(lost.event.status, LIBLOCK_LOST);
  assert_true(lost.event.acquire_us + lost.event.hold_us >=
              19000); /* the lease began before the call's end */
  assert_status(LIBLOCK_LOST, liblock_release(*state, lock, NULL));
  expect_told(*state, l, "OBTAINED LOST CLEARED ");
}

static void the_caller_hears_of_a_loss_as_before(void **state) {
  listener *l = listen_to_events(*state);
  recorder *r = recorder_new(*state, false);
  liblock_acquire_options brief = with_ttl(20);
  brief.on_lost = recorder_callback;
  brief.on_lost_user_data = recorder_slot(r, 1);
  take_with(*state, "k", &brief);
  assert_true(recorder_await(r, 1));
  assert_int_equal(recorder_at(r, 0).completion.kind, LIBLOCK_KIND_LOST);
  assert_true(listener_await(l, LIBLOCK_EVENT_LOST, 1));
  recorder_free(r);
}

static void ends_in_a_completion_queue_are_told_too(void **state) {
  listener *l = listen_to_events(*state);
  liblock_completions *queue = NULL;
  assert_ok(liblock_completions_open(*state, 8, &queue, NULL));
  liblock_acquire_options options = tagged(8);
  options.completions = queue;
  liblock_request request = 0;
  assert_ok(liblock_acquire_async(*state, KEY("k"), &options, NULL, NULL, &request));
  liblock_completion end = {.struct_size = sizeof end};
  assert_ok(liblock_completions_next(queue, GENEROUS_MS, &end));
  assert_true(event_heard(l, LIBLOCK_EVENT_OBTAINED, 0).event.lock == end.lock);
  assert_ok(liblock_acquire_async(*state, KEY("unread"), &options, NULL, NULL, &request));
  assert_true(listener_await(l, LIBLOCK_EVENT_OBTAINED, 2));
  liblock_completions_free(queue); /* what nobody has read is given back */
  assert_string_equal(event_heard(l, LIBLOCK_EVENT_HOLD_AND_RELEASE, 0).key, "unread");
}

/* Nobody is asked anything: it is so from the beginning on, and each listener hears it as he begins. */
static void a_password_in_clear_text_is_told_to_whoever_begins_to_listen(void **state) {
  (void)state;
  for (int has_tls = 0; has_tls < 2; ++has_tls) {
    const char *url = has_tls ? "rediss://:S3cret@db.example" : "redis://:S3cret@db.example";
    liblock_context *context = NULL;
    assert_ok(liblock_open(url, NULL, &context, NULL));
    for (int n = 0; n < 2; ++n) {
      listener *l = listen_to_events(context);
      assert_ok(liblock_set_log(context, LIBLOCK_LOG_WARNING, listener_on_log, l));
      if (!has_tls) {
        const heard told = event_heard(l, LIBLOCK_EVENT_CLEARTEXT_PASSWORD, 0);
        assert_non_null(strstr(told.message, "redis://db.example:6379/0"));
        assert_null(strstr(told.message, "S3cret"));
        const written entry = entry_written(l, LIBLOCK_ENTRY_SERVER, 0);
        assert_int_equal(entry.level, LIBLOCK_LOG_WARNING);
        assert_true(has_field(&entry, " event=CLEARTEXT_PASSWORD"));
      }
      assert_int_equal(listener_count(l, 0), has_tls ? 0 : 1);
      assert_int_equal(listener_count_written(l, 0), has_tls ? 0 : 1);
    }
    liblock_context_free(context);
  }
}

static void the_names_of_kinds_are_those_of_the_header(void **state) {
  (void)state;
  assert_string_equal(liblock_event_name(0), "UNKNOWN");
  assert_string_equal(liblock_event_name(33), "UNKNOWN");
  assert_string_equal(liblock_event_name(-1), "UNKNOWN");
  assert_string_equal(liblock_event_name(LIBLOCK_EVENT_CONNECTED), "CONNECTED");
  assert_string_equal(liblock_event_name(LIBLOCK_EVENT_LOST), "LOST");
  assert_string_equal(liblock_event_name(LIBLOCK_EVENT_OWNER_CLOSED), "OWNER_CLOSED");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(who_does_not_listen_any_more_is_told_nothing),
      fresh(a_lock_that_was_there_before_is_not_told_about),
      fresh(kinds_outside_the_mask_are_not_told),
      fresh(a_pair_is_told_as_obtained_and_as_held_and_released),
      fresh(a_second_release_tells_nothing_more),
      fresh(a_reentry_is_told_as_such_and_its_end_too),
      fresh(a_reentry_that_sets_the_lease_anew_is_told_as_extended_too),
      fresh(what_such_a_reentry_gives_back_is_told_before_its_end),
      fresh(an_extension_is_told_where_it_succeeds),
      fresh(a_lock_on_several_keys_is_a_series),
      fresh(the_global_lock_is_told_without_a_key),
      fresh(a_release_by_keys_is_told_when_the_last_key_of_a_lock_went),
      fresh(a_hand_off_is_told_before_the_grant_that_it_brings),
      fresh(a_waiting_thread_is_told_about_as_a_request_is),
      fresh(a_waiter_that_goes_to_the_end_is_told_as_requeued),
      fresh(a_lease_that_ends_is_told_as_lost_once_without_anybody_asking),
      fresh(the_caller_hears_of_a_loss_as_before),
      fresh(ends_in_a_completion_queue_are_told_too),
      cmocka_unit_test(a_password_in_clear_text_is_told_to_whoever_begins_to_listen),
      cmocka_unit_test(the_names_of_kinds_are_those_of_the_header),
  };
  return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}
