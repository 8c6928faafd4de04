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

static void hand_over(struct torture *t) {
  torture_ask(t, "a", NULL);
  while (t->granted > 0 && t->locks[0] != 0) torture_give_back(t, 0); /* without memory nothing was changed */
  torture_read(t, TORTURE_END_MS);
}

static void inspect(struct torture *t) {
  liblock_info *info = NULL;
  torture_ended(liblock_inspect(t->context, "a", 1, &info, NULL));
  liblock_info_free(info);
}

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

static liblock_acquire_options shortly(void) {
  liblock_acquire_options options = torture_defaults();
  options.ttl_ms = 1000;
  return options;
}

static void hold_shortly(struct torture *t) {
  const liblock_acquire_options options = shortly();
  torture_open(t);
  torture_take(t, "a", &options);
}

/* What nobody has taken over ends with its lease. */
static void export_and_adopt(struct torture *t) {
  char exported[1024];
  size_t size = 0;
  liblock_status status = liblock_export(t->context, t->locks[0], exported, sizeof exported, &size);
  if (status != LIBLOCK_LOST) torture_ended(status);
  if (status != LIBLOCK_OK) return;
  t->locks[0] = 0;
  t->keys[0] = NULL;
  const liblock_acquire_options options = shortly();
  liblock_lock lock = 1;
  status = liblock_adopt(t->context, exported, size, &options, &lock, NULL);
  if (status != LIBLOCK_LOST) torture_ended(status);
  torture_keep(t, status, lock, "a");
}

static void count_keys(struct torture *t) {
  torture_ended(liblock_list_each(t->context, LIBLOCK_LIST_KEYS, NULL, NULL, NULL, NULL, NULL));
}

static void clear_dead(struct torture *t) {
  torture_ended(liblock_clear_dead(t->context, NULL, NULL, NULL));
}

const struct torture_scenario torture_servers[] = {
    {"open, take, give back", NULL, use_it, false},
    {"open another context", torture_open, open_another, false},
    {"hand over", torture_hold, hand_over, false},
    {"inspect what has 64 names beside it", hold_with_64_names, inspect, false},
    {"adopt what was exported", hold_shortly, export_and_adopt, false},
    {"count keys", torture_hold, count_keys, false},
    {"clear what is dead", torture_hold, clear_dead, false},
    {"open on a loop of the caller", torture_make_loop, torture_open_on_loop, true},
    {NULL, NULL, NULL, false},
};
