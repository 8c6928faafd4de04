/* SPDX-License-Identifier: MIT
 *
 * A caller's loop: no thread of the library's is started, callbacks run on the loop's thread, nothing waits
 * there, and close_async leaves the loop clean. The test thread is the loop's thread.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include <uv.h>

#include "api.h"
#include "process.h"
#include "recorder.h"
#include "worker.h"

struct looped {
  uv_loop_t loop;
  liblock_context *context;
  recorder *ends;
};

struct told {
  pthread_t loop_thread;
  int count, elsewhere;
};

static int open_looped(void **state) {
  struct looped *l = calloc(1, sizeof *l);
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  if (l == NULL || uv_loop_init(&l->loop) != 0) return -1;
  options.uv_loop = &l->loop;
  if (liblock_open("local:", &options, &l->context, NULL) != LIBLOCK_OK) return -1;
  l->ends = recorder_new(l->context, false);
  *state = l;
  return 0;
}

static bool turn_until(struct looped *l, size_t count) {
  const int64_t end = now_ms() + GENEROUS_MS;
  while (recorder_count(l->ends) < count && now_ms() < end) {
    if (uv_run(&l->loop, UV_RUN_NOWAIT) == 0 || recorder_count(l->ends) < count) let_pass_ms(1);
  }
  return recorder_count(l->ends) >= count;
}

/* Closes on the loop, and finds the loop clean: its close fails while one handle of ours is left. */
static int close_looped(void **state) {
  struct looped *l = *state;
  recorder_clear(l->ends);
  if (liblock_close_async(l->context, recorder_callback, recorder_slot(l->ends, -2)) != LIBLOCK_OK) return -1;
  if (!turn_until(l, 1)) return -1;
  liblock_context_free(l->context);
  while (uv_run(&l->loop, UV_RUN_NOWAIT) != 0) let_pass_ms(1);
  const int closed = uv_loop_close(&l->loop);
  recorder_free(l->ends);
  free(l);
  return closed;
}

static void callbacks_run_on_the_thread_of_the_loop(void **state) {
  struct looped *l = *state;
  request_key(l->context, l->ends, 0, "k", NULL);
  assert_true(turn_until(l, 1));
  const record entry = recorder_at(l->ends, 0);
  assert_ok(entry.completion.status);
  assert_true(pthread_equal(entry.thread, pthread_self()));
}

static void a_callback_never_runs_inside_the_call_that_made_its_request(void **state) {
  struct looped *l = *state;
  request_key(l->context, l->ends, 0, "k", NULL);
  assert_int_equal(recorder_count(l->ends), 0);
  assert_true(turn_until(l, 1));
}

static void a_turn_that_ran_a_callback_returns_and_does_not_wait_for_more(void **state) {
  struct looped *l = *state;
  while (uv_run(&l->loop, UV_RUN_NOWAIT) != 0 && uv_backend_timeout(&l->loop) == 0) {}
  const liblock_acquire_options late = waits(10 * GENEROUS_MS);
  request_key(l->context, l->ends, 0, "k", NULL);
  request_key(l->context, l->ends, 1, "k", &late); /* its deadline is what a turn too many would sleep for */
  const int64_t began = now_ms();
  while (recorder_count(l->ends) < 1) uv_run(&l->loop, UV_RUN_ONCE);
  assert_true(now_ms() - began < GENEROUS_MS);
  assert_ok(liblock_release(l->context, recorder_at(l->ends, 0).completion.lock, NULL));
  while (recorder_count(l->ends) < 2) uv_run(&l->loop, UV_RUN_ONCE);
  assert_true(now_ms() - began < GENEROUS_MS);
  assert_ok(recorder_at(l->ends, 1).completion.status);
}

static void no_thread_is_started_for_a_callers_loop(void **state) {
  struct looped *l = *state;
  const size_t before = list_threads().count;
  const liblock_acquire_options brief = with_ttl(20);
  liblock_acquire_options lossy = brief;
  lossy.on_lost = recorder_callback;
  lossy.on_lost_user_data = recorder_slot(l->ends, 1);
  request_key(l->context, l->ends, 0, "k", &lossy);
  assert_true(turn_until(l, 2));
  assert_int_equal(recorder_at(l->ends, 1).completion.kind, LIBLOCK_KIND_LOST);
  assert_true(pthread_equal(recorder_at(l->ends, 1).thread, pthread_self()));
  assert_int_equal(list_threads().count, before);
}

static void note_thread(const liblock_event *event, void *user_data) {
  struct told *told = user_data;
  (void)event;
  told->count++;
  told->elsewhere += !pthread_equal(pthread_self(), told->loop_thread);
}

static void events_are_told_on_the_thread_of_the_loop_and_not_inside_the_call(void **state) {
  struct looped *l = *state;
  struct told told = {.loop_thread = pthread_self()};
  assert_ok(liblock_set_events(l->context, ~UINT64_C(0), note_thread, &told));
  request_key(l->context, l->ends, 0, "k", NULL);
  assert_int_equal(told.count, 0);
  assert_true(turn_until(l, 1));
  worker *w = worker_acquires(l->context, "k", NULL);
  await_waiters(l->context, 1);
  assert_ok(liblock_release(l->context, recorder_at(l->ends, 0).completion.lock, NULL));
  liblock_lock lock = 0;
  assert_ok(worker_join(w, &lock, NULL));
  assert_ok(liblock_release(l->context, lock, NULL));
  const int64_t end = now_ms() + GENEROUS_MS;
  while (told.count < 5 && now_ms() < end) uv_run(&l->loop, UV_RUN_NOWAIT);
  assert_ok(liblock_set_events(l->context, 0, NULL, NULL));
  assert_int_equal(told.count, 5); /* obtained, handed off, held, obtained, held */
  assert_int_equal(told.elsewhere, 0);
}

static void deadlines_run_on_the_callers_loop(void **state) {
  struct looped *l = *state;
  const liblock_acquire_options brief = waits(20);
  request_key(l->context, l->ends, 0, "k", NULL);
  request_key(l->context, l->ends, 1, "k", &brief);
  assert_true(turn_until(l, 2));
  assert_int_equal(recorder_at(l->ends, 1).tag, 1);
  assert_status(LIBLOCK_TIMEOUT, recorder_at(l->ends, 1).completion.status);
}

static void a_call_that_could_wait_answers_would_deadlock_on_the_thread_of_the_loop(void **state) {
  struct looped *l = *state;
  liblock_lock lock = 1;
  assert_status(LIBLOCK_WOULD_DEADLOCK, liblock_acquire(l->context, KEY("k"), NULL, &lock, NULL));
  assert_true(lock == 0);
  assert_status(LIBLOCK_WOULD_DEADLOCK, liblock_wait_held(l->context, KEY("k"), 10, NULL));
  assert_ok(liblock_try_acquire(l->context, KEY("k"), NULL, &lock, NULL));
  assert_ok(liblock_release(l->context, lock, NULL));
}

static void other_threads_may_wait_and_hand_over_to_the_loop(void **state) {
  struct looped *l = *state;
  liblock_lock lock = 0;
  assert_ok(worker_join(worker_acquires(l->context, "k", NULL), &lock, NULL));
  request_key(l->context, l->ends, 0, "k", NULL);
  worker *behind = worker_acquires(l->context, "k", NULL);
  await_waiters(l->context, 2);
  assert_ok(liblock_release(l->context, lock, NULL));
  assert_true(turn_until(l, 1));
  assert_ok(liblock_release(l->context, recorder_at(l->ends, 0).completion.lock, NULL));
  assert_ok(worker_join(behind, NULL, NULL));
}

static void close_async_ends_pending_requests_on_the_loop_and_comes_last(void **state) {
  struct looped *l = *state;
  liblock_lock lock = 0;
  assert_ok(liblock_try_acquire(l->context, KEY("k"), NULL, &lock, NULL));
  for (int tag = 0; tag < 10; tag++) request_key(l->context, l->ends, tag, "k", NULL);
  assert_ok(liblock_close_async(l->context, recorder_callback, recorder_slot(l->ends, 99)));
  assert_true(turn_until(l, 11));
  for (size_t i = 0; i < 10; i++) assert_status(LIBLOCK_CLOSED, recorder_at(l->ends, i).completion.status);
  const record last = recorder_at(l->ends, 10);
  assert_int_equal(last.tag, 99);
  assert_int_equal(last.completion.kind, LIBLOCK_KIND_CLOSE);
  assert_true(pthread_equal(last.thread, pthread_self()));
}

static void close_on_the_thread_of_the_loop_ends_requests_on_its_next_turns(void **state) {
  struct looped *l = *state;
  liblock_lock lock = 0;
  assert_ok(liblock_try_acquire(l->context, KEY("k"), NULL, &lock, NULL));
  for (int tag = 0; tag < 5; tag++) request_key(l->context, l->ends, tag, "k", NULL);
  assert_ok(liblock_close(l->context));
  assert_int_equal(recorder_count(l->ends), 0);
  assert_true(turn_until(l, 5));
  for (size_t i = 0; i < 5; i++) {
    assert_status(LIBLOCK_CLOSED, recorder_at(l->ends, i).completion.status);
    assert_true(pthread_equal(recorder_at(l->ends, i).thread, pthread_self()));
  }
}

static int free_looped(void **state) {
  struct looped *l = *state;
  liblock_context_free(l->context);
  while (uv_run(&l->loop, UV_RUN_NOWAIT) != 0) let_pass_ms(1);
  const int closed = uv_loop_close(&l->loop);
  recorder_free(l->ends);
  free(l);
  return closed;
}

#define looped(test) cmocka_unit_test_setup_teardown(test, open_looped, close_looped)

int main(void) {
  const struct CMUnitTest tests[] = {
      looped(callbacks_run_on_the_thread_of_the_loop),
      looped(a_callback_never_runs_inside_the_call_that_made_its_request),
      looped(a_turn_that_ran_a_callback_returns_and_does_not_wait_for_more),
      looped(no_thread_is_started_for_a_callers_loop),
      looped(events_are_told_on_the_thread_of_the_loop_and_not_inside_the_call),
      looped(deadlines_run_on_the_callers_loop),
      looped(a_call_that_could_wait_answers_would_deadlock_on_the_thread_of_the_loop),
      looped(other_threads_may_wait_and_hand_over_to_the_loop),
      cmocka_unit_test_setup_teardown(close_on_the_thread_of_the_loop_ends_requests_on_its_next_turns,
                                      open_looped, free_looped),
      cmocka_unit_test_setup_teardown(close_async_ends_pending_requests_on_the_loop_and_comes_last,
                                      open_looped, free_looped),
  };
  return cmocka_run_group_tests_name("caller's loop", tests, NULL, NULL);
}
