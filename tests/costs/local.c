/* SPDX-License-Identifier: MIT
 *
 * Paths of the local context that end on the thread that calls.
 */
#include <stdlib.h>
#include <unistd.h>

#include "costs.h"

enum { KEYS_PER_LOCK = 3, LONG_KEY_SIZE = 64, FEW_OWNERS = 300 };

static void pair(struct costs *costs, const void *key, size_t size, const liblock_acquire_options *options) {
  liblock_lock lock;
  COSTS_MUST(liblock_acquire(costs->context, key, size, options, &lock, NULL));
  COSTS_MUST(liblock_release(costs->context, lock, NULL));
}

static void acquire(struct costs *costs, unsigned long nth) {
  const liblock_bytes *key = costs_key(costs, nth);
  pair(costs, key->data, key->size, NULL);
}

/* With the options that the path has prepared. */
static void acquire_as_asked(struct costs *costs, unsigned long nth) {
  const liblock_bytes *key = costs_key(costs, nth);
  pair(costs, key->data, key->size, &costs->options);
}

static void acquire_long_key(struct costs *costs, unsigned long nth) {
  static char key[LONG_KEY_SIZE] = "what a key of 64 bytes costs, which is more than an entry holds";
  key[LONG_KEY_SIZE - 1] = (char)(nth % COSTS_KEYS);
  pair(costs, key, sizeof key, &costs->options);
}

static void acquire_with_results(struct costs *costs, unsigned long nth) {
  const liblock_bytes *key = costs_key(costs, nth);
  liblock_result result = LIBLOCK_RESULT_INIT;
  liblock_lock lock;
  COSTS_MUST(liblock_acquire(costs->context, key->data, key->size, NULL, &lock, &result));
  COSTS_MUST(liblock_release(costs->context, lock, &result));
}

static void try_acquire(struct costs *costs, unsigned long nth) {
  const liblock_bytes *key = costs_key(costs, nth);
  liblock_lock lock;
  COSTS_MUST(liblock_try_acquire(costs->context, key->data, key->size, NULL, &lock, NULL));
  COSTS_MUST(liblock_release(costs->context, lock, NULL));
}

static void acquire_three_keys(struct costs *costs, unsigned long nth) {
  const liblock_bytes *keys = &costs->keys[nth % (COSTS_KEYS - KEYS_PER_LOCK)];
  liblock_lock lock;
  COSTS_MUST(liblock_acquire_many(costs->context, keys, KEYS_PER_LOCK, &costs->options, &lock, NULL));
  COSTS_MUST(liblock_release(costs->context, lock, NULL));
}

static void open_with_lease(struct costs *costs) {
  costs_open(costs);
  costs->options.ttl_ms = 600000;
}

static void open_for_owner(struct costs *costs) {
  costs_open(costs);
  costs->options.owner = costs->owner;
}

static void open_for_thread(struct costs *costs) {
  costs_open(costs);
  costs->options.owner = LIBLOCK_OWNER_THREAD;
}

static void hold_first(struct costs *costs) {
  const liblock_bytes *key = costs_key(costs, 0);
  COSTS_MUST(liblock_acquire(costs->context, key->data, key->size, &costs->options, &costs->lock, NULL));
}

static void open_held_by_owner(struct costs *costs) {
  open_for_owner(costs);
  hold_first(costs);
}

static void reenter(struct costs *costs, unsigned long nth) {
  (void)nth;
  acquire_as_asked(costs, 0);
}

static void open_held(struct costs *costs) {
  open_with_lease(costs);
  hold_first(costs);
}

static void try_busy(struct costs *costs, unsigned long nth) {
  (void)nth;
  const liblock_bytes *key = costs_key(costs, 0);
  liblock_lock lock;
  costs_must(liblock_try_acquire(costs->context, key->data, key->size, NULL, &lock, NULL), LIBLOCK_BUSY,
             "liblock_try_acquire");
}

static void ask_held(struct costs *costs, unsigned long nth) {
  (void)nth;
  COSTS_MUST(liblock_is_held(costs->context, costs->lock));
}

static void ask_remaining(struct costs *costs, unsigned long nth) {
  (void)nth;
  int64_t remaining_ms;
  COSTS_MUST(liblock_remaining_ms(costs->context, costs->lock, &remaining_ms));
}

static void inspect(struct costs *costs, unsigned long nth) {
  (void)nth;
  const liblock_bytes *key = costs_key(costs, 0);
  liblock_info *info;
  COSTS_MUST(liblock_inspect(costs->context, key->data, key->size, &info, NULL));
  liblock_info_free(info);
}

static liblock_owner *others[10 * FEW_OWNERS];

static void open_beside(struct costs *costs, int count) {
  costs_open(costs);
  for (int i = 0; i < count; ++i)
    COSTS_MUST(liblock_owner_open(costs->context, "other", 5, &others[i], NULL));
}

static void open_beside_few(struct costs *costs) { open_beside(costs, FEW_OWNERS); }
static void open_beside_many(struct costs *costs) { open_beside(costs, 10 * FEW_OWNERS); }

static void open_and_close_owner(struct costs *costs, unsigned long nth) {
  liblock_owner *owner;
  (void)nth;
  COSTS_MUST(liblock_owner_open(costs->context, "one", 3, &owner, NULL));
  liblock_owner_free(owner);
}

static void close_beside(struct costs *costs) {
  for (int i = 0; i < 10 * FEW_OWNERS; ++i) liblock_owner_free(others[i]);
  costs_close(costs);
}

/* What is known of what it costs without any instrument: one allocation and one system call. */
static void known(struct costs *costs, unsigned long nth) {
  (void)costs;
  (void)nth;
  void *volatile memory = malloc(COSTS_KEY_SIZE);
  free(memory);
  (void)getuid();
}

const struct costs_path costs_local_paths[] = {
    {"acquire", costs_open, acquire, costs_close, 1},
    {"acquire with results", costs_open, acquire_with_results, costs_close, 1},
    {"try", costs_open, try_acquire, costs_close, 1},
    {"acquire with a lease", open_with_lease, acquire_as_asked, costs_close, 1},
    {"acquire a key of 64 bytes with a lease", open_with_lease, acquire_long_key, costs_close, 1},
    {"acquire for an owner", open_for_owner, acquire_as_asked, costs_close, 1},
    {"acquire for the thread", open_for_thread, acquire_as_asked, costs_close, 1},
    {"reenter", open_held_by_owner, reenter, costs_close, 1},
    {"acquire three keys with a lease", open_with_lease, acquire_three_keys, costs_close, 1},
    {"try what is busy", open_held, try_busy, costs_close, 1},
    {"is_held", open_held, ask_held, costs_close, 1},
    {"remaining_ms", open_held, ask_remaining, costs_close, 1},
    {"inspect", open_held, inspect, costs_close, 1},
    {"open an owner beside 300", open_beside_few, open_and_close_owner, close_beside, 1},
    {"open an owner beside 3,000", open_beside_many, open_and_close_owner, close_beside, 1},
    {"known", costs_open, known, costs_close, 1},
    {NULL, NULL, NULL, NULL, 0},
};
