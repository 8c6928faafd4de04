/* SPDX-License-Identifier: MIT
 *
 * The calls of bridge.h: each prepares a result, makes one call of the library and answers by value.
 */
#include "bridge.h"

#include <string.h>

static int32_t rubbish;

void bridge_set_rubbish(int32_t on) { rubbish = on; }

bridge_answer bridge_begin(void) {
  bridge_answer answer;
  answer.status = LIBLOCK_OK;
  answer.flag = 0;
  answer.lock = answer.request = answer.count = 0;
  answer.object = NULL;
  if (rubbish) memset(&answer.result, 0x5a, sizeof answer.result);
  if (rubbish) {
    answer.result.struct_size = sizeof answer.result;
  } else {
    liblock_result_init(&answer.result, sizeof answer.result);
  }
  return answer;
}

bridge_answer bridge_acquire(liblock_context *context, int32_t how, const char *key, size_t size,
                             const liblock_bytes *keys, size_t count, const liblock_acquire_options *options) {
  bridge_answer answer = bridge_begin();
  if (rubbish) answer.lock = UINT64_C(0x5a5a5a5a5a5a5a5a);
  liblock_result *result = &answer.result;
  if (how == BRIDGE_ONE) {
    answer.status = liblock_acquire(context, key, size, options, &answer.lock, result);
  } else if (how == BRIDGE_TRY) {
    answer.status = liblock_try_acquire(context, key, size, options, &answer.lock, result);
  } else if (how == BRIDGE_MANY) {
    answer.status = liblock_acquire_many(context, keys, count, options, &answer.lock, result);
  } else {
    answer.status = liblock_acquire_global(context, options, &answer.lock, result);
  }
  return answer;
}

bridge_grant bridge_try_plain(liblock_context *context, const char *key, size_t size) {
  bridge_grant grant;
  liblock_result result;
  result.struct_size = sizeof result;
  grant.lock = 0;
  grant.status = liblock_try_acquire(context, key, size, NULL, &grant.lock, &result);
  grant.token = grant.status == LIBLOCK_OK ? result.token : 0;
  return grant;
}

bridge_answer bridge_adopt(liblock_context *context, const char *bytes, size_t size,
                           const liblock_acquire_options *options) {
  bridge_answer answer = bridge_begin();
  answer.status = liblock_adopt(context, bytes, size, options, &answer.lock, &answer.result);
  return answer;
}

bridge_answer bridge_export(liblock_context *context, uint64_t lock, void *buffer, size_t size) {
  bridge_answer answer = bridge_begin();
  size_t needed = 0;
  answer.status = liblock_export(context, lock, buffer, size, &needed);
  answer.count = needed;
  return answer;
}

bridge_answer bridge_lock(liblock_context *context, int32_t call, uint64_t lock, int64_t ms, int32_t flags,
                          const char *value, size_t size) {
  bridge_answer answer = bridge_begin();
  liblock_result *result = &answer.result;
  switch (call) {
    case BRIDGE_RELEASE:
      answer.status = liblock_release(context, lock, result);
      break;
    case BRIDGE_EXTEND:
      answer.status = liblock_extend(context, lock, ms, flags, result);
      break;
    case BRIDGE_UPDATE:
      answer.status = liblock_update(context, lock, value, size, result);
      break;
    case BRIDGE_VERIFY:
      answer.status = liblock_verify(context, lock, result);
      break;
    default:
      answer.status = liblock_wait_lost(context, lock, ms, result);
  }
  return answer;
}

bridge_answer bridge_by_value(liblock_context *context, int32_t call, const char *key, size_t size,
                              const char *expected, size_t expected_size, int64_t ms, int32_t flags,
                              const char *value, size_t value_size) {
  bridge_answer answer = bridge_begin();
  liblock_result *result = &answer.result;
  if (call == BRIDGE_RELEASE_KEY) {
    answer.status = liblock_release_key(context, key, size, expected, expected_size, result);
  } else if (call == BRIDGE_EXTEND_KEY) {
    answer.status = liblock_extend_key(context, key, size, expected, expected_size, ms, flags, result);
  } else {
    answer.status = liblock_update_key(context, key, size, expected, expected_size, value, value_size, result);
  }
  return answer;
}

bridge_answer bridge_key(liblock_context *context, int32_t call, const char *key, size_t size, int64_t number,
                         const char *node) {
  bridge_answer answer = bridge_begin();
  liblock_result *result = &answer.result;
  liblock_info *info = NULL;
  int32_t flag = rubbish ? 0x5a5a5a5a : 0;
  const int32_t small = (int32_t)number;
  switch (call) {
    case BRIDGE_PING:
      answer.status = liblock_ping(context, result);
      break;
    case BRIDGE_INSPECT:
      answer.status = liblock_inspect(context, key, size, &info, result);
      break;
    case BRIDGE_INSPECT_QUEUE:
      answer.status = liblock_inspect_queue(context, key, size, &info, result);
      break;
    case BRIDGE_READ:
      answer.status = liblock_read(context, key, size, small, node, &info, result);
      break;
    case BRIDGE_WAIT_HELD:
      answer.status = liblock_wait_held(context, key, size, number, result);
      break;
    case BRIDGE_WAIT_HELD_ON:
      answer.status = liblock_wait_held_on(context, key, size, node, number, &info, result);
      break;
    case BRIDGE_WAIT_RELEASED:
      answer.status = liblock_wait_released(context, key, size, number, result);
      break;
    case BRIDGE_FORCE_RELEASE:
      answer.status = liblock_force_release(context, key, size, small, result);
      break;
    case BRIDGE_IS_LOCKED:
      answer.status = liblock_is_locked(context, key, size, &flag);
      break;
    case BRIDGE_IS_QUEUED:
      answer.status = liblock_is_queued(context, key, size, &flag);
      break;
    default:
      answer.status = liblock_quorum_init(context, small, result);
  }
  answer.flag = flag;
  answer.object = info;
  return answer;
}

bridge_answer bridge_owner_open(liblock_context *context, const char *name, size_t size) {
  bridge_answer answer = bridge_begin();
  liblock_owner *owner = NULL;
  answer.status = liblock_owner_open(context, name, size, &owner, &answer.result);
  answer.object = owner;
  return answer;
}

void bridge_own_by_thread(liblock_acquire_options *options) { options->owner = LIBLOCK_OWNER_THREAD; }

liblock_status bridge_owner_id(liblock_context *context, const liblock_owner *owner, int32_t thread, char *buffer,
                               size_t size, size_t *needed) {
  return liblock_owner_id(context, thread ? LIBLOCK_OWNER_THREAD : owner, buffer, size, needed);
}

bridge_report bridge_begin_report(void) {
  bridge_report report;
  memset(&report, rubbish ? 0x5a : 0, sizeof report);
  report.result.struct_size = sizeof report.result;
  if (rubbish) {
    report.report.struct_size = sizeof report.report;
  } else {
    liblock_report_init(&report.report, sizeof report.report);
  }
  return report;
}

bridge_report bridge_clear(liblock_context *context, int32_t what, const char *identity, size_t size,
                           const liblock_clear_options *options) {
  bridge_report r = bridge_begin_report();
  if (what == BRIDGE_CLEAR) {
    r.status = liblock_clear(context, options, &r.report, &r.result);
  } else if (what == BRIDGE_CLEAR_OWNER) {
    r.status = liblock_clear_owner(context, identity, size, options, &r.report, &r.result);
  } else if (what == BRIDGE_CLEAR_INSTANCE) {
    r.status = liblock_clear_instance(context, identity, size, options, &r.report, &r.result);
  } else {
    r.status = liblock_clear_dead(context, options, &r.report, &r.result);
  }
  return r;
}

bridge_report bridge_list_each(liblock_context *context, int32_t what, const liblock_list_options *options) {
  bridge_report r = bridge_begin_report();
  r.status = liblock_list_each(context, what, options, NULL, NULL, &r.report, &r.result);
  return r;
}

bridge_answer bridge_list(liblock_context *context, int32_t what, const liblock_list_options *options) {
  bridge_answer answer = bridge_begin();
  liblock_cursor *cursor = NULL;
  if (what == LIBLOCK_LIST_LOCKS) {
    answer.status = liblock_list_locks(context, options, &cursor, &answer.result);
  } else if (what == LIBLOCK_LIST_QUEUES) {
    answer.status = liblock_list_queues(context, options, &cursor, &answer.result);
  } else {
    answer.status = liblock_list_keys(context, options, &cursor, &answer.result);
  }
  answer.object = cursor;
  return answer;
}

bridge_answer bridge_sweep(liblock_context *context) {
  bridge_answer answer = bridge_begin();
  answer.status = liblock_sweep(context, &answer.count, &answer.result);
  return answer;
}

bridge_answer bridge_completions_open(liblock_context *context, size_t capacity) {
  bridge_answer answer = bridge_begin();
  liblock_completions *completions = NULL;
  answer.status = liblock_completions_open(context, capacity, &completions, &answer.result);
  answer.object = completions;
  return answer;
}

void bridge_info_read(const liblock_info *info, bridge_info *out) {
  memset(out, 0, sizeof *out);
  out->key.data = liblock_info_key(info, &out->key.size);
  out->owner.data = liblock_info_owner(info, &out->owner.size);
  out->instance.data = liblock_info_instance(info, &out->instance.size);
  out->host.data = liblock_info_host(info, &out->host.size);
  out->value.data = liblock_info_value(info, &out->value.size);
  out->has_owner = out->owner.data != NULL;
  out->has_instance = out->instance.data != NULL;
  out->is_global = liblock_info_is_global(info);
  out->is_held = liblock_info_is_held(info);
  out->is_zombie = liblock_info_is_zombie(info);
  out->hold_count = liblock_info_hold_count(info);
  out->token = liblock_info_token(info);
  out->since_us = liblock_info_since_us(info);
  out->initial_ttl_ms = liblock_info_initial_ttl_ms(info);
  out->remaining_ms = liblock_info_remaining_ms(info);
  out->metadata_count = liblock_info_metadata_count(info);
  out->waiter_count = liblock_info_waiter_count(info);
}

void bridge_info_waiter(const liblock_info *info, size_t index, bridge_waiter *out) {
  memset(out, 0, sizeof *out);
  out->owner.data = liblock_info_waiter_owner(info, index, &out->owner.size);
  out->has_owner = out->owner.data != NULL;
  out->instance.data = liblock_info_waiter_instance(info, index, &out->instance.size);
  out->since_us = liblock_info_waiter_since_us(info, index);
  out->waited_ms = liblock_info_waiter_waited_ms(info, index);
  out->order = liblock_info_waiter_order(info, index);
  out->priority = liblock_info_waiter_priority(info, index);
}
