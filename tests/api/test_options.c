/* SPDX-License-Identifier: MIT
 *
 * struct_size: how structs of older and newer headers are read, and which values options may have at their
 * bounds. The newer header is played by a struct with a tail behind the known one.
 */
#include "api.h"

struct newer_acquire {
  liblock_acquire_options known;
  unsigned char tail[64];
};

struct newer_context {
  liblock_context_options known;
  unsigned char tail[64];
};

static struct newer_acquire newer_acquire(void) {
  struct newer_acquire options;
  memset(&options, 0, sizeof options);
  options.known = acquire_options();
  options.known.struct_size = sizeof options;
  return options;
}

static void a_struct_size_of_zero_is_refused(void **state) {
  liblock_lock lock = 1;
  liblock_acquire_options options = acquire_options();
  options.struct_size = 0;
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_acquire(*state, KEY("k"), &options, &lock, NULL));
  assert_true(lock == 0);
  assert_ok(probe(*state, "k"));
}

static void a_struct_too_small_to_hold_its_own_size_is_refused(void **state) {
  liblock_lock lock = 1;
  liblock_acquire_options options = acquire_options();
  for (size_t size = 1; size < sizeof(size_t); size++) {
    options.struct_size = size;
    assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_acquire(*state, KEY("k"), &options, &lock, NULL));
  }
}

/* No header ever ended in the middle of a member: what stands there of one is not read. */
static void a_struct_that_ends_within_a_pointer_is_read_up_to_the_member_before(void **state) {
  liblock_owner *owner;
  assert_ok(liblock_owner_open(*state, "me", 2, &owner, NULL));
  for (size_t size = sizeof(size_t); size < sizeof(liblock_acquire_options); size++) {
    liblock_lock lock = 0;
    liblock_acquire_options options = acquire_options();
    options.owner = owner;
    options.struct_size = size;
    assert_ok(liblock_acquire(*state, KEY("k"), &options, &lock, NULL));
    assert_ok(liblock_release(*state, lock, NULL));
  }
  liblock_owner_free(owner);
}

static void a_larger_struct_with_something_in_its_tail_is_unsupported(void **state) {
  for (size_t at = 0; at < sizeof((struct newer_acquire *)0)->tail; at++) {
    struct newer_acquire options = newer_acquire();
    options.tail[at] = 1;
    liblock_lock lock = 1;
    assert_status(LIBLOCK_UNSUPPORTED, liblock_acquire(*state, KEY("k"), &options.known, &lock, NULL));
    assert_true(lock == 0);
  }
  assert_ok(probe(*state, "k"));
}

static void a_larger_struct_that_ends_in_zeros_is_read(void **state) {
  liblock_lock lock = 0;
  struct newer_acquire options = newer_acquire();
  options.known.ttl_ms = 60000;
  int64_t remaining = -1;
  assert_ok(liblock_acquire(*state, KEY("k"), &options.known, &lock, NULL));
  assert_ok(liblock_remaining_ms(*state, lock, &remaining));
  assert_in_range(remaining, 1, 60000);
}

static void an_older_smaller_struct_gets_defaults_for_what_it_lacks(void **state) {
  liblock_context *context = *state;
  take(context, "k");
  liblock_acquire_options options;
  memset(&options, 0x5a, sizeof options); /* what lies behind an older struct is not ours to read */
  options.struct_size = offsetof(liblock_acquire_options, retries);
  options.owner = NULL;
  options.ttl_ms = LIBLOCK_DEFAULT;
  options.wait_ms = 0;
  liblock_lock lock = 1;
  assert_status(LIBLOCK_BUSY, liblock_acquire(context, KEY("k"), &options, &lock, NULL));
  assert_ok(liblock_acquire(context, KEY("free"), &options, &lock, NULL));
  int64_t remaining = 0;
  assert_ok(liblock_remaining_ms(context, lock, &remaining));
  assert_int_equal(remaining, -1);
}

static void context_options_follow_the_same_rule(void **state) {
  (void)state;
  liblock_context *context = NULL;
  struct newer_context options;
  memset(&options, 0, sizeof options);
  options.known = context_options();
  options.known.struct_size = 0;
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_open("local:", &options.known, &context, NULL));
  options.known.struct_size = sizeof options;
  options.tail[63] = 1;
  assert_status(LIBLOCK_UNSUPPORTED, liblock_open("local:", &options.known, &context, NULL));
  assert_null(context);
  options.tail[63] = 0;
  assert_ok(liblock_open("local:", &options.known, &context, NULL));
  end_context(context);
  options.known.struct_size = offsetof(liblock_context_options, prefix);
  memset(&options.known.prefix, 0x5a, sizeof options.known - offsetof(liblock_context_options, prefix));
  assert_ok(liblock_open("local:", &options.known, &context, NULL));
  end_context(context);
}

static void a_result_smaller_than_the_first_published_one_is_refused(void **state) {
  liblock_lock lock = 1;
  liblock_result result = empty_result();
  result.struct_size = sizeof result - 1;
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_acquire(*state, KEY("k"), NULL, &lock, &result));
  result.struct_size = 0;
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_acquire(*state, KEY("k"), NULL, &lock, &result));
  assert_ok(probe(*state, "k"));
}

static void the_init_macro_and_the_init_function_say_the_same(void **state) {
  (void)state;
  const liblock_result by_macro = LIBLOCK_RESULT_INIT;
  const liblock_result by_function = empty_result();
  assert_int_equal(by_macro.struct_size, by_function.struct_size);
  assert_int_equal(by_macro.status, by_function.status);
  assert_string_equal(by_macro.message, by_function.message);
}

static void init_functions_survive_null_and_sizes_too_small(void **state) {
  (void)state;
  liblock_result_init(NULL, sizeof(liblock_result));
  liblock_acquire_options_init(NULL, sizeof(liblock_acquire_options));
  liblock_context_options_init(NULL, sizeof(liblock_context_options));
  liblock_list_options_init(NULL, sizeof(liblock_list_options));
  liblock_stats_init(NULL, sizeof(liblock_stats));
  unsigned char guard[4] = {1, 2, 3, 4};
  liblock_result_init((liblock_result *)(void *)guard, 0);
  assert_int_equal(guard[0], 1);
}

static void init_writes_no_further_than_the_size_it_was_given(void **state) {
  (void)state;
  liblock_acquire_options options;
  memset(&options, 0x5a, sizeof options);
  const size_t size = offsetof(liblock_acquire_options, order);
  liblock_acquire_options_init(&options, size);
  assert_int_equal(options.struct_size, size);
  assert_int_equal(options.wait_ms, LIBLOCK_DEFAULT);
  assert_int_equal(options.order, 0x5a5a5a5a);
}

static void after_init_zero_means_zero(void **state) {
  take(*state, "k");
  liblock_acquire_options options = acquire_options();
  options.wait_ms = 0;
  liblock_lock lock = 0;
  assert_status(LIBLOCK_BUSY, liblock_acquire(*state, KEY("k"), &options, &lock, NULL));
  options = with_ttl(0);
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_acquire(*state, KEY("free"), &options, &lock, NULL));
}

static void a_stats_struct_of_an_older_header_is_filled_as_far_as_it_goes(void **state) {
  take(*state, "k");
  liblock_stats stats;
  memset(&stats, 0x5a, sizeof stats);
  stats.struct_size = offsetof(liblock_stats, waiters);
  assert_ok(liblock_stats_get(*state, &stats));
  assert_int_equal(stats.locks_held, 1);
  assert_true(stats.waiters == UINT64_C(0x5a5a5a5a5a5a5a5a));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(a_struct_size_of_zero_is_refused),
      fresh(a_struct_too_small_to_hold_its_own_size_is_refused),
      fresh(a_struct_that_ends_within_a_pointer_is_read_up_to_the_member_before),
      fresh(a_larger_struct_with_something_in_its_tail_is_unsupported),
      fresh(a_larger_struct_that_ends_in_zeros_is_read),
      fresh(an_older_smaller_struct_gets_defaults_for_what_it_lacks),
      cmocka_unit_test(context_options_follow_the_same_rule),
      fresh(a_result_smaller_than_the_first_published_one_is_refused),
      cmocka_unit_test(the_init_macro_and_the_init_function_say_the_same),
      cmocka_unit_test(init_functions_survive_null_and_sizes_too_small),
      cmocka_unit_test(init_writes_no_further_than_the_size_it_was_given),
      fresh(after_init_zero_means_zero),
      fresh(a_stats_struct_of_an_older_header_is_filled_as_far_as_it_goes),
  };
  return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
