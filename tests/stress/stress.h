/* SPDX-License-Identifier: MIT
 * What the stress programs share: their size, a small random sequence per thread that follows from a seed,
 * threads that all run the same, and what must be true when all is over. Threads count what went wrong; only
 * the test's own thread asserts.
 */
#ifndef STRESS_H
#define STRESS_H

#define _GNU_SOURCE /* barriers and clocks, under c11; this header comes first */

#include <liblock/liblock.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { CREW_MAX = 16, FOR_EVER_MS = 120000 };

static inline unsigned scaled(unsigned quick, unsigned gate, unsigned nightly) {
  const char *size = getenv("LIBLOCK_STRESS");
  if (size != NULL && strcmp(size, "nightly") == 0) return nightly;
  return size != NULL && strcmp(size, "gate") == 0 ? gate : quick;
}

static inline uint32_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

static inline int64_t clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Threads 1 to count run the body; it is given its number. */
typedef struct crew {
  unsigned count;
  pthread_t threads[CREW_MAX];
} crew;

static inline void crew_start(crew *c, unsigned count, void *(*body)(void *)) {
  c->count = count;
  for (uintptr_t i = 0; i < count; i++) {
    assert_int_equal(pthread_create(&c->threads[i], NULL, body, (void *)(i + 1)), 0);
  }
}

static inline void crew_join(crew *c) {
  for (unsigned i = 0; i < c->count; i++) pthread_join(c->threads[i], NULL);
}

/* Whether the counter reaches the number; false after a time that only a hang needs. */
static inline bool reaches(atomic_ulong *counter, unsigned long number) {
  const int64_t give_up_at = clock_ns() + (int64_t)FOR_EVER_MS * 1000000;
  while (atomic_load(counter) < number) {
    if (clock_ns() > give_up_at) return false;
    sched_yield();
  }
  return true;
}

/* A grant is the newest of its key or was overtaken; raises the newest token. False: another grant had this
 * token. */
static inline bool raise_token(atomic_ullong *newest, uint64_t token) {
  unsigned long long seen = atomic_load(newest);
  while (seen < token && !atomic_compare_exchange_weak(newest, &seen, token)) continue;
  return seen != token;
}

static inline liblock_stats stats_now(liblock_context *context) {
  liblock_stats stats;
  liblock_stats_init(&stats, sizeof stats);
  assert_int_equal(liblock_stats_get(context, &stats), LIBLOCK_OK);
  return stats;
}

static inline void assert_idle(liblock_context *context) {
  const liblock_stats stats = stats_now(context);
  assert_int_equal(stats.locks_held, 0);
  assert_int_equal(stats.waiters, 0);
}

#endif
