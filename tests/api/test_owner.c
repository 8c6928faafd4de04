/* SPDX-License-Identifier: MIT
 *
 * Named owners: reentry in all its modes, release by key, and what closing an owner does.
 */
#include "api.h"
#include "worker.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

static uint32_t holds(liblock_context *context, liblock_lock lock) {
  uint32_t count = 0;
  assert_ok(liblock_hold_count(context, lock, &count));
  return count;
}

static void on_conflict_fail_answers_already_held(void **state) {
  liblock_owner *owner = open_owner(*state, "o");
  liblock_acquire_options mine = owned_by(owner);
  take_with(*state, "k", &mine);
  mine.on_conflict = LIBLOCK_ON_CONFLICT_FAIL;
  liblock_lock lock = 1;
  assert_status(LIBLOCK_ALREADY_HELD, liblock_acquire(*state, KEY("k"), &mine, &lock, NULL));
  assert_true(lock == 0);
  liblock_owner_free(owner);
}

static void on_conflict_wait_waits_even_for_itself(void **state) {
  (void)state;
  liblock_context_options unwatched = context_options();
  unwatched.deadlock_detection = 0;
  liblock_context *context = open_local("local:", &unwatched);
  liblock_owner *owner = open_owner(context, "o");
  liblock_acquire_options mine = owned_by(owner);
  const liblock_lock outer = take_with(context, "k", &mine);
  mine.on_conflict = LIBLOCK_ON_CONFLICT_WAIT;
  mine.wait_ms = 20;
  liblock_lock lock = 1;
  assert_status(LIBLOCK_TIMEOUT, liblock_acquire(context, KEY("k"), &mine, &lock, NULL));
  mine.wait_ms = -1;
  worker *again = worker_acquires(context, "k", &mine);
  await_waiters(context, 1);
  assert_ok(liblock_release(context, outer, NULL));
  assert_ok(worker_join(again, &lock, NULL));
  assert_int_equal(holds(context, lock), 1);
  liblock_owner_free(owner);
  end_context(context);
}

static void reentry_gives_a_handle_of_its_own_on_the_same_hold_and_token(void **state) {
  liblock_owner *owner = open_owner(*state, "o");
  const liblock_acquire_options mine = owned_by(owner);
  liblock_result outer_result = empty_result();
  liblock_result inner_result = empty_result();
  liblock_lock outer = 0;
  liblock_lock inner = 0;
  assert_ok(liblock_acquire(*state, KEY("k"), &mine, &outer, &outer_result));
  assert_ok(liblock_acquire(*state, KEY("k"), &mine, &inner, &inner_result));
  assert_true(outer != inner);
  assert_true(outer_result.token == inner_result.token);
  assert_int_equal(outer_result.flags & LIBLOCK_RESULT_REENTERED, 0);
  assert_true((inner_result.flags & LIBLOCK_RESULT_REENTERED) != 0);
  assert_int_equal(inner_result.hold_count, 2);
  assert_int_equal(holds(*state, outer), 2);
  liblock_owner_free(owner);
}

static void nested_holds_are_counted_and_the_key_is_free_after_the_last(void **state) {
  liblock_owner *owner = open_owner(*state, "o");
  const liblock_acquire_options mine = owned_by(owner);
  liblock_lock locks[4];
  for (size_t i = 0; i < COUNT_OF(locks); i++) locks[i] = take_with(*state, "k", &mine);
  const size_t any_order[] = {2, 0, 3, 1};
  for (size_t i = 0; i < COUNT_OF(locks); i++) {
    assert_status(LIBLOCK_BUSY, probe(*state, "k"));
    assert_ok(liblock_release(*state, locks[any_order[i]], NULL));
    assert_status(LIBLOCK_NOT_HELD, liblock_release(*state, locks[any_order[i]], NULL));
  }
  assert_ok(probe(*state, "k"));
  liblock_owner_free(owner);
}

static void threads_of_one_owner_that_wait_are_let_in_with_the_first_of_them(void **state) {
  for (int round = 0; round < 20; round++) {
    liblock_owner *owner = open_owner(*state, "o");
    liblock_acquire_options mine = owned_by(owner);
    mine.wait_ms = 10000;
    const liblock_lock outer = take_with(*state, "k", NULL);
    const liblock_bytes both[] = {{"k", 1}, {"l", 1}};
    worker *workers[] = {worker_acquires(*state, "k", &mine), worker_acquires(*state, "k", &mine),
                         worker_acquires_many(*state, both, 2, &mine)};
    await_waiters(*state, COUNT_OF(workers));
    assert_ok(liblock_release(*state, outer, NULL));
    liblock_lock lock = 0;
    for (size_t i = 0; i < COUNT_OF(workers); i++) assert_ok(worker_join(workers[i], &lock, NULL));
    assert_int_equal(holds(*state, lock), 3);
    liblock_owner_free(owner);
    assert_ok(probe(*state, "k"));
  }
}

static void another_owner_is_excluded_however_alike_its_name(void **state) {
  liblock_owner *one = open_owner(*state, "same");
  liblock_owner *two = open_owner(*state, "same");
  const liblock_acquire_options mine = owned_by(one);
  liblock_acquire_options theirs = owned_by(two);
  theirs.wait_ms = 0;
  take_with(*state, "k", &mine);
  liblock_lock lock = 1;
  assert_status(LIBLOCK_BUSY, liblock_acquire(*state, KEY("k"), &theirs, &lock, NULL));
  liblock_owner_free(one);
  liblock_owner_free(two);
}

static void reentry_leaves_the_lease_alone_and_reenter_extend_sets_it_anew(void **state) {
  liblock_owner *owner = open_owner(*state, "o");
  liblock_acquire_options mine = owned_by(owner);
  mine.ttl_ms = 60000;
  const liblock_lock outer = take_with(*state, "k", &mine);
  mine.ttl_ms = 900000;
  take_with(*state, "k", &mine);
  int64_t remaining = 0;
  assert_ok(liblock_remaining_ms(*state, outer, &remaining));
  assert_in_range(remaining, 1, 60000);
  mine.on_conflict = LIBLOCK_ON_CONFLICT_REENTER_EXTEND;
  take_with(*state, "k", &mine);
  assert_ok(liblock_remaining_ms(*state, outer, &remaining));
  assert_in_range(remaining, 800000, 900000);
  liblock_owner_free(owner);
}

static void a_reentry_with_too_little_left_is_too_late_and_undone(void **state) {
  liblock_owner *owner = open_owner(*state, "o");
  liblock_acquire_options mine = owned_by(owner);
  mine.ttl_ms = 60000;
  const liblock_lock outer = take_with(*state, "k", &mine);
  mine.ttl_ms = LIBLOCK_DEFAULT;
  mine.min_remaining_ms = 120000;
  liblock_lock inner = 1;
  assert_status(LIBLOCK_TOO_LATE, liblock_acquire(*state, KEY("k"), &mine, &inner, NULL));
  assert_true(inner == 0);
  assert_int_equal(holds(*state, outer), 1);
  mine.min_remaining_ms = 1000;
  take_with(*state, "k", &mine);
  assert_int_equal(holds(*state, outer), 2);
  liblock_owner_free(owner);
}

static void a_lock_that_reenters_some_of_its_keys_is_too_late_with_the_lease_of_those(void **state) {
  liblock_owner *owner = open_owner(*state, "o");
  liblock_acquire_options mine = owned_by(owner);
  mine.ttl_ms = 60000;
  const liblock_lock outer = take_with(*state, "k", &mine);
  mine.ttl_ms = LIBLOCK_DEFAULT;
  const liblock_bytes keys[] = {{"j", 1}, {"k", 1}};
  liblock_result result = LIBLOCK_RESULT_INIT;
  liblock_lock both = 0;
  assert_ok(liblock_acquire_many(*state, keys, 2, &mine, &both, &result));
  assert_in_range(result.remaining_ms, 1, 60000);
  assert_ok(liblock_release(*state, both, NULL));
  mine.min_remaining_ms = 120000;
  assert_status(LIBLOCK_TOO_LATE, liblock_acquire_many(*state, keys, 2, &mine, &both, NULL));
  assert_int_equal(holds(*state, outer), 1);
  int is_locked = 1;
  assert_ok(liblock_is_locked(*state, KEY("j"), &is_locked));
  assert_false(is_locked);
  liblock_owner_free(owner);
}

static void an_owner_may_hold_from_any_thread(void **state) {
  liblock_owner *owner = open_owner(*state, "moving");
  const liblock_acquire_options mine = owned_by(owner);
  take_with(*state, "k", &mine);
  liblock_lock lock = 0;
  assert_ok(worker_join(worker_acquires(*state, "k", &mine), &lock, NULL));
  assert_int_equal(holds(*state, lock), 2);
  liblock_owner_free(owner);
}

static void release_by_keys_gives_back_a_part_of_a_lock(void **state) {
  const liblock_bytes all[] = {BYTES("a"), BYTES("b"), BYTES("c")};
  const liblock_bytes part[] = {BYTES("b")};
  const liblock_bytes rest[] = {BYTES("a"), BYTES("c")};
  liblock_owner *owner = open_owner(*state, "o");
  const liblock_acquire_options mine = owned_by(owner);
  liblock_lock lock = 0;
  assert_ok(liblock_acquire_many(*state, all, 3, &mine, &lock, NULL));
  assert_ok(liblock_release_keys(*state, owner, part, 1, NULL));
  assert_ok(probe(*state, "b"));
  assert_status(LIBLOCK_BUSY, probe(*state, "a"));
  assert_ok(liblock_is_held(*state, lock));
  assert_ok(liblock_release_keys(*state, owner, rest, 2, NULL));
  assert_status(LIBLOCK_NOT_HELD, liblock_is_held(*state, lock));
  assert_status(LIBLOCK_NOT_HELD, liblock_release(*state, lock, NULL));
  assert_int_equal(stats_of(*state).locks_held, 0);
  liblock_owner_free(owner);
}

static void release_by_keys_is_all_or_nothing(void **state) {
  const liblock_bytes keys[] = {BYTES("mine"), BYTES("theirs")};
  liblock_owner *owner = open_owner(*state, "o");
  const liblock_acquire_options mine = owned_by(owner);
  const liblock_lock lock = take_with(*state, "mine", &mine);
  const liblock_lock other = take(*state, "theirs");
  assert_status(LIBLOCK_NOT_HELD, liblock_release_keys(*state, owner, keys, 2, NULL));
  assert_ok(liblock_is_held(*state, lock));
  assert_ok(liblock_is_held(*state, other));
  liblock_owner_free(owner);
}

static void of_several_handles_on_one_key_the_youngest_gives(void **state) {
  const liblock_bytes keys[] = {BYTES("k")};
  liblock_owner *owner = open_owner(*state, "o");
  const liblock_acquire_options mine = owned_by(owner);
  const liblock_lock outer = take_with(*state, "k", &mine);
  const liblock_lock inner = take_with(*state, "k", &mine);
  assert_ok(liblock_release_keys(*state, owner, keys, 1, NULL));
  assert_status(LIBLOCK_NOT_HELD, liblock_is_held(*state, inner));
  assert_ok(liblock_is_held(*state, outer));
  assert_int_equal(holds(*state, outer), 1);
  assert_ok(liblock_release_keys(*state, owner, keys, 1, NULL));
  assert_ok(probe(*state, "k"));
  liblock_owner_free(owner);
}

static void the_rest_of_a_lock_is_given_back_by_its_handle(void **state) {
  const liblock_bytes all[] = {BYTES("a"), BYTES("b")};
  const liblock_bytes part[] = {BYTES("a")};
  liblock_owner *owner = open_owner(*state, "o");
  const liblock_acquire_options mine = owned_by(owner);
  liblock_lock lock = 0;
  assert_ok(liblock_acquire_many(*state, all, 2, &mine, &lock, NULL));
  assert_ok(liblock_release_keys(*state, owner, part, 1, NULL));
  const liblock_lock stranger = take(*state, "a");
  assert_ok(liblock_release(*state, lock, NULL));
  assert_ok(probe(*state, "b"));
  assert_ok(liblock_is_held(*state, stranger));
  liblock_owner_free(owner);
}


struct giver {
  liblock_context *context;
  liblock_owner *owner;
  const char *key;
  atomic_int *held; /* so many locks were taken; -1: no more will be */
  atomic_int *given;
  int failed;
};

/* Nobody is woken: both begin within less than a call takes. */
static void *give_back_one_key_of_each_lock(void *argument) {
  struct giver *g = argument;
  const liblock_bytes key = {g->key, strlen(g->key)};
  for (int i = 1;; i++) {
    int held;
    while ((held = atomic_load(g->held)) != -1 && held < i) sched_yield();
    if (held == -1) return NULL;
    g->failed += liblock_release_keys(g->context, g->owner, &key, 1, NULL) != LIBLOCK_OK;
    atomic_fetch_add(g->given, 1);
  }
}

static void of_two_threads_that_give_back_a_key_each_the_last_ends_the_lock(void **state) {
  static const liblock_bytes keys[] = {BYTES("a"), BYTES("b")};
  liblock_owner *owner = open_owner(*state, "o");
  const liblock_acquire_options mine = owned_by(owner);
  atomic_int held = 0;
  atomic_int given = 0;
  struct giver givers[2] = {{*state, owner, "a", &held, &given, 0}, {*state, owner, "b", &held, &given, 0}};
  pthread_t threads[2];
  for (int n = 0; n < 2; n++)
    assert_int_equal(pthread_create(&threads[n], NULL, give_back_one_key_of_each_lock, &givers[n]), 0);
  int left = 0;
  const int64_t end = now_ms() + 1000;
  for (int i = 1; now_ms() < end; i++) {
    liblock_lock lock = 0;
    left += liblock_acquire_many(*state, keys, 2, &mine, &lock, NULL) != LIBLOCK_OK;
    atomic_store(&held, i);
    while (atomic_load(&given) < 2 * i) sched_yield();
    left += liblock_release(*state, lock, NULL) != LIBLOCK_NOT_HELD;
  }
  atomic_store(&held, -1);
  for (int n = 0; n < 2; n++) pthread_join(threads[n], NULL);
  assert_int_equal(left, 0);
  assert_int_equal(givers[0].failed + givers[1].failed, 0);
  liblock_owner_free(owner);
}

static void closing_an_owner_releases_its_locks_and_the_next_waiter_runs(void **state) {
  liblock_context *context = *state;
  liblock_owner *owner = open_owner(context, "o");
  const liblock_acquire_options mine = owned_by(owner);
  const liblock_lock lock = take_with(context, "k", &mine);
  take_with(context, "k", &mine);
  worker *next = worker_acquires(context, "k", NULL);
  await_waiters(context, 1);
  assert_ok(liblock_owner_close(owner));
  assert_status(LIBLOCK_BUSY, probe(context, "k"));
  assert_ok(worker_join(next, NULL, NULL));
  assert_int_not_equal(liblock_is_held(context, lock), LIBLOCK_OK);
  assert_ok(liblock_owner_close(owner));
  liblock_owner_free(owner);
}

static void closing_an_owner_cancels_its_waits_at_once(void **state) {
  liblock_context *context = *state;
  liblock_owner *owner = open_owner(context, "o");
  const liblock_acquire_options mine = owned_by(owner);
  const liblock_lock held = take(context, "k");
  worker *ours = worker_acquires(context, "k", &mine);
  await_waiters(context, 1);
  worker *other = worker_acquires(context, "k", NULL);
  await_waiters(context, 2);
  assert_ok(liblock_owner_close(owner));
  liblock_lock lock = 1;
  assert_status(LIBLOCK_CLOSED, worker_join(ours, &lock, NULL));
  assert_true(lock == 0);
  assert_ok(liblock_release(context, held, NULL));
  assert_ok(worker_join(other, NULL, NULL));
  liblock_owner_free(owner);
}

static void a_closed_owner_acquires_nothing(void **state) {
  liblock_owner *owner = open_owner(*state, "o");
  assert_ok(liblock_owner_close(owner));
  const liblock_acquire_options mine = owned_by(owner);
  liblock_lock lock = 1;
  assert_status(LIBLOCK_CLOSED, liblock_acquire(*state, KEY("k"), &mine, &lock, NULL));
  assert_true(lock == 0);
  assert_ok(probe(*state, "k"));
  liblock_owner_free(owner);
}

static void an_owner_id_names_instance_number_and_name(void **state) {
  char instance[128];
  char id[512];
  size_t needed = 0;
  liblock_owner *owner = open_owner(*state, "worker-7");
  assert_ok(liblock_instance_id(*state, instance, sizeof instance, &needed));
  assert_int_equal(needed, strlen(instance));
  assert_ok(liblock_owner_id(*state, owner, id, sizeof id, &needed));
  assert_int_equal(needed, strlen(id));
  assert_memory_equal(id, instance, strlen(instance));
  assert_string_equal(id + strlen(id) - strlen("/worker-7"), "/worker-7");
  char cut[4];
  assert_ok(liblock_owner_id(*state, owner, cut, sizeof cut, &needed));
  assert_int_equal(needed, strlen(id));
  assert_int_equal(cut[3], '\0');
  assert_memory_equal(cut, id, 3);
  liblock_owner_free(owner);
}

static void an_instance_id_names_process_and_host_and_is_that_of_one_context(void **state) {
  char one[256];
  char two[256];
  char process[32];
  size_t needed = 0;
  struct utsname machine;
  liblock_context *other = open_local("local:", NULL);
  assert_ok(liblock_instance_id(*state, one, sizeof one, &needed));
  assert_ok(liblock_instance_id(other, two, sizeof two, &needed));
  assert_string_not_equal(one, two);
  snprintf(process, sizeof process, "%d-", (int)getpid());
  assert_memory_equal(one, process, strlen(process));
  assert_int_equal(uname(&machine), 0);
  assert_string_equal(strchr(one, '@') + 1, machine.nodename);
  end_context(other);
}

static void the_calling_thread_has_an_owner_id_too(void **state) {
  char id[512];
  char instance[256];
  size_t needed = 0;
  assert_ok(liblock_instance_id(*state, instance, sizeof instance, &needed));
  assert_ok(liblock_owner_id(*state, LIBLOCK_OWNER_THREAD, id, sizeof id, &needed));
  assert_memory_equal(id, instance, strlen(instance));
  assert_true(strlen(id) > strlen(instance));
}

static void close_and_free_of_an_owner_accept_null(void **state) {
  (void)state;
  assert_ok(liblock_owner_close(NULL));
  liblock_owner_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(on_conflict_fail_answers_already_held),
      cmocka_unit_test(on_conflict_wait_waits_even_for_itself),
      fresh(threads_of_one_owner_that_wait_are_let_in_with_the_first_of_them),
      fresh(reentry_gives_a_handle_of_its_own_on_the_same_hold_and_token),
      fresh(nested_holds_are_counted_and_the_key_is_free_after_the_last),
      fresh(another_owner_is_excluded_however_alike_its_name),
      fresh(reentry_leaves_the_lease_alone_and_reenter_extend_sets_it_anew),
      fresh(a_reentry_with_too_little_left_is_too_late_and_undone),
      fresh(a_lock_that_reenters_some_of_its_keys_is_too_late_with_the_lease_of_those),
      fresh(an_owner_may_hold_from_any_thread),
      fresh(release_by_keys_gives_back_a_part_of_a_lock),
      fresh(release_by_keys_is_all_or_nothing),
      fresh(of_several_handles_on_one_key_the_youngest_gives),
      fresh(the_rest_of_a_lock_is_given_back_by_its_handle),
      fresh(of_two_threads_that_give_back_a_key_each_the_last_ends_the_lock),
      fresh(closing_an_owner_releases_its_locks_and_the_next_waiter_runs),
      fresh(closing_an_owner_cancels_its_waits_at_once),
      fresh(a_closed_owner_acquires_nothing),
      fresh(an_owner_id_names_instance_number_and_name),
      fresh(an_instance_id_names_process_and_host_and_is_that_of_one_context),
      fresh(the_calling_thread_has_an_owner_id_too),
      cmocka_unit_test(close_and_free_of_an_owner_accept_null),
  };
  return cmocka_run_group_tests_name("owner", tests, NULL, NULL);
}
