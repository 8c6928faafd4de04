/* SPDX-License-Identifier: MIT
 * What the stress programs share: their size, and a small random sequence per thread that follows from a seed.
 */
#ifndef STRESS_H
#define STRESS_H

#include <liblock/liblock.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline unsigned scaled(unsigned quick, unsigned gate, unsigned nightly) {
  const char *size = getenv("LIBLOCK_STRESS");
  if (size != NULL && strcmp(size, "nightly") == 0) return nightly;
  return size != NULL && strcmp(size, "gate") == 0 ? gate : quick;
}

static inline uint32_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

#endif
