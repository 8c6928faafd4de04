/* SPDX-License-Identifier: MIT
 *
 * What every file of the runner stands on: a fault (why a scenario failed), an arena (what a scenario
 * allocates), bytes as scenarios write them, and lists of words.
 *
 * Invariants: a fault keeps the first cause only, since later ones are mostly its consequences. Everything in
 * an arena lives until the scenario has been torn down, because the library may hold on to options of pending
 * requests.
 */
#ifndef CONFORMANCE_BASE_H
#define CONFORMANCE_BASE_H

#include <jansson.h>
#include <liblock/liblock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fault {
  bool set;
  char text[2000];
};

/* Keeps the first cause; always returns false, so that checks can end with `return blame(…)`. */
bool blame(struct fault *fault, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct arena_block;
struct arena {
  struct arena_block *blocks;
};

/* Zeroed memory; the runner has no use for going on without memory, so it never answers NULL. */
void *arena_get(struct arena *arena, size_t size);
char *arena_text(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
void arena_clear(struct arena *arena);

/* "text", {"hex": "00ff"} or {"repeat": "k", "times": 512}. */
bool bytes_read(const json_t *node, struct arena *arena, liblock_bytes *out, struct fault *fault);
/* Printable ASCII as a string, all else as {"hex": …}: equal bytes give equal JSON. */
json_t *bytes_write(const void *data, size_t size);
bool bytes_equal(liblock_bytes left, liblock_bytes right);

/* Is `word` one of the words of `list`, which are separated by single spaces? */
bool word_in(const char *list, const char *word);

/* One line of JSON for diagnostics; freed with the arena. */
const char *json_line(struct arena *arena, const json_t *node);

#endif
