/* SPDX-License-Identifier: MIT
 *
 * One step on its way: prepare (main thread: resolve names, decode values) -> perform (any thread: the
 * library call, what it answered written down as JSON) -> settle (main thread: bind what was made, check,
 * compare).
 *
 * Invariant: perform touches nothing but its own call and the objects that were resolved into it.
 */
#ifndef CONFORMANCE_CALL_H
#define CONFORMANCE_CALL_H

#include "world.h"

struct call;

/* What a verb takes and tells; the lists are words separated by spaces. */
struct verb {
  const char *name;
  const char *needs;  /* fields a step must have */
  const char *allows; /* fields it may have */
  const char *tells;  /* what an expectation may speak of */
  void (*perform)(struct call *call);
  bool main_only; /* drives the world itself: cannot be given to a named thread */
};

struct call {
  const struct verb *verb;
  const json_t *step;
  size_t number; /* 1-based, for diagnostics */
  struct world *world;
  struct context_slot *context;
  struct owner_slot *owner;
  struct context_slot *instance;
  struct hold *hold; /* the lock or request that the step names */
  struct hold *made; /* what "as" names in acquires */
  struct context_slot *opened;
  struct owner_slot *introduced;
  liblock_owner *owner_handle;
  liblock_bytes *keys;
  size_t key_count;
  liblock_bytes value;
  int64_t number_ms;
  const liblock_acquire_options *options; /* NULL when the step names none */
  const liblock_context_options *context_options;
  /* outcome */
  struct fault fault;
  json_t *got;
  liblock_status status;
  bool reentered;
};

const struct verb *verb_find(const char *name);
extern const struct verb lock_verbs[], look_verbs[], admin_verbs[], drive_verbs[];

struct call *call_prepare(struct world *world, const json_t *step, size_t number);
void call_settle(struct call *call);

/* A result filled with values that no call may leave behind, so that one the library forgot to fill in shows.
 */
liblock_result result_poisoned(void);
/* Writes a status down, and with it a result (may be NULL), and checks what holds for every result. */
void tell_status(struct call *call, liblock_status status);
void tell_result(struct call *call, liblock_status status, const liblock_result *result);
void tell(struct call *call, const char *name, json_t *value);

/* Convenience for verbs. */
bool step_flag(const struct call *call, const char *name);
const char *step_text(const json_t *step, const char *name);

#define TELLS_RESULT \
  "status token attempts waited_ms remaining_ms queue_position queue_length hold_count flags votes nodes"

#endif
