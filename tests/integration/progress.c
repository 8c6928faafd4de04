/* SPDX-License-Identifier: MIT
 *
 * What a waiting acquire is told of its place (on_queued), and what one that failed is told of the key that was busy
 * (busy_info): the same in a local context and on a server. Prints TAP. Usage: progress URL
 */
#include <liblock/liblock.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tap.h"

enum { LONG_MS = 20000, PLACES_MAX = 4096 };

/* One acquire that waits, and what it is told. */
typedef struct waiter {
  const char *key;
  liblock_acquire_options options;
  liblock_lock lock;
  liblock_status status;
  pthread_t thread, told_on, ended_on;
  struct {
    int64_t position, length;
  } places[PLACES_MAX];
  size_t told;
  bool has_ended, told_late, on_another_thread;
  liblock_status inside;
  liblock_info *info;
} waiter;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static liblock_context *context;
static void on_queued(int64_t position, int64_t length, void *user_data) {
  waiter *w = user_data;
  liblock_lock lock;
  const liblock_status inside = liblock_acquire(context, "other", 5, NULL, &lock, NULL);
  pthread_mutex_lock(&mutex);
  w->inside = inside;
  w->told_late = w->told_late || w->has_ended;
  w->on_another_thread = w->on_another_thread || (w->told != 0 && !pthread_equal(w->told_on, pthread_self()));
  w->told_on = pthread_self();
  if (w->told < PLACES_MAX) {
    w->places[w->told].position = position;
    w->places[w->told++].length = length;
  }
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

/* The newest place of the waiter is this one, sooner or later. */
static bool stands(waiter *w, int64_t position, int64_t length) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += LONG_MS / 1000;
  pthread_mutex_lock(&mutex);
  bool is_there, in_time = true;
  for (;;) {
    const size_t last = w->told - 1;
    is_there = w->told != 0 && w->places[last].position == position && w->places[last].length == length;
    if (is_there || !in_time) break;
    in_time = pthread_cond_timedwait(&changed, &mutex, &until) == 0;
  }
  pthread_mutex_unlock(&mutex);
  return is_there;
}

static waiter waiter_of(const char *key) {
  waiter w = {.key = key};
  liblock_acquire_options_init(&w.options, sizeof w.options);
  w.options.retry_interval_ms = 5;
  w.options.retry_jitter_ms = 0;
  w.options.ttl_ms = LONG_MS;
  w.options.on_queued = on_queued;
  return w;
}

static void *wait_for_it(void *argument) {
  waiter *w = argument;
  w->status = liblock_acquire(context, w->key, strlen(w->key), &w->options, &w->lock, NULL);
  return NULL;
}

static void start(waiter *w) {
  w->options.on_queued_user_data = w;
  pthread_create(&w->thread, NULL, wait_for_it, w);
}

static bool granted(waiter *w) { return pthread_join(w->thread, NULL) == 0 && w->status == LIBLOCK_OK; }

static void on_end(const liblock_completion *end, void *user_data) {
  waiter *w = user_data;
  pthread_mutex_lock(&mutex);
  w->status = end->status;
  w->lock = end->lock;
  w->info = end->info;
  w->ended_on = pthread_self();
  w->has_ended = true;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

static bool ends(waiter *w, liblock_status status) {
  pthread_mutex_lock(&mutex);
  while (!w->has_ended) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  return w->status == status;
}

static bool ask(waiter *w) {
  liblock_request request;
  w->options.on_queued_user_data = w;
  return liblock_acquire_async(context, w->key, strlen(w->key), &w->options, on_end, w, &request) ==
         LIBLOCK_OK;
}

static liblock_lock hold(const char *key) {
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.ttl_ms = LONG_MS;
  liblock_lock lock = 0;
  return liblock_acquire(context, key, strlen(key), &options, &lock, NULL) == LIBLOCK_OK ? lock : 0;
}

static void check_threads(void) {
  const liblock_lock held = hold("k");
  waiter first = waiter_of("k"), second = waiter_of("k");
  start(&first);
  check(held && stands(&first, 0, 1), "a thread that waits is told that it is next in line");
  start(&second);
  check(stands(&second, 1, 2) && stands(&first, 0, 2), "and that others have come behind it");
  liblock_release(context, held, NULL);
  check(granted(&first) && stands(&second, 0, 1), "who moves up is told so");
  check(pthread_equal(first.told_on, first.thread) && !first.on_another_thread,
        "a thread that waits is told on itself");
  check(first.inside == LIBLOCK_WOULD_DEADLOCK, "no call that could wait is made meanwhile");
  liblock_release(context, first.lock, NULL);
  check(granted(&second) && liblock_release(context, second.lock, NULL) == LIBLOCK_OK,
        "the lock is handed on");
  const size_t told = second.told;
  waiter alone = waiter_of("k");
  start(&alone);
  check(granted(&alone) && alone.told == 0 && second.told == told, "who need not wait is told nothing");
  liblock_release(context, alone.lock, NULL);
}

static void check_requests(void) {
  const liblock_lock held = hold("k");
  waiter first = waiter_of("k"), second = waiter_of("k");
  second.options.wait_ms = 200;
  check(held && ask(&first) && stands(&first, 0, 1) && ask(&second) && stands(&second, 1, 2) &&
            stands(&first, 0, 2),
        "a request that waits is told its place");
  check(ends(&second, LIBLOCK_TIMEOUT) && stands(&first, 0, 1), "and that one behind it has gone");
  liblock_release(context, held, NULL);
  check(ends(&first, LIBLOCK_OK) && pthread_equal(first.told_on, first.ended_on) && !first.on_another_thread,
        "a request is told where its end is");
  liblock_release(context, first.lock, NULL);
  check(!first.told_late && !second.told_late, "and nothing after its end");
  check(first.inside == LIBLOCK_WOULD_DEADLOCK, "no call that could wait is made in a callback");
}

static void check_who_is_told_nothing(void) {
  const liblock_lock held = hold("k");
  waiter any = waiter_of("k"), once = waiter_of("k");
  any.options.order = LIBLOCK_ORDER_ANY;
  any.options.wait_ms = 50;
  once.options.wait_ms = 0;
  start(&any);
  start(&once);
  check(held && !granted(&any) && any.status == LIBLOCK_TIMEOUT && any.told == 0,
        "order ANY has no place to tell");
  check(!granted(&once) && once.status == LIBLOCK_BUSY && once.told == 0, "one attempt has none either");
  liblock_release(context, held, NULL);
  waiter queued = waiter_of("k");
  liblock_request request;
  liblock_completions *queue = NULL;
  check(liblock_completions_open(context, 4, &queue, NULL) == LIBLOCK_OK, "a completion queue opens");
  queued.options.completions = queue;
  check(liblock_acquire_async(context, "k", 1, &queued.options, NULL, NULL, &request) ==
            LIBLOCK_INVALID_ARGUMENT,
        "on_queued and the ends of a completion queue do not go together");
  liblock_completions_free(queue);
}

static bool key_is(const liblock_info *info, const char *key) {
  size_t size = 0;
  const void *found = info == NULL ? NULL : liblock_info_key(info, &size);
  return found != NULL && size == strlen(key) && memcmp(found, key, size) == 0;
}

static void check_busy_info(void) {
  const liblock_lock held = hold("k");
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  liblock_result result = LIBLOCK_RESULT_INIT;
  liblock_lock lock;
  liblock_status status = liblock_try_acquire(context, "k", 1, &options, &lock, &result);
  check(held && status == LIBLOCK_BUSY && result.info == NULL, "without busy_info there is none");
  options.busy_info = 1;
  status = liblock_try_acquire(context, "k", 1, &options, &lock, &result);
  check(status == LIBLOCK_BUSY && key_is(result.info, "k") && liblock_info_is_held(result.info) == 1,
        "an attempt that failed says who holds the key");
  check(strstr(result.message, "held by ") == result.message && strstr(result.message, " ms more") != NULL,
        "and says it in its message");
  liblock_info_free(result.info);

  waiter ahead = waiter_of("k");
  check(ask(&ahead) && stands(&ahead, 0, 1), "somebody waits");
  options.wait_ms = 50;
  status = liblock_acquire(context, "k", 1, &options, &lock, &result);
  check(status == LIBLOCK_TIMEOUT && key_is(result.info, "k") && liblock_info_waiter_count(result.info) == 1,
        "a wait that was too long says who waits, too");
  check(strstr(result.message, "1 waits for it") != NULL, "also in its message");
  liblock_info_free(result.info);

  options.wait_ms = LIBLOCK_DEFAULT;
  options.retries = 2;
  options.retry_interval_ms = 5;
  const liblock_bytes keys[] = {{"z", 1}, {"k", 1}, {"a", 1}, {"k", 1}};
  status = liblock_acquire_many(context, keys, 4, &options, &lock, &result);
  check(status == LIBLOCK_RETRIES_EXHAUSTED && key_is(result.info, "k"),
        "of several keys it is the busy one");
  liblock_info_free(result.info);
  status = liblock_acquire(context, "free", 4, &options, &lock, &result);
  check(status == LIBLOCK_OK && result.info == NULL, "a lock brings none");
  liblock_release(context, lock, NULL);

  waiter failing = waiter_of("k");
  failing.options.on_queued = NULL;
  failing.options.wait_ms = 30;
  failing.options.busy_info = 1;
  check(ask(&failing) && ends(&failing, LIBLOCK_TIMEOUT) && key_is(failing.info, "k"),
        "the end of a request brings it to the callback");
  liblock_info_free(failing.info);
  liblock_completions *queue = NULL;
  liblock_request request;
  liblock_completion end = {.struct_size = sizeof end};
  options.wait_ms = 0;
  bool came = liblock_completions_open(context, 4, &queue, NULL) == LIBLOCK_OK;
  options.completions = queue;
  came = came && liblock_acquire_many_async(context, keys, 4, &options, NULL, NULL, &request) == LIBLOCK_OK &&
         liblock_completions_next(queue, LONG_MS, &end) == LIBLOCK_OK;
  check(came && end.status == LIBLOCK_BUSY && key_is(end.info, "k"), "or to the completion queue");
  liblock_info_free(end.info);
  came = liblock_acquire_async(context, "k", 1, &options, NULL, NULL, &request) == LIBLOCK_OK;
  liblock_completions_free(queue); /* whoever reads it or not, nothing is left behind */
  check(came, "an end that nobody reads takes its info along");
  liblock_release(context, held, NULL);
  check(ends(&ahead, LIBLOCK_OK) && liblock_release(context, ahead.lock, NULL) == LIBLOCK_OK,
        "who waited all the time is served");
}

int main(int count, char **words) {
  if (count != 2) return fprintf(stderr, "usage: progress URL\n"), 2;
  if (liblock_open(words[1], NULL, &context, NULL) != LIBLOCK_OK) return 3;
  check_threads();
  check_requests();
  check_who_is_told_nothing();
  check_busy_info();
  liblock_close(context);
  liblock_context_free(context);
  return finish();
}
