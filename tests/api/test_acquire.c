/* SPDX-License-Identifier: MIT
 *
 * One key, blocking: keys are bytes, a held key excludes, a release hands it to the next, and the result
 * tells how it went.
 */
#include "api.h"
#include "worker.h"

static void a_held_key_excludes_everyone_else(void **state) {
  take(*state, "k");
  assert_status(LIBLOCK_BUSY, probe(*state, "k"));
  assert_ok(probe(*state, "other"));
}

static void a_lock_without_an_owner_excludes_its_own_thread_too(void **state) {
  take(*state, "k");
  const liblock_acquire_options once = try_once();
  liblock_lock lock = 1;
  assert_status(LIBLOCK_BUSY, liblock_acquire(*state, KEY("k"), &once, &lock, NULL));
  assert_true(lock == 0);
}

static void null_options_wait_for_ever_and_a_release_ends_the_wait(void **state) {
  liblock_context *context = *state;
  const liblock_lock lock = take(context, "k");
  worker *next = worker_acquires(context, "k", NULL);
  await_waiters(context, 1);
  assert_false(worker_is_done(next));
  assert_ok(liblock_release(context, lock, NULL));
  liblock_lock got = 0;
  liblock_result result;
  assert_ok(worker_join(next, &got, &result));
  assert_true((result.flags & LIBLOCK_RESULT_WAITED) != 0);
  assert_ok(liblock_release(context, got, NULL));
  assert_ok(probe(context, "k"));
}

static void the_next_waiter_has_the_key_when_release_returns(void **state) {
  liblock_context *context = *state;
  for (int round = 0; round < 200; round++) {
    const liblock_lock lock = take(context, "k");
    worker *next = worker_acquires(context, "k", NULL);
    await_waiters(context, 1);
    assert_ok(liblock_release(context, lock, NULL));
    assert_status(LIBLOCK_BUSY, probe(context, "k"));
    liblock_lock got = 0;
    assert_ok(worker_join(next, &got, NULL));
    assert_ok(liblock_release(context, got, NULL));
  }
}

static void a_try_never_barges_past_a_live_waiter(void **state) {
  liblock_context *context = *state;
  const liblock_lock lock = take(context, "k");
  worker *next = worker_acquires(context, "k", NULL);
  await_waiters(context, 1);
  assert_ok(liblock_release(context, lock, NULL));
  assert_status(LIBLOCK_BUSY, probe(context, "k"));
  liblock_lock got = 0;
  assert_ok(worker_join(next, &got, NULL));
  assert_ok(liblock_is_held(context, got));
}

static void keys_are_bytes_and_may_hold_any_of_them(void **state) {
  liblock_lock locks[5];
  assert_ok(liblock_acquire(*state, "a\0b", 3, NULL, &locks[0], NULL));
  assert_ok(liblock_acquire(*state, "a\0c", 3, NULL, &locks[1], NULL));
  assert_ok(liblock_acquire(*state, "a", 1, NULL, &locks[2], NULL));
  assert_ok(liblock_acquire(*state, "\xff\xfe\x80", 3, NULL, &locks[3], NULL));
  assert_ok(liblock_acquire(*state, "\0", 1, NULL, &locks[4], NULL));
  const liblock_acquire_options once = try_once();
  liblock_lock lock = 0;
  assert_status(LIBLOCK_BUSY, liblock_acquire(*state, "a\0b", 3, &once, &lock, NULL));
  assert_status(LIBLOCK_BUSY, liblock_acquire(*state, "\0", 1, &once, &lock, NULL));
  assert_ok(liblock_acquire(*state, "\0\0", 2, &once, &lock, NULL));
}

static void a_key_is_copied_and_the_callers_bytes_may_change(void **state) {
  char key[] = "mine";
  liblock_lock lock = 0;
  assert_ok(liblock_acquire(*state, key, 4, NULL, &lock, NULL));
  key[0] = 'x';
  assert_status(LIBLOCK_BUSY, probe(*state, "mine"));
  assert_ok(liblock_release(*state, lock, NULL));
  assert_ok(probe(*state, "mine"));
}

static void keys_of_every_size_up_to_512_are_locks_of_their_own(void **state) {
  static char key[512];
  static liblock_lock locks[513];
  memset(key, 'k', sizeof key);
  for (size_t size = 1; size <= sizeof key; size++)
    assert_ok(liblock_acquire(*state, key, size, NULL, &locks[size], NULL));
  liblock_lock lock = 0;
  for (size_t size = 1; size <= sizeof key; size++)
    assert_status(LIBLOCK_BUSY, liblock_try_acquire(*state, key, size, NULL, &lock, NULL));
  for (size_t size = 1; size <= sizeof key; size++) assert_ok(liblock_release(*state, locks[size], NULL));
  assert_int_equal(stats_of(*state).locks_held, 0);
}

static void a_failing_acquire_fills_the_result_and_clears_the_handle(void **state) {
  take(*state, "k");
  liblock_result result = empty_result();
  result.token = 77;
  liblock_lock lock = 5;
  assert_status(LIBLOCK_BUSY, liblock_try_acquire(*state, KEY("k"), NULL, &lock, &result));
  assert_true(lock == 0);
  assert_int_equal(result.status, LIBLOCK_BUSY);
  assert_int_equal(result.token, 0);
  assert_int_equal(result.attempts, 1);
  assert_true(result.message[0] != '\0');
  assert_non_null(memchr(result.message, '\0', sizeof result.message));
}

static void a_granted_acquire_tells_token_lease_and_votes(void **state) {
  liblock_result result = empty_result();
  liblock_lock lock = 0;
  assert_ok(liblock_acquire(*state, KEY("k"), NULL, &lock, &result));
  uint64_t token = 0;
  assert_ok(liblock_fencing_token(*state, lock, &token));
  assert_int_equal(result.status, LIBLOCK_OK);
  assert_true(token != 0);
  assert_true(result.token == token);
  assert_int_equal(result.attempts, 1);
  assert_int_equal(result.remaining_ms, -1);
  assert_int_equal(result.queue_position, -1);
  assert_int_equal(result.hold_count, 1);
  assert_int_equal(result.flags, 0);
  assert_int_equal(result.votes, 1);
  assert_string_equal(result.message, "");
}

struct counting {
  liblock_context *context;
  long counter; /* guarded by the lock under test, and by nothing else */
  int32_t order;
  int rounds;
};

static void *count_under_lock(void *argument) {
  struct counting *shared = argument;
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.order = shared->order;
  for (int i = 0; i < shared->rounds; i++) {
    liblock_lock lock = 0;
    if (liblock_acquire(shared->context, KEY("k"), &options, &lock, NULL) != LIBLOCK_OK)
      return (void *)"acquire failed";
    shared->counter++;
    if (liblock_release(shared->context, lock, NULL) != LIBLOCK_OK) return (void *)"release failed";
  }
  return NULL;
}

static void eight_threads_on_one_key_lose_no_update(void **state) {
  static struct counting shared;
  static const int32_t orders[] = {LIBLOCK_ORDER_FIFO, LIBLOCK_ORDER_LIFO, LIBLOCK_ORDER_PRIORITY,
                                   LIBLOCK_ORDER_ANY};
  for (size_t o = 0; o < COUNT_OF(orders); o++) {
    shared = (struct counting){.context = *state, .order = orders[o], .rounds = 2000};
    pthread_t threads[8];
    for (size_t i = 0; i < COUNT_OF(threads); i++)
      assert_int_equal(pthread_create(&threads[i], NULL, count_under_lock, &shared), 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
      void *trouble = NULL;
      pthread_join(threads[i], &trouble);
      assert_null(trouble);
    }
    assert_int_equal(shared.counter, 8 * 2000);
  }
  assert_int_equal(stats_of(*state).locks_held, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(a_held_key_excludes_everyone_else),
      fresh(a_lock_without_an_owner_excludes_its_own_thread_too),
      fresh(null_options_wait_for_ever_and_a_release_ends_the_wait),
      fresh(the_next_waiter_has_the_key_when_release_returns),
      fresh(a_try_never_barges_past_a_live_waiter),
      fresh(keys_are_bytes_and_may_hold_any_of_them),
      fresh(a_key_is_copied_and_the_callers_bytes_may_change),
      fresh(keys_of_every_size_up_to_512_are_locks_of_their_own),
      fresh(a_failing_acquire_fills_the_result_and_clears_the_handle),
      fresh(a_granted_acquire_tells_token_lease_and_votes),
      fresh(eight_threads_on_one_key_lose_no_update),
  };
  return cmocka_run_group_tests_name("acquire", tests, NULL, NULL);
}
