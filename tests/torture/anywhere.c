/* SPDX-License-Identifier: MIT
 *
 * Scenarios of every context: local, on one server and over a quorum. Where an answer is lacking nobody knows whether
 * something was done; what is in doubt so is given back, whoever has it.
 */
#include <string.h>

#include "fail.h"
#include "torture.h"

int torture_calls;

void torture_called(const liblock_completion *end, void *user_data) {
  (void)end;
  ++*(int *)user_data;
}

static bool is_local(const struct torture *t) { return strncmp(t->url, "local:", 6) == 0; }
static bool is_quorum(const struct torture *t) { return strncmp(t->url, "quorum:", 7) == 0; }

/* Behind a call that takes the first lock away from whoever has it. What was refused has done nothing. */
static void taken_away(struct torture *t, liblock_status status) {
  torture_ended(status);
  if (status == LIBLOCK_NO_MEMORY || (status != LIBLOCK_OK && is_local(t))) return;
  if (status != LIBLOCK_OK) {
    fail_disarm();
    const liblock_status end = liblock_release(t->context, t->locks[0], NULL);
    if (end != LIBLOCK_LOST && end != LIBLOCK_NOT_HELD) torture_ended(end);
  }
  t->locks[0] = 0;
}

/* ----------------------------------------------------------------------------------------------- taking --- */

liblock_acquire_options torture_of_owner(const struct torture *t) {
  liblock_acquire_options options = torture_defaults();
  options.owner = t->owner;
  return options;
}

static void take(struct torture *t) { torture_take(t, "a", NULL); }

void torture_hold(struct torture *t) {
  torture_open(t);
  take(t);
}

void torture_take_for_owner(struct torture *t) {
  const liblock_acquire_options options = torture_of_owner(t);
  torture_take(t, "a", &options);
}

void torture_hold_as_owner(struct torture *t) {
  torture_open(t);
  torture_take_for_owner(t);
}

static void reenter(struct torture *t) {
  torture_take_for_owner(t);
  torture_take_for_owner(t);
  torture_give_back(t, 0);
}

static liblock_acquire_options with_value(void) {
  liblock_acquire_options options = torture_defaults();
  options.ttl_ms = 10000;
  options.value = "value";
  options.value_size = 5;
  return options;
}

static void take_with_all(struct torture *t) {
  static const liblock_metadata metadata[] = {{{"name", 4}, {"value", 5}}, {{"more", 4}, {"", 0}}};
  liblock_acquire_options options = with_value();
  options.metadata = metadata;
  options.metadata_count = 2;
  options.on_lost = torture_called;
  options.on_lost_user_data = &torture_calls;
  torture_take(t, "a", &options);
}

static void hold_with_value(struct torture *t) {
  const liblock_acquire_options options = with_value();
  torture_open(t);
  torture_take(t, "a", &options);
}

static void take_three(struct torture *t) {
  static const liblock_bytes keys[] = {{"a", 1}, {"b", 1}, {"c", 1}};
  liblock_lock lock = 1;
  for (size_t n = 0; n < 3; ++n) torture_try(t, keys[n].data);
  const liblock_status status = liblock_acquire_many(t->context, keys, 3, NULL, &lock, NULL);
  torture_ended(status);
  torture_keep(t, status, lock, "a");
}

static void time_out(struct torture *t) {
  liblock_acquire_options options = torture_defaults();
  options.wait_ms = 1;
  torture_take(t, "a", &options);
}

static void busy_with_info(struct torture *t) {
  liblock_acquire_options options = torture_defaults();
  liblock_result result = LIBLOCK_RESULT_INIT;
  options.wait_ms = 0;
  options.busy_info = 1;
  liblock_lock lock = 1;
  const liblock_status status = liblock_acquire(t->context, "a", 1, &options, &lock, &result);
  torture_must(status != LIBLOCK_OK && lock == 0, "it is busy", status);
  if (is_local(t)) torture_must(status == LIBLOCK_BUSY || status == LIBLOCK_NO_MEMORY, "nothing else", status);
  if (status != LIBLOCK_BUSY) torture_ended(status);
  liblock_info_free(result.info);
}

static void ask_and_cancel(struct torture *t) { torture_ask_and_cancel(t, "a", NULL); }

/* --------------------------------------------------------------------------------------------- the lock --- */

static void give_back(struct torture *t) { torture_give_back(t, 0); }

static void extend(struct torture *t) {
  torture_ended(liblock_extend(t->context, t->locks[0], 60000, LIBLOCK_EXTEND_SET, NULL));
}

/* Over a quorum it may find what one before it, whose answers were lost, has begun and could not take back. */
static void updated(struct torture *t, liblock_status status) {
  if (status != LIBLOCK_BUSY || !is_quorum(t)) torture_ended(status);
}

static void update(struct torture *t) {
  static char value[4096];
  updated(t, liblock_update(t->context, t->locks[0], value, sizeof value, NULL));
}

static void verify(struct torture *t) { torture_ended(liblock_verify(t->context, t->locks[0], NULL)); }

static void release_keys(struct torture *t) {
  static const liblock_bytes key = {"a", 1};
  taken_away(t, liblock_release_keys(t->context, t->owner, &key, 1, NULL));
}

static void release_by_value(struct torture *t) {
  taken_away(t, liblock_release_key(t->context, "a", 1, "value", 5, NULL));
}

static void extend_by_value(struct torture *t) {
  torture_ended(liblock_extend_key(t->context, "a", 1, "value", 5, 20000, LIBLOCK_EXTEND_SET, NULL));
}

static void update_by_value(struct torture *t) {
  updated(t, liblock_update_key(t->context, "a", 1, "value", 5, "value", 5, NULL));
}

/* ------------------------------------------------------------------------------------------ looking on --- */

static void ping(struct torture *t) { torture_ended(liblock_ping(t->context, NULL)); }

static void inspect(struct torture *t) {
  liblock_info *info = NULL;
  torture_ended(liblock_inspect(t->context, "a", 1, &info, NULL));
  liblock_info_free(info);
  info = NULL;
  torture_ended(liblock_inspect_queue(t->context, "a", 1, &info, NULL));
  liblock_info_free(info);
}

static void list(struct torture *t) {
  liblock_cursor *cursor = NULL;
  liblock_info *info = NULL;
  liblock_status status = liblock_list_locks(t->context, NULL, &cursor, NULL);
  torture_ended(status);
  while (status == LIBLOCK_OK) {
    status = liblock_cursor_next(cursor, &info);
    torture_ended(status);
    if (status != LIBLOCK_OK || info == NULL) break;
    liblock_info_free(info);
  }
  liblock_cursor_free(cursor);
}

static void watch(struct torture *t) {
  liblock_request request = 0;
  torture_ended(liblock_wait_released_async(t->context, "a", 1, 1, NULL, torture_called, &torture_calls, &request));
  torture_ended(liblock_wait_lost(t->context, t->locks[0], 1, NULL));
}

static void wait_for_a_holder(struct torture *t) {
  torture_ended(liblock_wait_held(t->context, "nobody's", 8, 1, NULL));
  torture_ended(liblock_wait_held(t->context, "a", 1, 1000, NULL));
}

/* -------------------------------------------------------------------------------------- administration --- */

static void force(struct torture *t) { taken_away(t, liblock_force_release(t->context, "a", 1, 0, NULL)); }

static void clear(struct torture *t) { taken_away(t, liblock_clear(t->context, NULL, NULL, NULL)); }

/* At once, where nobody has to be asked. */
static void holds_nothing(struct torture *t, const char *sentence, liblock_status status) {
  int32_t locked = 1;
  t->locks[0] = 0;
  if (is_local(t))
    torture_must(liblock_is_locked(t->context, "a", 1, &locked) == LIBLOCK_OK && locked == 0, sentence, status);
}

static void close_owner(struct torture *t) {
  const liblock_status status = liblock_owner_close(t->owner);
  torture_ended(status);
  fail_disarm();
  if (status == LIBLOCK_NO_MEMORY)
    torture_must(liblock_owner_close(t->owner) == LIBLOCK_OK, "the next close goes on", status);
  holds_nothing(t, "a closed owner holds nothing", status);
}

static void free_owner(struct torture *t) {
  liblock_owner_free(t->owner);
  t->owner = NULL;
  fail_disarm();
  holds_nothing(t, "an owner that was freed holds nothing", LIBLOCK_OK);
}

const struct torture_scenario torture_anywhere[] = {
    {"take a key", torture_open, take, false},
    {"take for an owner", torture_open, torture_take_for_owner, false},
    {"reenter", torture_open, reenter, false},
    {"take with lease, value, metadata and callback", torture_open, take_with_all, false},
    {"take three keys", torture_open, take_three, false},
    {"time out", torture_hold, time_out, false},
    {"be told who is in the way", torture_hold, busy_with_info, false},
    {"ask and cancel", torture_hold, ask_and_cancel, false},
    {"give back", torture_hold, give_back, false},
    {"extend", torture_hold, extend, false},
    {"update", torture_hold, update, false},
    {"verify", torture_hold, verify, false},
    {"release keys of an owner", torture_hold_as_owner, release_keys, false},
    {"release by the value", hold_with_value, release_by_value, false},
    {"extend by the value", hold_with_value, extend_by_value, false},
    {"update by the value", hold_with_value, update_by_value, false},
    {"ping", torture_open, ping, false},
    {"inspect", torture_hold, inspect, false},
    {"list", torture_hold, list, false},
    {"watch", torture_hold, watch, false},
    {"wait for a holder", torture_hold, wait_for_a_holder, false},
    {"force a release", torture_hold, force, false},
    {"clear", torture_hold, clear, false},
    {"close an owner who holds", torture_hold_as_owner, close_owner, false},
    {"free an owner who holds", torture_hold_as_owner, free_owner, false},
    {NULL, NULL, NULL, false},
};
