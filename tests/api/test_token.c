/* SPDX-License-Identifier: MIT
 *
 * Fencing tokens: one per grant, strictly increasing per key, whatever happened in between.
 */
#include "api.h"
#include "worker.h"

static uint64_t token_of(liblock_context *context, liblock_lock lock) {
  uint64_t token = 0;
  assert_ok(liblock_fencing_token(context, lock, &token));
  assert_true(token != 0);
  return token;
}

static void every_grant_of_a_key_has_a_larger_token_than_the_one_before(void **state) {
  uint64_t last = 0;
  for (int i = 0; i < 10000; i++) {
    const liblock_lock lock = take(*state, "k");
    const uint64_t token = token_of(*state, lock);
    assert_true(token > last);
    last = token;
    assert_ok(liblock_release(*state, lock, NULL));
  }
}

static void tokens_increase_also_across_entries_that_were_freed_in_between(void **state) {
  enum { CROWD = 20000 };
  const liblock_lock first = take(*state, "k");
  uint64_t last = token_of(*state, first);
  assert_ok(liblock_release(*state, first, NULL));
  for (int round = 0; round < 5; round++) {
    static liblock_lock crowd[CROWD];
    for (uint32_t i = 0; i < CROWD; i++) {
      const uint32_t name[2] = {i, (uint32_t)round};
      assert_ok(liblock_acquire(*state, name, sizeof name, NULL, &crowd[i], NULL));
    }
    for (uint32_t i = 0; i < CROWD; i++) assert_ok(liblock_release(*state, crowd[i], NULL));
    const liblock_lock again = take(*state, "k");
    assert_true(token_of(*state, again) > last);
    last = token_of(*state, again);
    assert_ok(liblock_release(*state, again, NULL));
  }
}

static void a_token_increases_after_a_lease_ended_and_after_a_forced_release(void **state) {
  const liblock_acquire_options brief = with_ttl(10);
  liblock_result result = empty_result();
  liblock_lock lock = 0;
  assert_ok(liblock_acquire(*state, KEY("k"), &brief, &lock, &result));
  const uint64_t overdue = result.token;
  assert_ok(liblock_acquire(*state, KEY("k"), NULL, &lock, &result));
  const uint64_t taken_over = result.token;
  assert_true(taken_over > overdue);
  assert_ok(liblock_force_release(*state, KEY("k"), 0, NULL));
  assert_true(token_of(*state, take(*state, "k")) > taken_over);
}

static void a_token_increases_with_every_hand_off(void **state) {
  liblock_context *context = *state;
  worker *waiting[6];
  liblock_lock lock = take(context, "k");
  uint64_t last = token_of(context, lock);
  for (size_t i = 0; i < COUNT_OF(waiting); i++) {
    waiting[i] = worker_acquires(context, "k", NULL);
    await_waiters(context, i + 1);
  }
  for (size_t i = 0; i < COUNT_OF(waiting); i++) {
    assert_ok(liblock_release(context, lock, NULL));
    assert_ok(worker_join(waiting[i], &lock, NULL));
    assert_true(token_of(context, lock) > last);
    last = token_of(context, lock);
  }
}

/* Each thread checks every token it gets against the highest one seen under the same lock. */
struct racing {
  liblock_context *context;
  uint64_t highest; /* guarded by the lock under test */
  int32_t order;
};

static void *race(void *argument) {
  struct racing *shared = argument;
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.order = shared->order;
  liblock_result result;
  liblock_result_init(&result, sizeof result);
  for (int i = 0; i < 5000; i++) {
    liblock_lock lock = 0;
    if (liblock_acquire(shared->context, KEY("k"), &options, &lock, &result) != LIBLOCK_OK)
      return (void *)"acquire failed";
    if (result.token <= shared->highest) return (void *)"a token did not increase";
    shared->highest = result.token;
    if (liblock_release(shared->context, lock, NULL) != LIBLOCK_OK) return (void *)"release failed";
  }
  return NULL;
}

static void tokens_increase_under_contention_in_fifo_and_any_order(void **state) {
  static struct racing shared;
  const int32_t orders[] = {LIBLOCK_ORDER_FIFO, LIBLOCK_ORDER_ANY};
  for (size_t o = 0; o < COUNT_OF(orders); o++) {
    shared = (struct racing){*state, shared.context == *state ? shared.highest : 0, orders[o]};
    pthread_t threads[6];
    for (size_t i = 0; i < COUNT_OF(threads); i++)
      assert_int_equal(pthread_create(&threads[i], NULL, race, &shared), 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
      void *trouble = NULL;
      pthread_join(threads[i], &trouble);
      if (trouble != NULL) fail_msg("%s", (const char *)trouble);
    }
  }
}

static void a_reopened_lock_of_the_same_name_goes_on_where_tokens_were(void **state) {
  (void)state;
  liblock_context *keeper = open_local("local:tokens", NULL);
  uint64_t last = 0;
  for (int i = 0; i < 20; i++) {
    liblock_context *context = open_local("local:tokens", NULL);
    const uint64_t token = token_of(context, take(context, "k"));
    assert_true(token > last);
    last = token;
    end_context(context);
  }
  end_context(keeper);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(every_grant_of_a_key_has_a_larger_token_than_the_one_before),
      fresh(tokens_increase_also_across_entries_that_were_freed_in_between),
      fresh(a_token_increases_after_a_lease_ended_and_after_a_forced_release),
      fresh(a_token_increases_with_every_hand_off),
      fresh(tokens_increase_under_contention_in_fifo_and_any_order),
      cmocka_unit_test(a_reopened_lock_of_the_same_name_goes_on_where_tokens_were),
  };
  return cmocka_run_group_tests_name("token", tests, NULL, NULL);
}
