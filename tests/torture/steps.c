/* SPDX-License-Identifier: MIT
 *
 * What scenarios are made of. Each says what was reported, and puts it down, so that it can be seen afterwards whether
 * it is so.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "fail.h"
#include "torture.h"

enum { TURNS_MAX = 100 };

void torture_try(struct torture *t, const char *key) {
  for (size_t n = 0; n < t->tries; ++n)
    if (strcmp(t->tried[n], key) == 0) return;
  torture_must(t->tries < TORTURE_LOCKS_MAX, "there is room", LIBLOCK_OK);
  t->tried[t->tries++] = key;
}

void torture_open(struct torture *t) {
  liblock_context *context = NULL;
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  char prefix[32]; /* what a process that ended badly has left on the server is not in the way */
  snprintf(prefix, sizeof prefix, "torture:%ld:", (long)getpid());
  if (strncmp(t->url, "local:", 6) != 0) {
    options.prefix = prefix;
    options.prefix_size = strlen(prefix);
  }
  const liblock_status status = liblock_open(t->url, &options, &context, NULL);
  torture_ended(status);
  torture_must((status == LIBLOCK_OK) == (context != NULL), "a context comes with OK, and only then", status);
  if (context == NULL) return;
  t->context = context;
  torture_ended(liblock_completions_open(context, TORTURE_LOCKS_MAX, &t->ends, NULL));
  torture_ended(liblock_owner_open(context, "owner", 5, &t->owner, NULL));
}

static uv_loop_t loop;

void torture_make_loop(struct torture *t) {
  (void)t;
  torture_must(uv_loop_init(&loop) == 0, "there is a loop", LIBLOCK_OK);
}

void torture_open_on_loop(struct torture *t) {
  liblock_context *context = NULL;
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.uv_loop = &loop;
  torture_ended(liblock_open(t->url, &options, &context, NULL));
  fail_disarm(); /* libuv itself gives up where it lacks memory within a turn */
  liblock_context_free(context);
  for (int turns = 0; turns < TURNS_MAX && uv_loop_alive(&loop); ++turns) uv_run(&loop, UV_RUN_NOWAIT);
  torture_must(uv_loop_close(&loop) == 0, "a context leaves nothing on the caller's loop", LIBLOCK_OK);
}

void torture_keep(struct torture *t, liblock_status status, liblock_lock lock, const char *key) {
  torture_must((status == LIBLOCK_OK) == (lock != 0), "a handle comes with OK, and only then", status);
  if (lock == 0) return;
  torture_must(t->granted < TORTURE_LOCKS_MAX, "there is room", status);
  t->locks[t->granted] = lock;
  t->keys[t->granted++] = key;
}

liblock_status torture_take(struct torture *t, const char *key, const liblock_acquire_options *options) {
  if (t->context == NULL) return LIBLOCK_CLOSED;
  liblock_lock lock = 1;
  torture_try(t, key);
  const liblock_status status = liblock_acquire(t->context, key, strlen(key), options, &lock, NULL);
  torture_ended(status);
  torture_keep(t, status, lock, key);
  return status;
}

static liblock_request ask_for(struct torture *t, const char *key, const liblock_acquire_options *options) {
  if (t->ends == NULL) return 0;
  liblock_acquire_options given = torture_defaults();
  if (options != NULL) given = *options;
  given.completions = t->ends;
  liblock_request request = 1;
  torture_try(t, key);
  const liblock_status status =
      liblock_acquire_async(t->context, key, strlen(key), &given, NULL, (void *)key, &request);
  torture_ended(status);
  torture_must((status == LIBLOCK_OK) == (request != 0), "a request comes with OK, and only then", status);
  t->asked += status == LIBLOCK_OK;
  return request;
}

void torture_ask(struct torture *t, const char *key, const liblock_acquire_options *options) {
  ask_for(t, key, options);
}

void torture_ask_and_cancel(struct torture *t, const char *key, const liblock_acquire_options *options) {
  const liblock_request request = ask_for(t, key, options);
  if (request == 0) return;
  const liblock_status canceled = liblock_cancel(t->context, request);
  if (canceled != LIBLOCK_INVALID_HANDLE) torture_ended(canceled); /* it may have ended for want of memory */
}

void torture_give_back(struct torture *t, size_t nth) {
  if (nth >= t->granted || t->locks[nth] == 0) return;
  const liblock_status status = liblock_release(t->context, t->locks[nth], NULL);
  torture_ended(status);
  if (status != LIBLOCK_NO_MEMORY) t->locks[nth] = 0;
}

void torture_read(struct torture *t, long wait_ms) {
  while (t->ends != NULL && t->asked > 0) {
    liblock_completion end = {.struct_size = sizeof end};
    const liblock_status status = liblock_completions_next(t->ends, wait_ms, &end);
    if (status == LIBLOCK_TIMEOUT && wait_ms == 0) return;
    torture_must(status == LIBLOCK_OK, "a request that was accepted ends", status);
    if (end.kind != LIBLOCK_KIND_ACQUIRE) continue;
    --t->asked;
    if (end.status != LIBLOCK_CANCELED) torture_ended(end.status);
    torture_keep(t, end.status, end.lock, end.user_data);
    wait_ms = 0;
  }
}
