/* SPDX-License-Identifier: MIT
 *
 * Every bound at its value and one beyond: reaching it is allowed, passing it is LIMIT (or INVALID_ARGUMENT
 * where the size of an argument is bounded), and room that comes back can be used again.
 */
#include "api.h"
#include "recorder.h"
#include "worker.h"

static liblock_context *open_bounded(int64_t locks_max, int64_t waiters_max, int64_t requests_max) {
  liblock_context_options options = context_options();
  options.locks_max = locks_max;
  options.waiters_max = waiters_max;
  options.requests_max = requests_max;
  return open_local("local:", &options);
}

static void locks_max_is_reached_and_not_passed(void **state) {
  (void)state;
  liblock_context *context = open_bounded(3, LIBLOCK_DEFAULT, LIBLOCK_DEFAULT);
  take(context, "a");
  take(context, "b");
  const liblock_lock c = take(context, "c");
  liblock_lock lock = 1;
  liblock_result result = empty_result();
  assert_status(LIBLOCK_LIMIT, liblock_acquire(context, KEY("d"), NULL, &lock, &result));
  assert_true(lock == 0);
  assert_true(result.message[0] != '\0');
  assert_ok(liblock_release(context, c, NULL));
  take(context, "d");
  assert_status(LIBLOCK_LIMIT, liblock_acquire(context, KEY("e"), NULL, &lock, NULL));
  assert_int_equal(stats_of(context).locks_held, 3);
  end_context(context);
}

static void a_lock_on_many_keys_counts_each_key_and_takes_all_or_nothing(void **state) {
  (void)state;
  const liblock_bytes keys[] = {BYTES("a"), BYTES("b"), BYTES("c")};
  liblock_context *context = open_bounded(3, LIBLOCK_DEFAULT, LIBLOCK_DEFAULT);
  const liblock_lock x = take(context, "x");
  liblock_lock lock = 1;
  assert_status(LIBLOCK_LIMIT, liblock_acquire_many(context, keys, 3, NULL, &lock, NULL));
  assert_int_equal(stats_of(context).locks_held, 1);
  assert_ok(probe(context, "a"));
  assert_ok(liblock_release(context, x, NULL));
  assert_ok(liblock_acquire_many(context, keys, 3, NULL, &lock, NULL));
  end_context(context);
}

static void waiters_max_is_reached_and_not_passed(void **state) {
  (void)state;
  liblock_context *context = open_bounded(LIBLOCK_DEFAULT, 2, LIBLOCK_DEFAULT);
  recorder *r = recorder_new(context, true);
  const liblock_lock held = take(context, "k");
  request_key(context, r, 0, "k", NULL);
  worker *thread = worker_acquires(context, "k", NULL);
  await_waiters(context, 2);
  liblock_lock lock = 1;
  const liblock_acquire_options patient = waits(GENEROUS_MS);
  assert_status(LIBLOCK_LIMIT, liblock_acquire(context, KEY("k"), &patient, &lock, NULL));
  assert_true(lock == 0);
  assert_ok(probe(context, "free"));
  assert_ok(liblock_release(context, held, NULL));
  assert_ok(worker_join(thread, &lock, NULL));
  assert_true(recorder_await(r, 1));
  const liblock_acquire_options brief = waits(5);
  liblock_lock none = 0;
  assert_status(LIBLOCK_TIMEOUT, liblock_acquire(context, KEY("k"), &brief, &none, NULL));
  end_context(context);
  recorder_free(r);
}

static void no_waiters_at_all_leaves_trying(void **state) {
  (void)state;
  liblock_context *context = open_bounded(LIBLOCK_DEFAULT, 0, LIBLOCK_DEFAULT);
  take(context, "k");
  liblock_lock lock = 1;
  assert_status(LIBLOCK_LIMIT, liblock_acquire(context, KEY("k"), NULL, &lock, NULL));
  assert_status(LIBLOCK_BUSY, probe(context, "k"));
  assert_ok(probe(context, "free"));
  end_context(context);
}

static void requests_max_is_reached_and_not_passed(void **state) {
  (void)state;
  liblock_context *context = open_bounded(LIBLOCK_DEFAULT, LIBLOCK_DEFAULT, 2);
  recorder *r = recorder_new(context, true);
  const liblock_lock held = take(context, "k");
  const liblock_request first = request_key(context, r, 0, "k", NULL);
  request_key(context, r, 1, "k", NULL);
  liblock_request third = 1;
  assert_status(LIBLOCK_LIMIT, liblock_acquire_async(context, KEY("k"), NULL, recorder_callback,
                                                     recorder_slot(r, 2), &third));
  assert_true(third == 0);
  assert_ok(liblock_cancel(context, first));
  assert_true(recorder_await(r, 1));
  request_key(context, r, 3, "k", NULL);
  assert_ok(liblock_release(context, held, NULL));
  assert_true(recorder_await(r, 3));
  assert_int_equal(recorder_count_of(r, 2), 0);
  end_context(context);
  recorder_free(r);
}

static void a_key_has_1_to_512_bytes(void **state) {
  static char key[513];
  liblock_lock lock = 1;
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_acquire(*state, key, 0, NULL, &lock, NULL));
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_acquire(*state, key, 513, NULL, &lock, NULL));
  assert_true(lock == 0);
  assert_ok(liblock_acquire(*state, key, 512, NULL, &lock, NULL));
  assert_ok(liblock_acquire(*state, key, 1, NULL, &lock, NULL));
}

static void a_value_has_up_to_4096_bytes(void **state) {
  static char value[4097];
  liblock_acquire_options options = acquire_options();
  liblock_lock lock = 1;
  options.value = value;
  options.value_size = 4097;
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_acquire(*state, KEY("k"), &options, &lock, NULL));
  assert_ok(probe(*state, "k"));
  options.value_size = 4096;
  assert_ok(liblock_acquire(*state, KEY("k"), &options, &lock, NULL));
}

static void metadata_have_up_to_4096_bytes_in_64_entries(void **state) {
  static liblock_metadata entries[65];
  static char bytes[4097];
  liblock_acquire_options options = acquire_options();
  liblock_lock lock = 1;
  for (size_t i = 0; i < COUNT_OF(entries); i++) entries[i] = (liblock_metadata){BYTES("n"), BYTES("v")};
  options.metadata = entries;
  options.metadata_count = 65;
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_acquire(*state, KEY("k"), &options, &lock, NULL));
  options.metadata_count = 64;
  assert_ok(liblock_acquire(*state, KEY("k"), &options, &lock, NULL));
  entries[0].value = (liblock_bytes){bytes, 4096};
  options.metadata_count = 1;
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_acquire(*state, KEY("l"), &options, &lock, NULL));
  entries[0].value.size = 4095;
  assert_ok(liblock_acquire(*state, KEY("l"), &options, &lock, NULL));
}

static void an_owner_name_has_up_to_255_bytes(void **state) {
  static char name[256];
  memset(name, 'n', sizeof name);
  liblock_owner *owner = NULL;
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_owner_open(*state, name, 256, &owner, NULL));
  assert_null(owner);
  assert_ok(liblock_owner_open(*state, name, 255, &owner, NULL));
  liblock_owner_free(owner);
  assert_ok(liblock_owner_open(*state, NULL, 0, &owner, NULL));
  liblock_owner_free(owner);
}

static void a_completion_queue_has_1_to_1048576_entries(void **state) {
  liblock_completions *queue = NULL;
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_completions_open(*state, 0, &queue, NULL));
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_completions_open(*state, 1048577, &queue, NULL));
  assert_null(queue);
  assert_ok(liblock_completions_open(*state, 1048576, &queue, NULL));
  liblock_completions_free(queue);
  assert_ok(liblock_completions_open(*state, 1, &queue, NULL));
  liblock_completions_free(queue);
}

static void max_ttl_bounds_every_lease_and_extension(void **state) {
  (void)state;
  liblock_context_options bounded = context_options();
  bounded.max_ttl_ms = 5000;
  liblock_context *context = open_local("local:", &bounded);
  liblock_acquire_options options = with_ttl(5001);
  liblock_lock lock = 1;
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_acquire(context, KEY("k"), &options, &lock, NULL));
  options.ttl_ms = 5000;
  lock = take_with(context, "k", &options);
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_extend(context, lock, 5001, LIBLOCK_EXTEND_SET, NULL));
  assert_ok(liblock_extend(context, lock, 5000, LIBLOCK_EXTEND_SET, NULL));
  end_context(context);
}

static void context_options_are_refused_one_beyond_their_bounds(void **state) {
  (void)state;
  static const struct {
    size_t field;
    int64_t low, high;
  } bounds[] = {
      {offsetof(liblock_context_options, cleanup_batch_size), 1, 65536},
      {offsetof(liblock_context_options, locks_max), 1, 67108864},
      {offsetof(liblock_context_options, waiters_max), 0, 16777216},
  };
  for (size_t i = 0; i < COUNT_OF(bounds); i++) {
    const int64_t values[] = {bounds[i].low - 1, bounds[i].high + 1, bounds[i].low};
    for (size_t v = 0; v < COUNT_OF(values); v++) {
      liblock_context_options options = context_options();
      memcpy((char *)&options + bounds[i].field, &values[v], sizeof values[v]);
      liblock_context *context = NULL;
      assert_status(v < 2 ? LIBLOCK_INVALID_ARGUMENT : LIBLOCK_OK,
                    liblock_open("local:", &options, &context, NULL));
      if (context != NULL) end_context(context);
    }
  }
}

static void a_hundred_thousand_keys_are_held_at_once(void **state) {
  enum { MANY = 100000 };
  static liblock_lock locks[MANY];
  for (uint32_t i = 0; i < MANY; i++) assert_ok(liblock_acquire(*state, &i, sizeof i, NULL, &locks[i], NULL));
  assert_int_equal(stats_of(*state).locks_held, MANY);
  for (uint32_t i = 0; i < MANY; i++) assert_ok(liblock_release(*state, locks[(i * 7919u) % MANY], NULL));
  assert_int_equal(stats_of(*state).locks_held, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(locks_max_is_reached_and_not_passed),
      cmocka_unit_test(a_lock_on_many_keys_counts_each_key_and_takes_all_or_nothing),
      cmocka_unit_test(waiters_max_is_reached_and_not_passed),
      cmocka_unit_test(no_waiters_at_all_leaves_trying),
      cmocka_unit_test(requests_max_is_reached_and_not_passed),
      fresh(a_key_has_1_to_512_bytes),
      fresh(a_value_has_up_to_4096_bytes),
      fresh(metadata_have_up_to_4096_bytes_in_64_entries),
      fresh(an_owner_name_has_up_to_255_bytes),
      fresh(a_completion_queue_has_1_to_1048576_entries),
      cmocka_unit_test(max_ttl_bounds_every_lease_and_extension),
      cmocka_unit_test(context_options_are_refused_one_beyond_their_bounds),
      fresh(a_hundred_thousand_keys_are_held_at_once),
  };
  return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
