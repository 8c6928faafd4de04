/* SPDX-License-Identifier: MIT
 *
 * Verbs on locks: acquire, release and what lies between. Each makes one library call and tells what it
 * answered.
 *
 * Invariant: out-parameters are filled with rubbish before the call, so that one left unwritten shows.
 */
#include <string.h>

#include "call.h"

#define RUBBISH UINT64_C(0x5a5a5a5a5a5a5a5a)

static void acquired(struct call *call, liblock_status status, liblock_lock lock,
                     const liblock_result *result) {
  tell_result(call, status, result);
  const bool granted = status == LIBLOCK_OK;
  if (granted != (lock != 0)) {
    blame(&call->fault, "%s with the lock %llu", liblock_status_name(status), (unsigned long long)lock);
  }
  if (granted != (result->token != 0)) {
    blame(&call->fault, "%s with the token %llu", liblock_status_name(status),
          (unsigned long long)result->token);
  }
  call->made->state = HOLD_ENDED;
  call->made->lock = granted ? lock : 0;
  call->made->token = granted ? result->token : 0;
}

static void perform_acquire(struct call *call) {
  liblock_context *context = call->context->context;
  liblock_result result = result_poisoned();
  liblock_lock lock = RUBBISH;
  liblock_status status;
  if (step_flag(call, "global")) {
    status = liblock_acquire_global(context, call->options, &lock, &result);
  } else if (json_object_get(call->step, "keys")) {
    status = liblock_acquire_many(context, call->keys, call->key_count, call->options, &lock, &result);
  } else {
    status = liblock_acquire(context, call->keys->data, call->keys->size, call->options, &lock, &result);
  }
  acquired(call, status, lock, &result);
}

static void perform_try_acquire(struct call *call) {
  liblock_result result = result_poisoned();
  liblock_lock lock = RUBBISH;
  const liblock_status status = liblock_try_acquire(call->context->context, call->keys->data,
                                                    call->keys->size, call->options, &lock, &result);
  acquired(call, status, lock, &result);
}

static void perform_acquire_async(struct call *call) {
  liblock_context *context = call->context->context;
  struct hold *hold = call->made;
  liblock_status status;
  if (step_flag(call, "global")) {
    status = liblock_acquire_global_async(context, call->options, NULL, hold, &hold->request);
  } else if (json_object_get(call->step, "keys")) {
    status = liblock_acquire_many_async(context, call->keys, call->key_count, call->options, NULL, hold,
                                        &hold->request);
  } else {
    status = liblock_acquire_async(context, call->keys->data, call->keys->size, call->options, NULL, hold,
                                   &hold->request);
  }
  tell_status(call, status);
  if (status != LIBLOCK_OK) return;
  if (!hold->request) blame(&call->fault, "OK with the request 0");
  hold->state = HOLD_PENDING;
  call->context->pending++;
}

static void perform_cancel(struct call *call) {
  tell_status(call, liblock_cancel(call->context->context, call->hold->request));
}

static void perform_release(struct call *call) {
  liblock_result result = result_poisoned();
  tell_result(call, liblock_release(call->context->context, call->hold->lock, &result), &result);
}

static void perform_release_keys(struct call *call) {
  liblock_result result = result_poisoned();
  const liblock_status status =
      liblock_release_keys(call->context->context, call->owner_handle, call->keys, call->key_count, &result);
  tell_result(call, status, &result);
}

static void perform_extend(struct call *call) {
  liblock_result result = result_poisoned();
  const int32_t flags = step_flag(call, "add") ? LIBLOCK_EXTEND_ADD : LIBLOCK_EXTEND_SET;
  const liblock_status status =
      liblock_extend(call->context->context, call->hold->lock, call->number_ms, flags, &result);
  tell_result(call, status, &result);
}

static void perform_update(struct call *call) {
  liblock_result result = result_poisoned();
  const liblock_status status =
      liblock_update(call->context->context, call->hold->lock, call->value.data, call->value.size, &result);
  tell_result(call, status, &result);
}

static void perform_is_held(struct call *call) {
  tell_status(call, liblock_is_held(call->context->context, call->hold->lock));
}

static void perform_remaining(struct call *call) {
  int64_t remaining_ms = INT64_MIN;
  tell_status(call, liblock_remaining_ms(call->context->context, call->hold->lock, &remaining_ms));
  if (call->status == LIBLOCK_OK) tell(call, "remaining_ms", json_integer(remaining_ms));
}

static void perform_token(struct call *call) {
  uint64_t token = RUBBISH;
  tell_status(call, liblock_fencing_token(call->context->context, call->hold->lock, &token));
  if (call->status == LIBLOCK_OK) tell(call, "token", json_integer((json_int_t)token));
}

static void perform_hold_count(struct call *call) {
  uint32_t count = UINT32_MAX;
  tell_status(call, liblock_hold_count(call->context->context, call->hold->lock, &count));
  if (call->status == LIBLOCK_OK) tell(call, "hold_count", json_integer(count));
}

static void perform_verify(struct call *call) {
  liblock_result result = result_poisoned();
  tell_result(call, liblock_verify(call->context->context, call->hold->lock, &result), &result);
}

static void perform_wait_lost(struct call *call) {
  liblock_result result = result_poisoned();
  const liblock_status status =
      liblock_wait_lost(call->context->context, call->hold->lock, call->number_ms, &result);
  tell_result(call, status, &result);
}

#define TARGET "key keys global as owner options"
const struct verb lock_verbs[] = {
    {"acquire", "", TARGET, TELLS_RESULT, perform_acquire, false},
    {"try_acquire", "key", "as owner options", TELLS_RESULT, perform_try_acquire, false},
    {"acquire_async", "as", TARGET, "status", perform_acquire_async, true},
    {"cancel", "request", "", "status", perform_cancel, false},
    {"release", "lock", "", TELLS_RESULT, perform_release, false},
    {"release_keys", "owner keys", "", TELLS_RESULT, perform_release_keys, false},
    {"extend", "lock ttl_ms", "add", TELLS_RESULT, perform_extend, false},
    {"update", "lock value", "", TELLS_RESULT, perform_update, false},
    {"is_held", "lock", "", "status", perform_is_held, false},
    {"remaining", "lock", "", "status remaining_ms", perform_remaining, false},
    {"token", "lock", "", "status token", perform_token, false},
    {"hold_count", "lock", "", "status hold_count", perform_hold_count, false},
    {"verify", "lock", "", TELLS_RESULT, perform_verify, false},
    {"wait_lost", "lock", "wait_ms", TELLS_RESULT, perform_wait_lost, false},
    {NULL, NULL, NULL, NULL, NULL, false},
};
