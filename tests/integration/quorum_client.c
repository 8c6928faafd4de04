/* SPDX-License-Identifier: MIT
 *
 * A process that locks over a quorum and works at a shared resource while it holds, until it is told to stop: read a
 * number, be busy, write one more. The resource keeps the largest token that it was shown of each key, and refuses
 * smaller ones. A careful client stops where it is told that it is not the holder any more, and writes down from when
 * until when it certainly was: between two looks of which the later one still said so. A careless one looks at nothing
 * and shows no token: it must lose updates when it is stopped for long.
 *
 * Usage: quorum-client URL NAME DIRECTORY KEYS MAX_TTL_MS HOLD_MS careful|guarded|careless SEED
 * DIRECTORY/stop ends it. Spans go to DIRECTORY/NAME.log as "KEY NAME TOKEN FROM UNTIL", in ns of the monotonic clock.
 */
#include <errno.h>
#include <fcntl.h>
#include <liblock/liblock.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { KEYS_MAX = 8, STATUSES = 128 };

struct place {
  uint64_t token, value, written, refused;
};

/* In a file of zeros; whoever comes first makes the mutex. */
struct resource {
  uint32_t is_made, uncertain; /* uncertain: so many were killed while they changed something */
  pthread_mutex_t mutex;
  struct place places[KEYS_MAX];
  uint64_t ends[STATUSES];
};

static struct resource *resource;
static liblock_context *context;
static FILE *spans;
static const char *name;
static int64_t max_ttl_ms, hold_ms;
static bool is_careful, shows_tokens;
static unsigned dice;

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void pause_us(int64_t us) {
  const struct timespec time = {us / 1000000, us % 1000000 * 1000};
  nanosleep(&time, NULL);
}

static unsigned throw(unsigned sides) { return (unsigned)rand_r(&dice) % sides; }

static void enter_resource(void) {
  if (pthread_mutex_lock(&resource->mutex) != EOWNERDEAD) return;
  resource->uncertain++;
  pthread_mutex_consistent(&resource->mutex);
}

static void map_resource(const char *directory) {
  char path[512];
  snprintf(path, sizeof path, "%s/resource", directory);
  const int file = open(path, O_RDWR);
  resource = mmap(NULL, sizeof *resource, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file < 0 || resource == MAP_FAILED) exit(4);
  close(file);
  uint32_t nobody = 0;
  if (__atomic_compare_exchange_n(&resource->is_made, &nobody, 1, false, __ATOMIC_SEQ_CST,
                                  __ATOMIC_SEQ_CST)) {
    pthread_mutexattr_t shared;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&resource->mutex, &shared);
    __atomic_store_n(&resource->is_made, 2, __ATOMIC_SEQ_CST);
  }
  while (__atomic_load_n(&resource->is_made, __ATOMIC_SEQ_CST) != 2) pause_us(100);
}

static bool may(struct place *place, uint64_t token) {
  if (!shows_tokens) return true;
  const bool allowed = token >= place->token;
  if (allowed) place->token = token;
  if (!allowed) place->refused++;
  return allowed;
}

static bool read_place(struct place *place, uint64_t token, uint64_t *value) {
  enter_resource();
  const bool allowed = may(place, token);
  *value = place->value;
  pthread_mutex_unlock(&resource->mutex);
  return allowed;
}

static void write_place(struct place *place, uint64_t token, uint64_t value) {
  enter_resource();
  if (may(place, token)) {
    place->value = value;
    place->written++;
  }
  pthread_mutex_unlock(&resource->mutex);
}

/* A span reaches to the last moment that a later look has confirmed. */
static bool still_holds(liblock_lock lock, int64_t *until) {
  const int64_t now = now_ns();
  if (liblock_is_held(context, lock) != LIBLOCK_OK) return false;
  *until = now;
  return true;
}

static void work(liblock_lock lock, unsigned key, uint64_t token) {
  const int64_t from = now_ns();
  int64_t until = 0;
  uint64_t value;
  struct place *place = &resource->places[key];
  if (is_careful && !still_holds(lock, &until)) return;
  const bool allowed = read_place(place, token, &value);
  const int64_t most =
      is_careful && throw(4) == 0 ? 30 * hold_ms : hold_ms; /* some hold while much happens */
  const int64_t end = now_ns() + (int64_t) throw((unsigned)most * 1000 + 1) * 1000;
  bool holds = true;
  do {
    pause_us(200 + throw(800));
    holds = !is_careful || still_holds(lock, &until);
  } while (holds && now_ns() < end);
  if (holds && allowed) write_place(place, token, value + 1);
  if (is_careful) still_holds(lock, &until);
  if (until > from) {
    fprintf(spans, "k%u %s %llu %lld %lld\n", key, name, (unsigned long long)token, (long long)from,
            (long long)until);
    fflush(spans);
  }
}

static void note(liblock_status status) {
  enter_resource();
  resource->ends[status]++;
  pthread_mutex_unlock(&resource->mutex);
}

static void lock_once(unsigned keys) {
  char key[8];
  const unsigned number = throw(keys);
  const size_t size = (size_t)snprintf(key, sizeof key, "k%u", number);
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.wait_ms = throw(4) ? 100 + throw(1500) : 0;
  if (is_careful && throw(3) == 0) {
    options.ttl_ms = 100 + throw((unsigned)max_ttl_ms - 100);
    options.renew = (int32_t) throw(2);
  }
  if (!is_careful) options.ttl_ms = 300;
  if (throw(8) == 0) options.order = LIBLOCK_ORDER_ANY;
  liblock_lock lock;
  liblock_result result = LIBLOCK_RESULT_INIT;
  const liblock_status status = liblock_acquire(context, key, size, &options, &lock, &result);
  note(status);
  if (status != LIBLOCK_OK) return;
  work(lock, number, result.token);
  note(liblock_release(context, lock, NULL));
}

int main(int count, char **words) {
  if (count != 9) return fprintf(stderr, "usage: see quorum_client.c\n"), 2;
  name = words[2];
  max_ttl_ms = strtoll(words[5], NULL, 10);
  hold_ms = strtoll(words[6], NULL, 10);
  is_careful = strcmp(words[7], "careful") == 0;
  shows_tokens = strcmp(words[7], "careless") != 0;
  dice = (unsigned)strtoul(words[8], NULL, 10);
  map_resource(words[3]);
  char path[512];
  snprintf(path, sizeof path, "%s/%s.log", words[3], name);
  spans = fopen(path, "a");
  snprintf(path, sizeof path, "%s/stop", words[3]);
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.max_ttl_ms = max_ttl_ms;
  options.client_name = name;
  options.alive_ms = 600;
  liblock_result result = LIBLOCK_RESULT_INIT;
  /* While a node is not what it should be, nobody who comes new is let in. */
  while (liblock_open(words[1], &options, &context, &result) != LIBLOCK_OK) {
    if (access(path, F_OK) == 0) return 0;
    pause_us(50000);
  }
  while (access(path, F_OK) != 0) {
    lock_once((unsigned)strtoul(words[4], NULL, 10));
    pause_us(throw(5000));
  }
  liblock_context_free(context);
  fclose(spans);
  return 0;
}
