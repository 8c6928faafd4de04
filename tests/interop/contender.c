/* SPDX-License-Identifier: MIT
 *
 * liblock's side of the interop tests: N critical sections under one key, without a prefix, so that it is the very key
 * that the foreign clients lock. The command line and the section itself are the same for every contender (README.md).
 * Several ports are a quorum, which one that is named founder founds, and does nothing else. INTEROP_THREADS share the
 * sections among them: the key then goes from hand to hand within the process.
 */
#include <fcntl.h>
#include <liblock/liblock.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void fail(const char *what) {
  fprintf(stderr, "liblock: %s\n", what);
  exit(1);
}

static void section(const char *counter, const char *marker, FILE *log, unsigned long long token) {
  const long long begin = now_ns();
  const int inside = open(marker, O_CREAT | O_EXCL | O_WRONLY, 0600);
  if (inside < 0) fail("somebody else is inside");
  close(inside);
  FILE *file = fopen(counter, "r+");
  long value = 0;
  if (!file || fscanf(file, "%ld", &value) != 1) fail("the counter cannot be read");
  rewind(file);
  fprintf(file, "%ld\n", value + 1);
  fclose(file);
  unlink(marker);
  fprintf(log, "liblock %lld %lld %llu\n", begin, now_ns(), token);
}

/* One server, or a quorum of several: PORT,PORT,… */
static void write_url(char *url, size_t room, const char *host, char *ports) {
  size_t length = (size_t)snprintf(url, room, "%s", strchr(ports, ',') ? "quorum:" : "");
  for (char *port; (port = strsep(&ports, ",")) != NULL;)
    length +=
        (size_t)snprintf(url + length, room - length, "redis://%s:%s/0%s", host, port, ports ? "," : "");
}

struct work {
  liblock_context *context;
  const char *key, *counter, *marker;
  FILE *log; /* written to by who holds the lock */
  atomic_long left;
};

static void *do_sections(void *argument) {
  struct work *work = argument;
  liblock_result result = LIBLOCK_RESULT_INIT;
  while (atomic_fetch_sub(&work->left, 1) > 0) {
    liblock_lock lock;
    if (liblock_acquire(work->context, work->key, strlen(work->key), NULL, &lock, &result) != LIBLOCK_OK)
      fail(result.message);
    section(work->counter, work->marker, work->log, result.token);
    if (liblock_release(work->context, lock, &result) != LIBLOCK_OK) fail(result.message);
  }
  return NULL;
}

static void share(struct work *work) {
  enum { THREADS_MAX = 64 };
  const char *wanted = getenv("INTEROP_THREADS");
  const long threads = wanted != NULL ? strtol(wanted, NULL, 10) : 1;
  if (threads < 1 || threads > THREADS_MAX) fail("INTEROP_THREADS is 1 to 64");
  pthread_t all[THREADS_MAX];
  for (long i = 0; i < threads; i++) {
    if (pthread_create(&all[i], NULL, do_sections, work) != 0) fail("no thread");
  }
  for (long i = 0; i < threads; i++) pthread_join(all[i], NULL);
  liblock_stats stats;
  liblock_stats_init(&stats, sizeof stats);
  if (liblock_stats_get(work->context, &stats) != LIBLOCK_OK) fail("no statistics");
  if (threads > 1 && stats.passed_on == 0)
    fail("the lock did not once go from hand to hand within the process");
}

int main(int count, char **words) {
  if (count != 7) return fprintf(stderr, "usage: contender HOST PORT KEY SECTIONS DIRECTORY NAME\n"), 2;
  char url[1024], counter[512], marker[512], start[512], log_name[512];
  write_url(url, sizeof url, words[1], words[2]);
  snprintf(counter, sizeof counter, "%s/counter", words[5]);
  snprintf(marker, sizeof marker, "%s/marker", words[5]);
  snprintf(start, sizeof start, "%s/start", words[5]);
  snprintf(log_name, sizeof log_name, "%s/%s.log", words[5], words[6]);
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.prefix = "";
  liblock_context *context;
  liblock_result result = LIBLOCK_RESULT_INIT;
  if (liblock_open(url, &options, &context, &result) != LIBLOCK_OK) fail(result.message);
  if (strcmp(words[6], "founder") == 0) {
    if (liblock_quorum_init(context, 0, &result) != LIBLOCK_OK) fail(result.message);
    liblock_context_free(context);
    return 0;
  }
  FILE *log = fopen(log_name, "w");
  while (access(start, F_OK) != 0) usleep(1000);
  struct work work = {context, words[3], counter, marker, log, strtol(words[4], NULL, 10)};
  share(&work);
  fclose(log);
  liblock_context_free(context);
  return 0;
}
