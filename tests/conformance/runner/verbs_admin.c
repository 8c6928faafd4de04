/* SPDX-License-Identifier: MIT
 *
 * Verbs on contexts and owners, and the administrator's: open, close, clear and their kin.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "call.h"

#define RUBBISH UINT64_C(777777777)

/* ------------------------------------------------------------------------------------------ contexts --- */

/* Where a context of this space lives on the backend under test: local spaces are names of tables, all others
 * are prefixes, so that scenarios never meet each other's keys. */
static const char *space_url(struct call *call, const char *space, liblock_context_options *options) {
  struct world *world = call->world;
  const char *url = step_text(call->step, "url");
  if (url) return url;
  const bool local = strncmp(world->url, "local:", 6) == 0;
  if (local && !step_text(call->step, "space")) return "local:";
  char *name = arena_text(&world->arena, "conformance-%ld-%s:", (long)getpid(), space);
  if (local) return arena_text(&world->arena, "local:%s", name);
  if (!options->prefix) {
    options->prefix = name;
    options->prefix_size = strlen(name);
  }
  return world->url;
}

static void count_open(liblock_context *context, void *user_data) {
  (void)context;
  ++*(unsigned *)user_data;
}

static void tell_instance(struct call *call) {
  struct context_slot *slot = call->opened;
  size_t needed = 0;
  const liblock_status status =
      liblock_instance_id(slot->context, slot->instance, sizeof slot->instance, &needed);
  if (status != LIBLOCK_OK || needed == 0 || needed >= sizeof slot->instance) {
    blame(&call->fault, "instance_id answered %s, needing %zu bytes", liblock_status_name(status), needed);
  }
}

static void perform_open(struct call *call) {
  struct world *world = call->world;
  struct context_slot *slot = call->opened;
  liblock_context_options options;
  unsigned opens = 0;
  if (!context_options_read(json_object_get(call->step, "options"), &world->arena, &options, &call->fault))
    return;
  options.on_open = count_open;
  options.on_open_user_data = &opens;
  const char *space = step_text(call->step, "space");
  slot->space = space ? arena_text(&world->arena, "%u-%s", world->number, space)
                      : arena_text(&world->arena, "%u-private-%s", world->number, slot->name);
  const char *url = space_url(call, slot->space, &options);
  liblock_result result = result_poisoned();
  const liblock_status status = liblock_open(url, &options, &slot->context, &result);
  tell_result(call, status, &result);
  tell(call, "on_open_calls", json_integer(opens));
  if ((status == LIBLOCK_OK) != (slot->context != NULL)) {
    blame(&call->fault, "%s %s a context", liblock_status_name(status), slot->context ? "with" : "without");
  } else if (slot->context) {
    tell_instance(call);
  }
}

static void perform_close(struct call *call) {
  tell_status(call, liblock_close(call->context->context));
  call->context->closed = true;
}

struct close_notice {
  struct world *world;
  unsigned calls;
  int32_t kind;
  liblock_status status;
};

static void close_done(const liblock_completion *completion, void *user_data) {
  struct close_notice *notice = user_data;
  pthread_mutex_lock(&notice->world->mutex);
  notice->calls++;
  notice->kind = completion->kind;
  notice->status = completion->status;
  pthread_cond_broadcast(&notice->world->changed);
  pthread_mutex_unlock(&notice->world->mutex);
}

static void perform_close_async(struct call *call) {
  struct world *world = call->world;
  struct close_notice *notice = arena_get(&world->arena, sizeof *notice);
  notice->world = world;
  call->context->closed = true;
  const liblock_status status = liblock_close_async(call->context->context, close_done, notice);
  tell_status(call, status);
  if (status != LIBLOCK_OK) return;
  struct timespec limit;
  clock_gettime(CLOCK_MONOTONIC, &limit);
  limit.tv_sec += LIMIT_MS / 1000;
  pthread_mutex_lock(&world->mutex);
  int late = 0;
  while (!notice->calls && !late) late = pthread_cond_timedwait(&world->changed, &world->mutex, &limit);
  if (late) blame(&call->fault, "the callback of close_async never came");
  if (!late && (notice->kind != LIBLOCK_KIND_CLOSE || notice->status != LIBLOCK_OK)) {
    blame(&call->fault, "close_async ended with kind %d, %s", (int)notice->kind,
          liblock_status_name(notice->status));
  }
  pthread_mutex_unlock(&world->mutex);
}

static void perform_ping(struct call *call) {
  liblock_result result = result_poisoned();
  tell_result(call, liblock_ping(call->context->context, &result), &result);
}

/* -------------------------------------------------------------------------------------------- owners --- */

static void tell_identity(struct call *call, const liblock_owner *owner) {
  struct owner_slot *slot = call->introduced;
  size_t needed = 0;
  const liblock_status status =
      liblock_owner_id(call->context->context, owner, slot->identity, sizeof slot->identity, &needed);
  if (status != LIBLOCK_OK || needed == 0 || needed >= sizeof slot->identity) {
    blame(&call->fault, "owner_id answered %s, needing %zu bytes", liblock_status_name(status), needed);
  }
}

static void perform_owner_open(struct call *call) {
  liblock_result result = result_poisoned();
  liblock_owner *owner = NULL;
  const char *name = step_text(call->step, "name");
  const liblock_status status =
      liblock_owner_open(call->context->context, name, name ? strlen(name) : 0, &owner, &result);
  tell_result(call, status, &result);
  if ((status == LIBLOCK_OK) != (owner != NULL)) {
    blame(&call->fault, "%s %s an owner", liblock_status_name(status), owner ? "with" : "without");
  }
  call->introduced->owner = owner;
  if (owner) tell_identity(call, owner);
}

static void perform_owner_close(struct call *call) {
  tell_status(call, liblock_owner_close(call->owner_handle));
}

static void perform_owner_id(struct call *call) { tell_identity(call, call->owner_handle); }

/* ------------------------------------------------------------------------------------ administration --- */

static void perform_force_release(struct call *call) {
  liblock_result result = result_poisoned();
  const int32_t flags = step_flag(call, "drop_queue") ? LIBLOCK_DROP_QUEUE : 0;
  const liblock_status status =
      liblock_force_release(call->context->context, call->keys->data, call->keys->size, flags, &result);
  tell_result(call, status, &result);
}

/* A report filled with values that no call may leave behind, as results are. */
static liblock_report report_poisoned(void) {
  liblock_report report;
  memset(&report, 0x5a, sizeof report);
  report.struct_size = sizeof report;
  return report;
}

static void reported(struct call *call, liblock_status status, const liblock_report *report,
                     const liblock_result *result) {
  tell_result(call, status, result);
  if (status != LIBLOCK_OK) return;
  tell(call, "count", json_integer((json_int_t)report->locks));
  tell(call, "queues", json_integer((json_int_t)report->queues));
  tell(call, "cleared_keys", json_integer((json_int_t)report->keys));
  tell(call, "dequeued", json_integer((json_int_t)report->waiters));
  if (report->elapsed_us < 0 || report->keys != report->locks + report->queues)
    blame(&call->fault, "the report does not add up");
}

static void counted(struct call *call, liblock_status status, uint64_t count, const liblock_result *result) {
  tell_result(call, status, result);
  if (status == LIBLOCK_OK) tell(call, "count", json_integer((json_int_t)count));
}

static const liblock_clear_options *clear_options(struct call *call, liblock_clear_options *options) {
  const json_t *batch = json_object_get(call->step, "batch_size");
  const json_t *dead = json_object_get(call->step, "dead_ttl_ms");
  if (!batch && !dead) return NULL;
  liblock_clear_options_init(options, sizeof *options);
  if (batch) options->batch_size = options->scan_size = json_integer_value(batch);
  if (dead) options->dead_ttl_ms = json_integer_value(dead);
  return options;
}

static void perform_clear(struct call *call) {
  liblock_result result = result_poisoned();
  liblock_report report = report_poisoned();
  liblock_clear_options options;
  const liblock_status status =
      liblock_clear(call->context->context, clear_options(call, &options), &report, &result);
  reported(call, status, &report, &result);
}

static void perform_clear_owner(struct call *call) {
  liblock_result result = result_poisoned();
  liblock_report report = report_poisoned();
  liblock_clear_options options;
  if (!call->owner) {
    blame(&call->fault, "clear_owner takes an owner with a name of its own");
    return;
  }
  const char *identity = call->owner->identity;
  const liblock_status status = liblock_clear_owner(call->context->context, identity, strlen(identity),
                                                    clear_options(call, &options), &report, &result);
  reported(call, status, &report, &result);
}

static void perform_clear_instance(struct call *call) {
  liblock_result result = result_poisoned();
  liblock_report report = report_poisoned();
  liblock_clear_options options;
  const char *identity = call->instance->instance;
  const liblock_status status = liblock_clear_instance(call->context->context, identity, strlen(identity),
                                                       clear_options(call, &options), &report, &result);
  reported(call, status, &report, &result);
}

static void perform_clear_dead(struct call *call) {
  liblock_result result = result_poisoned();
  liblock_report report = report_poisoned();
  liblock_clear_options options;
  const liblock_status status =
      liblock_clear_dead(call->context->context, clear_options(call, &options), &report, &result);
  reported(call, status, &report, &result);
}

static void perform_sweep(struct call *call) {
  liblock_result result = result_poisoned();
  uint64_t count = RUBBISH;
  const liblock_status status = liblock_sweep(call->context->context, &count, &result);
  counted(call, status, count, &result);
}

#define CLEAR_OPTIONS "batch_size dead_ttl_ms"
#define TELLS_REPORT TELLS_RESULT " count queues cleared_keys dequeued"

const struct verb admin_verbs[] = {
    {"open", "as", "space url options", TELLS_RESULT " on_open_calls", perform_open, true},
    {"close", "", "", "status", perform_close, true},
    {"close_async", "", "", "status", perform_close_async, true},
    {"ping", "", "", TELLS_RESULT, perform_ping, false},
    {"owner_open", "as", "name", TELLS_RESULT, perform_owner_open, true},
    {"owner_close", "owner", "", "status", perform_owner_close, false},
    {"owner_id", "as owner", "", "", perform_owner_id, false},
    {"force_release", "key", "drop_queue", TELLS_RESULT, perform_force_release, false},
    {"clear", "", CLEAR_OPTIONS, TELLS_REPORT, perform_clear, false},
    {"clear_owner", "owner", CLEAR_OPTIONS, TELLS_REPORT, perform_clear_owner, false},
    {"clear_instance", "instance", CLEAR_OPTIONS, TELLS_REPORT, perform_clear_instance, false},
    {"clear_dead", "", CLEAR_OPTIONS, TELLS_REPORT, perform_clear_dead, false},
    {"sweep", "", "", TELLS_RESULT " count", perform_sweep, false},
    {NULL, NULL, NULL, NULL, NULL, false},
};
