/* SPDX-License-Identifier: MIT
 *
 * A path is one way through the library, walked in rounds that are all alike. A process walks one path and does nothing
 * else: main.c keeps what a start, a connection and a warm-up cost apart from the rounds.
 *
 * A path on a server runs on a loop of its own, in one thread: who is woken when is then no matter of chance.
 */
#ifndef LIBLOCK_TESTS_COSTS_H
#define LIBLOCK_TESTS_COSTS_H

#include <liblock/liblock.h>
#include <stdint.h>

enum { COSTS_KEYS = 64, COSTS_KEY_SIZE = 16 };

struct costs {
  const char *url;
  liblock_context *context;
  liblock_owner *owner;
  liblock_completions *completions;
  liblock_acquire_options options;
  liblock_lock lock; /* what a path holds from one round to the next */
  liblock_bytes keys[COSTS_KEYS];
};

struct costs_path {
  const char *name;
  void (*prepare)(struct costs *costs);
  void (*round)(struct costs *costs, unsigned long nth);
  void (*finish)(struct costs *costs);
  unsigned long operations; /* of a round */
};

/* Each ends with a path without a name. */
extern const struct costs_path costs_local_paths[];
extern const struct costs_path costs_asynchronous_paths[];
extern const struct costs_path costs_remote_paths[];

/* Ends the process when the status is not the one that the path is about. */
void costs_must(liblock_status status, liblock_status expected, const char *call);
#define COSTS_MUST(call) costs_must((call), LIBLOCK_OK, #call)

/* The nth of the keys, in turn. */
const liblock_bytes *costs_key(const struct costs *costs, unsigned long nth);

/* Without a server: the context and, where a path wants them, an owner and a completion queue. */
void costs_open(struct costs *costs);
void costs_close(struct costs *costs);

#endif
