/* SPDX-License-Identifier: MIT
 *
 * The mistakes that the sanitizers are asked to find, one a run, made on purpose. Each would pass without a word where
 * its sanitizer, or the option that it takes, is missing. Usage: mistakes MISTAKE
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 8 };

/* What a compiler may not reckon with. */
static volatile int eight = SIZE, largest = INT_MAX;
static char *volatile kept;
static volatile int unused;

static void overflow(void) {
  kept = malloc(SIZE);
  if (kept != NULL) kept[eight] = 1;
}

static void use_after_free(void) {
  kept = malloc(SIZE);
  free(kept);
  unused = kept[0];
}

__attribute__((noinline)) static void remember_a_local(void) {
  char local[SIZE] = "";
  kept = local;
}

static void use_after_return(void) {
  remember_a_local();
  unused = kept[0];
}

static void leak(void) {
  kept = malloc(SIZE);
  kept = NULL;
}

static void undefined(void) { unused = largest + eight; }

static int shared;

static void *add(void *unused_argument) {
  (void)unused_argument;
  for (int i = 0; i < 1000; ++i) ++shared;
  return NULL;
}

static void race(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i)
    if (pthread_create(&threads[i], NULL, add, NULL) != 0) exit(2);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  unused = shared;
}

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;

static void lock_in_turn(pthread_mutex_t *first, pthread_mutex_t *second) {
  pthread_mutex_lock(first);
  pthread_mutex_lock(second);
  pthread_mutex_unlock(second);
  pthread_mutex_unlock(first);
}

static void lock_order(void) {
  lock_in_turn(&one, &other);
  lock_in_turn(&other, &one);
}

static const struct {
  const char *name;
  void (*make)(void);
} mistakes[] = {
    {"overflow", overflow},   {"use_after_free", use_after_free}, {"use_after_return", use_after_return},
    {"leak", leak},           {"undefined", undefined},           {"race", race},
    {"lock_order", lock_order},
};

int main(int argument_count, char **words) {
  for (size_t i = 0; argument_count == 2 && i < sizeof mistakes / sizeof mistakes[0]; ++i) {
    if (strcmp(words[1], mistakes[i].name) != 0) continue;
    mistakes[i].make();
    return 0;
  }
  return fprintf(stderr, "usage: mistakes MISTAKE\n"), 2;
}
