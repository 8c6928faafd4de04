/* SPDX-License-Identifier: MIT
 *
 * Leases: they end by themselves, a late release says so and touches nobody, extend and renewal move the end,
 * and an overdue holder is found by whoever wants the key and by a sweep.
 */
#include "api.h"
#include "recorder.h"
#include "worker.h"

static int64_t remaining_of(liblock_context *context, liblock_lock lock) {
  int64_t remaining = 0;
  assert_ok(liblock_remaining_ms(context, lock, &remaining));
  return remaining;
}

static liblock_lock take_briefly(liblock_context *context, const char *key, int64_t ttl_ms) {
  const liblock_acquire_options options = with_ttl(ttl_ms);
  return take_with(context, key, &options);
}

static void a_late_release_says_lost_once_and_then_not_held(void **state) {
  const liblock_lock lock = take_briefly(*state, "k", 15);
  await_lost(*state, lock);
  assert_status(LIBLOCK_LOST, liblock_release(*state, lock, NULL));
  assert_status(LIBLOCK_NOT_HELD, liblock_release(*state, lock, NULL));
  assert_status(LIBLOCK_NOT_HELD, liblock_is_held(*state, lock));
}

static void assert_lost_then_not_held(liblock_context *context, liblock_lock lock) {
  await_lost(context, lock);
  assert_status(LIBLOCK_LOST, liblock_release(context, lock, NULL));
  assert_status(LIBLOCK_NOT_HELD, liblock_release(context, lock, NULL));
  assert_int_equal(stats_of(context).locks_held, 0);
}

static void a_late_release_says_lost_for_locks_of_every_kind(void **state) {
  const liblock_bytes keys[] = {BYTES("a"), BYTES("b"), BYTES("c")};
  liblock_owner *owner = open_owner(*state, "o");
  liblock_acquire_options brief = with_ttl(15);
  liblock_lock lock = 0;
  assert_ok(liblock_acquire_many(*state, keys, 3, &brief, &lock, NULL));
  assert_lost_then_not_held(*state, lock);
  assert_ok(liblock_acquire_global(*state, &brief, &lock, NULL));
  assert_lost_then_not_held(*state, lock);
  brief.value = "carried";
  brief.value_size = 7;
  assert_lost_then_not_held(*state, take_with(*state, "k", &brief));
  brief.owner = owner;
  assert_lost_then_not_held(*state, take_with(*state, "k", &brief));
  brief.owner = LIBLOCK_OWNER_THREAD;
  assert_lost_then_not_held(*state, take_with(*state, "k", &brief));
  liblock_owner_free(owner);
}

static void a_late_release_says_lost_and_touches_nobody(void **state) {
  liblock_context *context = *state;
  const liblock_lock old = take_briefly(context, "k", 15);
  const liblock_lock next = take(context, "k");
  worker *waiter = worker_acquires(context, "k", NULL);
  await_waiters(context, 1);
  assert_status(LIBLOCK_LOST, liblock_release(context, old, NULL));
  assert_ok(liblock_is_held(context, next));
  assert_false(worker_is_done(waiter));
  assert_ok(liblock_release(context, next, NULL));
  assert_ok(worker_join(waiter, NULL, NULL));
}

/* Takers that want one overdue key at the same moment; whoever gets it keeps it until all have tried. */
struct taker {
  liblock_context *context;
  latch *go;
  liblock_status status;
};

static void *take_on_word(void *argument) {
  struct taker *t = argument;
  liblock_lock lock = 0;
  latch_await(t->go, 1);
  t->status = liblock_try_acquire(t->context, KEY("k"), NULL, &lock, NULL);
  return NULL;
}

static void two_takers_of_a_stale_lock_never_both_get_it(void **state) {
  static struct taker takers[3];
  static latch go;
  for (int round = 0; round < 100; round++) {
    pthread_t threads[COUNT_OF(takers)];
    latch_init(&go);
    for (size_t i = 0; i < COUNT_OF(takers); i++) {
      takers[i] = (struct taker){*state, &go, LIBLOCK_INTERNAL};
      assert_int_equal(pthread_create(&threads[i], NULL, take_on_word, &takers[i]), 0);
    }
    await_lost(*state, take_briefly(*state, "k", 1));
    latch_add(&go, 1);
    int got = 0;
    for (size_t i = 0; i < COUNT_OF(takers); i++) {
      pthread_join(threads[i], NULL);
      got += takers[i].status == LIBLOCK_OK;
    }
    assert_int_equal(got, 1);
    assert_ok(liblock_force_release(*state, KEY("k"), 0, NULL));
    latch_destroy(&go);
  }
}

static void everything_about_a_lost_lock_says_lost(void **state) {
  const liblock_lock lock = take_briefly(*state, "k", 15);
  await_lost(*state, lock);
  int64_t remaining = 0;
  uint64_t token = 0;
  uint32_t count = 0;
  assert_status(LIBLOCK_LOST, liblock_remaining_ms(*state, lock, &remaining));
  assert_status(LIBLOCK_LOST, liblock_fencing_token(*state, lock, &token));
  assert_status(LIBLOCK_LOST, liblock_hold_count(*state, lock, &count));
  assert_status(LIBLOCK_LOST, liblock_verify(*state, lock, NULL));
  assert_status(LIBLOCK_LOST, liblock_extend(*state, lock, 1000, LIBLOCK_EXTEND_SET, NULL));
  assert_status(LIBLOCK_LOST, liblock_update(*state, lock, KEY("v"), NULL));
}

static void an_overdue_holder_is_found_at_once_by_whoever_wants_the_key(void **state) {
  liblock_context *context = *state;
  const liblock_lock old = take_briefly(context, "k", 15);
  await_lost(context, old);
  liblock_result result = empty_result();
  liblock_lock lock = 0;
  assert_ok(liblock_try_acquire(context, KEY("k"), NULL, &lock, &result));
  assert_true((result.flags & LIBLOCK_RESULT_TOOK_OVER) != 0);
  const liblock_stats stats = stats_of(context);
  assert_int_equal(stats.expired, 1);
}

static void a_waiter_gets_the_key_when_the_lease_of_its_holder_ends(void **state) {
  liblock_context *context = *state;
  const int64_t begin = now_ns();
  take_briefly(context, "k", 400);
  liblock_result result = empty_result();
  liblock_lock lock = 0;
  assert_ok(liblock_acquire(context, KEY("k"), NULL, &lock, &result));
  assert_true(now_ns() - begin >= INT64_C(350000000)); /* a machine may be late with its ticks */
  assert_true(result.waited_ms >= 20);
  assert_ok(liblock_is_held(context, lock));
}

static void a_lease_is_not_shorter_than_asked_for(void **state) {
  for (int i = 0; i < 20; i++) {
    const int64_t begin = now_ns();
    const liblock_lock lock = take_briefly(*state, "k", 25);
    await_lost(*state, lock);
    assert_true(now_ns() - begin >= INT64_C(25000000));
    assert_status(LIBLOCK_LOST, liblock_release(*state, lock, NULL));
  }
}

static void extend_set_counts_from_now_and_may_shorten(void **state) {
  const liblock_lock lock = take_briefly(*state, "k", 60000);
  assert_ok(liblock_extend(*state, lock, 600000, LIBLOCK_EXTEND_SET, NULL));
  assert_in_range(remaining_of(*state, lock), 500000, 600000);
  assert_ok(liblock_extend(*state, lock, 15, LIBLOCK_EXTEND_SET, NULL));
  await_lost(*state, lock);
}

static void extend_add_adds_to_what_remains(void **state) {
  const liblock_lock lock = take_briefly(*state, "k", 600000);
  liblock_result result = empty_result();
  assert_ok(liblock_extend(*state, lock, 300000, LIBLOCK_EXTEND_ADD, &result));
  assert_in_range(remaining_of(*state, lock), 800000, 900000);
  assert_in_range(result.remaining_ms, 800000, 900000);
}

static void the_hugest_leases_do_not_wrap_around(void **state) {
  const liblock_lock lock = take_briefly(*state, "k", INT64_MAX);
  for (int i = 0; i < 20; i++) {
    assert_ok(liblock_extend(*state, lock, INT64_MAX, LIBLOCK_EXTEND_ADD, NULL));
    assert_true(remaining_of(*state, lock) > 0 || remaining_of(*state, lock) == -1);
    assert_status(LIBLOCK_BUSY, probe(*state, "k"));
  }
  assert_ok(liblock_extend(*state, lock, INT64_MAX, LIBLOCK_EXTEND_SET, NULL));
  assert_ok(liblock_release(*state, lock, NULL));
}

static void extend_to_none_or_auto_takes_the_expiry_away(void **state) {
  const int64_t endless[] = {LIBLOCK_TTL_NONE, LIBLOCK_TTL_AUTO};
  for (size_t i = 0; i < COUNT_OF(endless); i++) {
    const liblock_lock lock = take_briefly(*state, "k", 60000);
    assert_ok(liblock_extend(*state, lock, endless[i], LIBLOCK_EXTEND_SET, NULL));
    assert_int_equal(remaining_of(*state, lock), -1);
    assert_ok(liblock_release(*state, lock, NULL));
  }
}

static void a_lock_without_an_expiry_can_be_given_one(void **state) {
  const liblock_lock lock = take(*state, "k");
  assert_int_equal(remaining_of(*state, lock), -1);
  assert_ok(liblock_extend(*state, lock, 15, LIBLOCK_EXTEND_SET, NULL));
  await_lost(*state, lock);
  assert_ok(probe(*state, "k"));
}

static void a_waiter_notices_that_the_lease_it_waits_for_was_shortened(void **state) {
  liblock_context *context = *state;
  const liblock_lock lock = take_briefly(context, "k", 3600000);
  worker *next = worker_acquires(context, "k", NULL);
  await_waiters(context, 1);
  assert_ok(liblock_extend(context, lock, 20, LIBLOCK_EXTEND_SET, NULL));
  assert_ok(worker_join(next, NULL, NULL));
}

static void a_lease_on_many_keys_ends_for_all_of_them(void **state) {
  const liblock_bytes keys[] = {BYTES("a"), BYTES("b")};
  const liblock_acquire_options brief = with_ttl(15);
  liblock_lock lock = 0;
  assert_ok(liblock_acquire_many(*state, keys, 2, &brief, &lock, NULL));
  await_lost(*state, lock);
  take(*state, "a");
  take(*state, "b");
  assert_status(LIBLOCK_LOST, liblock_release(*state, lock, NULL));
  assert_int_equal(stats_of(*state).locks_held, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(a_late_release_says_lost_once_and_then_not_held),
      fresh(a_late_release_says_lost_for_locks_of_every_kind),
      fresh(a_late_release_says_lost_and_touches_nobody),
      fresh(two_takers_of_a_stale_lock_never_both_get_it),
      fresh(everything_about_a_lost_lock_says_lost),
      fresh(an_overdue_holder_is_found_at_once_by_whoever_wants_the_key),
      fresh(a_waiter_gets_the_key_when_the_lease_of_its_holder_ends),
      fresh(a_lease_is_not_shorter_than_asked_for),
      fresh(extend_set_counts_from_now_and_may_shorten),
      fresh(extend_add_adds_to_what_remains),
      fresh(the_hugest_leases_do_not_wrap_around),
      fresh(extend_to_none_or_auto_takes_the_expiry_away),
      fresh(a_lock_without_an_expiry_can_be_given_one),
      fresh(a_waiter_notices_that_the_lease_it_waits_for_was_shortened),
      fresh(a_lease_on_many_keys_ends_for_all_of_them),
  };
  return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
