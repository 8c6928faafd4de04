/* SPDX-License-Identifier: MIT
 *
 * Threads of three contexts that lock, wait, extend, ask, cancel and force at random for some seconds, while a script
 * (chaos.py) kills, stops, empties and disconnects their server. Whatever happens to it, no call may take longer than
 * its wait and the time-outs together, every request must end once, and everything must close.
 * Usage: chaos URL SECONDS. Prints TAP. Built for the sanitizers, whose findings end it.
 */
#include <liblock/liblock.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

enum { CONTEXTS = 3, THREADS = 8, KEYS = 5, WAIT_MS = 300, TIMEOUTS_MS = 2000 };

static liblock_context *contexts[CONTEXTS];
static atomic_bool over;
static atomic_long ends[128], asked, ended;
static _Atomic int64_t longest_ms;

static void note(liblock_status status, int64_t began_ms) {
  ends[status]++;
  const int64_t took = now_ms() - began_ms;
  if (took > longest_ms) longest_ms = took;
}

static void request_ended(const liblock_completion *completion, void *context) {
  ended++;
  ends[completion->status]++;
  if (completion->status == LIBLOCK_OK && completion->kind == LIBLOCK_KIND_ACQUIRE)
    liblock_release_async(context, completion->lock, NULL, NULL, NULL, NULL);
  liblock_info_free(completion->info);
}

static void hear(const liblock_event *event, void *user_data) { (void)event, (void)user_data; }

struct dice {
  unsigned state;
};

static unsigned throw(struct dice * dice, unsigned sides) { return (unsigned)rand_r(&dice->state) % sides; }

static void hold(liblock_context *context, liblock_lock lock, struct dice *dice) {
  usleep(throw(dice, 2000));
  if (throw(dice, 4) == 0) liblock_extend(context, lock, 500, (int32_t) throw(dice, 2), NULL);
  if (throw(dice, 6) == 0) liblock_update(context, lock, "value", 5, NULL);
  if (throw(dice, 6) == 0) liblock_verify(context, lock, NULL);
  const int64_t released = now_ms();
  note(liblock_release(context, lock, NULL), released);
}

static void lock_once(liblock_context *context, struct dice *dice) {
  char key[8];
  const size_t size = (size_t)snprintf(key, sizeof key, "k%u", throw(dice, KEYS));
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.wait_ms = throw(dice, 3) ? WAIT_MS : 0;
  if (throw(dice, 3) == 0) {
    options.ttl_ms = 200 + throw(dice, 2000);
    options.renew = (int32_t) throw(dice, 2);
  }
  const int64_t began = now_ms();
  const unsigned what = throw(dice, 12);
  liblock_lock lock = 0;
  if (what == 0) {
    liblock_request request;
    if (liblock_acquire_async(context, key, size, &options, request_ended, context, &request) != LIBLOCK_OK)
      return;
    asked++;
    if (throw(dice, 2)) liblock_cancel(context, request);
    usleep(500);
  } else if (what == 1) {
    if (liblock_inspect_async(context, key, size, NULL, request_ended, context, NULL) == LIBLOCK_OK) asked++;
    usleep(300);
  } else if (what == 2) {
    int32_t locked;
    note(liblock_is_locked(context, key, size, &locked), began);
  } else if (what == 3) {
    note(liblock_force_release(context, key, size, (int32_t) throw(dice, 2), NULL), began);
  } else {
    const liblock_bytes keys[3] = {{"k0", 2}, {"k1", 2}, {"k2", 2}};
    const liblock_status status = what == 4 ? liblock_acquire_many(context, keys, 3, &options, &lock, NULL)
                                            : liblock_acquire(context, key, size, &options, &lock, NULL);
    note(status, began);
    if (status == LIBLOCK_OK) hold(context, lock, dice);
  }
}

static void *work(void *argument) {
  struct dice dice = {(unsigned)(uintptr_t)argument * 7919u + 1u};
  while (!over) lock_once(contexts[throw(&dice, CONTEXTS)], &dice);
  return NULL;
}

static void check_figure(bool holds, const char *name, long long figure) {
  char figures[32];
  snprintf(figures, sizeof figures, "%lld", figure);
  check_figures(holds, name, figures);
}

int main(int count, char **words) {
  if (count != 3) return fprintf(stderr, "usage: chaos URL SECONDS\n"), 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (int i = 0; i < CONTEXTS; i++) {
    if (liblock_open(words[1], NULL, &contexts[i], NULL) != LIBLOCK_OK) return 3;
    liblock_set_events(contexts[i], ~UINT64_C(0), hear, NULL);
  }
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)(i + 1));
  sleep((unsigned)strtoul(words[2], NULL, 10));
  over = true;
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  const int64_t closing = now_ms();
  for (int i = 0; i < CONTEXTS; i++) liblock_close(contexts[i]);
  const int64_t closed = now_ms() - closing;
  while (ended < asked && now_ms() - closing < 10000) usleep(1000);
  for (int i = 0; i < CONTEXTS; i++) liblock_context_free(contexts[i]);
  const double slow = slowness();
  check_figure((double)longest_ms <= (WAIT_MS + TIMEOUTS_MS + 900) * slow,
               "no call takes longer than its wait and the time-outs", (long long)longest_ms);
  check_figure((double)closed <= CONTEXTS * 1500 * slow, "the contexts close within the command time-out",
               (long long)closed);
  check_figure(ended == asked, "every request has ended once", asked - ended);
  check_figure((double)ends[LIBLOCK_OK] > 1000 / slow, "most of the time there was a server", ends[LIBLOCK_OK]);
  for (int i = 0; i < 128; i++) {
    if (ends[i]) printf("# %s %ld\n", liblock_status_name(i), ends[i]);
  }
  check_figure(ends[LIBLOCK_INTERNAL] + ends[LIBLOCK_PROTOCOL] == 0,
               "nothing was called internal or not understood",
               ends[LIBLOCK_INTERNAL] + ends[LIBLOCK_PROTOCOL]);
  return finish();
}
