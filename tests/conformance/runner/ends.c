/* SPDX-License-Identifier: MIT
 *
 * Ends of requests and notices of losses, as completion queues deliver them.
 *
 * Invariant: whoever reads an end also binds what it granted, so that no grant is ever forgotten; an end that
 * belongs to no pending request is a fault wherever it is found.
 */
#include <string.h>

#include "drive.h"

static struct hold *hold_of_request(struct world *world, const struct context_slot *slot,
                                    liblock_request request) {
  for (size_t i = 0; i < world->hold_count; i++) {
    struct hold *hold = &world->holds[i];
    if (hold->context == slot && hold->state == HOLD_PENDING && hold->request == request) return hold;
  }
  return NULL;
}

static struct hold *hold_of_lock(struct world *world, const struct context_slot *slot, liblock_lock lock) {
  for (size_t i = 0; i < world->hold_count; i++) {
    struct hold *hold = &world->holds[i];
    if (hold->context == slot && lock && hold->lock == lock) return hold;
  }
  return NULL;
}

static json_t *request_ended(struct world *world, struct context_slot *slot, const liblock_completion *end,
                             struct fault *fault) {
  struct hold *hold = hold_of_request(world, slot, end->request);
  if (!hold) {
    blame(fault, "an end (%s) of no pending request, or a second one", liblock_status_name(end->status));
    return NULL;
  }
  hold->state = HOLD_ENDED;
  slot->pending--;
  if (end->user_data != hold) blame(fault, "the end of \"%s\" came with another user_data", hold->name);
  const bool granted = end->status == LIBLOCK_OK;
  if (granted != (end->lock != 0) || granted != (end->token != 0)) {
    blame(fault, "the end of \"%s\" is %s with lock %llu and token %llu", hold->name,
          liblock_status_name(end->status), (unsigned long long)end->lock, (unsigned long long)end->token);
  }
  hold->lock = end->lock;
  hold->token = end->token;
  if (granted) world_granted(world, hold, false);
  return json_pack("{s:s, s:s, s:s, s:I, s:I, s:I}", "kind", "ACQUIRE", "request", hold->name, "status",
                   liblock_status_name(end->status), "token", (json_int_t)end->token, "remaining_ms",
                   (json_int_t)end->remaining_ms, "waited_ms", (json_int_t)end->waited_ms);
}

static json_t *lock_lost(struct world *world, struct context_slot *slot, const liblock_completion *end,
                         struct fault *fault) {
  const struct hold *hold = hold_of_lock(world, slot, end->lock);
  if (!hold) {
    blame(fault, "a notice that an unknown lock was lost");
    return NULL;
  }
  if (end->request != 0) blame(fault, "the notice of \"%s\" names a request", hold->name);
  return json_pack("{s:s, s:s, s:s, s:I}", "kind", "LOST", "lock", hold->name, "status",
                   liblock_status_name(end->status), "token", (json_int_t)end->token);
}

json_t *end_read(struct world *world, struct context_slot *slot, int64_t wait_ms, struct fault *fault) {
  if (!slot->completions) return NULL;
  liblock_completion end = {.struct_size = sizeof end};
  const liblock_status status = liblock_completions_next(slot->completions, wait_ms, &end);
  if (status == LIBLOCK_TIMEOUT || status == LIBLOCK_CLOSED) return NULL;
  if (status != LIBLOCK_OK) {
    blame(fault, "completions_next answered %s", liblock_status_name(status));
    return NULL;
  }
  if (end.kind == LIBLOCK_KIND_ACQUIRE) return request_ended(world, slot, &end, fault);
  if (end.kind == LIBLOCK_KIND_LOST) return lock_lost(world, slot, &end, fault);
  blame(fault, "a completion of kind %d", (int)end.kind);
  return NULL;
}

void ends_none(struct world *world, struct fault *fault) {
  for (size_t i = 0; i < world->context_count && !fault->set; i++) {
    json_t *end = end_read(world, &world->contexts[i], 0, fault);
    if (end) blame(fault, "an end that no step awaits: %s", json_line(&world->arena, end));
    json_decref(end);
  }
}

static void context_ends_closed(struct world *world, struct context_slot *slot) {
  const int64_t limit = now_ms() + LIMIT_MS;
  while (slot->pending && !world->fault.set && now_ms() < limit) {
    json_t *end = end_read(world, slot, 100, &world->fault);
    const char *status = json_string_value(json_object_get(end, "status"));
    if (end && (!status || strcmp(status, "CLOSED") != 0)) {
      blame(&world->fault, "at the end: close ended a pending request as %s", json_line(&world->arena, end));
    }
    json_decref(end);
  }
  if (slot->pending) {
    blame(&world->fault, "at the end: %u requests of \"%s\" never ended after close", slot->pending,
          slot->name);
  }
}

void ends_closed(struct world *world) {
  for (size_t i = 0; i < world->context_count; i++) context_ends_closed(world, &world->contexts[i]);
  ends_none(world, &world->fault);
}
