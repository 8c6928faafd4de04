/* SPDX-License-Identifier: MIT
 *
 * The world of one scenario: the contexts, owners and holds that its steps name, and what must be true of all
 * of them however the scenario goes.
 *
 * Invariants: names are bound and looked up on the runner's main thread only; named threads see a call whose
 * names have been resolved. Each request ends exactly once. Per key, the tokens of grants rise in the order
 * in which the main thread learns of them.
 */
#ifndef CONFORMANCE_WORLD_H
#define CONFORMANCE_WORLD_H

#include <pthread.h>

#include "base.h"
#include "options.h"

#define SLOTS_MAX 64
#define HOLDS_MAX 256

/* No step waits longer for what must come: far above any scheduling delay, far below the scenario's alarm. */
#define LIMIT_MS 10000

struct context_slot {
  char name[64];
  liblock_context *context;
  liblock_completions *completions; /* opened with the first request */
  const char *space;                /* contexts of one space share their keys */
  char instance[600];
  unsigned pending; /* requests whose end has not been read */
  bool closed;
};

struct owner_slot {
  char name[64];
  liblock_owner *owner;
  char identity[900];
};

enum hold_state { HOLD_NEW, HOLD_PENDING, HOLD_ENDED };

/* What an acquire made, or may still make. */
struct hold {
  char name[64];
  struct world *world;
  struct context_slot *context;
  enum hold_state state;
  liblock_request request;
  liblock_lock lock;
  uint64_t token;
  const liblock_bytes *keys;
  size_t key_count;
  bool owned;       /* a named owner: its grants may be reentries */
  unsigned notices; /* guarded by world.mutex: on_lost callbacks so far */
  unsigned notices_awaited;
};

struct fence {
  struct fence *next;
  const char *space;
  liblock_bytes key;
  uint64_t token;
};

struct world {
  const char *url;
  const char *scenario;
  unsigned number; /* makes the names of spaces unique in this process */
  struct arena arena;
  struct fault fault;
  struct context_slot contexts[SLOTS_MAX];
  size_t context_count;
  struct owner_slot owners[SLOTS_MAX];
  size_t owner_count;
  struct hold holds[HOLDS_MAX];
  size_t hold_count;
  struct actor *actors;
  struct fence *fences;
  pthread_mutex_t mutex; /* guards what callbacks write */
  pthread_cond_t changed;
};

void world_begin(struct world *world, const char *url, const char *scenario);
/* Closes everything, then checks what must hold at every end. */
void world_end(struct world *world);

struct context_slot *world_context(struct world *world, const char *name);
struct owner_slot *world_owner(struct world *world, const char *name);
struct hold *world_hold(struct world *world, const char *name);
struct context_slot *world_add_context(struct world *world, const char *name);
struct owner_slot *world_add_owner(struct world *world, const char *name);
struct hold *world_add_hold(struct world *world, const char *name);

/* The completion queue of a context, opened when first asked for. */
liblock_completions *world_completions(struct world *world, struct context_slot *slot);

/* Records a grant of hold->keys and blames the world when its token does not rise. */
void world_granted(struct world *world, struct hold *hold, bool reentered);

void on_lost_called(const liblock_completion *completion, void *user_data);

int64_t now_ms(void);

#endif
