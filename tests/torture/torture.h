/* SPDX-License-Identifier: MIT
 *
 * A scenario: what stands before, what is done while something fails, and what must hold whatever failed. All work on
 * one context and its completion queue; `granted` keeps the handles, so that the state is told by what was reported:
 * what is among them is held, and no other key that was asked for is locked.
 */
#ifndef TORTURE_H
#define TORTURE_H

#include <liblock/liblock.h>
#include <stdbool.h>
#include <stddef.h>

enum { TORTURE_LOCKS_MAX = 64, TORTURE_END_MS = 20000 };

struct torture {
  const char *url;
  liblock_context *context;
  liblock_completions *ends;
  liblock_owner *owner;
  liblock_lock locks[TORTURE_LOCKS_MAX]; /* 0: given back */
  const char *keys[TORTURE_LOCKS_MAX];   /* of each; NULL: the global lock, or what goes on elsewhere */
  size_t granted;
  const char *tried[TORTURE_LOCKS_MAX]; /* each key that was asked for, once */
  size_t tries;
  size_t asked; /* asynchronous acquires that were accepted, and have not ended */
};

typedef void torture_step(struct torture *t);

struct torture_scenario {
  const char *name;
  torture_step *before; /* nothing fails; NULL: the context is opened by `act` */
  torture_step *act;
  bool has_own_loop; /* and begins none of the library's, where libuv would abort without a word */
};

/* closing.c */
torture_step torture_hold_many_and_wait, torture_close_context, torture_close_first_of_all,
    torture_close_context_and_be_called;
/* anywhere.c */
torture_step torture_hold, torture_take_for_owner, torture_hold_as_owner;
/* Counts in *user_data, which may be when the scenario is over: as the callbacks of a context that was closed do. */
void torture_called(const liblock_completion *end, void *user_data);
extern int torture_calls;
extern const struct torture_scenario torture_anywhere[], torture_local[], torture_servers[];
extern const struct torture_scenario torture_losing[]; /* which a failure shows */

static inline liblock_acquire_options torture_defaults(void) {
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  return options;
}

liblock_acquire_options torture_of_owner(const struct torture *t);

/* A sentence about what should hold: the run is over where it does not, and the sentence is its reason. */
void torture_must(bool holds, const char *sentence, liblock_status status);
/* Nothing, or one of the ends that a lack of memory, descriptors or answers may have. */
void torture_ended(liblock_status status);

void torture_open(struct torture *t);
/* A loop of the caller's; a context on it, and both closed again. */
void torture_make_loop(struct torture *t);
void torture_open_on_loop(struct torture *t);
/* By torture_take() and torture_ask() for their own. */
void torture_try(struct torture *t, const char *key);
void torture_keep(struct torture *t, liblock_status status, liblock_lock lock, const char *key);
liblock_status torture_take(struct torture *t, const char *key, const liblock_acquire_options *options);
void torture_ask(struct torture *t, const char *key, const liblock_acquire_options *options);
void torture_ask_and_cancel(struct torture *t, const char *key, const liblock_acquire_options *options);
void torture_give_back(struct torture *t, size_t nth);
/* Reads what is in `t->ends`, and waits for the first end that is due. */
void torture_read(struct torture *t, long wait_ms);
/* Whether the calling thread does so now: it may, while it waits for a server. */
int torture_runs_the_loop(void);

#endif
