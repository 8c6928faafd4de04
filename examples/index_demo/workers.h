/* SPDX-License-Identifier: MIT
 * The threads that build the index, with locks or without.
 */
#ifndef INDEX_DEMO_WORKERS_H
#define INDEX_DEMO_WORKERS_H

#include <liblock/liblock.h>

#include "index.h"

enum { THREADS_MAX = 64, WAIT_BUCKETS = 40 };

typedef struct run_report {
  double seconds;
  uint64_t updates;         /* changes of the index */
  uint64_t acquires;        /* locks taken for them */
  uint64_t waited;          /* of these, how many had to wait */
  uint64_t deadlocks;       /* cycles that liblock reported and the worker resolved by letting go */
  uint64_t token_regressions; /* must be 0 */
  uint64_t wait_us[WAIT_BUCKETS]; /* waits by power of two of microseconds */
  int failed;
} run_report;

/* context NULL: without locks. progress: called about ten times a second with the share done, 0 to 1. */
void build_index(const corpus *c, word_index *index, liblock_context *context, int threads,
                 void (*progress)(double share), run_report *report);

#endif
