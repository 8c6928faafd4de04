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

const struct torture_scenario torture_servers[] = {
    {"open, take, give back", NULL, use_it, false},
    {"open another context", torture_open, open_another, false},
    {"hand over", torture_hold, hand_over, false},
    {"inspect what has 64 names beside it", hold_with_64_names, inspect, false},
    {"open on a loop of the caller", torture_make_loop, torture_open_on_loop, true},
    {NULL, NULL, NULL, false},
};
