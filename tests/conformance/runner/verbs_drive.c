/* SPDX-License-Identifier: MIT
 *
 * Verbs that drive the scenario rather than the library: awaiting ends and notices, passing time, ending
 * threads. Each waits for a condition with a generous limit; only `sleep` waits for nothing but time.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "drive.h"
#include "match.h"

static bool end_named(const json_t *expected, const json_t *end) {
  const char *const fields[] = {"request", "lock"};
  for (size_t i = 0; i < 2; i++) {
    const json_t *name = json_object_get(expected, fields[i]);
    if (name) return json_equal(name, json_object_get(end, fields[i]));
  }
  return false;
}

/* In order: the next expectation must be the one. In any order: whichever names this end. */
static const json_t *expectation_of(json_t *left, const json_t *end, bool any_order) {
  if (!any_order) return json_array_get(left, 0);
  for (size_t i = 0; i < json_array_size(left); i++) {
    if (end_named(json_array_get(left, i), end)) return json_array_get(left, i);
  }
  return NULL;
}

static void drop(json_t *list, const json_t *item) {
  for (size_t i = 0; i < json_array_size(list); i++) {
    if (json_array_get(list, i) == item) {
      json_array_remove(list, i);
      return;
    }
  }
}

static void perform_await(struct call *call) {
  struct world *world = call->world;
  json_t *left = json_copy(json_object_get(call->step, "ends"));
  const bool any_order = step_flag(call, "any_order");
  while (json_array_size(left) && !call->fault.set && !world->fault.set) {
    json_t *end = end_read(world, call->context, LIMIT_MS, &call->fault);
    if (!end) {
      blame(&call->fault, "expected the end %s, got none", json_line(&world->arena, json_array_get(left, 0)));
      break;
    }
    const json_t *expected = expectation_of(left, end, any_order);
    if (!expected || !end_named(expected, end)) {
      blame(&call->fault, "expected the end %s, got %s", json_line(&world->arena, expected ? expected : left),
            json_line(&world->arena, end));
    } else {
      expect_match(world, expected, end, &call->fault);
      drop(left, expected);
    }
    json_decref(end);
  }
  json_decref(left);
}

static void perform_idle(struct call *call) { ends_none(call->world, &call->fault); }

/* Until the queue has as many waiters as the step says; inspect_queue is asked, as a waiter on a named thread
 * gives no other sign of itself. */
static void perform_await_queue(struct call *call) {
  const size_t wanted = (size_t)json_integer_value(json_object_get(call->step, "waiters"));
  const int64_t limit = now_ms() + LIMIT_MS;
  const struct timespec pause = {0, 1000000};
  size_t waiters = 0;
  for (;;) {
    liblock_info *info = NULL;
    const liblock_status status =
        liblock_inspect_queue(call->context->context, call->keys->data, call->keys->size, &info, NULL);
    if (status != LIBLOCK_OK && status != LIBLOCK_NOT_HELD) {
      blame(&call->fault, "inspect_queue answered %s", liblock_status_name(status));
    }
    waiters = liblock_info_waiter_count(info);
    liblock_info_free(info);
    if (waiters == wanted || call->fault.set || now_ms() > limit) break;
    nanosleep(&pause, NULL);
  }
  if (waiters != wanted) blame(&call->fault, "expected %zu waiters, got %zu", wanted, waiters);
}

static void perform_await_notice(struct call *call) {
  struct hold *hold = call->hold;
  struct timespec limit;
  clock_gettime(CLOCK_MONOTONIC, &limit);
  limit.tv_sec += LIMIT_MS / 1000;
  pthread_mutex_lock(&call->world->mutex);
  hold->notices_awaited++;
  int late = 0;
  while (hold->notices < hold->notices_awaited && !late) {
    late = pthread_cond_timedwait(&call->world->changed, &call->world->mutex, &limit);
  }
  const unsigned notices = hold->notices;
  pthread_mutex_unlock(&call->world->mutex);
  if (notices != hold->notices_awaited) {
    blame(&call->fault, "expected %u calls of on_lost of \"%s\", got %u", hold->notices_awaited, hold->name,
          notices);
  }
}

static void perform_sleep(struct call *call) {
  const struct timespec pause = {call->number_ms / 1000, call->number_ms % 1000 * 1000000};
  nanosleep(&pause, NULL);
}

static void perform_finish(struct call *call) {
  struct call *over = actor_finish(call->world, step_text(call->step, "of"), &call->fault);
  if (over) call_settle(over);
}

static void perform_end_thread(struct call *call) {
  actor_end(call->world, step_text(call->step, "of"), &call->fault);
}

const struct verb drive_verbs[] = {
    {"await", "ends", "any_order", "", perform_await, true},
    {"idle", "", "", "", perform_idle, true},
    {"await_queue", "key waiters", "", "", perform_await_queue, true},
    {"await_notice", "lock", "", "", perform_await_notice, true},
    {"sleep", "ms", "", "", perform_sleep, true},
    {"finish", "of", "", "", perform_finish, true},
    {"end_thread", "of", "", "", perform_end_thread, true},
    {NULL, NULL, NULL, NULL, NULL, false},
};
