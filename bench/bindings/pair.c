/* SPDX-License-Identifier: MIT
 * The uncontended pair in C, in the form of the other languages' programs: nanoseconds per acquire and release of one
 * local key, the median of nine rounds. The floor that bench/bindings.py compares them with.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <liblock/liblock.h>

enum { ROUNDS = 9, PAIRS = 1000000 };

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double measure(liblock_context *context, int pairs) {
  const double began = now_ns();
  for (int i = 0; i < pairs; i++) {
    liblock_lock lock;
    if (liblock_acquire(context, "key", 3, NULL, &lock, NULL) != LIBLOCK_OK ||
        liblock_release(context, lock, NULL) != LIBLOCK_OK) {
      abort();
    }
  }
  return (now_ns() - began) / pairs;
}

static int by_size(const void *a, const void *b) {
  const double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

int main(void) {
  liblock_context *context;
  double rounds[ROUNDS];
  if (liblock_open("local:", NULL, &context, NULL) != LIBLOCK_OK) return 1;
  measure(context, PAIRS / 10);
  for (int i = 0; i < ROUNDS; i++) rounds[i] = measure(context, PAIRS);
  qsort(rounds, ROUNDS, sizeof rounds[0], by_size);
  printf("%.1f ns per pair\n", rounds[ROUNDS / 2]);
  liblock_context_free(context);
  return 0;
}
