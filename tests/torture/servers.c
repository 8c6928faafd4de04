/* SPDX-License-Identifier: MIT
 *
 * Scenarios on one server, or on those of a quorum, whose connections break: what can be done without an answer is
 * done, what is in doubt is said to be, and the next call finds a new connection.
 */
#include <string.h>

#include "torture.h"

static void use_it(struct torture *t) {
  torture_open(t);
  if (torture_take(t, "a", NULL) == LIBLOCK_OK) torture_give_back(t, t->granted - 1);
}

/* Beside the first, whose threads it shares. */
static void open_another(struct torture *t) {
  liblock_context *other = NULL;
  const liblock_status status = liblock_open(t->url, NULL, &other, NULL);
  torture_ended(status);
  torture_must((status == LIBLOCK_OK) == (other != NULL), "a context comes with OK, and only then", status);
  liblock_context_free(other);
}

static void take(struct torture *t) { torture_take(t, "a", NULL); }

static void hold(struct torture *t) {
  torture_open(t);
  torture_take(t, "a", NULL);
}

static void give_back(struct torture *t) { torture_give_back(t, 0); }

static void take_three(struct torture *t) {
  const liblock_bytes keys[] = {{"a", 1}, {"b", 1}, {"c", 1}};
  liblock_lock lock = 1;
  for (size_t n = 0; n < 3; ++n) torture_try(t, keys[n].data);
  const liblock_status status = liblock_acquire_many(t->context, keys, 3, NULL, &lock, NULL);
  torture_ended(status);
  torture_keep(t, status, lock, "a");
}

static void hand_over(struct torture *t) {
  torture_ask(t, "a", NULL);
  while (t->granted > 0 && t->locks[0] != 0) torture_give_back(t, 0); /* without memory nothing was changed */
  torture_read(t, TORTURE_END_MS);
}

static void extend(struct torture *t) {
  torture_ended(liblock_extend(t->context, t->locks[0], 60000, LIBLOCK_EXTEND_SET, NULL));
}

/* Over a quorum it may find what one before it, whose answers were lost, has begun and could not take back. */
static void update(struct torture *t) {
  const liblock_status status = liblock_update(t->context, t->locks[0], "value", 5, NULL);
  if (status != LIBLOCK_BUSY || strncmp(t->url, "quorum:", 7) != 0) torture_ended(status);
}

static void inspect(struct torture *t) {
  liblock_info *info = NULL;
  torture_ended(liblock_inspect(t->context, "a", 1, &info, NULL));
  liblock_info_free(info);
}

static void ask_and_cancel(struct torture *t) { torture_ask_and_cancel(t, "a", NULL); }

/* What is answered of it has more parts than memory is kept ready for. */
static void hold_with_64_names(struct torture *t) {
  static liblock_metadata metadata[64];
  static char names[64][2];
  for (int n = 0; n < 64; ++n) {
    names[n][0] = (char)('0' + n / 8);
    names[n][1] = (char)('0' + n % 8);
    metadata[n] = (liblock_metadata){{names[n], 2}, {"value", 5}};
  }
  liblock_acquire_options options = torture_defaults();
  options.metadata = metadata;
  options.metadata_count = 64;
  torture_open(t);
  torture_take(t, "a", &options);
}

const struct torture_scenario torture_servers[] = {
    {"open, take, give back", NULL, use_it, false},
    {"open another context", torture_open, open_another, false},
    {"take a key", torture_open, take, false},
    {"give back", hold, give_back, false},
    {"take three keys", torture_open, take_three, false},
    {"hand over", hold, hand_over, false},
    {"extend", hold, extend, false},
    {"update", hold, update, false},
    {"inspect", hold, inspect, false},
    {"inspect what has 64 names beside it", hold_with_64_names, inspect, false},
    {"ask and cancel", hold, ask_and_cancel, false},
    {"open on a loop of the caller", torture_make_loop, torture_open_on_loop, true},
    {NULL, NULL, NULL, false},
};
