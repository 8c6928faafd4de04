/* SPDX-License-Identifier: MIT
 *
 * Locks that are released, prolonged and updated by key and value, by somebody who has no handle.
 */
#include "api.h"
#include "worker.h"

static liblock_acquire_options with_value(const char *value, int64_t ttl_ms) {
  liblock_acquire_options options = acquire_options();
  options.ttl_ms = ttl_ms;
  options.value = value;
  options.value_size = strlen(value);
  return options;
}

static void assert_value(liblock_context *context, const char *key, const char *value) {
  liblock_info *info = NULL;
  size_t size = 0;
  assert_ok(liblock_inspect(context, key, strlen(key), &info, NULL));
  const void *carried = liblock_info_value(info, &size);
  assert_int_equal(size, strlen(value));
  assert_memory_equal(carried, value, size);
  liblock_info_free(info);
}

static void who_does_not_know_the_value_changes_nothing(void **state) {
  const liblock_acquire_options options = with_value("secret", 60000);
  const liblock_lock lock = take_with(*state, "k", &options);
  assert_status(LIBLOCK_NOT_HELD, liblock_release_key(*state, KEY("free"), "secret", 6, NULL));
  assert_status(LIBLOCK_NOT_HELD, liblock_extend_key(*state, KEY("free"), "secret", 6, 1000, 0, NULL));
  assert_status(LIBLOCK_NOT_HELD, liblock_update_key(*state, KEY("free"), "secret", 6, "x", 1, NULL));
  static const char *const wrong[] = {"", "secre", "secrets", "SECRET"};
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    const size_t size = strlen(wrong[i]);
    assert_status(LIBLOCK_NOT_OWNER, liblock_release_key(*state, KEY("k"), wrong[i], size, NULL));
    assert_status(LIBLOCK_NOT_OWNER, liblock_extend_key(*state, KEY("k"), wrong[i], size, 90000, 0, NULL));
    assert_status(LIBLOCK_NOT_OWNER, liblock_update_key(*state, KEY("k"), wrong[i], size, "x", 1, NULL));
  }
  assert_value(*state, "k", "secret");
  assert_ok(liblock_is_held(*state, lock));
}

static void release_by_value_takes_the_lock_from_its_holder_and_the_next_runs(void **state) {
  const liblock_acquire_options options = with_value("v", 60000);
  const liblock_lock lock = take_with(*state, "k", &options);
  worker *next = worker_acquires(*state, "k", NULL);
  await_waiters(*state, 1);
  assert_ok(liblock_release_key(*state, KEY("k"), "v", 1, NULL));
  assert_ok(worker_join(next, NULL, NULL));
  assert_status(LIBLOCK_LOST, liblock_release(*state, lock, NULL));
  /* The next one carries nothing. */
  assert_status(LIBLOCK_NOT_OWNER, liblock_release_key(*state, KEY("k"), "v", 1, NULL));
  assert_ok(liblock_release_key(*state, KEY("k"), NULL, 0, NULL));
  assert_ok(probe(*state, "k"));
}

static void extend_by_value_sets_or_adds(void **state) {
  const liblock_acquire_options options = with_value("v", 60000);
  liblock_result result = empty_result();
  const liblock_lock lock = take_with(*state, "k", &options);
  assert_ok(liblock_extend_key(*state, KEY("k"), "v", 1, 90000, LIBLOCK_EXTEND_SET, &result));
  assert_in_range(result.remaining_ms, 80000, 90050);
  assert_ok(liblock_extend_key(*state, KEY("k"), "v", 1, 60000, LIBLOCK_EXTEND_ADD, &result));
  int64_t remaining_ms = 0;
  assert_ok(liblock_remaining_ms(*state, lock, &remaining_ms));
  assert_in_range(remaining_ms, 130000, 150000);
  assert_ok(liblock_extend_key(*state, KEY("k"), "v", 1, LIBLOCK_TTL_NONE, LIBLOCK_EXTEND_SET, &result));
  assert_int_equal(result.remaining_ms, -1);
  const liblock_lock plain = take(*state, "plain");
  assert_ok(liblock_extend_key(*state, KEY("plain"), "", 0, 60000, LIBLOCK_EXTEND_SET, &result));
  assert_ok(liblock_remaining_ms(*state, plain, &remaining_ms));
  assert_in_range(remaining_ms, 50000, 60000);
}

static void update_by_value_is_a_compare_and_set_of_every_key_of_the_lock(void **state) {
  const liblock_bytes keys[] = {BYTES("a"), BYTES("b")};
  liblock_acquire_options options = with_value("one", 60000);
  liblock_lock lock = 0;
  assert_ok(liblock_acquire_many(*state, keys, 2, &options, &lock, NULL));
  assert_ok(liblock_update_key(*state, KEY("b"), "one", 3, "two", 3, NULL));
  assert_status(LIBLOCK_NOT_OWNER, liblock_update_key(*state, KEY("a"), "one", 3, "three", 5, NULL));
  assert_value(*state, "a", "two");
  assert_ok(liblock_update_key(*state, KEY("a"), "two", 3, NULL, 0, NULL));
  assert_value(*state, "b", "");
  assert_ok(liblock_is_held(*state, lock));
  take(*state, "plain");
  assert_ok(liblock_update_key(*state, KEY("plain"), NULL, 0, "first", 5, NULL));
  assert_status(LIBLOCK_NOT_OWNER, liblock_update_key(*state, KEY("plain"), NULL, 0, "again", 5, NULL));
  assert_value(*state, "plain", "first");
}

static void another_context_of_the_table_may_do_it(void **state) {
  (void)state;
  liblock_context *one = open_local("local:by-value", NULL);
  liblock_context *two = open_local("local:by-value", NULL);
  liblock_owner *owner = open_owner(one, "o");
  liblock_acquire_options options = with_value("v", 60000);
  options.owner = owner;
  const liblock_lock lock = take_with(one, "k", &options);
  assert_ok(liblock_extend_key(two, KEY("k"), "v", 1, 90000, LIBLOCK_EXTEND_SET, NULL));
  assert_ok(liblock_update_key(two, KEY("k"), "v", 1, "w", 1, NULL));
  assert_ok(liblock_release_key(two, KEY("k"), "w", 1, NULL));
  assert_status(LIBLOCK_LOST, liblock_is_held(one, lock));
  liblock_owner_free(owner);
  end_context(one);
  end_context(two);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(who_does_not_know_the_value_changes_nothing),
      fresh(release_by_value_takes_the_lock_from_its_holder_and_the_next_runs),
      fresh(extend_by_value_sets_or_adds),
      fresh(update_by_value_is_a_compare_and_set_of_every_key_of_the_lock),
      cmocka_unit_test(another_context_of_the_table_may_do_it),
  };
  return cmocka_run_group_tests_name("by value", tests, NULL, NULL);
}
