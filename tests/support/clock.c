/* SPDX-License-Identifier: MIT
 *
 * The monotonic clock, and waiting for a predicate by asking.
 */
#define _GNU_SOURCE
#include "clock.h"

#include <time.h>

int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t now_ms(void) { return now_ns() / 1000000; }

static void nap(void) {
  const struct timespec t = {0, 500000};
  nanosleep(&t, NULL);
}

bool wait_until(bool (*predicate)(void *), void *argument, int64_t limit_ms) {
  const int64_t end = now_ms() + limit_ms;
  while (!predicate(argument)) {
    if (now_ms() >= end) return false;
    nap();
  }
  return true;
}

void let_pass_ms(int64_t ms) {
  const int64_t end = now_ns() + ms * 1000000;
  while (now_ns() < end) nap();
}
