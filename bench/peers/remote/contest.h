/* SPDX-License-Identifier: MIT
 *
 * What the peers that are written in C share: the command line, the threads, the sections and their records, as
 * README.md describes them. A peer gives two functions; each thread calls them with a state of its own.
 */
#ifndef LIBLOCK_BENCH_CONTEST_H
#define LIBLOCK_BENCH_CONTEST_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ports_max = 15 };

typedef struct contest {
  char *ports[ports_max];
  size_t port_count;
  const char *key;
  size_t threads;
  uint64_t sections; /* of each thread; 0 = no bound */
  uint64_t run_ms;   /* 0 = no bound */
  uint64_t hold_us;
  uint64_t pause_us;
  long delay_ms;                                /* between two polls; negative = as the library comes */
  const char *counter;                          /* NULL = none */
  const char *variant;                          /* "" = none */
  void *(*join)(const struct contest *contest); /* the state of one thread */
  void (*acquire)(void *state);
  void (*release)(void *state);
} contest;

typedef struct moments {
  int64_t asked, had, letting, let;
} moments;

typedef struct contestant {
  const contest *contest;
  void *state;
  pthread_t thread;
  moments *records;
  size_t count, room;
} contestant;

static void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void sleep_us(uint64_t us) {
  const struct timespec span = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
  if (us > 0) nanosleep(&span, NULL);
}

/* Reads, adds one, writes: what two that are inside at once do wrong. */
static void count_in(const char *path) {
  FILE *file = fopen(path, "r+");
  long value = 0;
  if (!file || fscanf(file, "%ld", &value) != 1) fail("the counter cannot be read");
  rewind(file);
  fprintf(file, "%ld\n", value + 1);
  fclose(file);
}

static moments one_section(const contest *c, void *state) {
  moments at;
  at.asked = now_ns();
  c->acquire(state);
  at.had = now_ns();
  if (c->counter) count_in(c->counter);
  sleep_us(c->hold_us);
  at.letting = now_ns();
  c->release(state);
  at.let = now_ns();
  sleep_us(c->pause_us);
  return at;
}

static void *take_part(void *one) {
  contestant *self = one;
  const contest *c = self->contest;
  const int64_t end = c->run_ms ? now_ns() + (int64_t)c->run_ms * 1000000 : INT64_MAX;
  while ((!c->sections || self->count < c->sections) && now_ns() < end) {
    if (self->count == self->room) {
      self->room = self->room ? 2 * self->room : 4096;
      self->records = realloc(self->records, self->room * sizeof *self->records);
      if (!self->records) fail("out of memory");
    }
    self->records[self->count++] = one_section(c, self->state);
  }
  return NULL;
}

static contest read_words(int count, char **words) {
  if (count < 10)
    fail("usage: PEER PORT,… KEY THREADS SECTIONS RUN_MS HOLD_US PAUSE_US DELAY_MS COUNTER [VARIANT]");
  contest c = {.key = words[2],
               .threads = strtoul(words[3], NULL, 10),
               .sections = strtoull(words[4], NULL, 10),
               .run_ms = strtoull(words[5], NULL, 10),
               .hold_us = strtoull(words[6], NULL, 10),
               .pause_us = strtoull(words[7], NULL, 10),
               .delay_ms = strtol(words[8], NULL, 10),
               .counter = strcmp(words[9], "-") == 0 ? NULL : words[9],
               .variant = count > 10 ? words[10] : ""};
  for (char *port; (port = strsep(&words[1], ",")) != NULL;) {
    if (c.port_count == ports_max) fail("too many ports");
    c.ports[c.port_count++] = port;
  }
  if (c.port_count == 0) fail("no port");
  return c;
}

/* Everything from "ready" to the last record. The pair before it connects, and loads what scripts there are. */
static int hold(const contest *c) {
  contestant *all = calloc(c->threads, sizeof *all);
  if (!all) fail("out of memory");
  for (size_t nth = 0; nth < c->threads; nth++) {
    all[nth].contest = c;
    all[nth].state = c->join(c);
    c->acquire(all[nth].state);
    c->release(all[nth].state);
  }
  puts("ready");
  fflush(stdout);
  if (getchar() == EOF) fail("nobody said go");
  for (size_t nth = 0; nth < c->threads; nth++)
    if (pthread_create(&all[nth].thread, NULL, take_part, &all[nth]) != 0) fail("no thread");
  for (size_t nth = 0; nth < c->threads; nth++) pthread_join(all[nth].thread, NULL);
  for (size_t nth = 0; nth < c->threads; nth++) {
    for (size_t i = 0; i < all[nth].count; i++) {
      const moments at = all[nth].records[i];
      printf("%zu %lld %lld %lld %lld\n", nth, (long long)at.asked, (long long)at.had, (long long)at.letting,
             (long long)at.let);
    }
    free(all[nth].records);
  }
  free(all);
  return 0;
}

#endif
