/* SPDX-License-Identifier: MIT
 *
 * LIBLOCK_OWNER_THREAD: the calling thread is the owner. What it held is released before pthread_join
 * returns, and the next waiter runs.
 */
#include <stdlib.h>

#include "api.h"
#include "worker.h"

enum { EXITS = 200 };

struct leaver {
  liblock_context *context;
  latch *go;
  liblock_status status;
  liblock_status reentered;
};

/* Holds "k" twice and another key, waits for the word, and exits without a release. */
static void *hold_and_exit(void *argument) {
  struct leaver *l = argument;
  liblock_acquire_options mine;
  liblock_acquire_options_init(&mine, sizeof mine);
  mine.owner = LIBLOCK_OWNER_THREAD;
  liblock_lock lock = 0;
  l->status = liblock_acquire(l->context, KEY("k"), &mine, &lock, NULL);
  l->reentered = liblock_try_acquire(l->context, KEY("k"), &mine, &lock, NULL);
  if (l->status == LIBLOCK_OK) l->status = liblock_acquire(l->context, KEY("other"), &mine, &lock, NULL);
  latch_add(l->go, 1);
  latch_await(l->go, 2);
  return NULL;
}

static void a_thread_reenters_what_it_holds_and_others_do_not(void **state) {
  liblock_acquire_options mine = owned_by(LIBLOCK_OWNER_THREAD);
  liblock_result result = empty_result();
  liblock_lock lock = 0;
  take_with(*state, "k", &mine);
  assert_ok(liblock_acquire(*state, KEY("k"), &mine, &lock, &result));
  assert_int_equal(result.hold_count, 2);
  mine.wait_ms = 0;
  assert_status(LIBLOCK_BUSY, worker_join(worker_acquires(*state, "k", &mine), NULL, NULL));
}

static void a_thread_that_exits_has_released_before_join_returns(void **state) {
  for (int i = 0; i < EXITS; i++) {
    latch go;
    latch_init(&go);
    struct leaver *l = calloc(1, sizeof *l);
    assert_non_null(l);
    l->context = *state;
    l->go = &go;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, hold_and_exit, l), 0);
    assert_true(latch_await(&go, 1));
    assert_status(LIBLOCK_BUSY, probe(*state, "k"));
    latch_add(&go, 1);
    pthread_join(thread, NULL);
    assert_ok(l->status);
    assert_ok(l->reentered);
    assert_ok(probe(*state, "k"));
    assert_ok(probe(*state, "other"));
    free(l);
    latch_destroy(&go);
  }
  assert_int_equal(stats_of(*state).locks_held, 0);
}

static int ascending(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a;
  const int64_t y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

struct successor {
  liblock_context *context;
  liblock_status status;
  int64_t granted_at;
};

static void *wait_for_key(void *argument) {
  struct successor *s = argument;
  liblock_lock lock = 0;
  s->status = liblock_acquire(s->context, KEY("k"), NULL, &lock, NULL);
  s->granted_at = now_ns();
  if (s->status == LIBLOCK_OK) s->status = liblock_release(s->context, lock, NULL);
  return NULL;
}

static void the_next_waiter_runs_when_the_holding_thread_exits(void **state) {
  static int64_t delays[EXITS];
  for (int i = 0; i < EXITS; i++) {
    latch go;
    latch_init(&go);
    struct leaver *l = calloc(1, sizeof *l);
    struct successor *s = calloc(1, sizeof *s);
    assert_non_null(l);
    assert_non_null(s);
    *l = (struct leaver){.context = *state, .go = &go};
    s->context = *state;
    pthread_t holder;
    pthread_t waiter;
    assert_int_equal(pthread_create(&holder, NULL, hold_and_exit, l), 0);
    assert_true(latch_await(&go, 1));
    assert_int_equal(pthread_create(&waiter, NULL, wait_for_key, s), 0);
    await_waiters(*state, 1);
    const int64_t told_at = now_ns();
    latch_add(&go, 1);
    pthread_join(waiter, NULL);
    pthread_join(holder, NULL);
    assert_ok(l->status);
    assert_ok(s->status);
    delays[i] = s->granted_at - told_at;
    free(l);
    free(s);
    latch_destroy(&go);
  }
  qsort(delays, EXITS, sizeof delays[0], ascending);
  print_message("# thread exit to next grant: p50 %.1f us, p99 %.1f us (%d exits)\n",
                (double)delays[EXITS / 2] / 1000, (double)delays[EXITS * 99 / 100] / 1000, EXITS);
}

static void a_thread_releases_by_key(void **state) {
  const liblock_bytes keys[] = {BYTES("a"), BYTES("b")};
  const liblock_acquire_options mine = owned_by(LIBLOCK_OWNER_THREAD);
  const liblock_lock a = take_with(*state, "a", &mine);
  const liblock_lock b = take_with(*state, "b", &mine);
  assert_ok(liblock_release_keys(*state, LIBLOCK_OWNER_THREAD, keys, 2, NULL));
  assert_status(LIBLOCK_NOT_HELD, liblock_release(*state, a, NULL));
  assert_status(LIBLOCK_NOT_HELD, liblock_release(*state, b, NULL));
  assert_ok(probe(*state, "a"));
}

static void a_thread_is_an_owner_of_its_own_in_every_context(void **state) {
  liblock_context *other = open_local("local:", NULL);
  const liblock_acquire_options mine = owned_by(LIBLOCK_OWNER_THREAD);
  take_with(*state, "k", &mine);
  take_with(other, "k", &mine);
  end_context(other);
  assert_status(LIBLOCK_BUSY, probe(*state, "k"));
}

struct last_use {
  liblock_context *context;
  liblock_status status;
};

static void use_at_the_very_end(void *argument) {
  struct last_use *last = argument;
  const liblock_acquire_options mine = owned_by(LIBLOCK_OWNER_THREAD);
  liblock_lock lock = 1;
  last->status = liblock_try_acquire(last->context, KEY("late"), &mine, &lock, NULL);
  if (lock != 0) last->status = LIBLOCK_OK;
}

static pthread_key_t last_key;

static void *use_and_exit(void *argument) {
  struct last_use *last = argument;
  const liblock_acquire_options mine = owned_by(LIBLOCK_OWNER_THREAD);
  liblock_lock lock = 0;
  if (liblock_acquire(last->context, KEY("k"), &mine, &lock, NULL) == LIBLOCK_OK) pthread_setspecific(last_key, last);
  return NULL;
}

/* Destructors of thread-specific data run behind the end of the thread's owner. */
static void a_thread_that_has_let_its_owner_go_acquires_nothing_more_in_its_name(void **state) {
  struct last_use last = {*state, LIBLOCK_INTERNAL};
  pthread_t thread;
  assert_int_equal(pthread_key_create(&last_key, use_at_the_very_end), 0);
  assert_int_equal(pthread_create(&thread, NULL, use_and_exit, &last), 0);
  pthread_join(thread, NULL);
  pthread_key_delete(last_key);
  assert_status(LIBLOCK_CLOSED, last.status);
  assert_ok(probe(*state, "k"));
  assert_ok(probe(*state, "late"));
}

static void *use_and_outlive(void *argument) {
  struct leaver *l = argument;
  liblock_acquire_options mine;
  liblock_acquire_options_init(&mine, sizeof mine);
  mine.owner = LIBLOCK_OWNER_THREAD;
  liblock_lock lock = 0;
  l->status = liblock_acquire(l->context, KEY("k"), &mine, &lock, NULL);
  latch_add(l->go, 1);
  latch_await(l->go, 2);
  return NULL;
}

static void a_thread_may_exit_after_its_context_is_gone(void **state) {
  (void)state;
  latch go;
  latch_init(&go);
  struct leaver *l = calloc(1, sizeof *l);
  assert_non_null(l);
  l->context = open_local("local:", NULL);
  l->go = &go;
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, use_and_outlive, l), 0);
  assert_true(latch_await(&go, 1));
  end_context(l->context);
  latch_add(&go, 1);
  pthread_join(thread, NULL);
  assert_ok(l->status);
  free(l);
  latch_destroy(&go);
}

static void the_thread_owner_has_an_identity_in_listings(void **state) {
  char id[512];
  size_t needed = 0;
  assert_ok(liblock_owner_id(*state, LIBLOCK_OWNER_THREAD, id, sizeof id, &needed));
  assert_int_equal(needed, strlen(id));
  assert_true(needed > 0);
  const liblock_acquire_options mine = owned_by(LIBLOCK_OWNER_THREAD);
  take_with(*state, "k", &mine);
  liblock_info *info = NULL;
  assert_ok(liblock_inspect(*state, KEY("k"), &info, NULL));
  size_t size = 0;
  const void *owner = liblock_info_owner(info, &size);
  assert_int_equal(size, needed);
  assert_memory_equal(owner, id, size);
  liblock_info_free(info);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(a_thread_reenters_what_it_holds_and_others_do_not),
      fresh(a_thread_that_exits_has_released_before_join_returns),
      fresh(the_next_waiter_runs_when_the_holding_thread_exits),
      fresh(a_thread_that_has_let_its_owner_go_acquires_nothing_more_in_its_name),
      fresh(a_thread_releases_by_key),
      fresh(a_thread_is_an_owner_of_its_own_in_every_context),
      cmocka_unit_test(a_thread_may_exit_after_its_context_is_gone),
      fresh(the_thread_owner_has_an_identity_in_listings),
  };
  return cmocka_run_group_tests_name("thread as owner", tests, NULL, NULL);
}
