/* SPDX-License-Identifier: MIT
 *
 * Preparing and settling calls: see call.h.
 */
#include "call.h"

#include <string.h>

#include "match.h"

const struct verb *verb_find(const char *name) {
  const struct verb *const tables[] = {lock_verbs, look_verbs, admin_verbs, drive_verbs};
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    for (const struct verb *verb = tables[i]; verb->name; verb++) {
      if (strcmp(verb->name, name) == 0) return verb;
    }
  }
  return NULL;
}

bool step_flag(const struct call *call, const char *name) {
  return json_is_true(json_object_get(call->step, name));
}

const char *step_text(const json_t *step, const char *name) {
  return json_string_value(json_object_get(step, name));
}

/* ----------------------------------------------------------------------------------------- preparing --- */

/* Verbs that do not speak of one context. */
static const char at_large[] = "open sleep finish end_thread idle await_notice";

static bool resolve_context(struct call *call) {
  const char *name = step_text(call->step, "context");
  call->context = world_context(call->world, name ? name : "c");
  const bool open = call->context && call->context->context;
  if (!open && !word_in(at_large, call->verb->name)) {
    return blame(&call->fault, "no open context is named \"%s\"", name ? name : "c");
  }
  const char *instance = step_text(call->step, "instance");
  if (!instance) return true;
  call->instance = world_context(call->world, instance);
  return call->instance || blame(&call->fault, "no context is named \"%s\"", instance);
}

static bool resolve_owner(struct call *call) {
  const char *name = step_text(call->step, "owner");
  if (!name) return true;
  if (strcmp(name, "THREAD") == 0) {
    call->owner_handle = LIBLOCK_OWNER_THREAD;
    return true;
  }
  call->owner = world_owner(call->world, name);
  if (!call->owner) return blame(&call->fault, "no owner is named \"%s\"", name);
  call->owner_handle = call->owner->owner;
  return true;
}

static bool resolve_hold(struct call *call) {
  const char *lock = step_text(call->step, "lock");
  const char *request = step_text(call->step, "request");
  if (!lock && !request) return true;
  call->hold = world_hold(call->world, lock ? lock : request);
  if (!call->hold) return blame(&call->fault, "nothing is named \"%s\"", lock ? lock : request);
  if (lock && !call->hold->lock) return blame(&call->fault, "\"%s\" never was granted", lock);
  if (request && !call->hold->request) return blame(&call->fault, "\"%s\" is no request", request);
  return true;
}

static bool read_keys(struct call *call) {
  const json_t *key = json_object_get(call->step, "key");
  const json_t *keys = json_object_get(call->step, "keys");
  call->key_count = key ? 1 : json_array_size(keys);
  call->keys = arena_get(&call->world->arena, (call->key_count + 1) * sizeof *call->keys);
  if (key) return bytes_read(key, &call->world->arena, call->keys, &call->fault);
  for (size_t i = 0; i < call->key_count; i++) {
    if (!bytes_read(json_array_get(keys, i), &call->world->arena, &call->keys[i], &call->fault)) return false;
  }
  return true;
}

static bool read_values(struct call *call) {
  const json_t *value = json_object_get(call->step, "value");
  if (!value) value = json_object_get(call->step, "prefix");
  if (value && !bytes_read(value, &call->world->arena, &call->value, &call->fault)) return false;
  const json_t *ttl = json_object_get(call->step, "ttl_ms");
  if (ttl) return ttl_read(ttl, &call->number_ms, &call->fault);
  const json_t *wait = json_object_get(call->step, "wait_ms");
  if (!wait) wait = json_object_get(call->step, "ms");
  call->number_ms = wait ? json_integer_value(wait) : LIMIT_MS;
  return true;
}

static bool begins(const struct call *call, const char *prefix) {
  return strncmp(call->verb->name, prefix, strlen(prefix)) == 0;
}

/* Options are passed only where the scenario needs some, so that the NULL path is exercised by all others. */
static bool read_acquire_options(struct call *call, bool async) {
  const json_t *node = json_object_get(call->step, "options");
  if (!node && !call->owner_handle && !async) return true;
  liblock_acquire_options *options = arena_get(&call->world->arena, sizeof *options);
  enum lost_notice notice;
  if (!acquire_options_read(node, &call->world->arena, options, &notice, &call->fault)) return false;
  options->owner = call->owner_handle;
  if (async || notice == LOST_NOTICE_COMPLETIONS) {
    options->completions = world_completions(call->world, call->context);
    if (!options->completions) return blame(&call->fault, "%s", call->world->fault.text);
  }
  if (notice == LOST_NOTICE_CALLBACK) {
    options->on_lost = on_lost_called;
    options->on_lost_user_data = call->made;
  }
  call->options = options;
  return true;
}

static bool prepare_acquire(struct call *call) {
  const char *name = step_text(call->step, "as");
  if (!name) name = arena_text(&call->world->arena, "#%zu", call->number);
  call->made = world_add_hold(call->world, name);
  if (!call->made) return blame(&call->fault, "the name \"%s\" is taken", name);
  call->made->context = call->context;
  call->made->keys = call->keys;
  call->made->key_count = call->key_count;
  call->made->owned = call->owner_handle != NULL;
  return read_acquire_options(call, strcmp(call->verb->name, "acquire_async") == 0);
}

static bool prepare_names(struct call *call) {
  const char *name = step_text(call->step, "as");
  if (strcmp(call->verb->name, "open") == 0) {
    call->opened = world_add_context(call->world, name);
    return call->opened || blame(&call->fault, "the name \"%s\" is taken", name);
  }
  if (begins(call, "owner_") && name) {
    call->introduced = world_add_owner(call->world, name);
    return call->introduced || blame(&call->fault, "the name \"%s\" is taken", name);
  }
  return begins(call, "acquire") || begins(call, "try_acquire") ? prepare_acquire(call) : true;
}

struct call *call_prepare(struct world *world, const json_t *step, size_t number) {
  struct call *call = arena_get(&world->arena, sizeof *call);
  call->world = world;
  call->step = step;
  call->number = number;
  call->verb = verb_find(step_text(step, "do"));
  call->got = json_object();
  if (resolve_context(call) && resolve_owner(call) && resolve_hold(call) && read_keys(call) &&
      read_values(call)) {
    prepare_names(call);
  }
  return call;
}

/* ------------------------------------------------------------------------------------------ settling --- */

liblock_result result_poisoned(void) {
  liblock_result result;
  memset(&result, 0x5a, sizeof result);
  liblock_result_init(&result, sizeof result);
  memset((char *)&result + sizeof result.struct_size, 0x5a, sizeof result - sizeof result.struct_size);
  return result;
}

void tell(struct call *call, const char *name, json_t *value) { json_object_set_new(call->got, name, value); }

void tell_status(struct call *call, liblock_status status) {
  call->status = status;
  tell(call, "status", json_string(liblock_status_name(status)));
}

static void result_check(struct call *call, liblock_status status, const liblock_result *result) {
  const uint32_t known = LIBLOCK_RESULT_REENTERED | LIBLOCK_RESULT_WAITED | LIBLOCK_RESULT_TOOK_OVER |
                         LIBLOCK_RESULT_HAD_LOCK | LIBLOCK_RESULT_HAD_QUEUE;
  if (result->status != status) {
    blame(&call->fault, "returned %s, but the result says %s (%d)", liblock_status_name(status),
          liblock_status_name(result->status), (int)result->status);
  }
  if (!memchr(result->message, 0, sizeof result->message)) {
    blame(&call->fault, "the result's message has no end");
  } else if ((result->message[0] == '\0') != (status == LIBLOCK_OK)) {
    blame(&call->fault, "status %s with the message \"%s\"", liblock_status_name(status), result->message);
  }
  if (result->flags & ~known) blame(&call->fault, "unknown result flags %#x", (unsigned)result->flags);
  if (result->waited_ms < 0) blame(&call->fault, "waited_ms is %lld", (long long)result->waited_ms);
}

static json_t *flags_write(uint32_t flags) {
  json_t *list = json_array();
  if (flags & LIBLOCK_RESULT_REENTERED) json_array_append_new(list, json_string("REENTERED"));
  if (flags & LIBLOCK_RESULT_WAITED) json_array_append_new(list, json_string("WAITED"));
  if (flags & LIBLOCK_RESULT_TOOK_OVER) json_array_append_new(list, json_string("TOOK_OVER"));
  if (flags & LIBLOCK_RESULT_HAD_LOCK) json_array_append_new(list, json_string("HAD_LOCK"));
  if (flags & LIBLOCK_RESULT_HAD_QUEUE) json_array_append_new(list, json_string("HAD_QUEUE"));
  return list;
}

void tell_result(struct call *call, liblock_status status, const liblock_result *result) {
  tell_status(call, status);
  result_check(call, status, result);
  tell(call, "token", json_integer((json_int_t)result->token));
  tell(call, "attempts", json_integer(result->attempts));
  tell(call, "waited_ms", json_integer(result->waited_ms));
  tell(call, "remaining_ms", json_integer(result->remaining_ms));
  tell(call, "queue_position", json_integer(result->queue_position));
  tell(call, "queue_length", json_integer(result->queue_length));
  tell(call, "hold_count", json_integer(result->hold_count));
  tell(call, "votes", json_integer(result->votes));
  tell(call, "nodes", json_integer(result->nodes));
  tell(call, "flags", flags_write(result->flags));
  call->reentered = (result->flags & LIBLOCK_RESULT_REENTERED) != 0;
}

void call_settle(struct call *call) {
  struct world *world = call->world;
  if (!call->fault.set && call->made && call->made->lock) world_granted(world, call->made, call->reentered);
  if (!call->fault.set && !world->fault.set) {
    json_t *nothing = json_object();
    const json_t *expect = json_object_get(call->step, "expect");
    expect_match(world, expect ? expect : nothing, call->got, &call->fault);
    json_decref(nothing);
  }
  json_decref(call->got);
  call->got = NULL;
  if (call->fault.set) blame(&world->fault, "%s", call->fault.text);
}
