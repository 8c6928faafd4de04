/* SPDX-License-Identifier: MIT
 * See workers.h. A worker takes document after document. For each occurrence it locks the word; every eighth time it
 * goes on, still holding that word, to lock the pair with the next word: the owner reenters the first and waits for
 * the second. Holding one and waiting for another can close a circle between workers; liblock says so (DEADLOCK), and
 * the worker lets go and takes both at once. That may be told DEADLOCK too, since it keeps the one of the two that it
 * has while it waits for the other, but leaves nothing behind: it is asked again, and by then somebody has gone on.
 */
#include "workers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct job {
  const corpus *corpus;
  word_index *index;
  liblock_context *context;
  int threads;
  atomic_uint next_document;
  atomic_ullong done;
  atomic_int running;
} job;

typedef struct worker {
  job *job;
  liblock_owner *owner;
  liblock_acquire_options options;
  run_report report;
  pthread_t thread;
} worker;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void note_acquire(run_report *report, const liblock_result *result, double began_at) {
  report->acquires++;
  if ((result->flags & LIBLOCK_RESULT_WAITED) == 0) return;
  report->waited++;
  const double us = (now() - began_at) * 1e6;
  int bucket = 0;
  while (bucket < WAIT_BUCKETS - 1 && us > (double)(1ull << bucket)) bucket++;
  report->wait_us[bucket]++;
}

/* The status of the acquire; prints what is neither success nor a deadlock. */
static liblock_status lock_words(worker *w, const uint32_t *numbers, size_t count, liblock_lock *lock,
                                 liblock_result *result) {
  liblock_bytes keys[2];
  for (size_t i = 0; i < count; i++) {
    const word *text = &w->job->corpus->words[numbers[i]];
    keys[i] = (liblock_bytes){text->text, text->size};
  }
  const double began_at = now();
  liblock_result_init(result, sizeof *result);
  const liblock_status status = liblock_acquire_many(w->job->context, keys, count, &w->options, lock, result);
  if (status == LIBLOCK_OK) {
    note_acquire(&w->report, result, began_at);
  } else if (status == LIBLOCK_DEADLOCK) {
    w->report.deadlocks++;
  } else {
    fprintf(stderr, "index-demo: acquire: %s: %s\n", liblock_status_name(status), result->message);
    w->report.failed = 1;
  }
  return status;
}

static void unlock(worker *w, liblock_lock lock) {
  const liblock_status status = liblock_release(w->job->context, lock, NULL);
  if (status == LIBLOCK_OK) return;
  fprintf(stderr, "index-demo: release: %s\n", liblock_status_name(status));
  w->report.failed = 1;
}

/* Under the lock of the word: a token at or below that of an earlier holder would mean two holders at once. */
static void check_token(worker *w, index_word *entry, const liblock_result *result) {
  const int again = (result->flags & LIBLOCK_RESULT_REENTERED) != 0;
  if (again ? result->token < entry->token : result->token <= entry->token) w->report.token_regressions++;
  entry->token = result->token;
}

static void link_under_lock(worker *w, uint32_t a, uint32_t b, liblock_lock *held) {
  word_index *index = w->job->index;
  const uint32_t pair[2] = {a, b};
  liblock_lock both;
  liblock_result result;
  liblock_status status = lock_words(w, pair, 2, &both, &result);
  while (status == LIBLOCK_DEADLOCK) {
    if (*held != 0) unlock(w, *held);
    *held = 0;
    status = lock_words(w, pair, 2, &both, &result);
  }
  if (status != LIBLOCK_OK) return;
  index_link(&index->words[a], &index->words[b], 0);
  w->report.updates++;
  unlock(w, both);
}

static void add_under_lock(worker *w, uint32_t in_document, uint32_t number, const uint32_t *next) {
  index_word *entry = &w->job->index->words[number];
  liblock_lock lock;
  liblock_result result;
  if (lock_words(w, &number, 1, &lock, &result) != LIBLOCK_OK) return;
  check_token(w, entry, &result);
  index_add(entry, in_document, 0);
  w->report.updates++;
  if (next != NULL && *next != number) link_under_lock(w, number, *next, &lock);
  if (lock != 0) unlock(w, lock);
}

static void add_without_lock(worker *w, uint32_t in_document, uint32_t number, const uint32_t *next, uint32_t at) {
  word_index *index = w->job->index;
  const int pause = at % 16 == 0;
  index_add(&index->words[number], in_document, pause);
  w->report.updates++;
  if (next == NULL || *next == number) return;
  index_link(&index->words[number], &index->words[*next], pause);
  w->report.updates++;
}

static void *work(void *argument) {
  worker *w = argument;
  job *j = w->job;
  for (;;) {
    const uint32_t d = atomic_fetch_add(&j->next_document, 1);
    if (d >= j->corpus->document_count || w->report.failed) break;
    const document *doc = &j->corpus->documents[d];
    for (uint32_t i = 0; i < doc->count && !w->report.failed; i++) {
      const uint32_t *next = i % 8 == 0 && i + 1 < doc->count ? &doc->words[i + 1] : NULL;
      if (j->context != NULL) {
        add_under_lock(w, d, doc->words[i], next);
      } else {
        add_without_lock(w, d, doc->words[i], next, i);
      }
      if (i % 1024 == 1023) atomic_fetch_add(&j->done, 1024);
    }
    atomic_fetch_add(&j->done, doc->count % 1024);
  }
  atomic_fetch_sub(&j->running, 1);
  return NULL;
}

static int start(worker *w, int number) {
  job *j = w->job;
  char name[16];
  const int size = snprintf(name, sizeof name, "worker-%d", number);
  liblock_acquire_options_init(&w->options, sizeof w->options);
  if (j->context != NULL) {
    if (liblock_owner_open(j->context, name, (size_t)size, &w->owner, NULL) != LIBLOCK_OK) return -1;
    w->options.owner = w->owner;
  }
  return pthread_create(&w->thread, NULL, work, w) == 0 ? 0 : -1;
}

static void add_report(run_report *sum, const run_report *one) {
  sum->updates += one->updates;
  sum->acquires += one->acquires;
  sum->waited += one->waited;
  sum->deadlocks += one->deadlocks;
  sum->token_regressions += one->token_regressions;
  sum->failed |= one->failed;
  for (int i = 0; i < WAIT_BUCKETS; i++) sum->wait_us[i] += one->wait_us[i];
}

void build_index(const corpus *c, word_index *index, liblock_context *context, int threads,
                 void (*progress)(double share), run_report *report) {
  job j = {.corpus = c, .index = index, .context = context, .threads = threads};
  worker workers[THREADS_MAX];
  memset(workers, 0, sizeof workers);
  memset(report, 0, sizeof *report);
  const double began_at = now();
  int started = 0;
  for (; started < threads; started++) {
    workers[started].job = &j;
    atomic_fetch_add(&j.running, 1);
    if (start(&workers[started], started) != 0) {
      atomic_fetch_sub(&j.running, 1);
      fprintf(stderr, "index-demo: cannot start thread %d; try fewer with --threads\n", started + 1);
      liblock_owner_free(workers[started].owner);
      report->failed = 1;
      break;
    }
  }
  while (atomic_load(&j.running) > 0) {
    const struct timespec tenth = {0, 20 * 1000 * 1000};
    nanosleep(&tenth, NULL);
    if (progress != NULL) progress((double)atomic_load(&j.done) / (double)c->occurrences);
  }
  for (int i = 0; i < started; i++) {
    pthread_join(workers[i].thread, NULL);
    add_report(report, &workers[i].report);
    liblock_owner_free(workers[i].owner);
  }
  report->seconds = now() - began_at;
}
