/* SPDX-License-Identifier: MIT
 *
 * Overdue locks are found by a sweep, asked for or periodic, in small steps; and without any sweep by those
 * who wait.
 */
#include "api.h"
#include "worker.h"

static liblock_lock take_briefly(liblock_context *context, const char *key, int64_t ttl_ms) {
  const liblock_acquire_options options = with_ttl(ttl_ms);
  return take_with(context, key, &options);
}

static void a_sweep_finds_overdue_locks_that_nobody_wants(void **state) {
  static const char *const keys[] = {"a", "b", "c", "d", "e"};
  liblock_lock last = 0;
  for (size_t i = 0; i < COUNT_OF(keys); i++) last = take_briefly(*state, keys[i], 10);
  take(*state, "stays");
  await_lost(*state, last);
  let_pass_ms(20);
  uint64_t ended = 0;
  assert_ok(liblock_sweep(*state, &ended, NULL));
  const liblock_stats stats = stats_of(*state);
  assert_int_equal(stats.locks_held, 1);
  assert_int_equal(stats.expired, COUNT_OF(keys));
  assert_status(LIBLOCK_BUSY, probe(*state, "stays"));
  assert_ok(liblock_sweep(*state, &ended, NULL));
  assert_int_equal(ended, 0);
}

static bool nothing_is_held(void *argument) { return stats_of(argument).locks_held == 0; }
/* Which is counted at the end of each. */
static bool a_sweep_has_ended(void *argument) { return stats_of(argument).sweeps >= 1; }

static void the_periodic_sweep_does_the_same_by_itself(void **state) {
  (void)state;
  liblock_context_options options = context_options();
  options.cleanup_interval_ms = 20;
  liblock_context *context = open_local("local:", &options);
  const liblock_lock lock = take_briefly(context, "k", 10);
  assert_soon(nothing_is_held, context);
  assert_status(LIBLOCK_LOST, liblock_is_held(context, lock));
  assert_soon(a_sweep_has_ended, context);
  end_context(context);
}

/* Threads that leave every other lock behind; only a waiter can find these: no sweep runs. */
struct careless {
  liblock_context *context;
  int32_t order;
};

static void *be_careless(void *argument) {
  const struct careless *c = argument;
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.order = c->order;
  options.ttl_ms = 2;
  options.wait_ms = GENEROUS_MS;
  for (int i = 0; i < 100; i++) {
    liblock_lock lock = 0;
    if (liblock_acquire(c->context, KEY("k"), &options, &lock, NULL) != LIBLOCK_OK)
      return (void *)"acquire failed";
    if (i % 2 != 0) continue;
    const liblock_status status = liblock_release(c->context, lock, NULL);
    if (status != LIBLOCK_OK && status != LIBLOCK_LOST) return (void *)"release failed";
  }
  return NULL;
}

static void waiters_find_every_overdue_holder_without_a_sweep(void **state) {
  (void)state;
  const int32_t orders[] = {LIBLOCK_ORDER_FIFO, LIBLOCK_ORDER_ANY};
  liblock_context_options options = context_options();
  options.cleanup_interval_ms = -1;
  liblock_context *context = open_local("local:", &options);
  for (size_t o = 0; o < COUNT_OF(orders); o++) {
    static struct careless c;
    c = (struct careless){context, orders[o]};
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT_OF(threads); i++)
      assert_int_equal(pthread_create(&threads[i], NULL, be_careless, &c), 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
      void *trouble = NULL;
      pthread_join(threads[i], &trouble);
      if (trouble != NULL) fail_msg("%s", (const char *)trouble);
    }
  }
  end_context(context);
}

static void a_sweep_looks_at_no_more_than_64_entries_while_a_shard_is_held(void **state) {
  enum { MANY = 20000 };
  (void)state;
  liblock_context_options options = context_options();
  options.cleanup_batch_size = 1000;
  liblock_context *context = open_local("local:", &options);
  const liblock_acquire_options long_lived = with_ttl(3600000);
  for (uint32_t i = 0; i < MANY; i++) {
    liblock_lock lock = 0;
    assert_ok(liblock_acquire(context, &i, sizeof i, &long_lived, &lock, NULL));
  }
  uint64_t ended = 99;
  assert_ok(liblock_sweep(context, &ended, NULL));
  const liblock_stats stats = stats_of(context);
  assert_int_equal(ended, 0);
  assert_true(stats.sweep_entries >= MANY);
  assert_in_range(stats.sweep_entries_per_hold_max, 1, 64);
  end_context(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(a_sweep_finds_overdue_locks_that_nobody_wants),
      cmocka_unit_test(the_periodic_sweep_does_the_same_by_itself),
      cmocka_unit_test(waiters_find_every_overdue_holder_without_a_sweep),
      cmocka_unit_test(a_sweep_looks_at_no_more_than_64_entries_while_a_shard_is_held),
  };
  return cmocka_run_group_tests_name("sweep", tests, NULL, NULL);
}
