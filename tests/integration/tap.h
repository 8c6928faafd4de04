/* SPDX-License-Identifier: MIT
 * What the integration programs share: TAP, line by line as it comes, a clock and a pause. Each program is one file
 * that includes this once.
 */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int tests, failures;

/* figures: what was measured, or NULL. */
static inline void check_figures(bool holds, const char *name, const char *figures) {
  printf("%s %d - %s%s%s\n", holds ? "ok" : "not ok", ++tests, name, figures != NULL ? " # " : "",
         figures != NULL ? figures : "");
  fflush(stdout);
  failures += !holds;
}

static inline void check(bool holds, const char *name) { check_figures(holds, name, NULL); }

/* Nothing can be tested without it. */
static inline void fatal(const char *what) {
  printf("Bail out! %s\n", what);
  exit(3);
}

/* The exit code of the program. */
static inline int finish(void) {
  printf("1..%d\n", tests);
  return failures != 0;
}

static inline int64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static inline int64_t now_ms(void) { return now_us() / 1000; }

/* Of a sanitizer, which measures itself: so many times. */
static inline double slowness(void) {
  const char *times = getenv("LIBLOCK_TEST_SLOWNESS");
  return times != NULL ? atof(times) : 1;
}

static inline void pause_ms(int ms) {
  const struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
  nanosleep(&time, NULL);
}

#endif
