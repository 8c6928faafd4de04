/* SPDX-License-Identifier: MIT
 *
 * One thread per worker. The record is written before `done` (release) and read after it (acquire) or after
 * join.
 */
#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { WORKER_KEYS_MAX = 16 };

struct worker {
  pthread_t thread;
  liblock_context *context;
  liblock_bytes keys[WORKER_KEYS_MAX];
  size_t count;
  bool many;
  liblock_acquire_options options;
  liblock_status status;
  liblock_lock lock;
  liblock_result result;
  atomic_bool done;
};

static void *work(void *argument) {
  worker *w = argument;
  if (w->many && w->count == 0)
    w->status = liblock_acquire_global(w->context, &w->options, &w->lock, &w->result);
  else if (w->many)
    w->status = liblock_acquire_many(w->context, w->keys, w->count, &w->options, &w->lock, &w->result);
  else
    w->status =
        liblock_acquire(w->context, w->keys[0].data, w->keys[0].size, &w->options, &w->lock, &w->result);
  atomic_store_explicit(&w->done, true, memory_order_release);
  return NULL;
}

static worker *start(liblock_context *context, const liblock_bytes *keys, size_t count, bool many,
                     const liblock_acquire_options *options) {
  worker *w = calloc(1, sizeof *w);
  assert_non_null(w);
  assert_true(count <= WORKER_KEYS_MAX);
  w->context = context;
  w->count = count;
  w->many = many;
  if (count != 0) memcpy(w->keys, keys, count * sizeof *keys);
  w->options = options != NULL ? *options : acquire_options();
  w->result = empty_result();
  assert_int_equal(pthread_create(&w->thread, NULL, work, w), 0);
  return w;
}

worker *worker_acquires(liblock_context *context, const char *key, const liblock_acquire_options *options) {
  const liblock_bytes bytes = {key, strlen(key)};
  return start(context, &bytes, 1, false, options);
}

worker *worker_acquires_many(liblock_context *context, const liblock_bytes *keys, size_t count,
                             const liblock_acquire_options *options) {
  return start(context, keys, count, true, options);
}

bool worker_is_done(worker *w) { return atomic_load_explicit(&w->done, memory_order_acquire); }

liblock_status worker_join(worker *w, liblock_lock *lock, liblock_result *result) {
  pthread_join(w->thread, NULL);
  const liblock_status status = w->status;
  if (lock != NULL) *lock = w->lock;
  if (result != NULL) *result = w->result;
  free(w);
  return status;
}

void latch_init(latch *l) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&l->mutex, NULL);
  pthread_cond_init(&l->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  l->value = 0;
}

void latch_destroy(latch *l) {
  pthread_cond_destroy(&l->changed);
  pthread_mutex_destroy(&l->mutex);
}

void latch_add(latch *l, int amount) {
  pthread_mutex_lock(&l->mutex);
  l->value += amount;
  pthread_cond_broadcast(&l->changed);
  pthread_mutex_unlock(&l->mutex);
}

int latch_value(latch *l) {
  pthread_mutex_lock(&l->mutex);
  const int value = l->value;
  pthread_mutex_unlock(&l->mutex);
  return value;
}

bool latch_await(latch *l, int value) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += GENEROUS_MS / 1000;
  int error = 0;
  pthread_mutex_lock(&l->mutex);
  while (l->value < value && error != ETIMEDOUT) error = pthread_cond_timedwait(&l->changed, &l->mutex, &end);
  const bool reached = l->value >= value;
  pthread_mutex_unlock(&l->mutex);
  return reached;
}
