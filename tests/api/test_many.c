/* SPDX-License-Identifier: MIT
 *
 * Several keys in one lock: all or nothing, duplicates folded, one handle, one token; a waiting request keeps
 * only the keys before the one it waits for, and every failing end gives all back.
 */
#include "api.h"
#include "recorder.h"
#include "worker.h"

static const liblock_bytes a_b[] = {BYTES("a"), BYTES("b")};
static const liblock_bytes a_b_c[] = {BYTES("a"), BYTES("b"), BYTES("c")};

static liblock_lock take_many(liblock_context *context, const liblock_bytes *keys, size_t count) {
  liblock_lock lock = 0;
  assert_ok(liblock_acquire_many(context, keys, count, NULL, &lock, NULL));
  assert_true(lock != 0);
  return lock;
}

static uint64_t token_of(liblock_context *context, liblock_lock lock) {
  uint64_t token = 0;
  assert_ok(liblock_fencing_token(context, lock, &token));
  return token;
}

static void one_busy_key_leaves_every_other_key_free(void **state) {
  for (size_t busy = 0; busy < COUNT_OF(a_b_c); busy++) {
    liblock_lock held = 0;
    assert_ok(liblock_acquire(*state, a_b_c[busy].data, a_b_c[busy].size, NULL, &held, NULL));
    const liblock_acquire_options once = try_once();
    liblock_lock lock = 1;
    assert_status(LIBLOCK_BUSY, liblock_acquire_many(*state, a_b_c, 3, &once, &lock, NULL));
    assert_true(lock == 0);
    for (size_t i = 0; i < COUNT_OF(a_b_c); i++) {
      if (i != busy) assert_ok(probe(*state, a_b_c[i].data));
    }
    assert_ok(liblock_release(*state, held, NULL));
  }
}

static void free_keys_are_taken_all_at_once_under_one_handle(void **state) {
  const liblock_lock lock = take_many(*state, a_b_c, 3);
  assert_int_equal(stats_of(*state).locks_held, 3);
  assert_status(LIBLOCK_BUSY, probe(*state, "a"));
  assert_status(LIBLOCK_BUSY, probe(*state, "b"));
  assert_status(LIBLOCK_BUSY, probe(*state, "c"));
  assert_ok(liblock_release(*state, lock, NULL));
  assert_int_equal(stats_of(*state).locks_held, 0);
}

static void an_overdue_key_is_ended_though_another_one_is_busy(void **state) {
  const liblock_acquire_options brief = with_ttl(15), once = try_once();
  const liblock_lock overdue = take_with(*state, "b", &brief);
  take(*state, "a");
  await_lost(*state, overdue);
  assert_int_equal(stats_of(*state).expired, 0);
  liblock_lock lock = 1;
  assert_status(LIBLOCK_BUSY, liblock_acquire_many(*state, a_b_c, 3, &once, &lock, NULL));
  assert_int_equal(stats_of(*state).expired, 1);
  assert_int_equal(stats_of(*state).locks_held, 1);
}

static void x_holds_a_and_m_waits_for_a_and_b_and_x_gets_b_at_once(void **state) {
  liblock_context *context = *state;
  const liblock_lock x_a = take(context, "a");
  worker *m = worker_acquires_many(context, a_b, 2, NULL);
  await_waiters(context, 1);
  liblock_lock x_b = 0;
  assert_ok(liblock_try_acquire(context, KEY("b"), NULL, &x_b, NULL));
  assert_ok(liblock_release(context, x_b, NULL));
  assert_ok(liblock_release(context, x_a, NULL));
  liblock_lock lock = 0;
  assert_ok(worker_join(m, &lock, NULL));
  assert_status(LIBLOCK_BUSY, probe(context, "b"));
  assert_ok(liblock_release(context, lock, NULL));
}

static void a_waiting_request_keeps_the_keys_before_the_busy_one_only(void **state) {
  liblock_context *context = *state;
  const liblock_lock held = take(context, "b");
  worker *m = worker_acquires_many(context, a_b_c, 3, NULL);
  await_waiters(context, 1);
  assert_status(LIBLOCK_BUSY, probe(context, "a"));
  assert_ok(probe(context, "c"));
  assert_ok(liblock_release(context, held, NULL));
  liblock_lock lock = 0;
  assert_ok(worker_join(m, &lock, NULL));
  assert_status(LIBLOCK_BUSY, probe(context, "c"));
}

static void a_request_handed_one_key_goes_on_to_the_next_busy_one(void **state) {
  liblock_context *context = *state;
  const liblock_lock on_a = take(context, "a");
  const liblock_lock on_c = take(context, "c");
  worker *m = worker_acquires_many(context, a_b_c, 3, NULL);
  await_waiters(context, 1);
  assert_ok(liblock_release(context, on_a, NULL));
  await_waiters(context, 1);
  assert_false(worker_is_done(m));
  assert_status(LIBLOCK_BUSY, probe(context, "a"));
  assert_ok(liblock_release(context, on_c, NULL));
  liblock_lock lock = 0;
  assert_ok(worker_join(m, &lock, NULL));
  assert_int_equal(stats_of(context).locks_held, 3);
}

static void a_failing_wait_gives_back_what_it_kept(void **state) {
  take(*state, "c");
  const liblock_acquire_options brief = waits(10);
  liblock_lock lock = 1;
  assert_status(LIBLOCK_TIMEOUT, liblock_acquire_many(*state, a_b_c, 3, &brief, &lock, NULL));
  assert_true(lock == 0);
  assert_ok(probe(*state, "a"));
  assert_ok(probe(*state, "b"));
  assert_int_equal(stats_of(*state).locks_held, 1);
}

static void what_a_failing_wait_gave_back_goes_to_the_next_waiter(void **state) {
  liblock_context *context = *state;
  recorder *r = recorder_new(context, false);
  take(context, "c");
  const liblock_acquire_options brief = waits(60);
  liblock_request request = 0;
  assert_ok(liblock_acquire_many_async(context, a_b_c, 3, &brief, recorder_callback, recorder_slot(r, 0),
                                       &request));
  request_key(context, r, 1, "a", NULL);
  assert_true(recorder_await(r, 2));
  for (size_t i = 0; i < 2; i++) {
    const record entry = recorder_at(r, i);
    assert_status(entry.tag == 0 ? LIBLOCK_TIMEOUT : LIBLOCK_OK, entry.completion.status);
  }
  recorder_free(r);
}

static void duplicates_are_folded(void **state) {
  const liblock_bytes keys[] = {BYTES("b"), BYTES("a"), BYTES("b"), BYTES("a"), BYTES("a")};
  const liblock_lock lock = take_many(*state, keys, COUNT_OF(keys));
  assert_int_equal(stats_of(*state).locks_held, 2);
  uint32_t count = 0;
  assert_ok(liblock_hold_count(*state, lock, &count));
  assert_int_equal(count, 1);
  assert_ok(liblock_release(*state, lock, NULL));
  assert_ok(probe(*state, "a"));
  assert_ok(probe(*state, "b"));
}

static void the_token_is_larger_than_every_earlier_one_of_each_key(void **state) {
  uint64_t highest = 0;
  for (int i = 0; i < 50; i++) {
    const liblock_lock lock = take(*state, i % 2 != 0 ? "a" : "b");
    if (token_of(*state, lock) > highest) highest = token_of(*state, lock);
    assert_ok(liblock_release(*state, lock, NULL));
  }
  const liblock_lock lock = take_many(*state, a_b, 2);
  const uint64_t both = token_of(*state, lock);
  assert_true(both > highest);
  assert_ok(liblock_release(*state, lock, NULL));
  assert_true(token_of(*state, take(*state, "a")) > both);
  assert_true(token_of(*state, take(*state, "b")) > both);
}

struct crossing {
  liblock_context *context;
  const liblock_bytes *keys;
};

static void *cross(void *argument) {
  const struct crossing *c = argument;
  for (int i = 0; i < 3000; i++) {
    liblock_lock lock = 0;
    if (liblock_acquire_many(c->context, c->keys, 3, NULL, &lock, NULL) != LIBLOCK_OK)
      return (void *)"acquire failed";
    if (liblock_release(c->context, lock, NULL) != LIBLOCK_OK) return (void *)"release failed";
  }
  return NULL;
}

static void keys_named_in_opposite_orders_never_block_each_other_for_ever(void **state) {
  static const liblock_bytes orders[4][3] = {{BYTES("p"), BYTES("q"), BYTES("r")},
                                             {BYTES("r"), BYTES("q"), BYTES("p")},
                                             {BYTES("q"), BYTES("r"), BYTES("p")},
                                             {BYTES("q"), BYTES("p"), BYTES("r")}};
  static struct crossing crossings[4];
  pthread_t threads[4];
  for (size_t i = 0; i < 4; i++) {
    crossings[i] = (struct crossing){*state, orders[i]};
    assert_int_equal(pthread_create(&threads[i], NULL, cross, &crossings[i]), 0);
  }
  for (size_t i = 0; i < 4; i++) {
    void *trouble = NULL;
    pthread_join(threads[i], &trouble);
    assert_null(trouble);
  }
  assert_int_equal(stats_of(*state).locks_held, 0);
}

static void a_lock_may_have_1024_keys(void **state) {
  enum { MANY = 1024 };
  static uint32_t names[MANY];
  static liblock_bytes keys[MANY];
  for (uint32_t i = 0; i < MANY; i++) {
    names[i] = i * 2654435761u;
    keys[i] = (liblock_bytes){&names[i], sizeof names[i]};
  }
  const liblock_lock lock = take_many(*state, keys, MANY);
  assert_int_equal(stats_of(*state).locks_held, MANY);
  assert_ok(liblock_release(*state, lock, NULL));
  assert_int_equal(stats_of(*state).locks_held, 0);
}

static void a_second_release_of_a_lock_on_many_keys_is_not_held(void **state) {
  const liblock_lock lock = take_many(*state, a_b, 2);
  assert_ok(liblock_release(*state, lock, NULL));
  const liblock_lock next = take(*state, "a");
  assert_status(LIBLOCK_NOT_HELD, liblock_release(*state, lock, NULL));
  assert_ok(liblock_is_held(*state, next));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(one_busy_key_leaves_every_other_key_free),
      fresh(free_keys_are_taken_all_at_once_under_one_handle),
      fresh(an_overdue_key_is_ended_though_another_one_is_busy),
      fresh(x_holds_a_and_m_waits_for_a_and_b_and_x_gets_b_at_once),
      fresh(a_waiting_request_keeps_the_keys_before_the_busy_one_only),
      fresh(a_request_handed_one_key_goes_on_to_the_next_busy_one),
      fresh(a_failing_wait_gives_back_what_it_kept),
      fresh(what_a_failing_wait_gave_back_goes_to_the_next_waiter),
      fresh(duplicates_are_folded),
      fresh(the_token_is_larger_than_every_earlier_one_of_each_key),
      fresh(keys_named_in_opposite_orders_never_block_each_other_for_ever),
      fresh(a_lock_may_have_1024_keys),
      fresh(a_second_release_of_a_lock_on_many_keys_is_not_held),
  };
  return cmocka_run_group_tests_name("many keys", tests, NULL, NULL);
}
