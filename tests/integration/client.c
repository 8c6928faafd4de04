/* SPDX-License-Identifier: MIT
 *
 * A process that locks on servers and works at a shared resource while it holds, until it is told to stop: read a
 * number, be busy, write one more. What it does is written down (client_record.h). Its way:
 *   careful   stops where it is told that it is not the holder any more, and writes down from when until when it
 *             certainly was: between two looks of which the later one still said so
 *   guarded   looks at nothing, and shows its token to the resource, which refuses smaller ones than it has seen
 *   careless  looks at nothing and shows no token: it must lose updates when it is stopped for long
 * and those that are wrong on purpose, which the tests must find:
 *   granting  does not ask for the lock, and believes that it has it
 *   believing careful, but does not believe that it can have lost the lock
 *   repeating careful, and shows one token for ever
 *
 * LIBLOCK_CLIENT_THREADS: so many do this, in one context (1); LIBLOCK_CLIENT_FRONT_MS: its option front_ms.
 * At its end it adds a line to DIRECTORY/NAME.passed_on: how often locks went from hand to hand within it.
 * SIGUSR1: while it holds it makes a child, which must find everything FORKED, and take nothing from its parent; a line
 * in DIRECTORY/NAME.forked for each.
 *
 * Usage: client URL NAME DIRECTORY KEYS MAX_TTL_MS HOLD_MS WAY SEED VOTES TIMEOUT_MS     (the last two: 0 = default)
 * DIRECTORY/stop ends it.
 */
#include <liblock/liblock.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/forking.h"
#include "client_record.h"

static liblock_context *context;
static int64_t max_ttl_ms, hold_ms;
static bool looks, shows_token, grants_itself, believes, repeats_token;
static char **words;
static _Thread_local unsigned dice;
static atomic_int should_fork; /* the signal comes on any thread */

static void ask_for_fork(int number) { (void)number, should_fork = 1; }

static void pause_us(int64_t us) {
  const struct timespec time = {us / 1000000, us % 1000000 * 1000};
  nanosleep(&time, NULL);
}

static unsigned throw(unsigned sides) { return (unsigned)rand_r(&dice) % sides; }

static bool read_way(const char *way) {
  looks = shows_token = true;
  if (strcmp(way, "careful") == 0) return true;
  if (strcmp(way, "guarded") == 0) return looks = false, true;
  if (strcmp(way, "careless") == 0) return looks = shows_token = false, true;
  if (strcmp(way, "granting") == 0) return grants_itself = believes = true;
  if (strcmp(way, "believing") == 0) return believes = true;
  if (strcmp(way, "repeating") == 0) return repeats_token = true;
  return false;
}

static void tell(const char *what, uint64_t count) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.%s", words[3], words[2], what);
  FILE *file = fopen(path, "a");
  if (file == NULL || fprintf(file, "%llu\n", (unsigned long long)count) < 0 || fclose(file) != 0) abort();
}

static void tell_what_was_passed_on(void) {
  liblock_stats stats;
  liblock_stats_init(&stats, sizeof stats);
  if (liblock_stats_get(context, &stats) != LIBLOCK_OK) abort();
  tell("passed_on", stats.passed_on);
}

static int copies_are_what_they_should_be(void *argument) {
  const liblock_lock lock = *(const liblock_lock *)argument;
  const bool are_fine = liblock_is_held(context, lock) == LIBLOCK_FORKED &&
                        liblock_release(context, lock, NULL) == LIBLOCK_FORKED &&
                        liblock_close(context) == LIBLOCK_OK;
  liblock_context_free(context);
  return are_fine ? 0 : 1;
}

static void fork_once(liblock_lock lock) {
  should_fork = 0;
  if (in_a_child(copies_are_what_they_should_be, &lock) != 0) exit(5);
  tell("forked", 1);
}

/* A span reaches to the last moment that a later look has confirmed. */
static bool still_holds(liblock_lock lock) {
  const int64_t now = now_ns();
  if (!believes && liblock_is_held(context, lock) != LIBLOCK_OK) return false;
  record_until(now);
  return true;
}

static void work(liblock_lock lock, unsigned key, uint64_t token) {
  uint64_t value;
  if (looks && !still_holds(lock)) return;
  const uint64_t shown = shows_token ? token : 0;
  const bool allowed = resource_read(key, shown, &value);
  /* Some hold while much happens. */
  const int64_t most_ms = looks && throw(4) == 0 ? 30 * hold_ms : hold_ms;
  const int64_t end = now_ns() + (int64_t) throw((unsigned)most_ms * 1000 + 1) * 1000;
  bool holds = true;
  do {
    pause_us(200 + throw(800));
    if (should_fork && !grants_itself) fork_once(lock);
    holds = !looks || still_holds(lock);
  } while (holds && now_ns() < end);
  if (holds && allowed) resource_write(key, shown, value + 1);
  if (looks) still_holds(lock);
}

static liblock_status acquire(unsigned number, liblock_lock *lock, liblock_result *result) {
  char key[8];
  const size_t size = (size_t)snprintf(key, sizeof key, "k%u", number);
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.wait_ms = throw(4) ? 100 + throw(1500) : 0;
  if (looks && throw(3) == 0) {
    options.ttl_ms = 100 + throw((unsigned)max_ttl_ms - 100);
    options.renew = (int32_t) throw(2);
  }
  if (!looks) options.ttl_ms = 300;
  if (throw(8) == 0) options.order = LIBLOCK_ORDER_ANY;
  if (grants_itself) return result->token = (uint64_t)now_ns(), LIBLOCK_OK;
  return liblock_acquire(context, key, size, &options, lock, result);
}

static void lock_once(unsigned keys) {
  const unsigned number = throw(keys);
  liblock_lock lock = 0;
  liblock_result result = LIBLOCK_RESULT_INIT;
  record_asking(number);
  const liblock_status status = acquire(number, &lock, &result);
  if (status != LIBLOCK_OK) {
    record_ended(status);
    return;
  }
  if (repeats_token) result.token = 1;
  record_holding(result.token);
  work(lock, number, result.token);
  record_releasing();
  record_ended(grants_itself ? LIBLOCK_OK : liblock_release(context, lock, NULL));
}

/* While a server is not what it should be, nobody who comes new is let in. */
static void open_context(void) {
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.max_ttl_ms = max_ttl_ms;
  options.client_name = words[2];
  options.alive_ms = 600;
  options.votes = (int32_t)strtol(words[9], NULL, 10);
  const char *front_ms = getenv("LIBLOCK_CLIENT_FRONT_MS");
  if (front_ms) options.front_ms = strtoll(front_ms, NULL, 10);
  const int64_t timeout_ms = strtoll(words[10], NULL, 10);
  if (timeout_ms > 0) options.connect_timeout_ms = options.command_timeout_ms = timeout_ms;
  liblock_result result = LIBLOCK_RESULT_INIT;
  while (liblock_open(words[1], &options, &context, &result) != LIBLOCK_OK) {
    if (record_should_stop()) exit(0);
    pause_us(50000);
  }
}

static void *live(void *number) {
  const unsigned thread = (unsigned)(uintptr_t)number;
  if (thread != 0) record_open(words[3], words[2], thread);
  dice = (unsigned)strtoul(words[8], NULL, 10) + 1000 * thread;
  while (!record_should_stop()) {
    lock_once((unsigned)strtoul(words[4], NULL, 10));
    pause_us(throw(5000));
  }
  return NULL;
}

int main(int count, char **given) {
  enum { THREADS_MAX = 16 };
  words = given;
  if (count != 11 || !read_way(words[7])) return fprintf(stderr, "usage: see client.c\n"), 2;
  max_ttl_ms = strtoll(words[5], NULL, 10);
  hold_ms = strtoll(words[6], NULL, 10);
  const struct sigaction action = {.sa_handler = ask_for_fork, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  record_open(words[3], words[2], 0);
  open_context();
  const char *wanted = getenv("LIBLOCK_CLIENT_THREADS");
  const unsigned threads = wanted ? (unsigned)strtoul(wanted, NULL, 10) : 1;
  if (threads == 0 || threads > THREADS_MAX) return 2;
  pthread_t others[THREADS_MAX];
  for (unsigned i = 1; i < threads; i++) {
    if (pthread_create(&others[i], NULL, live, (void *)(uintptr_t)i) != 0) abort();
  }
  live(NULL);
  for (unsigned i = 1; i < threads; i++) pthread_join(others[i], NULL);
  tell_what_was_passed_on();
  liblock_context_free(context);
  return 0;
}
