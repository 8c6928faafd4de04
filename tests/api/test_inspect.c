/* SPDX-License-Identifier: MIT
 *
 * Looking from outside: who holds, who waits and in which order, lists and listings.
 */
#include "api.h"
#include "recorder.h"
#include "worker.h"

#include <sys/utsname.h>
#include <time.h>

static liblock_info *inspect(liblock_context *context, const char *key) {
  liblock_info *info = NULL;
  assert_ok(liblock_inspect(context, key, strlen(key), &info, NULL));
  assert_non_null(info);
  return info;
}

static void assert_text(const char *expected, const void *data, size_t size) {
  assert_non_null(data);
  assert_int_equal(size, strlen(expected));
  assert_memory_equal(data, expected, size);
}

static int64_t wall_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

static void a_key_that_nobody_holds_is_not_held(void **state) {
  liblock_info *info = (liblock_info *)(void *)&info;
  int32_t answer = 7;
  assert_status(LIBLOCK_NOT_HELD, liblock_inspect(*state, KEY("k"), &info, NULL));
  assert_null(info);
  assert_status(LIBLOCK_NOT_HELD, liblock_inspect_queue(*state, KEY("k"), &info, NULL));
  assert_ok(liblock_is_locked(*state, KEY("k"), &answer));
  assert_int_equal(answer, 0);
  assert_ok(liblock_is_queued(*state, KEY("k"), &answer));
  assert_int_equal(answer, 0);
}

static void is_locked_and_is_queued_answer_one_or_zero(void **state) {
  liblock_context *context = *state;
  const liblock_lock lock = take(context, "k");
  int32_t locked = 7;
  int32_t queued = 7;
  assert_ok(liblock_is_locked(context, KEY("k"), &locked));
  assert_ok(liblock_is_queued(context, KEY("k"), &queued));
  assert_int_equal(locked, 1);
  assert_int_equal(queued, 0);
  worker *next = worker_acquires(context, "k", NULL);
  await_waiters(context, 1);
  assert_ok(liblock_is_queued(context, KEY("k"), &queued));
  assert_int_equal(queued, 1);
  assert_ok(liblock_release(context, lock, NULL));
  assert_ok(worker_join(next, NULL, NULL));
}

static void an_overdue_lock_is_not_locked(void **state) {
  const liblock_acquire_options brief = with_ttl(15);
  const liblock_lock lock = take_with(*state, "k", &brief);
  await_lost(*state, lock);
  int32_t locked = 7;
  assert_ok(liblock_is_locked(*state, KEY("k"), &locked));
  assert_int_equal(locked, 0);
  liblock_info *info = NULL;
  assert_status(LIBLOCK_NOT_HELD, liblock_inspect(*state, KEY("k"), &info, NULL));
}

static void an_info_tells_everything_about_the_holder(void **state) {
  const liblock_metadata metadata[] = {{BYTES("job"), BYTES("index")}, {BYTES("try"), BYTES("")}};
  char id[512];
  char instance[512];
  size_t id_size = 0;
  size_t instance_size = 0;
  liblock_owner *owner = open_owner(*state, "me");
  liblock_acquire_options options = owned_by(owner);
  options.ttl_ms = 600000;
  options.value = "payload";
  options.value_size = 7;
  options.metadata = metadata;
  options.metadata_count = 2;
  liblock_result result = empty_result();
  liblock_lock lock = 0;
  const int64_t before_us = wall_us();
  assert_ok(liblock_acquire(*state, KEY("k"), &options, &lock, &result));
  const int64_t after_us = wall_us();
  options.ttl_ms = 900000;
  take_with(*state, "k", &options);
  assert_ok(liblock_owner_id(*state, owner, id, sizeof id, &id_size));
  assert_ok(liblock_instance_id(*state, instance, sizeof instance, &instance_size));

  liblock_info *info = inspect(*state, "k");
  size_t size = 0;
  assert_text("k", liblock_info_key(info, &size), 1);
  assert_int_equal(size, 1);
  assert_int_equal(liblock_info_is_held(info), 1);
  assert_int_equal(liblock_info_is_global(info), 0);
  assert_int_equal(liblock_info_is_zombie(info), 0);
  const void *text = liblock_info_owner(info, &size);
  assert_text(id, text, size);
  text = liblock_info_instance(info, &size);
  assert_text(instance, text, size);
  assert_true(liblock_info_token(info) == result.token);
  struct utsname machine;
  assert_int_equal(uname(&machine), 0);
  text = liblock_info_host(info, &size);
  assert_text(machine.nodename, text, size);
  /* By the coarse clock, which lags a little. */
  assert_in_range(liblock_info_since_us(info), before_us - 100000, after_us + 100000);
  assert_int_equal(liblock_info_initial_ttl_ms(info), 600000);
  assert_in_range(liblock_info_remaining_ms(info), 500000, 600000);
  assert_int_equal(liblock_info_hold_count(info), 2);
  text = liblock_info_value(info, &size);
  assert_text("payload", text, size);
  assert_int_equal(liblock_info_metadata_count(info), 2);
  liblock_metadata entry;
  assert_ok(liblock_info_metadata_at(info, 0, &entry));
  assert_text("job", entry.name.data, entry.name.size);
  assert_text("index", entry.value.data, entry.value.size);
  assert_ok(liblock_info_metadata_at(info, 1, &entry));
  assert_int_equal(entry.value.size, 0);
  assert_int_not_equal(liblock_info_metadata_at(info, 2, &entry), LIBLOCK_OK);
  liblock_info_free(info);
  liblock_owner_free(owner);
}

static void assert_start(liblock_context *context, const char *key, int64_t since_us,
                         int64_t initial_ttl_ms) {
  liblock_info *info = inspect(context, key);
  if (since_us == 0)
    assert_true(liblock_info_since_us(info) == 0);
  else
    assert_in_range(liblock_info_since_us(info), since_us - 100000, wall_us() + 100000);
  assert_true(liblock_info_initial_ttl_ms(info) == initial_ttl_ms);
  liblock_info_free(info);
}

static void a_plain_lock_keeps_the_time_of_its_lease_and_without_one_says_so(void **state) {
  const liblock_acquire_options leased = with_ttl(60000);
  const int64_t since_us = wall_us();
  const liblock_lock plain = take(*state, "plain");
  const liblock_lock lock = take_with(*state, "leased", &leased);
  assert_start(*state, "plain", 0, -1);
  assert_start(*state, "leased", since_us, 60000);
  assert_ok(liblock_extend(*state, lock, 90000, LIBLOCK_EXTEND_SET, NULL));
  assert_start(*state, "leased", since_us, 0); /* what it was at first is not kept */
  assert_ok(liblock_extend(*state, plain, 90000, LIBLOCK_EXTEND_SET, NULL));
  assert_start(*state, "plain", 0, -1);
  assert_ok(liblock_extend(*state, lock, LIBLOCK_TTL_NONE, LIBLOCK_EXTEND_SET, NULL));
  assert_start(*state, "leased", since_us, 0);
  /* Handed over, long and short ways. */
  worker *next = worker_acquires(*state, "leased", &leased);
  await_waiters(*state, 1);
  assert_ok(liblock_release(*state, lock, NULL));
  liblock_lock handed = 0;
  assert_ok(worker_join(next, &handed, NULL));
  assert_start(*state, "leased", since_us, 60000);
  recorder *r = recorder_new(*state, false);
  request_key(*state, r, 0, "leased", NULL);
  assert_ok(liblock_extend(*state, handed, LIBLOCK_TTL_NONE, LIBLOCK_EXTEND_SET, NULL));
  assert_ok(liblock_release(*state, handed, NULL));
  assert_true(recorder_await(r, 1));
  assert_start(*state, "leased", 0, -1);
  recorder_free(r);
}

static void metadata_that_could_be_taken_for_what_every_info_has_are_refused(void **state) {
  static const char *const reserved[] = {
      "key",      "lock_key", "owner",          "instance",     "host",  "token",     "since",
      "since_us", "value",    "initial_ttl_ms", "remaining_ms", "count", "hold_count"};
  for (size_t i = 0; i < COUNT_OF(reserved); i++) {
    const liblock_metadata metadata[] = {{BYTES("fine"), BYTES("1")},
                                         {{reserved[i], strlen(reserved[i])}, BYTES("1")}};
    liblock_acquire_options options = acquire_options();
    options.metadata = metadata;
    options.metadata_count = 2;
    liblock_result result = empty_result();
    liblock_lock lock = 7;
    assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_acquire(*state, KEY("k"), &options, &lock, &result));
    assert_int_equal(lock, 0);
    assert_non_null(strstr(result.message, "reserved"));
    assert_non_null(strstr(result.message, reserved[i]));
  }
  const liblock_metadata near[] = {{BYTES("Key"), BYTES("")}, {BYTES("owners"), BYTES("")}};
  liblock_acquire_options options = acquire_options();
  options.metadata = near;
  options.metadata_count = 2;
  take_with(*state, "k", &options);
}

static void an_info_is_a_snapshot_that_outlives_the_lock(void **state) {
  const liblock_lock lock = take(*state, "k");
  liblock_info *info = inspect(*state, "k");
  assert_ok(liblock_release(*state, lock, NULL));
  size_t size = 0;
  const void *key = liblock_info_key(info, &size);
  assert_text("k", key, size);
  assert_int_equal(liblock_info_is_held(info), 1);
  liblock_info_free(info);
}

static void every_key_of_a_lock_shows_its_value_and_so_does_the_global_lock(void **state) {
  const liblock_bytes keys[] = {BYTES("a"), BYTES("b"), BYTES("c"), BYTES("d")};
  liblock_acquire_options options = acquire_options();
  options.value = "payload";
  options.value_size = 7;
  liblock_lock lock = 0;
  assert_ok(liblock_acquire_many(*state, keys, COUNT_OF(keys), &options, &lock, NULL));
  assert_ok(liblock_update(*state, lock, "changed", 7, NULL));
  for (size_t i = 0; i < COUNT_OF(keys); i++) {
    liblock_info *info = inspect(*state, keys[i].data);
    size_t size = 0;
    const void *value = liblock_info_value(info, &size);
    assert_text("changed", value, size);
    liblock_info_free(info);
  }
  assert_ok(liblock_release(*state, lock, NULL));
  assert_ok(liblock_acquire_global(*state, &options, &lock, NULL));
  liblock_cursor *cursor = NULL;
  liblock_info *info = NULL;
  assert_ok(liblock_list_locks(*state, NULL, &cursor, NULL));
  assert_ok(liblock_cursor_next(cursor, &info));
  size_t size = 0;
  const void *value = liblock_info_value(info, &size);
  assert_text("payload", value, size);
  liblock_info_free(info);
  liblock_cursor_free(cursor);
}

static void update_replaces_the_value_that_a_lock_carries(void **state) {
  const liblock_lock lock = take(*state, "k");
  static char large[4097];
  memset(large, 'v', sizeof large);
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_update(*state, lock, large, 4097, NULL));
  assert_ok(liblock_update(*state, lock, large, 4096, NULL));
  liblock_info *info = inspect(*state, "k");
  size_t size = 0;
  assert_memory_equal(liblock_info_value(info, &size), large, 4096);
  assert_int_equal(size, 4096);
  liblock_info_free(info);
  assert_ok(liblock_update(*state, lock, NULL, 0, NULL));
  info = inspect(*state, "k");
  liblock_info_value(info, &size);
  assert_int_equal(size, 0);
  liblock_info_free(info);
  assert_ok(liblock_release(*state, lock, NULL));
  assert_status(LIBLOCK_NOT_HELD, liblock_update(*state, lock, "x", 1, NULL));
}

static void waiters_are_shown_in_the_order_in_which_they_will_be_served(void **state) {
  liblock_context *context = *state;
  recorder *r = recorder_new(context, true);
  liblock_owner *owners[3] = {open_owner(context, "low"), open_owner(context, "high"),
                              open_owner(context, "late")};
  const int32_t priorities[] = {1, 9, 1};
  const liblock_lock held = take(context, "k");
  for (int i = 0; i < 3; i++) {
    liblock_acquire_options options = owned_by(owners[i]);
    options.order = LIBLOCK_ORDER_PRIORITY;
    options.priority = priorities[i];
    options.age_step_ms = 3600000;
    request_key(context, r, i, "k", &options);
  }
  const size_t served[] = {1, 0, 2};
  liblock_info *info = NULL;
  assert_ok(liblock_inspect_queue(context, KEY("k"), &info, NULL));
  assert_int_equal(liblock_info_waiter_count(info), 3);
  for (size_t i = 0; i < 3; i++) {
    char id[512];
    size_t size = 0;
    size_t needed = 0;
    assert_ok(liblock_owner_id(context, owners[served[i]], id, sizeof id, &needed));
    const void *text = liblock_info_waiter_owner(info, i, &size);
    assert_text(id, text, size);
    assert_int_equal(liblock_info_waiter_priority(info, i), priorities[served[i]]);
    assert_int_equal(liblock_info_waiter_order(info, i), LIBLOCK_ORDER_PRIORITY);
    assert_true(liblock_info_waiter_waited_ms(info, i) >= 0);
  }
  liblock_info_free(info);
  assert_ok(liblock_release(context, held, NULL));
  assert_true(recorder_await(r, 3));
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(recorder_at(r, i).tag, served[i]);
    liblock_owner_free(owners[i]);
  }
  recorder_free(r);
}

static void getters_survive_null_and_indices_out_of_range(void **state) {
  size_t size = 9;
  take(*state, "k");
  liblock_info *info = inspect(*state, "k");
  assert_null(liblock_info_waiter_owner(info, 5, &size));
  assert_int_equal(liblock_info_waiter_waited_ms(info, 5), -1);
  assert_null(liblock_info_waiter_instance(info, 5, &size));
  assert_true(liblock_info_waiter_since_us(info, 5) == 0);
  assert_null(liblock_info_host(NULL, &size));
  assert_true(liblock_info_since_us(NULL) == 0 && liblock_info_initial_ttl_ms(NULL) == 0);
  assert_null(liblock_info_key(NULL, &size));
  assert_null(liblock_info_owner(NULL, NULL));
  assert_null(liblock_info_value(NULL, &size));
  assert_int_equal(liblock_info_waiter_count(NULL), 0);
  assert_true(liblock_info_token(NULL) == 0);
  assert_non_null(liblock_info_key(info, NULL));
  liblock_info_free(info);
  liblock_info_free(NULL);
}

static size_t count_listed(liblock_context *context, const char *prefix, bool queues, unsigned char *seen) {
  liblock_list_options options;
  liblock_list_options_init(&options, sizeof options);
  if (prefix != NULL) {
    options.key_prefix = prefix;
    options.key_prefix_size = strlen(prefix);
  }
  liblock_cursor *cursor = NULL;
  size_t count = 0;
  if (queues)
    assert_ok(liblock_list_queues(context, &options, &cursor, NULL));
  else
    assert_ok(liblock_list_locks(context, &options, &cursor, NULL));
  for (;;) {
    liblock_info *info = NULL;
    assert_ok(liblock_cursor_next(cursor, &info));
    if (info == NULL) break;
    size_t size = 0;
    const unsigned char *key = liblock_info_key(info, &size);
    assert_int_equal(size, 4);
    const size_t number = (size_t)(key[2] << 8 | key[3]);
    assert_int_equal(seen[number]++, 0);
    liblock_info_free(info);
    count++;
  }
  liblock_cursor_free(cursor);
  return count;
}

static void lists_show_every_lock_once_and_prefixes_choose(void **state) {
  enum { MANY = 3000 };
  static unsigned char seen[MANY];
  liblock_context *context = *state;
  for (size_t i = 0; i < MANY; i++) {
    const unsigned char key[4] = {'l', i % 3 == 0 ? 'a' : 'b', (unsigned char)(i >> 8), (unsigned char)i};
    liblock_lock lock = 0;
    assert_ok(liblock_acquire(context, key, sizeof key, NULL, &lock, NULL));
  }
  memset(seen, 0, sizeof seen);
  assert_int_equal(count_listed(context, NULL, false, seen), MANY);
  memset(seen, 0, sizeof seen);
  assert_int_equal(count_listed(context, "la", false, seen), MANY / 3);
  memset(seen, 0, sizeof seen);
  assert_int_equal(count_listed(context, "nothing", false, seen), 0);
  assert_int_equal(count_listed(context, NULL, true, seen), 0);
  worker *next = worker_acquires(context, "lb\x01\x01", NULL);
  await_waiters(context, 1);
  assert_int_equal(count_listed(context, NULL, true, seen), 1);
  assert_ok(liblock_force_release(context, KEY("lb\x01\x01"), 0, NULL));
  assert_ok(worker_join(next, NULL, NULL));
}

struct shown {
  size_t count, held, most;
  bool finds_the_waiter;
};

static int32_t show(const liblock_info *info, void *user_data) {
  struct shown *shown = user_data;
  shown->count++;
  shown->held += liblock_info_is_held(info) == 1;
  shown->finds_the_waiter = shown->finds_the_waiter || liblock_info_waiter_count(info) == 1;
  return shown->count == shown->most;
}

static void lists_can_be_shown_to_a_callback_counted_and_ended_early(void **state) {
  enum { MANY = 1000 };
  liblock_context *context = *state;
  for (int i = 0; i < MANY; i++) {
    liblock_lock lock = 0;
    assert_ok(liblock_acquire(context, &i, sizeof i, NULL, &lock, NULL));
  }
  take(context, "waited");
  worker *next = worker_acquires(context, "waited", NULL);
  await_waiters(context, 1);
  liblock_list_options options;
  liblock_list_options_init(&options, sizeof options);
  const int64_t batches[] = {1, 63, 65536, LIBLOCK_DEFAULT};
  for (size_t i = 0; i < COUNT_OF(batches); i++) {
    struct shown shown = {0};
    liblock_report report;
    liblock_report_init(&report, sizeof report);
    options.batch_size = batches[i];
    assert_ok(liblock_list_each(context, LIBLOCK_LIST_KEYS, &options, show, &shown, &report, NULL));
    assert_int_equal(shown.count, MANY + 1);
    assert_true(shown.finds_the_waiter);
    assert_int_equal(report.locks, MANY + 1);
    assert_int_equal(report.queues, 1);
    assert_int_equal(report.keys, MANY + 2);
    assert_true(report.steps > 0);
    assert_ok(liblock_list_each(context, LIBLOCK_LIST_QUEUES, &options, NULL, NULL, &report, NULL));
    assert_int_equal(report.keys, 1);
    assert_ok(liblock_list_each(context, LIBLOCK_LIST_LOCKS, &options, NULL, NULL, &report, NULL));
    assert_int_equal(report.keys, MANY + 1);
  }
  struct shown few = {.most = 10};
  assert_ok(liblock_list_each(context, LIBLOCK_LIST_LOCKS, NULL, show, &few, NULL, NULL));
  assert_int_equal(few.count, 10);
  assert_ok(liblock_force_release(context, KEY("waited"), 0, NULL));
  assert_ok(worker_join(next, NULL, NULL));
}

static void a_cursor_reports_what_it_has_shown_so_far(void **state) {
  take(*state, "a");
  take(*state, "b");
  liblock_cursor *cursor = NULL;
  liblock_report report;
  liblock_report_init(&report, sizeof report);
  assert_ok(liblock_list_keys(*state, NULL, &cursor, NULL));
  for (uint64_t seen = 0;; seen++) {
    liblock_info *info = NULL;
    assert_ok(liblock_cursor_report(cursor, &report));
    assert_int_equal(report.locks, seen);
    assert_ok(liblock_cursor_next(cursor, &info));
    if (info == NULL) break;
    liblock_info_free(info);
  }
  assert_int_equal(report.keys, 2);
  assert_true(report.elapsed_us >= 0);
  liblock_cursor_free(cursor);
}

static void a_waiter_is_shown_with_his_instance_and_since_when_he_waits(void **state) {
  liblock_context *context = *state;
  char instance[512];
  size_t needed = 0;
  const int64_t before_us = wall_us();
  const liblock_lock lock = take(context, "k");
  worker *next = worker_acquires(context, "k", NULL);
  await_waiters(context, 1);
  assert_ok(liblock_instance_id(context, instance, sizeof instance, &needed));
  liblock_info *info = NULL;
  assert_ok(liblock_inspect_queue(context, KEY("k"), &info, NULL));
  size_t size = 0;
  const void *text = liblock_info_waiter_instance(info, 0, &size);
  assert_text(instance, text, size);
  assert_in_range(liblock_info_waiter_since_us(info, 0), before_us - 100000, wall_us() + 100000);
  liblock_info_free(info);
  assert_ok(liblock_release(context, lock, NULL));
  assert_ok(worker_join(next, NULL, NULL));
}

static void a_held_global_lock_is_listed_as_such(void **state) {
  liblock_lock lock = 0;
  assert_ok(liblock_acquire_global(*state, NULL, &lock, NULL));
  liblock_cursor *cursor = NULL;
  liblock_info *info = NULL;
  assert_ok(liblock_list_locks(*state, NULL, &cursor, NULL));
  assert_ok(liblock_cursor_next(cursor, &info));
  assert_non_null(info);
  assert_int_equal(liblock_info_is_global(info), 1);
  size_t size = 9;
  liblock_info_key(info, &size);
  assert_int_equal(size, 0);
  liblock_info_free(info);
  assert_ok(liblock_cursor_next(cursor, &info));
  assert_null(info);
  liblock_cursor_free(cursor);
  liblock_cursor_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(a_key_that_nobody_holds_is_not_held),
      fresh(is_locked_and_is_queued_answer_one_or_zero),
      fresh(an_overdue_lock_is_not_locked),
      fresh(an_info_tells_everything_about_the_holder),
      fresh(a_plain_lock_keeps_the_time_of_its_lease_and_without_one_says_so),
      fresh(metadata_that_could_be_taken_for_what_every_info_has_are_refused),
      fresh(an_info_is_a_snapshot_that_outlives_the_lock),
      fresh(every_key_of_a_lock_shows_its_value_and_so_does_the_global_lock),
      fresh(update_replaces_the_value_that_a_lock_carries),
      fresh(waiters_are_shown_in_the_order_in_which_they_will_be_served),
      fresh(getters_survive_null_and_indices_out_of_range),
      fresh(lists_show_every_lock_once_and_prefixes_choose),
      fresh(lists_can_be_shown_to_a_callback_counted_and_ended_early),
      fresh(a_cursor_reports_what_it_has_shown_so_far),
      fresh(a_waiter_is_shown_with_his_instance_and_since_when_he_waits),
      fresh(a_held_global_lock_is_listed_as_such),
  };
  return cmocka_run_group_tests_name("inspect and list", tests, NULL, NULL);
}
