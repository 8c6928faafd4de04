/* SPDX-License-Identifier: MIT
 *
 * The asynchronous calls of bridge.h, and the trampolines: functions that the library calls and that hand on the
 * number which Go gave as user data. The functions named liblockGo… are Go's (exports.go).
 */
#include <string.h>

#include "_cgo_export.h"
#include "bridge.h"

static void *data_of(uintptr_t id) { return (void *)id; }

static bridge_completion flat(const liblock_completion *end, uintptr_t id) {
  return (bridge_completion){
      end->kind,         end->status,       end->request, end->lock,    end->token,      end->remaining_ms,
      end->waited_ms,    id,                end->message, end->info,    end->queue_position,
      end->queue_length, end->attempts,     end->hold_count, end->flags, end->votes,     end->nodes,
      end->replicas};
}

static void on_end(const liblock_completion *end, void *user_data) {
  bridge_completion copy = flat(end, (uintptr_t)user_data);
  liblockGoEnd(&copy);
}

static void on_lost(const liblock_completion *end, void *user_data) {
  if (end->kind == LIBLOCK_KIND_LOST) liblockGoLost((uintptr_t)user_data, end->lock);
}

static int64_t on_backoff(uint32_t attempt, void *user_data) { return liblockGoBackoff(attempt, (uintptr_t)user_data); }

static void on_queued(int64_t position, int64_t length, void *user_data) {
  liblockGoQueued(position, length, (uintptr_t)user_data);
}

static void on_open(liblock_context *context, void *user_data) {
  (void)context;
  liblockGoOpened((uintptr_t)user_data);
}

static void on_event(const liblock_event *event, void *user_data) {
  liblockGoEvent((liblock_event *)event, (uintptr_t)user_data);
}

static void on_log(const liblock_log_entry *entry, void *user_data) {
  liblockGoLog((liblock_log_entry *)entry, (uintptr_t)user_data);
}

static int32_t on_instance(const liblock_instance *instance, void *user_data) {
  return liblockGoInstance((liblock_instance *)instance, (uintptr_t)user_data);
}

static int32_t on_node(const liblock_node *node, void *user_data) {
  return liblockGoNode((liblock_node *)node, (uintptr_t)user_data);
}

static int32_t on_sample(int32_t percent, const liblock_bytes *key, uint64_t tag, void *user_data) {
  return liblockGoSample(percent, (liblock_bytes *)key, tag, (uintptr_t)user_data);
}

void bridge_hook(liblock_acquire_options *options, bridge_hooks hooks) {
  options->on_lost = hooks.lost ? on_lost : NULL;
  options->on_lost_user_data = data_of(hooks.lost);
  options->backoff_callback = hooks.backoff ? on_backoff : NULL;
  options->backoff_user_data = data_of(hooks.backoff);
  options->on_queued = hooks.queued ? on_queued : NULL;
  options->on_queued_user_data = data_of(hooks.queued);
}

liblock_status bridge_instruments(liblock_context *context, liblock_instrument_options *options, uintptr_t events,
                                  uintptr_t log) {
  options->events_sampler = events ? on_sample : NULL;
  options->events_sampler_user_data = data_of(events);
  options->log_sampler = log ? on_sample : NULL;
  options->log_sampler_user_data = data_of(log);
  return liblock_set_instruments(context, options);
}

liblock_status bridge_set_events(liblock_context *context, uint64_t mask, uintptr_t id) {
  return liblock_set_events(context, mask, id ? on_event : NULL, data_of(id));
}

liblock_status bridge_set_log(liblock_context *context, int32_t level, uintptr_t id) {
  return liblock_set_log(context, level, id ? on_log : NULL, data_of(id));
}

bridge_answer bridge_open(const char *url, liblock_context_options *options, uintptr_t id) {
  bridge_answer answer;
  memset(&answer, 0, sizeof answer);
  memset(&answer.result, 0x5a, sizeof answer.result);
  answer.result.struct_size = sizeof answer.result;
  liblock_context *context = NULL;
  options->on_open = id ? on_open : NULL;
  options->on_open_user_data = data_of(id);
  answer.status = liblock_open(url, options, &context, &answer.result);
  answer.object = context;
  return answer;
}

liblock_status bridge_close_async(liblock_context *context, uintptr_t id) {
  return liblock_close_async(context, on_end, data_of(id));
}

bridge_answer bridge_acquire_async(liblock_context *context, int32_t how, const char *key, size_t size,
                                   const liblock_bytes *keys, size_t count, const liblock_acquire_options *options,
                                   bridge_end end) {
  bridge_answer answer;
  memset(&answer, 0, sizeof answer);
  liblock_callback callback = end.queue ? NULL : on_end;
  void *data = data_of(end.id);
  if (how == BRIDGE_MANY) {
    answer.status = liblock_acquire_many_async(context, keys, count, options, callback, data, &answer.request);
  } else if (how == BRIDGE_GLOBAL) {
    answer.status = liblock_acquire_global_async(context, options, callback, data, &answer.request);
  } else {
    answer.status = liblock_acquire_async(context, key, size, options, callback, data, &answer.request);
  }
  return answer;
}

bridge_answer bridge_lock_async(liblock_context *context, int32_t call, uint64_t lock, int64_t ms, int32_t flags,
                                const char *value, size_t size, bridge_end end) {
  bridge_answer a;
  memset(&a, 0, sizeof a);
  liblock_callback callback = end.queue || !end.id ? NULL : on_end;
  void *data = data_of(end.id);
  switch (call) {
    case BRIDGE_RELEASE:
      a.status = liblock_release_async(context, lock, end.queue, callback, data, &a.request);
      break;
    case BRIDGE_EXTEND:
      a.status = liblock_extend_async(context, lock, ms, flags, end.queue, callback, data, &a.request);
      break;
    case BRIDGE_UPDATE:
      a.status = liblock_update_async(context, lock, value, size, end.queue, callback, data, &a.request);
      break;
    case BRIDGE_VERIFY:
      a.status = liblock_verify_async(context, lock, end.queue, callback, data, &a.request);
      break;
    default:
      a.status = liblock_wait_lost_async(context, lock, ms, end.queue, callback, data, &a.request);
  }
  return a;
}

bridge_answer bridge_release_keys(liblock_context *context, liblock_owner *owner, int32_t thread,
                                  const liblock_bytes *keys, size_t count, const bridge_end *end) {
  bridge_answer a = bridge_begin();
  if (thread) owner = LIBLOCK_OWNER_THREAD;
  a.status = end ? liblock_release_keys_async(context, owner, keys, count, end->queue, NULL, data_of(end->id),
                                              &a.request)
                 : liblock_release_keys(context, owner, keys, count, &a.result);
  return a;
}

bridge_answer bridge_key_async(liblock_context *context, int32_t call, const char *key, size_t size, int64_t number,
                               const char *node, bridge_end end) {
  bridge_answer a;
  memset(&a, 0, sizeof a);
  const int32_t small = (int32_t)number;
  void *data = data_of(end.id);
  switch (call) {
    case BRIDGE_PING:
      a.status = liblock_ping_async(context, end.queue, NULL, data, &a.request);
      break;
    case BRIDGE_INSPECT:
      a.status = liblock_inspect_async(context, key, size, end.queue, NULL, data, &a.request);
      break;
    case BRIDGE_READ:
      a.status = liblock_read_async(context, key, size, small, node, end.queue, NULL, data, &a.request);
      break;
    case BRIDGE_WAIT_HELD:
      a.status = liblock_wait_held_async(context, key, size, number, end.queue, NULL, data, &a.request);
      break;
    case BRIDGE_WAIT_HELD_ON:
      a.status = liblock_wait_held_on_async(context, key, size, node, number, end.queue, NULL, data, &a.request);
      break;
    case BRIDGE_WAIT_RELEASED:
      a.status = liblock_wait_released_async(context, key, size, number, end.queue, NULL, data, &a.request);
      break;
    case BRIDGE_FORCE_RELEASE:
      a.status = liblock_force_release_async(context, key, size, small, end.queue, NULL, data, &a.request);
      break;
    case BRIDGE_QUORUM_INIT:
      a.status = liblock_quorum_init_async(context, small, end.queue, NULL, data, &a.request);
      break;
    default:
      a.status = LIBLOCK_UNSUPPORTED;
  }
  return a;
}

bridge_answer bridge_set_nodes(liblock_context *context, const char *const *servers, size_t server_count,
                               const char *const *observers, size_t observer_count, int32_t votes,
                               const bridge_end *end) {
  bridge_answer a = bridge_begin();
  a.status = end ? liblock_quorum_set_nodes_async(context, servers, server_count, observers, observer_count, votes,
                                                  end->queue, NULL, data_of(end->id), &a.request)
                 : liblock_quorum_set_nodes(context, servers, server_count, observers, observer_count, votes,
                                            &a.result);
  return a;
}

bridge_report bridge_list_instances(liblock_context *context, const liblock_instance_list_options *options,
                                    uintptr_t id) {
  bridge_report r = bridge_begin_report();
  r.status = liblock_list_instances(context, options, id ? on_instance : NULL, data_of(id), &r.report, &r.result);
  return r;
}

bridge_answer bridge_quorum_status(liblock_context *context, liblock_quorum_state *state, uintptr_t id) {
  bridge_answer a = bridge_begin();
  a.status = liblock_quorum_status(context, state, id ? on_node : NULL, data_of(id), &a.result);
  return a;
}

liblock_status bridge_next(liblock_completions *completions, int64_t wait_ms, bridge_completion *entry) {
  liblock_completion end;
  memset(&end, 0, sizeof end);
  end.struct_size = sizeof end;
  const liblock_status status = liblock_completions_next(completions, wait_ms, &end);
  if (status == LIBLOCK_OK) *entry = flat(&end, (uintptr_t)end.user_data);
  return status;
}

liblock_status bridge_drain(liblock_completions *completions, bridge_completion *entries, size_t size, size_t *count) {
  for (*count = 0; *count < size; ++*count) {
    const liblock_status status = bridge_next(completions, 0, &entries[*count]);
    if (status != LIBLOCK_OK) return status;
  }
  return LIBLOCK_OK;
}
