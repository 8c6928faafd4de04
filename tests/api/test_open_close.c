/* SPDX-License-Identifier: MIT
 *
 * Contexts: named ones share a table that is reference counted, anonymous ones have their own; open refuses
 * what it cannot do; close ends everything and is harmless when repeated.
 */
#include <sched.h>
#include <stdatomic.h>

#include "api.h"
#include "worker.h"

static void a_url_that_is_missing_or_of_another_kind_opens_nothing(void **state) {
  (void)state;
  liblock_context *context = (liblock_context *)(void *)&context;
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_open(NULL, NULL, &context, NULL));
  assert_null(context);
  assert_null(context);
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_open("local:x", NULL, NULL, NULL));
}

static void a_name_may_have_255_bytes_and_no_more(void **state) {
  (void)state;
  char url[6 + 256 + 1] = "local:";
  memset(url + 6, 'n', 256);
  liblock_context *context = NULL;
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_open(url, NULL, &context, NULL));
  url[6 + 255] = '\0';
  assert_ok(liblock_open(url, NULL, &context, NULL));
  end_context(context);
}

static void a_name_is_the_same_table_for_everyone_in_the_process(void **state) {
  (void)state;
  liblock_context *one = open_local("local:shared", NULL);
  liblock_context *two = open_local("local:shared", NULL);
  liblock_context *other = open_local("local:other", NULL);
  const liblock_lock lock = take(one, "k");
  assert_status(LIBLOCK_BUSY, probe(two, "k"));
  assert_ok(probe(other, "k"));
  assert_ok(liblock_release(one, lock, NULL));
  assert_ok(probe(two, "k"));
  end_context(one);
  end_context(two);
  end_context(other);
}

static void anonymous_contexts_have_a_table_each(void **state) {
  liblock_context *other = open_local("local:", NULL);
  take(*state, "k");
  assert_ok(probe(other, "k"));
  end_context(other);
}

static void a_named_table_lives_as_long_as_anyone_has_it_open(void **state) {
  (void)state;
  liblock_context *one = open_local("local:counted", NULL);
  liblock_context *two = open_local("local:counted", NULL);
  take(two, "k");
  end_context(one);
  liblock_context *three = open_local("local:counted", NULL);
  assert_status(LIBLOCK_BUSY, probe(three, "k"));
  end_context(two);
  assert_ok(probe(three, "k"));
  end_context(three);
}

static void opening_a_name_with_other_options_is_options_mismatch(void **state) {
  (void)state;
  liblock_context *first = open_local("local:strict", NULL);
  liblock_context_options options[7];
  for (size_t i = 0; i < COUNT_OF(options); i++) options[i] = context_options();
  options[0].prefix = "p:";
  options[0].prefix_size = 2;
  options[1].cleanup_interval_ms = 1234;
  options[2].cleanup_batch_size = 7;
  options[3].max_ttl_ms = 5000;
  options[4].deadlock_detection = 0;
  options[5].deadlock_delay_ms = 77;
  options[6].locks_max = 10;
  for (size_t i = 0; i < COUNT_OF(options); i++) {
    liblock_context *second = NULL;
    assert_status(LIBLOCK_OPTIONS_MISMATCH, liblock_open("local:strict", &options[i], &second, NULL));
    assert_null(second);
  }
  end_context(first);
}

static void options_of_one_context_only_do_not_mismatch(void **state) {
  (void)state;
  liblock_context *first = open_local("local:own", NULL);
  liblock_context_options options = context_options();
  options.requests_max = 3;
  options.on_close = LIBLOCK_ON_CLOSE_LEAVE;
  liblock_context *second = open_local("local:own", &options);
  end_context(second);
  end_context(first);
}

static void a_name_closed_by_everyone_may_come_back_with_other_options(void **state) {
  (void)state;
  liblock_context *first = open_local("local:again", NULL);
  take(first, "k");
  end_context(first);
  liblock_context_options options = context_options();
  options.locks_max = 10;
  liblock_context *second = open_local("local:again", &options);
  assert_ok(probe(second, "k"));
  end_context(second);
}

/* Which keep the context in memory. */
static void a_name_comes_back_though_a_completion_queue_is_not_freed_yet(void **state) {
  (void)state;
  liblock_context *first = open_local("local:queued", NULL);
  const liblock_lock lock = take(first, "k");
  uint64_t before = 0, after = 0;
  assert_ok(liblock_fencing_token(first, lock, &before));
  liblock_completions *queue = NULL;
  assert_ok(liblock_completions_open(first, 4, &queue, NULL));
  assert_ok(liblock_close(first));
  liblock_context_options options = context_options();
  options.locks_max = 10;
  liblock_context *second = open_local("local:queued", &options);
  assert_ok(liblock_fencing_token(second, take(second, "k"), &after));
  assert_true(after > before);
  end_context(first);
  liblock_context *third = open_local("local:queued", &options);
  assert_status(LIBLOCK_BUSY, probe(third, "k"));
  liblock_completions_free(queue);
  assert_status(LIBLOCK_BUSY, probe(third, "k"));
  end_context(second);
  end_context(third);
}

static void a_name_is_kept_with_the_locks_that_were_left_until_its_contexts_are_freed(void **state) {
  (void)state;
  liblock_context_options options = context_options();
  options.on_close = LIBLOCK_ON_CLOSE_LEAVE;
  liblock_context *first = open_local("local:left", &options);
  take(first, "k");
  assert_ok(liblock_close(first));
  liblock_context *second = open_local("local:left", NULL);
  assert_status(LIBLOCK_BUSY, probe(second, "k"));
  assert_ok(liblock_close(second));
  end_context(first);
  end_context(second);
  liblock_context *third = open_local("local:left", NULL);
  assert_ok(probe(third, "k"));
  end_context(third);
}

struct opening {
  int calls;
  liblock_context *seen;
  liblock_status try_inside;
  pthread_t thread;
};

static void note_opening(liblock_context *context, void *user_data) {
  struct opening *opening = user_data;
  liblock_lock lock = 0;
  opening->calls++;
  opening->seen = context;
  opening->thread = pthread_self();
  opening->try_inside = liblock_try_acquire(context, KEY("k"), NULL, &lock, NULL);
}

static void on_open_runs_once_per_table_before_open_returns(void **state) {
  (void)state;
  struct opening opening = {0};
  liblock_context_options options = context_options();
  options.on_open = note_opening;
  options.on_open_user_data = &opening;
  liblock_context *one = open_local("local:hooked", &options);
  assert_int_equal(opening.calls, 1);
  assert_ptr_equal(opening.seen, one);
  assert_true(pthread_equal(opening.thread, pthread_self()));
  assert_ok(opening.try_inside);
  liblock_context *two = open_local("local:hooked", &options);
  assert_int_equal(opening.calls, 1);
  assert_status(LIBLOCK_BUSY, probe(two, "k"));
  end_context(one);
  end_context(two);
  liblock_context *three = open_local("local:hooked", &options);
  assert_int_equal(opening.calls, 2);
  end_context(three);
}

static void close_with_release_gives_its_locks_back_and_nobody_elses(void **state) {
  (void)state;
  liblock_context *one = open_local("local:leaving", NULL);
  liblock_context *two = open_local("local:leaving", NULL);
  take(one, "one");
  take(two, "two");
  worker *next = worker_acquires(two, "one", NULL);
  await_waiters(two, 1);
  end_context(one);
  assert_ok(worker_join(next, NULL, NULL));
  assert_status(LIBLOCK_BUSY, probe(two, "two"));
  end_context(two);
}

static void close_with_leave_lets_leases_run_out_by_themselves(void **state) {
  (void)state;
  liblock_context_options leave = context_options();
  leave.on_close = LIBLOCK_ON_CLOSE_LEAVE;
  liblock_context *one = open_local("local:left", &leave);
  liblock_context *two = open_local("local:left", NULL);
  const liblock_acquire_options brief = with_ttl(40);
  take_with(one, "brief", &brief);
  const liblock_acquire_options long_lived = with_ttl(3600000);
  take_with(one, "long", &long_lived);
  end_context(one);
  assert_status(LIBLOCK_BUSY, probe(two, "long"));
  liblock_lock lock = 0;
  assert_ok(liblock_acquire(two, KEY("brief"), NULL, &lock, NULL));
  end_context(two);
}

static void close_ends_waits_of_this_context_as_closed(void **state) {
  (void)state;
  liblock_context *one = open_local("local:waits", NULL);
  liblock_context *two = open_local("local:waits", NULL);
  const liblock_lock lock = take(two, "k");
  worker *ours = worker_acquires(one, "k", NULL);
  await_waiters(two, 1);
  worker *theirs = worker_acquires(two, "k", NULL);
  await_waiters(two, 2);
  assert_ok(liblock_close(one));
  liblock_lock got = 1;
  assert_status(LIBLOCK_CLOSED, worker_join(ours, &got, NULL));
  assert_true(got == 0);
  assert_false(worker_is_done(theirs));
  assert_ok(liblock_release(two, lock, NULL));
  assert_ok(worker_join(theirs, NULL, NULL));
  liblock_context_free(one);
  end_context(two);
}

static void after_close_every_call_answers_closed_and_close_ok(void **state) {
  (void)state;
  liblock_context *context = open_local("local:", NULL);
  liblock_owner *owner = open_owner(context, "o");
  const liblock_lock lock = take(context, "k");
  assert_ok(liblock_close(context));
  liblock_lock got = 1;
  assert_status(LIBLOCK_CLOSED, liblock_acquire(context, KEY("k"), NULL, &got, NULL));
  assert_true(got == 0);
  assert_status(LIBLOCK_CLOSED, liblock_release(context, lock, NULL));
  assert_status(LIBLOCK_CLOSED, liblock_is_held(context, lock));
  assert_status(LIBLOCK_CLOSED, liblock_ping(context, NULL));
  assert_ok(liblock_close(context));
  assert_ok(liblock_owner_close(owner));
  liblock_owner_free(owner);
  liblock_context_free(context);
}

static void null_and_forgotten_closes_are_accepted_by_close_and_free(void **state) {
  (void)state;
  assert_ok(liblock_close(NULL));
  liblock_context_free(NULL);
  liblock_context *watcher = open_local("local:forgot", NULL);
  liblock_context *context = open_local("local:forgot", NULL);
  take(context, "k");
  liblock_context_free(context);
  assert_ok(probe(watcher, "k"));
  end_context(watcher);
}

static void a_prefixed_context_locks_and_excludes_under_the_key_as_given(void **state) {
  (void)state;
  liblock_context_options options = context_options();
  options.prefix = "app:";
  options.prefix_size = 4;
  liblock_context *context = open_local("local:", &options);
  take(context, "k");
  assert_status(LIBLOCK_BUSY, probe(context, "k"));
  assert_ok(probe(context, "app:k"));
  end_context(context);
}

/* One who waits, and stays in its callback for as long as it is told to. */
struct shown {
  liblock_context *context;
  atomic_bool is_in_callback, may_leave;
  liblock_status waited, closed;
};

static void stay(int64_t position, int64_t length, void *user_data) {
  struct shown *shown = user_data;
  (void)position;
  (void)length;
  shown->is_in_callback = true;
  while (!shown->may_leave) sched_yield();
  let_pass_ms(20); /* until the other one sleeps */
}

static void *wait_and_stay(void *argument) {
  struct shown *shown = argument;
  liblock_acquire_options options = acquire_options();
  options.on_queued = stay;
  options.on_queued_user_data = shown;
  liblock_lock lock = 0;
  shown->waited = liblock_acquire(shown->context, KEY("k"), &options, &lock, NULL);
  return NULL;
}

static void *close_although_cancelled(void *argument) {
  struct shown *shown = argument;
  pthread_cancel(pthread_self());
  shown->closed = liblock_close(shown->context);
  pthread_testcancel();
  return NULL;
}

static void a_thread_that_is_cancelled_while_it_closes_comes_to_the_end_of_that_first(void **state) {
  (void)state;
  struct shown shown = {.context = open_local("local:", NULL), .waited = LIBLOCK_INTERNAL, .closed = LIBLOCK_INTERNAL};
  take(shown.context, "k");
  pthread_t waits, closes;
  assert_int_equal(pthread_create(&waits, NULL, wait_and_stay, &shown), 0);
  while (!shown.is_in_callback) sched_yield();
  assert_int_equal(pthread_create(&closes, NULL, close_although_cancelled, &shown), 0);
  int32_t locked = 0;
  while (liblock_is_locked(shown.context, KEY("k"), &locked) != LIBLOCK_CLOSED) sched_yield();
  shown.may_leave = true;
  void *end = NULL;
  assert_int_equal(pthread_join(closes, &end), 0);
  assert_ptr_equal(end, PTHREAD_CANCELED);
  assert_int_equal(pthread_join(waits, NULL), 0);
  assert_ok(shown.closed);
  assert_status(LIBLOCK_CLOSED, shown.waited);
  end_context(shown.context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_url_that_is_missing_or_of_another_kind_opens_nothing),
      cmocka_unit_test(a_name_may_have_255_bytes_and_no_more),
      cmocka_unit_test(a_name_is_the_same_table_for_everyone_in_the_process),
      fresh(anonymous_contexts_have_a_table_each),
      cmocka_unit_test(a_named_table_lives_as_long_as_anyone_has_it_open),
      cmocka_unit_test(opening_a_name_with_other_options_is_options_mismatch),
      cmocka_unit_test(options_of_one_context_only_do_not_mismatch),
      cmocka_unit_test(a_name_closed_by_everyone_may_come_back_with_other_options),
      cmocka_unit_test(a_name_comes_back_though_a_completion_queue_is_not_freed_yet),
      cmocka_unit_test(a_name_is_kept_with_the_locks_that_were_left_until_its_contexts_are_freed),
      cmocka_unit_test(on_open_runs_once_per_table_before_open_returns),
      cmocka_unit_test(close_with_release_gives_its_locks_back_and_nobody_elses),
      cmocka_unit_test(close_with_leave_lets_leases_run_out_by_themselves),
      cmocka_unit_test(close_ends_waits_of_this_context_as_closed),
      cmocka_unit_test(after_close_every_call_answers_closed_and_close_ok),
      cmocka_unit_test(null_and_forgotten_closes_are_accepted_by_close_and_free),
      cmocka_unit_test(a_thread_that_is_cancelled_while_it_closes_comes_to_the_end_of_that_first),
      cmocka_unit_test(a_prefixed_context_locks_and_excludes_under_the_key_as_given),
  };
  return cmocka_run_group_tests_name("open and close", tests, NULL, NULL);
}
