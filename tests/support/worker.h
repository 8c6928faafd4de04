/* SPDX-License-Identifier: MIT
 *
 * A worker is a thread that makes one blocking acquire and records how it ended; the lock stays held until
 * the test releases it. The latch lets threads begin, or continue, together.
 */
#ifndef LIBLOCK_TESTS_WORKER_H
#define LIBLOCK_TESTS_WORKER_H

#include <pthread.h>

#include "api.h"

typedef struct worker worker;

worker *worker_acquires(liblock_context *context, const char *key, const liblock_acquire_options *options);
/* count 0 asks for the global lock. Keys are copied; what they point at must outlive the worker. */
worker *worker_acquires_many(liblock_context *context, const liblock_bytes *keys, size_t count,
                             const liblock_acquire_options *options);
/* 1 once the acquire has returned. */
bool worker_is_done(worker *w);
/* Joins and frees; lock and result may be NULL. */
liblock_status worker_join(worker *w, liblock_lock *lock, liblock_result *result);

/* Opens once: everyone who waits goes on. Also a counter that can be waited for. */
typedef struct latch {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int value;
} latch;

void latch_init(latch *l);
void latch_destroy(latch *l);
void latch_add(latch *l, int amount);
int latch_value(latch *l);
/* Waits until the value is at least `value`; false after GENEROUS_MS. */
bool latch_await(latch *l, int value);

#endif
