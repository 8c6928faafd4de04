/* SPDX-License-Identifier: MIT
 *
 * Waits for others without a waiting thread, in a local context: for a key to be held or released, for a lock to end.
 * Their ends are read from a completion queue, in the order in which they come.
 */
#include "api.h"
#include "process.h"

enum { WATCHES = 500 };

typedef struct environment {
  liblock_context *context;
  liblock_completions *queue;
} environment;

static int open_environment(void **state) {
  static environment e;
  e.context = open_local("local:", NULL);
  assert_ok(liblock_completions_open(e.context, WATCHES, &e.queue, NULL));
  *state = &e;
  return 0;
}

static int close_environment(void **state) {
  environment *e = *state;
  liblock_completions_free(e->queue);
  end_context(e->context);
  return 0;
}
#define watched(test) cmocka_unit_test_setup_teardown(test, open_environment, close_environment)

static liblock_completion next(environment *e) {
  liblock_completion end = {.struct_size = sizeof end};
  assert_ok(liblock_completions_next(e->queue, GENEROUS_MS, &end));
  assert_int_equal(end.kind, LIBLOCK_KIND_WATCH);
  return end;
}

static void nothing_has_ended(environment *e) {
  liblock_completion end = {.struct_size = sizeof end};
  assert_status(LIBLOCK_TIMEOUT, liblock_completions_next(e->queue, 0, &end));
}

static void ends_as(environment *e, liblock_request request, liblock_status expected) {
  const liblock_completion end = next(e);
  assert_int_equal(end.request, request);
  assert_status(expected, end.status);
}

static liblock_request released(environment *e, const char *key, int64_t wait_ms) {
  liblock_request request = 0;
  assert_ok(
      liblock_wait_released_async(e->context, key, strlen(key), wait_ms, e->queue, NULL, NULL, &request));
  assert_true(request != 0);
  return request;
}

static liblock_request held(environment *e, const char *key, int64_t wait_ms) {
  liblock_request request = 0;
  assert_ok(liblock_wait_held_async(e->context, key, strlen(key), wait_ms, e->queue, NULL, NULL, &request));
  return request;
}

static liblock_request lost(environment *e, liblock_lock lock, int64_t wait_ms) {
  liblock_request request = 0;
  assert_ok(liblock_wait_lost_async(e->context, lock, wait_ms, e->queue, NULL, NULL, &request));
  return request;
}

static void both_end_as(environment *e, liblock_request one, liblock_request two, liblock_status expected) {
  const liblock_completion first = next(e);
  const liblock_completion second = next(e);
  assert_true((first.request == one && second.request == two) || (first.request == two && second.request == one));
  assert_status(expected, first.status);
  assert_status(expected, second.status);
}

/* Keys of one lock lie in any order in the table: each of them goes first once. */
static void a_lock_of_several_keys_is_watched_for_as_long_as_any_of_them_is_left(void **state) {
  environment *e = *state;
  static const liblock_bytes keys[] = {BYTES("a"), BYTES("b"), BYTES("c")};
  enum { KEYS = 3 };
  const liblock_status endings[] = {LIBLOCK_NOT_HELD, LIBLOCK_NOT_HELD, LIBLOCK_LOST};
  liblock_owner *owner = open_owner(e->context, "o");
  const liblock_acquire_options mine = owned_by(owner);
  for (size_t i = 0; i < KEYS * COUNT_OF(endings); i++) {
    const liblock_bytes *first = &keys[i % KEYS];
    const liblock_bytes *second = &keys[(i + 1) % KEYS];
    const liblock_bytes *last = &keys[(i + 2) % KEYS];
    const size_t how = i / KEYS;
    liblock_lock lock = 0;
    assert_ok(liblock_acquire_many(e->context, keys, KEYS, &mine, &lock, NULL));
    const liblock_request before = lost(e, lock, -1);
    assert_ok(liblock_release_keys(e->context, owner, first, 1, NULL));
    const liblock_request between = lost(e, lock, -1);
    nothing_has_ended(e);
    assert_ok(liblock_release_keys(e->context, owner, second, 1, NULL));
    assert_status(LIBLOCK_TIMEOUT, liblock_wait_lost(e->context, lock, 1, NULL));
    nothing_has_ended(e);
    if (how == 0) assert_ok(liblock_release(e->context, lock, NULL));
    if (how == 1) assert_ok(liblock_release_keys(e->context, owner, last, 1, NULL));
    if (how == 2) assert_ok(liblock_force_release(e->context, last->data, last->size, 0, NULL));
    both_end_as(e, before, between, endings[how]);
    if (how == 2) assert_status(LIBLOCK_LOST, liblock_release(e->context, lock, NULL));
  }
  liblock_owner_free(owner);
}

/* Also where the time to live of what is left is another one than before. */
static void a_watch_that_has_gone_to_another_key_sees_the_end_of_its_lease(void **state) {
  environment *e = *state;
  static const liblock_bytes keys[] = {BYTES("a"), BYTES("b")};
  for (size_t i = 0; i < COUNT_OF(keys); i++) {
    liblock_owner *owner = open_owner(e->context, "o");
    liblock_acquire_options mine = owned_by(owner);
    mine.ttl_ms = 300;
    liblock_lock lock = 0;
    assert_ok(liblock_acquire_many(e->context, keys, 2, &mine, &lock, NULL));
    const liblock_request request = lost(e, lock, -1);
    assert_ok(liblock_release_keys(e->context, owner, &keys[i], 1, NULL));
    ends_as(e, request, LIBLOCK_LOST);
    liblock_owner_free(owner);
  }
}

static void what_is_true_already_ends_at_once(void **state) {
  environment *e = *state;
  ends_as(e, released(e, "free", -1), LIBLOCK_NOT_HELD);
  const liblock_lock lock = take(e->context, "key");
  ends_as(e, held(e, "key", -1), LIBLOCK_OK);
  assert_ok(liblock_release(e->context, lock, NULL));
  ends_as(e, lost(e, lock, -1), LIBLOCK_NOT_HELD);
  ends_as(e, lost(e, 12345, -1), LIBLOCK_INVALID_HANDLE);
}

static void without_time_to_wait_they_end_as_timeout(void **state) {
  environment *e = *state;
  const liblock_lock lock = take(e->context, "key");
  ends_as(e, released(e, "key", 0), LIBLOCK_TIMEOUT);
  ends_as(e, lost(e, lock, 0), LIBLOCK_TIMEOUT);
  ends_as(e, held(e, "free", 0), LIBLOCK_TIMEOUT);
}

static void wait_ms_ends_each_as_timeout_and_leaves_nothing_behind(void **state) {
  environment *e = *state;
  const liblock_lock lock = take(e->context, "key");
  ends_as(e, released(e, "key", 20), LIBLOCK_TIMEOUT);
  ends_as(e, lost(e, lock, 20), LIBLOCK_TIMEOUT);
  ends_as(e, held(e, "free", 20), LIBLOCK_TIMEOUT);
  assert_int_equal(stats_of(e->context).waiters, 0);
}

static void a_release_ends_who_waits_for_it(void **state) {
  environment *e = *state;
  const liblock_lock lock = take(e->context, "key");
  const liblock_request watch = released(e, "key", -1), own = lost(e, lock, -1);
  nothing_has_ended(e);
  assert_ok(liblock_release(e->context, lock, NULL));
  ends_as(e, watch, LIBLOCK_OK);
  ends_as(e, own, LIBLOCK_NOT_HELD);
}

static void a_grant_ends_who_waits_for_the_key_to_be_held_and_says_by_whom(void **state) {
  environment *e = *state;
  const liblock_request plain = held(e, "key", -1);
  liblock_request told = 0;
  assert_ok(liblock_wait_held_on_async(e->context, KEY("key"), NULL, -1, e->queue, NULL, NULL, &told));
  liblock_acquire_options options = acquire_options();
  options.value = "worker 7";
  options.value_size = 8;
  take_with(e->context, "key", &options);
  ends_as(e, plain, LIBLOCK_OK);
  const liblock_completion end = next(e);
  assert_int_equal(end.request, told);
  assert_ok(end.status);
  assert_non_null(end.info);
  size_t size = 0;
  const void *value = liblock_info_value(end.info, &size);
  assert_int_equal(size, 8);
  assert_memory_equal(value, "worker 7", 8);
  liblock_info_free(end.info);
}

static void the_end_of_a_lease_is_a_loss_though_nobody_asks_for_the_key(void **state) {
  environment *e = *state;
  const liblock_acquire_options leased = with_ttl(30);
  const liblock_lock lock = take_with(e->context, "key", &leased);
  const liblock_request own = lost(e, lock, -1);
  ends_as(e, own, LIBLOCK_LOST);
  assert_status(LIBLOCK_LOST, liblock_release(e->context, lock, NULL));
}

static void a_lease_that_is_set_while_they_wait_ends_them_too(void **state) {
  environment *e = *state;
  const liblock_lock lock = take(e->context, "key");
  const liblock_request own = lost(e, lock, -1), watch = released(e, "key", -1);
  assert_ok(liblock_extend(e->context, lock, 30, LIBLOCK_EXTEND_SET, NULL));
  const liblock_completion first = next(e), second = next(e);
  assert_true(first.request == own || second.request == own);
  assert_true(first.request == watch || second.request == watch);
  assert_status(LIBLOCK_LOST, first.request == own ? first.status : second.status);
  assert_ok(first.request == watch ? first.status : second.status);
}

static void a_lock_that_is_taken_away_is_lost(void **state) {
  environment *e = *state;
  const liblock_lock lock = take(e->context, "key");
  const liblock_request own = lost(e, lock, -1);
  assert_ok(liblock_force_release(e->context, KEY("key"), 0, NULL));
  ends_as(e, own, LIBLOCK_LOST);
}

static void the_loss_of_one_of_several_keys_is_the_loss_of_the_lock(void **state) {
  environment *e = *state;
  const liblock_bytes keys[] = {BYTES("a"), BYTES("b"), BYTES("c")};
  liblock_lock lock = 0;
  assert_ok(liblock_acquire_many(e->context, keys, 3, NULL, &lock, NULL));
  const liblock_request own = lost(e, lock, -1);
  assert_ok(liblock_force_release(e->context, KEY("c"), 0, NULL));
  ends_as(e, own, LIBLOCK_LOST);
  for (size_t i = 0; i < 3; i++) assert_status(LIBLOCK_OK, probe(e->context, (const char *)keys[i].data));
}

static void a_global_lock_is_watched_like_any_other(void **state) {
  environment *e = *state;
  liblock_lock lock = 0;
  const liblock_acquire_options leased = with_ttl(30);
  assert_ok(liblock_acquire_global(e->context, &leased, &lock, NULL));
  ends_as(e, lost(e, lock, -1), LIBLOCK_LOST);
  assert_ok(liblock_acquire_global(e->context, NULL, &lock, NULL));
  ends_as(e, lost(e, lock, 20), LIBLOCK_TIMEOUT);
  const liblock_request own = lost(e, lock, -1);
  assert_ok(liblock_release(e->context, lock, NULL));
  ends_as(e, own, LIBLOCK_NOT_HELD);
}

static void closing_the_context_ends_them_as_closed(void **state) {
  environment *e = *state;
  const liblock_lock lock = take(e->context, "key");
  lost(e, lock, -1);
  released(e, "key", 60000);
  held(e, "free", -1);
  assert_ok(liblock_close(e->context));
  for (int i = 0; i < 3; i++) {
    const liblock_status status = next(e).status;
    assert_true(status == LIBLOCK_CLOSED || status == LIBLOCK_NOT_HELD || status == LIBLOCK_OK);
  }
  nothing_has_ended(e);
}

static void closing_leaves_nobody_waiting_for_a_key_that_nobody_takes(void **state) {
  environment *e = *state;
  held(e, "free", -1);
  assert_ok(liblock_close(e->context));
  assert_status(LIBLOCK_CLOSED, next(e).status);
}

static void a_cancel_ends_each_as_canceled(void **state) {
  environment *e = *state;
  liblock_lock global = 0;
  const liblock_lock lock = take(e->context, "key");
  const liblock_request watches[] = {lost(e, lock, -1), released(e, "key", 60000), held(e, "free", -1)};
  for (size_t i = 0; i < COUNT_OF(watches); i++) {
    assert_ok(liblock_cancel(e->context, watches[i]));
    ends_as(e, watches[i], LIBLOCK_CANCELED);
    assert_status(LIBLOCK_INVALID_HANDLE, liblock_cancel(e->context, watches[i]));
  }
  assert_int_equal(stats_of(e->context).waiters, 0);
  assert_ok(liblock_release(e->context, lock, NULL));
  assert_ok(liblock_acquire_global(e->context, NULL, &global, NULL));
  const liblock_request watch = lost(e, global, -1);
  assert_ok(liblock_cancel(e->context, watch));
  ends_as(e, watch, LIBLOCK_CANCELED);
}

static void hundreds_of_them_keep_no_thread(void **state) {
  environment *e = *state;
  const liblock_lock lock = take(e->context, "key");
  released(e, "key", 60000);
  const size_t threads = list_threads().count;
  for (int i = 1; i < WATCHES; i++) released(e, "key", i % 2 == 0 ? -1 : 60000);
  assert_int_equal(stats_of(e->context).waiters, WATCHES);
  assert_int_equal(list_threads().count, threads);
  assert_ok(liblock_release(e->context, lock, NULL));
  for (int i = 0; i < WATCHES; i++) assert_ok(next(e).status);
}

static void one_waiter_too_many_ends_as_limit(void **state) {
  (void)state;
  liblock_context_options options = context_options();
  options.waiters_max = 1;
  environment e = {.context = open_local("local:", &options)};
  assert_ok(liblock_completions_open(e.context, 4, &e.queue, NULL));
  const liblock_lock lock = take(e.context, "key");
  const liblock_request first = released(&e, "key", -1);
  ends_as(&e, released(&e, "key", -1), LIBLOCK_LIMIT);
  assert_ok(liblock_release(e.context, lock, NULL));
  ends_as(&e, first, LIBLOCK_OK);
  liblock_completions_free(e.queue);
  end_context(e.context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      watched(a_lock_of_several_keys_is_watched_for_as_long_as_any_of_them_is_left),
      watched(a_watch_that_has_gone_to_another_key_sees_the_end_of_its_lease),
      watched(what_is_true_already_ends_at_once),
      watched(without_time_to_wait_they_end_as_timeout),
      watched(wait_ms_ends_each_as_timeout_and_leaves_nothing_behind),
      watched(a_release_ends_who_waits_for_it),
      watched(a_grant_ends_who_waits_for_the_key_to_be_held_and_says_by_whom),
      watched(the_end_of_a_lease_is_a_loss_though_nobody_asks_for_the_key),
      watched(a_lease_that_is_set_while_they_wait_ends_them_too),
      watched(a_lock_that_is_taken_away_is_lost),
      watched(the_loss_of_one_of_several_keys_is_the_loss_of_the_lock),
      watched(a_global_lock_is_watched_like_any_other),
      watched(closing_the_context_ends_them_as_closed),
      watched(closing_leaves_nobody_waiting_for_a_key_that_nobody_takes),
      watched(a_cancel_ends_each_as_canceled),
      watched(hundreds_of_them_keep_no_thread),
      cmocka_unit_test(one_waiter_too_many_ends_as_limit),
  };
  return cmocka_run_group_tests_name("watches", tests, NULL, NULL);
}
