/* SPDX-License-Identifier: MIT
 *
 * A hundred processes acquire, hold, wait for and release a few keys of one server, and each is killed (SIGKILL) at a
 * random moment of that. Afterwards
 *   - every key is free again when the lease that was current at the kill has ended,
 *   - a live waiter is served within alive_ms of a release, however many dead ones stand before it,
 *   - no key on the server is without an expiry.
 * Usage: kills URL (a server that nobody else uses). Prints TAP. LIBLOCK_SEED replays the moments.
 */
#include <liblock/liblock.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "server.h"
#include "tap.h"

enum {
  CHILDREN = 100,
  KEYS = 10,
  ALIVE_MS = 3000,
  RENEWED_TTL_MS = 1500,
  FIRST_LEASE_MS = 3000,
  SLACK_MS = 1000,
  DEAD = 20,
  SOON_MS = 20000
};

static uint64_t random_state;

static uint32_t random_up_to(uint32_t bound) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 33) % (bound + 1);
}

static void check_figure(bool holds, const char *name, const char *format, int64_t figure) {
  char figures[64];
  snprintf(figures, sizeof figures, format, (long long)figure);
  check_figures(holds, name, figures);
}

static liblock_context *open_context(const char *url) {
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.alive_ms = ALIVE_MS;
  liblock_context *context;
  const liblock_status opened = liblock_open(url, &options, &context, NULL);
  if (opened != LIBLOCK_OK) exit((int)opened);
  return context;
}

/* A child does this until it is killed: short holds that are never renewed, and now and then a long one that is.
 * Where it is told a status that it must not be told it ends by itself, with that. */
static void child(const char *url, unsigned number) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  random_state += 1000003u * (number + 1);
  liblock_context *context = open_context(url);
  for (;;) {
    char key[16];
    const int size = snprintf(key, sizeof key, "key-%u", random_up_to(KEYS - 1));
    const bool is_long = random_up_to(9) == 0;
    liblock_acquire_options options;
    liblock_acquire_options_init(&options, sizeof options);
    if (is_long) {
      options.ttl_ms = RENEWED_TTL_MS;
      options.renew = 1;
    }
    liblock_lock lock;
    const liblock_status taken = liblock_acquire(context, key, (size_t)size, &options, &lock, NULL);
    if (taken != LIBLOCK_OK) _exit((int)taken);
    pause_ms(is_long ? 700 : random_up_to(3));
    const liblock_status status = liblock_release(context, lock, NULL);
    if (status != LIBLOCK_OK && status != LIBLOCK_LOST) _exit((int)status);
  }
}

static void kill_all(const char *url) {
  pid_t children[CHILDREN];
  for (unsigned i = 0; i < CHILDREN; i++) {
    children[i] = fork();
    if (children[i] == 0) child(url, i);
    if (children[i] < 0) exit(3);
  }
  pause_ms(1500);
  unsigned ended_early = 0;
  int told = 0;
  for (unsigned i = 0; i < CHILDREN; i++) {
    pause_ms(random_up_to(20));
    kill(children[i], SIGKILL);
    int status;
    waitpid(children[i], &status, 0);
    if (WIFSIGNALED(status)) continue;
    ended_early++;
    told = WEXITSTATUS(status);
  }
  char figures[64];
  snprintf(figures, sizeof figures, "%u ended before, the last one with status %d", ended_early, told);
  check_figures(ended_early == 0, "every child was at work when it was killed", figures);
}

static void keys_become_free(const char *url) {
  liblock_context *context = open_context(url);
  const int64_t killed_at = now_ms(), limit = FIRST_LEASE_MS + SLACK_MS;
  int64_t longest = 0;
  for (unsigned i = 0; i < KEYS; i++) {
    char key[16];
    const int size = snprintf(key, sizeof key, "key-%u", i);
    int32_t locked = 1;
    while (liblock_is_locked(context, key, (size_t)size, &locked) == LIBLOCK_OK && locked &&
           now_ms() - killed_at < 2 * limit)
      pause_ms(5);
    if (now_ms() - killed_at > longest) longest = now_ms() - killed_at;
  }
  check_figure(longest <= limit, "every key is free when the lease of a killed holder has ended", "%lld ms",
               longest);
  liblock_context_free(context);
}

struct waiter {
  const char *url;
  int64_t served_at;
};

static void *wait_for_key(void *argument) {
  struct waiter *waiter = argument;
  liblock_context *context = open_context(waiter->url);
  liblock_lock lock;
  if (liblock_acquire(context, "queue", 5, NULL, &lock, NULL) == LIBLOCK_OK) waiter->served_at = now_ms();
  liblock_context_free(context);
  return NULL;
}

/* One of those: it waits until it is killed. */
static int wait_in_vain(const char *url) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  liblock_lock never;
  return liblock_acquire(open_context(url), "queue", 5, NULL, &never, NULL) == LIBLOCK_OK ? 0 : 6;
}

/* How many stand in line, when that is so many or a while has passed. */
static int64_t await_queue(const char *url, int64_t wanted) {
  redisContext *server = connect_to(url);
  if (!server || server->err) exit(3);
  const int64_t until = now_ms() + (int64_t)(SOON_MS * slowness());
  int64_t waiting = -1;
  while (waiting != wanted && now_ms() < until) {
    redisReply *length = redisCommand(server, "ZCARD ll1:q:{liblock:queue}");
    if (!length) exit(3);
    waiting = length->integer;
    freeReplyObject(length);
    pause_ms(5);
  }
  redisFree(server);
  return waiting;
}

/* Twenty processes wait and are killed; one more waits behind them. */
static void dead_waiters_are_skipped(const char *url) {
  liblock_context *context = open_context(url);
  liblock_lock lock;
  if (liblock_acquire(context, "queue", 5, NULL, &lock, NULL) != LIBLOCK_OK) exit(3);
  pid_t children[DEAD];
  for (int i = 0; i < DEAD; i++) {
    children[i] = fork();
    if (children[i] != 0) continue;
    execl("/proc/self/exe", "kills", url, "waits", (char *)NULL); /* this one has threads already */
    _exit(3);
  }
  const int64_t waiting = await_queue(url, DEAD);
  check_figure(waiting == DEAD, "those who are to die stand in line", "%lld do", waiting);
  pthread_t thread;
  struct waiter waiter = {url, 0};
  pthread_create(&thread, NULL, wait_for_key, &waiter);
  if (await_queue(url, DEAD + 1) != DEAD + 1) exit(3);
  for (int i = 0; i < DEAD; i++) {
    kill(children[i], SIGKILL);
    waitpid(children[i], NULL, 0);
  }
  const int64_t released_at = now_ms();
  liblock_release(context, lock, NULL);
  pthread_join(thread, NULL);
  const int64_t served = waiter.served_at ? waiter.served_at - released_at : INT64_MAX;
  check_figure(served <= ALIVE_MS,
               "a live waiter is served within alive_ms though 20 dead ones waited before it", "%lld ms",
               served);
  liblock_context_free(context);
}

static void nothing_lasts_for_ever(const char *url) {
  redisContext *server = connect_to(url);
  redisReply *keys = server ? redisCommand(server, "KEYS *") : NULL;
  if (!keys || keys->type != REDIS_REPLY_ARRAY) exit(3);
  int64_t eternal = 0;
  for (size_t i = 0; i < keys->elements; i++) {
    redisReply *left = redisCommand(server, "PTTL %b", keys->element[i]->str, keys->element[i]->len);
    eternal += left->integer == -1;
    freeReplyObject(left);
  }
  check_figure(eternal == 0, "no key on the server is without an expiry", "%lld without", eternal);
  check_figure(keys->elements >= KEYS, "there were keys to look at", "%lld keys", (int64_t)keys->elements);
  freeReplyObject(keys);
  redisFree(server);
}

int main(int count, char **words) {
  if (count == 3 && strcmp(words[2], "waits") == 0) return wait_in_vain(words[1]);
  if (count != 2) {
    fprintf(stderr, "usage: kills URL\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  const char *seed = getenv("LIBLOCK_SEED");
  random_state = seed ? strtoull(seed, NULL, 10) : (uint64_t)now_ms();
  printf("# LIBLOCK_SEED=%llu\n", (unsigned long long)random_state);
  kill_all(words[1]);
  keys_become_free(words[1]);
  dead_waiters_are_skipped(words[1]);
  nothing_lasts_for_ever(words[1]);
  return finish();
}
