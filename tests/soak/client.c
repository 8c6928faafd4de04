/* SPDX-License-Identifier: MIT
 *
 * A process that locks for as long as it is let, at a gentle pace, through a local context, one on a server and one
 * over a quorum at once, and says every second what it saw. In each scope two players, each with a context of its own,
 * pass one key to and fro (from a release to the return of the other is its wake-up latency), and a rover does
 * whatever else a program may do, also open contexts and close them. Whoever gets the key sees whether the other still
 * believes in it, and whether its token is larger than all before it.
 *
 * Usage: soak-client SCOPE=URL… (scope: local, redis, quorum). Ends with its standard input. One line of JSON a second.
 */
#include <inttypes.h>
#include <liblock/liblock.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  SCOPES_MAX = 3,
  PLAYERS = 2,
  KEYS = 16,
  SAMPLES_MAX = 4096,
  STATUSES = 128,
  REOPEN_ROUNDS = 40,
  QUORUM_MAX_TTL_MS = 10000
};

typedef struct scope {
  const char *name, *url;
  int hold_ms, pause_ms, max_ttl_ms;
  liblock_context *contexts[PLAYERS];
  /* Of the key that they pass: whose it is (0 nobody, else number + 1), under which handle, when it was let go. */
  _Atomic int holder;
  _Atomic uint64_t held_as, newest_token;
  _Atomic int64_t released_at_us;
  _Atomic uint64_t ends[STATUSES], roved[STATUSES], doubles, tokens_back, unexpected;
  pthread_mutex_t
      guard; /* of what follows: the wake-ups since it was last told of them, and all that ever were */
  int64_t samples[SAMPLES_MAX];
  size_t sample_count;
  uint64_t hand_overs;
} scope;

static liblock_status open_context(const scope *in, liblock_context **context, liblock_result *result) {
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  if (in->max_ttl_ms != 0) options.max_ttl_ms = in->max_ttl_ms;
  return liblock_open(in->url, &options, context, result);
}

typedef struct player {
  scope *in;
  int number;
} player;

static atomic_bool is_over;

static int64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void pause_us(int64_t us) {
  const struct timespec time = {us / 1000000, us % 1000000 * 1000};
  nanosleep(&time, NULL);
}

/* What may come of a call while servers are bent; all else is told as unexpected. */
static bool is_expected(liblock_status status) {
  return status == LIBLOCK_OK || status == LIBLOCK_CANCELED || status == LIBLOCK_NOT_HELD ||
         liblock_status_is(status, LIBLOCK_RETRYABLE) || liblock_status_is(status, LIBLOCK_MAYBE_HELD) ||
         liblock_status_is(status, LIBLOCK_LOST_LOCK);
}

static liblock_status note(scope *in, _Atomic uint64_t *counts, liblock_status status) {
  atomic_fetch_add(&counts[(unsigned)status % STATUSES], 1);
  if (!is_expected(status)) atomic_fetch_add(&in->unexpected, 1);
  return status;
}

static void woke_up(scope *in, int64_t took_us) {
  pthread_mutex_lock(&in->guard);
  in->hand_overs++;
  if (in->sample_count < SAMPLES_MAX) in->samples[in->sample_count++] = took_us;
  pthread_mutex_unlock(&in->guard);
}

/* ----- the players */

/* Nobody else believes in the key: the other has left, or is told that it is not his any more. */
static void enter(scope *in, int number, liblock_lock lock, uint64_t token) {
  const int other = atomic_load(&in->holder);
  const liblock_lock held_as = atomic_load(&in->held_as);
  const bool believes = other != 0 && other != number + 1 &&
                        liblock_is_held(in->contexts[other - 1], held_as) == LIBLOCK_OK &&
                        liblock_is_held(in->contexts[number], lock) == LIBLOCK_OK &&
                        atomic_load(&in->holder) == other && atomic_load(&in->held_as) == held_as;
  if (believes) atomic_fetch_add(&in->doubles, 1);
  if (token <= atomic_load(&in->newest_token) && liblock_is_held(in->contexts[number], lock) == LIBLOCK_OK)
    atomic_fetch_add(&in->tokens_back, 1);
  atomic_store(&in->newest_token, token);
  atomic_store(&in->held_as, lock);
  atomic_store(&in->holder, number + 1);
}

static void leave(scope *in, int number) {
  int mine = number + 1;
  atomic_compare_exchange_strong(&in->holder, &mine, 0);
}

static void *play(void *argument) {
  const player *self = argument;
  scope *in = self->in;
  liblock_context *context = in->contexts[self->number];
  while (!atomic_load(&is_over)) {
    liblock_acquire_options options;
    liblock_acquire_options_init(&options, sizeof options);
    options.wait_ms = 3000;
    liblock_lock lock;
    liblock_result result = LIBLOCK_RESULT_INIT;
    const int64_t began = now_us();
    const liblock_status status = liblock_acquire(context, "baton", 5, &options, &lock, &result);
    const int64_t ended = now_us(), released = atomic_load(&in->released_at_us);
    if (note(in, in->ends, status) != LIBLOCK_OK) {
      pause_us(50000);
      continue;
    }
    if (released > began) woke_up(in, ended - released);
    enter(in, self->number, lock, result.token);
    pause_us((int64_t)in->hold_ms * 1000);
    leave(in, self->number);
    atomic_store(&in->released_at_us, now_us());
    note(in, in->ends, liblock_release(context, lock, NULL));
    pause_us((int64_t)in->hold_ms * 200);
  }
  return NULL;
}

/* ----- the rover */

typedef struct rover {
  scope *in;
  liblock_context *context;
  liblock_completions *ends;
  unsigned dice;
} rover;

static unsigned throw(rover * self, unsigned sides) { return (unsigned)rand_r(&self->dice) % sides; }

static size_t some_key(rover *self, char key[16]) {
  return (size_t)snprintf(key, 16, "rover-%u", throw(self, KEYS));
}

static void hold_a_while(rover *self) {
  char key[16];
  const size_t size = some_key(self, key);
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.wait_ms = throw(self, 200);
  options.ttl_ms = 500;
  options.renew = (int32_t) throw(self, 2);
  options.value = "carried";
  options.value_size = 7;
  liblock_lock lock;
  if (note(self->in, self->in->roved, liblock_acquire(self->context, key, size, &options, &lock, NULL)) !=
      LIBLOCK_OK)
    return;
  if (throw(self, 2)) note(self->in, self->in->roved, liblock_extend(self->context, lock, 800, 0, NULL));
  if (throw(self, 2))
    note(self->in, self->in->roved, liblock_update(self->context, lock, "changed", 7, NULL));
  pause_us(throw(self, 20000));
  if (throw(self, 10)) note(self->in, self->in->roved, liblock_release(self->context, lock, NULL));
}

/* Several at one key, of which one is canceled: each ends once, in the queue of ends. */
static void ask_and_cancel(rover *self) {
  enum { ASKED = 3 };
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.wait_ms = 300;
  options.ttl_ms = 500;
  options.completions = self->ends;
  liblock_request asked[ASKED];
  int pending = 0;
  for (int i = 0; i < ASKED; i++)
    pending += note(self->in, self->in->roved,
                    liblock_acquire_async(self->context, "line", 4, &options, NULL, NULL, &asked[pending])) ==
               LIBLOCK_OK;
  if (pending == ASKED) liblock_cancel(self->context, asked[1]);
  while (pending > 0) {
    liblock_completion end = {.struct_size = sizeof end};
    if (liblock_completions_next(self->ends, 30000, &end) != LIBLOCK_OK) {
      atomic_fetch_add(&self->in->unexpected, 1);
      return;
    }
    if (end.kind != LIBLOCK_KIND_ACQUIRE) continue;
    pending--;
    if (note(self->in, self->in->roved, end.status) == LIBLOCK_OK)
      note(self->in, self->in->roved, liblock_release(self->context, end.lock, NULL));
  }
}

static void look(rover *self) {
  char key[16];
  const size_t size = some_key(self, key);
  liblock_info *info = NULL;
  note(self->in, self->in->roved, liblock_inspect(self->context, key, size, &info, NULL));
  liblock_info_free(info);
  int32_t locked;
  note(self->in, self->in->roved, liblock_is_locked(self->context, key, size, &locked));
  char text[256];
  size_t needed;
  liblock_stats_prometheus(self->context, text, sizeof text, &needed);
}

static void own(rover *self) {
  liblock_owner *owner;
  if (liblock_owner_open(self->context, "somebody", 8, &owner, NULL) != LIBLOCK_OK) return;
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.owner = owner;
  options.wait_ms = 100;
  options.ttl_ms = 500;
  char key[16];
  liblock_lock lock;
  for (int i = 0; i < 2; i++) {
    const size_t size = some_key(self, key);
    note(self->in, self->in->roved, liblock_acquire(self->context, key, size, &options, &lock, NULL));
  }
  liblock_owner_close(owner); /* with whatever it holds */
  liblock_owner_free(owner);
}

static void rove_in_a_context(rover *self) {
  liblock_result result = LIBLOCK_RESULT_INIT;
  if (note(self->in, self->in->roved, open_context(self->in, &self->context, &result)) != LIBLOCK_OK) {
    pause_us(200000);
    return;
  }
  if (liblock_completions_open(self->context, 64, &self->ends, NULL) != LIBLOCK_OK) abort();
  for (int i = 0; i < REOPEN_ROUNDS && !atomic_load(&is_over); i++) {
    void (*const deeds[])(rover *) = {hold_a_while, hold_a_while, ask_and_cancel, look, own};
    deeds[throw(self, sizeof deeds / sizeof deeds[0])](self);
    pause_us((int64_t)self->in->pause_ms * 1000);
  }
  liblock_completions_free(self->ends);
  liblock_context_free(self->context);
}

static void *rove(void *argument) {
  rover self = {.in = argument, .dice = (unsigned)(uintptr_t)argument};
  while (!atomic_load(&is_over)) rove_in_a_context(&self);
  return NULL;
}

/* ----- what is told */

static int by_size(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static uint64_t sum_of(_Atomic uint64_t *counts) {
  uint64_t sum = 0;
  for (int i = 0; i < STATUSES; i++) sum += atomic_load(&counts[i]);
  return sum;
}

static void tell(scope *in) {
  static int64_t samples[SAMPLES_MAX];
  pthread_mutex_lock(&in->guard);
  const size_t count = in->sample_count;
  memcpy(samples, in->samples, count * sizeof *samples);
  in->sample_count = 0;
  const uint64_t hand_overs = in->hand_overs;
  pthread_mutex_unlock(&in->guard);
  qsort(samples, count, sizeof *samples, by_size);
  printf("\"%s\": {\"wakes\": %zu, \"p50_us\": %" PRId64 ", \"p99_us\": %" PRId64 ", \"hand_overs\": %" PRIu64
         ", \"played\": %" PRIu64 ", \"roved\": %" PRIu64 ", \"doubles\": %" PRIu64
         ", \"tokens_back\": %" PRIu64 ", \"unexpected\": %" PRIu64 ", \"ends\": {",
         in->name, count, count ? samples[count / 2] : -1, count ? samples[count * 99 / 100] : -1, hand_overs,
         sum_of(in->ends), sum_of(in->roved), atomic_load(&in->doubles), atomic_load(&in->tokens_back),
         atomic_load(&in->unexpected));
  const char *between = "";
  for (int i = 0; i < STATUSES; i++) {
    const uint64_t seen = atomic_load(&in->ends[i]) + atomic_load(&in->roved[i]);
    if (seen == 0) continue;
    printf("%s\"%s\": %" PRIu64, between, liblock_status_name(i), seen);
    between = ", ";
  }
  printf("}}");
}

static void tell_until_the_input_ends(scope *scopes, int count) {
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  char byte;
  while (poll(&input, 1, 1000) == 0 || read(STDIN_FILENO, &byte, 1) > 0) {
    printf("{");
    for (int i = 0; i < count; i++) {
      if (i) printf(", ");
      tell(&scopes[i]);
    }
    printf("}\n");
    fflush(stdout);
  }
}

static bool read_scope(scope *in, char *word) {
  static const struct {
    const char *name;
    int hold_ms, pause_ms, max_ttl_ms;
  } kinds[] = {{"local", 20, 20, 0}, {"redis", 40, 60, 0}, {"quorum", 100, 200, QUORUM_MAX_TTL_MS}};
  char *url = strchr(word, '=');
  if (url == NULL) return false;
  *url = '\0';
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (strcmp(word, kinds[i].name) != 0) continue;
    in->name = word;
    in->url = url + 1;
    in->hold_ms = kinds[i].hold_ms;
    in->pause_ms = kinds[i].pause_ms;
    in->max_ttl_ms = kinds[i].max_ttl_ms;
    pthread_mutex_init(&in->guard, NULL);
    return true;
  }
  return false;
}

int main(int count, char **words) {
  static scope scopes[SCOPES_MAX];
  static player players[SCOPES_MAX * PLAYERS];
  pthread_t threads[SCOPES_MAX * (PLAYERS + 1)];
  int scope_count = 0, thread_count = 0;
  for (int i = 1; i < count; i++)
    if (scope_count == SCOPES_MAX || !read_scope(&scopes[scope_count++], words[i]))
      return fprintf(stderr, "usage: soak-client SCOPE=URL…\n"), 2;
  for (int i = 0; i < scope_count; i++) {
    for (int number = 0; number < PLAYERS; number++) {
      liblock_result result = LIBLOCK_RESULT_INIT;
      if (open_context(&scopes[i], &scopes[i].contexts[number], &result) != LIBLOCK_OK)
        return fprintf(stderr, "%s: %s\n", scopes[i].name, result.message), 3;
      players[i * PLAYERS + number] = (player){&scopes[i], number};
      if (pthread_create(&threads[thread_count++], NULL, play, &players[i * PLAYERS + number]) != 0) return 3;
    }
    if (pthread_create(&threads[thread_count++], NULL, rove, &scopes[i]) != 0) return 3;
  }
  tell_until_the_input_ends(scopes, scope_count);
  atomic_store(&is_over, true);
  for (int i = 0; i < thread_count; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < scope_count; i++)
    for (int number = 0; number < PLAYERS; number++) liblock_context_free(scopes[i].contexts[number]);
  return 0;
}
