/* SPDX-License-Identifier: MIT
 *
 * Verbs that only look: is_locked, inspect, lists, waits on a key, statistics.
 */
#include <string.h>
#include <time.h>

#include "call.h"

#define RUBBISH 0x5a5a5a5a

static void tell_bytes(json_t *told, const char *name, const void *data, size_t size) {
  json_object_set_new(told, name, data || !size ? bytes_write(data, size) : json_null());
}

static void perform_is_locked(struct call *call) {
  int32_t locked = RUBBISH;
  tell_status(call, liblock_is_locked(call->context->context, call->keys->data, call->keys->size, &locked));
  if (locked == 0 || locked == 1) tell(call, "locked", json_boolean(locked));
}

static void perform_is_queued(struct call *call) {
  int32_t queued = RUBBISH;
  tell_status(call, liblock_is_queued(call->context->context, call->keys->data, call->keys->size, &queued));
  if (queued == 0 || queued == 1) tell(call, "queued", json_boolean(queued));
}

static json_t *metadata_write(const liblock_info *info) {
  json_t *told = json_object();
  for (size_t i = 0; i < liblock_info_metadata_count(info); i++) {
    liblock_metadata pair;
    if (liblock_info_metadata_at(info, i, &pair) != LIBLOCK_OK) continue;
    json_object_setn_new(told, pair.name.data, pair.name.size, bytes_write(pair.value.data, pair.value.size));
  }
  return told;
}

static json_t *queue_write(const liblock_info *info) {
  json_t *queue = json_array();
  for (size_t i = 0; i < liblock_info_waiter_count(info); i++) {
    size_t size = 0;
    json_t *waiter = json_object();
    const void *owner = liblock_info_waiter_owner(info, i, &size);
    if (owner) tell_bytes(waiter, "owner", owner, size);
    const void *instance = liblock_info_waiter_instance(info, i, &size);
    if (instance) tell_bytes(waiter, "instance", instance, size);
    json_object_set_new(waiter, "waited_ms", json_integer(liblock_info_waiter_waited_ms(info, i)));
    json_object_set_new(waiter, "priority", json_integer(liblock_info_waiter_priority(info, i)));
    const int32_t order = liblock_info_waiter_order(info, i);
    json_object_set_new(waiter, "order", json_string(order_name(order)));
    json_array_append_new(queue, waiter);
  }
  return queue;
}

/* -1 where that is not known. */
static int64_t held_for_ms(const liblock_info *info) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t since_us = liblock_info_since_us(info);
  return since_us == 0 ? -1 : (now.tv_sec * 1000000 + now.tv_nsec / 1000 - since_us) / 1000;
}

static void tell_info(struct call *call, const liblock_info *info) {
  size_t size = 0;
  const void *data = liblock_info_key(info, &size);
  tell_bytes(call->got, "key", data, size);
  tell(call, "held", json_boolean(liblock_info_is_held(info)));
  tell(call, "global", json_boolean(liblock_info_is_global(info)));
  tell(call, "zombie", json_boolean(liblock_info_is_zombie(info)));
  if ((data = liblock_info_owner(info, &size))) tell_bytes(call->got, "owner", data, size);
  if ((data = liblock_info_instance(info, &size))) tell_bytes(call->got, "instance", data, size);
  data = liblock_info_value(info, &size);
  tell_bytes(call->got, "value", data, data ? size : 0);
  tell(call, "token", json_integer((json_int_t)liblock_info_token(info)));
  tell(call, "held_for_ms", json_integer(held_for_ms(info)));
  tell(call, "initial_ttl_ms", json_integer(liblock_info_initial_ttl_ms(info)));
  tell(call, "remaining_ms", json_integer(liblock_info_remaining_ms(info)));
  tell(call, "hold_count", json_integer(liblock_info_hold_count(info)));
  tell(call, "metadata", metadata_write(info));
  tell(call, "waiter_count", json_integer((json_int_t)liblock_info_waiter_count(info)));
  tell(call, "queue", queue_write(info));
}

static void inspected(struct call *call, liblock_status status, liblock_info *info,
                      const liblock_result *result) {
  tell_result(call, status, result);
  if ((status == LIBLOCK_OK) != (info != NULL)) {
    blame(&call->fault, "%s %s an info", liblock_status_name(status), info ? "with" : "without");
  }
  if (info) tell_info(call, info);
  liblock_info_free(info);
}

static void perform_inspect(struct call *call) {
  liblock_result result = result_poisoned();
  liblock_info *info = NULL;
  const liblock_status status =
      liblock_inspect(call->context->context, call->keys->data, call->keys->size, &info, &result);
  inspected(call, status, info, &result);
}

static void perform_inspect_queue(struct call *call) {
  liblock_result result = result_poisoned();
  liblock_info *info = NULL;
  const liblock_status status =
      liblock_inspect_queue(call->context->context, call->keys->data, call->keys->size, &info, &result);
  inspected(call, status, info, &result);
}

/* The global lock has no key, so it is counted apart from the keys. */
static void tell_list(struct call *call, liblock_cursor *cursor) {
  json_t *keys = json_array();
  json_int_t globals = 0;
  liblock_info *info = NULL;
  liblock_status status;
  while ((status = liblock_cursor_next(cursor, &info)) == LIBLOCK_OK && info) {
    size_t size = 0;
    const void *key = liblock_info_key(info, &size);
    if (liblock_info_is_global(info)) {
      globals++;
    } else {
      json_array_append_new(keys, bytes_write(key, size));
    }
    liblock_info_free(info);
  }
  if (status != LIBLOCK_OK) blame(&call->fault, "cursor_next answered %s", liblock_status_name(status));
  tell(call, "count", json_integer((json_int_t)json_array_size(keys)));
  tell(call, "keys", keys);
  tell(call, "globals", json_integer(globals));
}

static void perform_list(struct call *call) {
  liblock_list_options options;
  liblock_list_options_init(&options, sizeof options);
  options.key_prefix = call->value.data;
  options.key_prefix_size = call->value.size;
  const json_t *batch = json_object_get(call->step, "batch_size");
  if (batch) options.batch_size = json_integer_value(batch);
  const liblock_list_options *given = batch || json_object_get(call->step, "prefix") ? &options : NULL;
  liblock_result result = result_poisoned();
  liblock_cursor *cursor = NULL;
  liblock_context *context = call->context->context;
  const char *what = call->verb->name;
  const liblock_status status =
      strcmp(what, "list_locks") == 0    ? liblock_list_locks(context, given, &cursor, &result)
      : strcmp(what, "list_queues") == 0 ? liblock_list_queues(context, given, &cursor, &result)
                                         : liblock_list_keys(context, given, &cursor, &result);
  tell_result(call, status, &result);
  if ((status == LIBLOCK_OK) != (cursor != NULL)) {
    blame(&call->fault, "%s %s a cursor", liblock_status_name(status), cursor ? "with" : "without");
  } else if (cursor) {
    tell_list(call, cursor);
  }
  liblock_cursor_free(cursor);
}

static void perform_wait_held(struct call *call) {
  liblock_result result = result_poisoned();
  const liblock_status status =
      liblock_wait_held(call->context->context, call->keys->data, call->keys->size, call->number_ms, &result);
  tell_result(call, status, &result);
}

static void perform_wait_released(struct call *call) {
  liblock_result result = result_poisoned();
  const liblock_status status = liblock_wait_released(call->context->context, call->keys->data,
                                                      call->keys->size, call->number_ms, &result);
  tell_result(call, status, &result);
}

#define COUNTERS(X)                                                                             \
  X(locks_held)                                                                                 \
  X(waiters)                                                                                    \
  X(acquired)                                                                                   \
  X(released)                                                                                   \
  X(contended)                                                                                  \
  X(handed_off)                                                                                 \
  X(expired)                                                                                    \
  X(taken_away)                                                                                 \
  X(taken_over) X(timeouts) X(canceled) X(deadlocks) X(deadlock_searches) X(renewals) X(sweeps) \
      X(sweep_entries) X(sweep_entries_per_hold_max) X(dropped_notices) X(passed_on)
#define COUNTER_NAME(name) " " #name

static void perform_stats(struct call *call) {
  liblock_stats stats;
  liblock_stats_init(&stats, sizeof stats);
  tell_status(call, liblock_stats_get(call->context->context, &stats));
#define COUNTER_TELL(name) tell(call, #name, json_integer((json_int_t)stats.name));
  COUNTERS(COUNTER_TELL)
#undef COUNTER_TELL
}

#define TELLS_INFO                                                                                    \
  "status key held global zombie owner instance value token held_for_ms initial_ttl_ms remaining_ms " \
  "hold_count "                                                                                       \
  "metadata waiter_count queue"

const struct verb look_verbs[] = {
    {"is_locked", "key", "", "status locked", perform_is_locked, false},
    {"is_queued", "key", "", "status queued", perform_is_queued, false},
    {"inspect", "key", "", TELLS_INFO, perform_inspect, false},
    {"inspect_queue", "key", "", TELLS_INFO, perform_inspect_queue, false},
    {"list_locks", "", "prefix batch_size", "status keys count globals", perform_list, false},
    {"list_queues", "", "prefix batch_size", "status keys count globals", perform_list, false},
    {"list_keys", "", "prefix batch_size", "status keys count globals", perform_list, false},
    {"wait_held", "key", "wait_ms", TELLS_RESULT, perform_wait_held, false},
    {"wait_released", "key", "wait_ms", TELLS_RESULT, perform_wait_released, false},
    {"stats", "", "", "status" COUNTERS(COUNTER_NAME), perform_stats, false},
    {NULL, NULL, NULL, NULL, NULL, false},
};
