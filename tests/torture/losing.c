/* SPDX-License-Identifier: MIT
 *
 * Scenarios that lose something on purpose when an allocation fails, each what its name says.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "torture.h"

/* Where a compiler sees them, they may be there for what it does not see. */
static void *volatile memory;
static volatile int descriptor;

static bool lacks_memory(void) {
  memory = malloc(1);
  const bool lacks = memory == NULL;
  free(memory);
  return lacks;
}

static void lose_block(struct torture *t) {
  (void)t;
  if (lacks_memory()) memory = malloc(1);
}

static void lose_descriptor(struct torture *t) {
  (void)t;
  if (lacks_memory()) descriptor = dup(STDERR_FILENO);
}

static void *sleep_for_ever(void *nothing) {
  for (;;) pause();
  return nothing;
}

static void lose_thread(struct torture *t) {
  (void)t;
  pthread_t thread;
  if (lacks_memory())
    torture_must(pthread_create(&thread, NULL, sleep_for_ever, NULL) == 0, "it can be begun", LIBLOCK_OK);
}

const struct torture_scenario torture_losing[] = {
    {"block", torture_open, lose_block, false},
    {"descriptor", torture_open, lose_descriptor, false},
    {"thread", torture_open, lose_thread, false},
    {NULL, NULL, NULL, false},
};
