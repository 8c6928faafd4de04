/* SPDX-License-Identifier: MIT
 *
 * The log: which entries an acquire and its lock write, at which level and with which fields. Those of single
 * attempts are in test_log_attempts.c.
 */
#include <stdio.h>

#include "listener.h"
#include "recorder.h"
#include "worker.h"

static void expect_written(listener *l, const char *expected) {
  char names[2048];
  entries_written(l, names, sizeof names);
  assert_string_equal(names, expected);
}

static void a_log_that_is_off_writes_nothing(void **state) {
  listener *l = listener_new();
  assert_ok(liblock_set_log(*state, LIBLOCK_LOG_OFF, listener_on_log, l));
  assert_ok(liblock_release(*state, take(*state, "k"), NULL));
  assert_ok(liblock_set_log(*state, LIBLOCK_LOG_DEBUG, listener_on_log, l));
  assert_ok(liblock_set_log(*state, LIBLOCK_LOG_DEBUG, NULL, NULL));
  assert_ok(liblock_release(*state, take(*state, "k"), NULL));
  assert_int_equal(listener_count_written(l, 0), 0);
}

static void entries_above_the_level_are_not_written(void **state) {
  listener *l = listener_new();
  assert_ok(liblock_set_log(*state, LIBLOCK_LOG_INFO, listener_on_log, l));
  const liblock_lock lock = take(*state, "k");
  assert_status(LIBLOCK_BUSY, probe(*state, "k"));
  assert_ok(liblock_release(*state, lock, NULL));
  expect_written(l, "dequeued_on_limit ");
  assert_int_equal(entry_written(l, 0, 0).level, LIBLOCK_LOG_INFO);
}

static void a_pair_writes_its_beginning_its_grant_and_its_end(void **state) {
  listener *l = listen_to_log(*state);
  liblock_acquire_options options = with_ttl(60000);
  options.queue_ttl_ms = 1500;
  options.event_tag = 12;
  const liblock_lock lock = take_with(*state, "orders/17", &options);
  assert_ok(liblock_release(*state, lock, NULL));
  expect_written(l, "acquire_started cycle_started obtained released ");
  char instance[80], owner[100];
  assert_ok(liblock_instance_id(*state, instance, sizeof instance, NULL));
  snprintf(owner, sizeof owner, " owner=%s", instance);
  const int32_t ids[] = {LIBLOCK_ENTRY_ACQUIRE_STARTED, LIBLOCK_ENTRY_CYCLE_STARTED, LIBLOCK_ENTRY_OBTAINED,
                         LIBLOCK_ENTRY_RELEASED};
  for (size_t i = 0; i < 4; i++) {
    const written entry = entry_written(l, ids[i], 0);
    assert_int_equal(entry.level, LIBLOCK_LOG_DEBUG);
    assert_true(entry.tag == 12);
    assert_true(entry.at_us > INT64_C(1500000000000000));
    assert_true(entry.message[0] != '\0');
    assert_true(has_field(&entry, " key=orders/17"));
    assert_true(has_field(&entry, " queue_ttl_ms=1500"));
    assert_true(has_field(&entry, owner));
  }
  const written got = entry_written(l, LIBLOCK_ENTRY_OBTAINED, 0);
  assert_true(has_field(&got, " acquire_us=") && has_field(&got, " ttl_ms=60000"));
  const written gone = entry_written(l, LIBLOCK_ENTRY_RELEASED, 0);
  assert_true(has_field(&gone, " acquire_us=") && has_field(&gone, " hold_us="));
  assert_true(has_field(&gone, " status=OK"));
}

static void an_acquire_that_fails_writes_why(void **state) {
  listener *l = listen_to_log(*state);
  liblock_owner *owner = open_owner(*state, "o");
  liblock_acquire_options mine = owned_by(owner);
  take_with(*state, "k", &mine);
  mine.on_conflict = LIBLOCK_ON_CONFLICT_FAIL;
  liblock_lock lock = 0;
  assert_status(LIBLOCK_ALREADY_HELD, liblock_acquire(*state, KEY("k"), &mine, &lock, NULL));
  const written failed = entry_written(l, LIBLOCK_ENTRY_FAILED, 0);
  assert_true(has_field(&failed, " status=ALREADY_HELD"));
  const liblock_acquire_options brief = waits(5);
  assert_status(LIBLOCK_TIMEOUT, liblock_acquire(*state, KEY("k"), &brief, &lock, NULL));
  const written late = entry_written(l, LIBLOCK_ENTRY_DEQUEUED_ON_LIMIT, 0);
  assert_true(has_field(&late, " status=TIMEOUT") && has_field(&late, " queue_position=0"));
  liblock_owner_free(owner);
}

static void a_reentry_an_extension_and_a_loss_are_written(void **state) {
  listener *l = listen_to_log(*state);
  liblock_owner *owner = open_owner(*state, "o");
  const liblock_acquire_options mine = owned_by(owner);
  const liblock_lock lock = take_with(*state, "k", &mine);
  take_with(*state, "k", &mine);
  assert_ok(liblock_extend(*state, lock, 9000, LIBLOCK_EXTEND_SET, NULL));
  assert_ok(liblock_force_release(*state, KEY("k"), 0, NULL));
  const written lost = entry_written(l, LIBLOCK_ENTRY_LOST, 0);
  assert_int_equal(lost.level, LIBLOCK_LOG_WARNING);
  assert_true(has_field(&lost, " key=k") && has_field(&lost, " hold_us="));
  assert_int_equal(listener_count_written(l, LIBLOCK_ENTRY_REENTERED), 1);
  const written extended = entry_written(l, LIBLOCK_ENTRY_EXTENDED, 0);
  assert_true(has_field(&extended, " ttl_ms=9000"));
  liblock_owner_free(owner);
}

static void a_hand_off_and_a_requeueing_are_written_with_the_place(void **state) {
  listener *l = listen_to_log(*state);
  recorder *r = recorder_new(*state, true);
  const liblock_lock lock = take(*state, "k");
  liblock_acquire_options impatient = acquire_options();
  impatient.queue_ttl_ms = 300;
  request_key(*state, r, 0, "k", &impatient);
  request_key(*state, r, 1, "k", NULL);
  const written requeued = entry_written(l, LIBLOCK_ENTRY_REQUEUED, 0);
  assert_true(has_field(&requeued, " queue_position=1") && has_field(&requeued, " queue_length=2"));
  assert_true(has_field(&requeued, " queue_ttl_ms=300"));
  assert_ok(liblock_release(*state, lock, NULL));
  assert_true(recorder_await(r, 2));
  assert_true(has_field(&(written[]){entry_written(l, LIBLOCK_ENTRY_HANDED_OFF, 0)}[0], " queue_length=1"));
  recorder_free(r);
}

static void a_cycle_of_owners_is_written_as_a_warning(void **state) {
  listener *l = listen_to_log(*state);
  recorder *r = recorder_new(*state, true);
  liblock_owner *one = open_owner(*state, "one"), *two = open_owner(*state, "two");
  const liblock_acquire_options ones = owned_by(one), twos = owned_by(two);
  take_with(*state, "a", &ones);
  take_with(*state, "b", &twos);
  request_key(*state, r, 0, "b", &ones);
  request_key(*state, r, 1, "a", &twos);
  const written found = entry_written(l, LIBLOCK_ENTRY_DEADLOCK_FOUND, 0);
  assert_int_equal(found.level, LIBLOCK_LOG_WARNING);
  assert_true(has_field(&found, " count=2"));
  liblock_owner_free(two);
  liblock_owner_free(one);
  assert_true(recorder_await(r, 2));
  recorder_free(r);
}

struct nested {
  liblock_context *context;
  listener *l;
  liblock_status blocking;
  int calls;
};

static void log_that_locks(const liblock_log_entry *entry, void *user_data) {
  struct nested *n = user_data;
  liblock_lock lock = 0;
  listener_on_log(entry, n->l);
  if (n->calls++ > 0) return;
  n->blocking = liblock_acquire(n->context, KEY("log file"), NULL, &lock, NULL);
  if (liblock_try_acquire(n->context, KEY("log file"), NULL, &lock, NULL) == LIBLOCK_OK) {
    const liblock_status released = liblock_release(n->context, lock, NULL);
    if (released != LIBLOCK_OK) n->blocking = released;
  }
}

static void a_log_that_locks_is_not_logged_itself_and_cannot_wait(void **state) {
  struct nested n = {.context = *state, .l = listener_new()};
  assert_ok(liblock_set_log(*state, LIBLOCK_LOG_DEBUG, log_that_locks, &n));
  take(*state, "k");
  assert_ok(liblock_set_log(*state, LIBLOCK_LOG_OFF, NULL, NULL));
  assert_status(LIBLOCK_WOULD_DEADLOCK, n.blocking);
  expect_written(n.l, "acquire_started cycle_started obtained ");
}

static void values_and_metadata_stay_out_of_the_log(void **state) {
  listener *l = listen_to_log(*state);
  const liblock_metadata metadata[] = {{BYTES("name"), BYTES("a secret of metadata")}};
  liblock_acquire_options options = with_ttl(50000);
  options.value = "a secret value";
  options.value_size = 14;
  options.metadata = metadata;
  options.metadata_count = 1;
  options.instrument = LIBLOCK_INSTRUMENT_ATTEMPTS;
  const liblock_lock lock = take_with(*state, "k", &options);
  assert_status(LIBLOCK_BUSY, probe(*state, "k"));
  assert_ok(liblock_update(*state, lock, "another secret", 14, NULL));
  assert_ok(liblock_release(*state, lock, NULL));
  const size_t count = listener_count_written(l, 0);
  assert_true(count >= 8);
  for (size_t i = 0; i < count; i++) {
    const written entry = entry_written(l, 0, i);
    assert_null(strstr(entry.fields, "secret"));
    assert_null(strstr(entry.message, "secret"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(a_log_that_is_off_writes_nothing),
      fresh(entries_above_the_level_are_not_written),
      fresh(a_pair_writes_its_beginning_its_grant_and_its_end),
      fresh(an_acquire_that_fails_writes_why),
      fresh(a_reentry_an_extension_and_a_loss_are_written),
      fresh(a_hand_off_and_a_requeueing_are_written_with_the_place),
      fresh(a_cycle_of_owners_is_written_as_a_warning),
      fresh(a_log_that_locks_is_not_logged_itself_and_cannot_wait),
      fresh(values_and_metadata_stay_out_of_the_log),
  };
  return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
