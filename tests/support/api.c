/* SPDX-License-Identifier: MIT
 *
 * The words of api.h. Failures name both statuses, so that a log says what happened without a debugger.
 */
#include "api.h"

#include <stdio.h>

void expect_status(liblock_status expected, liblock_status actual, const char *call, const char *file,
                   int line) {
  if (expected == actual) return;
  print_error("%s\n  answered %s, expected %s\n", call, liblock_status_name(actual),
              liblock_status_name(expected));
  _fail(file, line);
}

void expect_soon(bool (*predicate)(void *), void *argument, const char *text, const char *file, int line) {
  if (wait_until(predicate, argument, GENEROUS_MS)) return;
  print_error("%s did not become true within %d ms\n", text, GENEROUS_MS);
  _fail(file, line);
}

liblock_acquire_options acquire_options(void) {
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  return options;
}

liblock_acquire_options try_once(void) { return waits(0); }

liblock_acquire_options waits(int64_t wait_ms) {
  liblock_acquire_options options = acquire_options();
  options.wait_ms = wait_ms;
  return options;
}

liblock_acquire_options with_ttl(int64_t ttl_ms) {
  liblock_acquire_options options = acquire_options();
  options.ttl_ms = ttl_ms;
  return options;
}

liblock_acquire_options owned_by(liblock_owner *owner) {
  liblock_acquire_options options = acquire_options();
  options.owner = owner;
  return options;
}

liblock_context_options context_options(void) {
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  return options;
}

liblock_result empty_result(void) {
  liblock_result result;
  liblock_result_init(&result, sizeof result);
  return result;
}

liblock_context *open_local(const char *url, const liblock_context_options *options) {
  liblock_context *context = NULL;
  assert_ok(liblock_open(url, options, &context, NULL));
  assert_non_null(context);
  return context;
}

void end_context(liblock_context *context) {
  assert_ok(liblock_close(context));
  liblock_context_free(context);
}

int open_anonymous(void **state) {
  liblock_context *context = NULL;
  if (liblock_open("local:", NULL, &context, NULL) != LIBLOCK_OK) return -1;
  *state = context;
  return 0;
}

int close_context(void **state) {
  const liblock_status status = liblock_close(*state);
  liblock_context_free(*state);
  *state = NULL;
  return status == LIBLOCK_OK ? 0 : -1;
}

liblock_owner *open_owner(liblock_context *context, const char *name) {
  liblock_owner *owner = NULL;
  assert_ok(liblock_owner_open(context, name, strlen(name), &owner, NULL));
  assert_non_null(owner);
  return owner;
}

liblock_lock take(liblock_context *context, const char *key) { return take_with(context, key, NULL); }

liblock_lock take_with(liblock_context *context, const char *key, const liblock_acquire_options *options) {
  liblock_lock lock = 0;
  assert_ok(liblock_acquire(context, key, strlen(key), options, &lock, NULL));
  assert_true(lock != 0);
  return lock;
}

liblock_status probe(liblock_context *context, const char *key) {
  liblock_lock lock = 0;
  const liblock_status status = liblock_try_acquire(context, key, strlen(key), NULL, &lock, NULL);
  if (status == LIBLOCK_OK)
    assert_ok(liblock_release(context, lock, NULL));
  else
    assert_true(lock == 0);
  return status;
}

liblock_stats stats_of(liblock_context *context) {
  liblock_stats stats;
  liblock_stats_init(&stats, sizeof stats);
  assert_ok(liblock_stats_get(context, &stats));
  return stats;
}

size_t waiters_of(liblock_context *context, const char *key) {
  liblock_info *info = NULL;
  const liblock_status status = liblock_inspect_queue(context, key, strlen(key), &info, NULL);
  if (status == LIBLOCK_NOT_HELD) return 0;
  assert_ok(status);
  const size_t count = liblock_info_waiter_count(info);
  liblock_info_free(info);
  return count;
}

struct expected_waiters {
  liblock_context *context;
  uint64_t count;
};

static bool has_waiters(void *argument) {
  const struct expected_waiters *expected = argument;
  return stats_of(expected->context).waiters == expected->count;
}

void await_waiters(liblock_context *context, uint64_t count) {
  struct expected_waiters expected = {context, count};
  if (wait_until(has_waiters, &expected, GENEROUS_MS)) return;
  fail_msg("%llu waiters, expected %llu", (unsigned long long)stats_of(context).waiters,
           (unsigned long long)count);
}

struct watched_lock {
  liblock_context *context;
  liblock_lock lock;
};

static bool is_lost(void *argument) {
  const struct watched_lock *watched = argument;
  return liblock_is_held(watched->context, watched->lock) == LIBLOCK_LOST;
}

void await_lost(liblock_context *context, liblock_lock lock) {
  struct watched_lock watched = {context, lock};
  assert_soon(is_lost, &watched);
}
