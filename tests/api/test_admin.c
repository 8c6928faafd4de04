/* SPDX-License-Identifier: MIT
 *
 * Administration: locks taken away from whoever holds them, the queue kept or dropped, and zombies cleared.
 */
#include "api.h"
#include "recorder.h"
#include "worker.h"

static liblock_report empty_report(void) {
  liblock_report report;
  liblock_report_init(&report, sizeof report);
  return report;
}

static void force_release_of_a_free_key_is_not_held(void **state) {
  assert_status(LIBLOCK_NOT_HELD, liblock_force_release(*state, KEY("k"), 0, NULL));
}

static void force_release_makes_the_holders_handles_lost(void **state) {
  liblock_owner *owner = open_owner(*state, "o");
  const liblock_acquire_options mine = owned_by(owner);
  const liblock_lock outer = take_with(*state, "k", &mine);
  const liblock_lock inner = take_with(*state, "k", &mine);
  assert_ok(liblock_force_release(*state, KEY("k"), 0, NULL));
  assert_status(LIBLOCK_LOST, liblock_is_held(*state, outer));
  assert_status(LIBLOCK_LOST, liblock_is_held(*state, inner));
  assert_ok(probe(*state, "k"));
  assert_status(LIBLOCK_LOST, liblock_release(*state, inner, NULL));
  assert_status(LIBLOCK_LOST, liblock_release(*state, outer, NULL));
  assert_status(LIBLOCK_NOT_HELD, liblock_release(*state, outer, NULL));
  assert_int_equal(stats_of(*state).taken_away, 1);
  liblock_owner_free(owner);
}

static void force_release_lets_waiters_keep_their_places(void **state) {
  liblock_context *context = *state;
  recorder *r = recorder_new(context, false);
  take(context, "k");
  for (int tag = 0; tag < 3; tag++) request_key(context, r, tag, "k", NULL);
  for (size_t i = 0; i < 3; i++) {
    assert_ok(liblock_force_release(context, KEY("k"), 0, NULL));
    assert_true(recorder_await(r, i + 1));
    assert_int_equal(recorder_at(r, i).tag, i);
    assert_ok(recorder_at(r, i).completion.status);
  }
  recorder_free(r);
}

static void force_release_with_drop_queue_dequeues_the_waiters(void **state) {
  liblock_context *context = *state;
  recorder *r = recorder_new(context, false);
  const liblock_lock lock = take(context, "k");
  request_key(context, r, 0, "k", NULL);
  worker *thread = worker_acquires(context, "k", NULL);
  await_waiters(context, 2);
  assert_ok(liblock_force_release(context, KEY("k"), LIBLOCK_DROP_QUEUE, NULL));
  assert_status(LIBLOCK_DEQUEUED, worker_join(thread, NULL, NULL));
  assert_true(recorder_await(r, 1));
  assert_status(LIBLOCK_DEQUEUED, recorder_at(r, 0).completion.status);
  assert_ok(probe(context, "k"));
  assert_status(LIBLOCK_LOST, liblock_release(context, lock, NULL));
  recorder_free(r);
}

static void force_release_says_whether_there_was_a_lock_and_a_queue(void **state) {
  liblock_context *context = *state;
  liblock_result result = empty_result();
  assert_status(LIBLOCK_NOT_HELD, liblock_force_release(context, KEY("k"), 0, &result));
  assert_int_equal(result.flags, 0);
  assert_int_equal(result.queue_length, 0);
  take(context, "k");
  assert_ok(liblock_force_release(context, KEY("k"), 0, &result));
  assert_int_equal(result.flags, LIBLOCK_RESULT_HAD_LOCK);
  take(context, "k");
  worker *waiting = worker_acquires(context, "k", NULL);
  await_waiters(context, 1);
  assert_ok(liblock_force_release(context, KEY("k"), LIBLOCK_DROP_QUEUE, &result));
  assert_int_equal(result.flags, LIBLOCK_RESULT_HAD_LOCK | LIBLOCK_RESULT_HAD_QUEUE);
  assert_int_equal(result.queue_length, 1);
  assert_status(LIBLOCK_DEQUEUED, worker_join(waiting, NULL, NULL));
}

static void a_small_batch_clears_as_much_as_a_large_one(void **state) {
  liblock_clear_options options;
  liblock_clear_options_init(&options, sizeof options);
  const int64_t batches[] = {1, 7, 65536};
  for (size_t i = 0; i < COUNT_OF(batches); i++) {
    for (char key = 'a'; key <= 'z'; key++) {
      liblock_lock lock = 0;
      assert_ok(liblock_acquire(*state, &key, 1, NULL, &lock, NULL));
    }
    options.batch_size = batches[i];
    liblock_report report = empty_report();
    assert_ok(liblock_clear(*state, &options, &report, NULL));
    assert_int_equal(report.locks, 26);
    assert_int_equal(stats_of(*state).locks_held, 0);
  }
}

static void requests_that_wait_for_longer_than_dead_ttl_are_dead(void **state) {
  liblock_context *context = *state;
  liblock_clear_options options;
  liblock_clear_options_init(&options, sizeof options);
  const liblock_lock held = take(context, "k");
  recorder *r = recorder_new(context, false);
  request_key(context, r, 0, "k", NULL);
  liblock_report report = empty_report();
  assert_ok(liblock_clear_dead(context, NULL, &report, NULL));
  assert_int_equal(report.waiters, 0);
  const liblock_acquire_options brief = with_ttl(20);
  const liblock_lock other = take_with(context, "other", &brief);
  await_lost(context, other); /* so that time has passed */
  options.dead_ttl_ms = 10;
  assert_ok(liblock_clear_dead(context, &options, &report, NULL));
  assert_int_equal(report.waiters, 1);
  assert_int_equal(report.queues, 1);
  assert_int_equal(report.locks, 0);
  assert_true(recorder_await(r, 1));
  assert_status(LIBLOCK_DEQUEUED, recorder_at(r, 0).completion.status);
  assert_ok(liblock_is_held(context, held));
  recorder_free(r);
}

static void clear_takes_everything_away_the_global_lock_included(void **state) {
  liblock_context *context = *state;
  static const char *const keys[] = {"a", "b", "c"};
  for (size_t i = 0; i < COUNT_OF(keys); i++) take(context, keys[i]);
  worker *waiting = worker_acquires(context, "a", NULL);
  await_waiters(context, 1);
  liblock_report report = empty_report();
  assert_ok(liblock_clear(context, NULL, &report, NULL));
  assert_int_equal(report.locks, 3);
  assert_int_equal(report.queues, 1);
  assert_int_equal(report.keys, 4);
  assert_int_equal(report.waiters, 1);
  assert_true(report.steps > 0 && report.elapsed_us >= 0);
  assert_status(LIBLOCK_DEQUEUED, worker_join(waiting, NULL, NULL));
  liblock_stats stats = stats_of(context);
  assert_int_equal(stats.locks_held, 0);
  assert_int_equal(stats.waiters, 0);
  liblock_lock global = 0;
  assert_ok(liblock_acquire_global(context, NULL, &global, NULL));
  assert_ok(liblock_clear(context, NULL, &report, NULL));
  assert_int_equal(report.locks, 1);
  assert_status(LIBLOCK_LOST, liblock_release(context, global, NULL));
  assert_ok(probe(context, "a"));
  assert_ok(liblock_clear(context, NULL, NULL, NULL));
}

static void clear_owner_takes_from_one_owner_only(void **state) {
  liblock_context *context = *state;
  char id[512];
  size_t needed = 0;
  liblock_owner *one = open_owner(context, "one");
  liblock_owner *two = open_owner(context, "two");
  const liblock_acquire_options ones = owned_by(one);
  const liblock_acquire_options twos = owned_by(two);
  const liblock_lock a = take_with(context, "a", &ones);
  take_with(context, "b", &ones);
  const liblock_lock c = take_with(context, "c", &twos);
  worker *waiting = worker_acquires(context, "c", &ones);
  await_waiters(context, 1);
  assert_ok(liblock_owner_id(context, one, id, sizeof id, &needed));
  liblock_report report = empty_report();
  assert_ok(liblock_clear_owner(context, id, needed, NULL, &report, NULL));
  assert_int_equal(report.locks, 2);
  assert_int_equal(report.waiters, 1);
  assert_status(LIBLOCK_DEQUEUED, worker_join(waiting, NULL, NULL));
  assert_status(LIBLOCK_LOST, liblock_is_held(context, a));
  assert_ok(liblock_is_held(context, c));
  assert_ok(liblock_clear_owner(context, "nobody", 6, NULL, &report, NULL));
  assert_int_equal(report.keys, 0);
  liblock_owner_free(one);
  liblock_owner_free(two);
}

static void clear_instance_takes_from_one_context_only(void **state) {
  (void)state;
  char id[256];
  size_t needed = 0;
  liblock_context *one = open_local("local:instances", NULL);
  liblock_context *two = open_local("local:instances", NULL);
  const liblock_lock ours = take(one, "ours");
  const liblock_lock theirs = take(two, "theirs");
  assert_ok(liblock_instance_id(one, id, sizeof id, &needed));
  liblock_report report = empty_report();
  assert_ok(liblock_clear_instance(two, id, needed, NULL, &report, NULL));
  assert_int_equal(report.locks, 1);
  assert_status(LIBLOCK_LOST, liblock_is_held(one, ours));
  assert_ok(liblock_is_held(two, theirs));
  end_context(one);
  end_context(two);
}

static void locks_left_behind_are_zombies_until_clear_dead(void **state) {
  (void)state;
  liblock_context_options leave = context_options();
  leave.on_close = LIBLOCK_ON_CLOSE_LEAVE;
  liblock_context *one = open_local("local:zombies", &leave);
  liblock_context *two = open_local("local:zombies", NULL);
  take(one, "left");
  take(two, "alive");
  liblock_report report = empty_report();
  assert_ok(liblock_clear_dead(two, NULL, &report, NULL));
  assert_int_equal(report.locks, 0);
  end_context(one);
  liblock_info *info = NULL;
  assert_ok(liblock_inspect(two, KEY("left"), &info, NULL));
  assert_int_equal(liblock_info_is_zombie(info), 1);
  liblock_info_free(info);
  assert_ok(liblock_clear_dead(two, NULL, &report, NULL));
  assert_int_equal(report.locks, 1);
  assert_ok(probe(two, "left"));
  assert_status(LIBLOCK_BUSY, probe(two, "alive"));
  end_context(two);
}

struct key_wait {
  liblock_context *context;
  bool for_release;
  liblock_status status;
};

static void *wait_for_key(void *argument) {
  struct key_wait *w = argument;
  w->status = w->for_release ? liblock_wait_released(w->context, KEY("k"), -1, NULL)
                             : liblock_wait_held(w->context, KEY("k"), -1, NULL);
  return NULL;
}

static pthread_t start_key_wait(struct key_wait *w, liblock_context *context, bool for_release) {
  pthread_t thread;
  const uint64_t before = stats_of(context).waiters;
  w->context = context;
  w->for_release = for_release;
  assert_int_equal(pthread_create(&thread, NULL, wait_for_key, w), 0);
  await_waiters(context, before + 1);
  return thread;
}

static void wait_released_of_a_free_key_is_not_held_and_of_a_held_one_times_out(void **state) {
  assert_status(LIBLOCK_NOT_HELD, liblock_wait_released(*state, KEY("k"), -1, NULL));
  assert_status(LIBLOCK_TIMEOUT, liblock_wait_held(*state, KEY("k"), 10, NULL));
  take(*state, "k");
  assert_ok(liblock_wait_held(*state, KEY("k"), -1, NULL));
  assert_status(LIBLOCK_TIMEOUT, liblock_wait_released(*state, KEY("k"), 10, NULL));
}

static void wait_released_wakes_when_the_present_holder_is_gone(void **state) {
  liblock_context *context = *state;
  static struct key_wait w;
  const liblock_lock lock = take(context, "k");
  pthread_t thread = start_key_wait(&w, context, true);
  assert_ok(liblock_release(context, lock, NULL));
  pthread_join(thread, NULL);
  assert_ok(w.status);
  const liblock_acquire_options brief = with_ttl(300);
  take_with(context, "k", &brief);
  assert_ok(liblock_wait_released(context, KEY("k"), GENEROUS_MS, NULL));
}

static bool somebody_waits_for_the_key(void *argument) { return waiters_of(argument, "k") == 1; }

static void wait_released_counts_a_hand_over_as_released(void **state) {
  liblock_context *context = *state;
  static struct key_wait w;
  const liblock_lock lock = take(context, "k");
  pthread_t thread = start_key_wait(&w, context, true);
  worker *next = worker_acquires(context, "k", NULL);
  assert_soon(somebody_waits_for_the_key, context);
  assert_ok(liblock_release(context, lock, NULL));
  pthread_join(thread, NULL);
  assert_ok(w.status);
  assert_ok(worker_join(next, NULL, NULL));
}

static void a_wait_for_a_key_that_ended_is_counted_no_more(void **state) {
  static struct key_wait w;
  for (int i = 0; i < 3; i++) {
    const liblock_lock lock = take(*state, "k");
    pthread_t thread = start_key_wait(&w, *state, true);
    assert_ok(liblock_release(*state, lock, NULL));
    pthread_join(thread, NULL);
    assert_ok(w.status);
    assert_int_equal(stats_of(*state).waiters, 0);
  }
}

static void wait_held_wakes_when_somebody_takes_the_key(void **state) {
  static struct key_wait w;
  pthread_t thread = start_key_wait(&w, *state, false);
  take(*state, "k");
  pthread_join(thread, NULL);
  assert_ok(w.status);
}

static void wait_held_wakes_when_an_owner_takes_the_key_or_somebody_takes_several(void **state) {
  static struct key_wait w;
  liblock_context *context = *state;
  liblock_owner *owner = open_owner(context, "o");
  const liblock_acquire_options owned = owned_by(owner);
  pthread_t thread = start_key_wait(&w, context, false);
  const liblock_lock single = take_with(context, "k", &owned);
  pthread_join(thread, NULL);
  assert_ok(w.status);
  assert_ok(liblock_release(context, single, NULL));
  const liblock_bytes keys[] = {BYTES("j"), BYTES("k")};
  liblock_lock several = 0;
  thread = start_key_wait(&w, context, false);
  assert_ok(liblock_acquire_many(context, keys, 2, NULL, &several, NULL));
  pthread_join(thread, NULL);
  assert_ok(w.status);
  assert_ok(liblock_release(context, several, NULL));
  liblock_owner_free(owner);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(force_release_of_a_free_key_is_not_held),
      fresh(force_release_makes_the_holders_handles_lost),
      fresh(force_release_lets_waiters_keep_their_places),
      fresh(force_release_with_drop_queue_dequeues_the_waiters),
      fresh(force_release_says_whether_there_was_a_lock_and_a_queue),
      fresh(clear_takes_everything_away_the_global_lock_included),
      fresh(a_small_batch_clears_as_much_as_a_large_one),
      fresh(requests_that_wait_for_longer_than_dead_ttl_are_dead),
      fresh(clear_owner_takes_from_one_owner_only),
      cmocka_unit_test(clear_instance_takes_from_one_context_only),
      cmocka_unit_test(locks_left_behind_are_zombies_until_clear_dead),
      fresh(wait_released_of_a_free_key_is_not_held_and_of_a_held_one_times_out),
      fresh(wait_released_wakes_when_the_present_holder_is_gone),
      fresh(wait_released_counts_a_hand_over_as_released),
      fresh(a_wait_for_a_key_that_ended_is_counted_no_more),
      fresh(wait_held_wakes_when_somebody_takes_the_key),
      fresh(wait_held_wakes_when_an_owner_takes_the_key_or_somebody_takes_several),
  };
  return cmocka_run_group_tests_name("administration", tests, NULL, NULL);
}
