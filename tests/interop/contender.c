/* SPDX-License-Identifier: MIT
 *
 * liblock's side of the interop tests: N critical sections under one key, without a prefix, so that it is the very key
 * that the foreign clients lock. The command line and the section itself are the same for every contender (README.md).
 * Several ports are a quorum, which one that is named founder founds, and does nothing else.
 */
#include <fcntl.h>
#include <liblock/liblock.h>
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

static void pause_as(const char *name) {
  const char *ms = getenv(name);
  if (ms) usleep((useconds_t)strtoul(ms, NULL, 10) * 1000);
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
  pause_as("INTEROP_HOLD_MS");
  fprintf(log, "liblock %lld %lld %llu\n", begin, now_ns(), token);
}

/* One server, or a quorum of several: PORT,PORT,… */
static void write_url(char *url, size_t room, const char *host, char *ports) {
  size_t length = (size_t)snprintf(url, room, "%s", strchr(ports, ',') ? "quorum:" : "");
  for (char *port; (port = strsep(&ports, ",")) != NULL;)
    length +=
        (size_t)snprintf(url + length, room - length, "redis://%s:%s/0%s", host, port, ports ? "," : "");
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
  const long sections = strtol(words[4], NULL, 10);
  for (long i = 0; i < sections; i++) {
    liblock_lock lock;
    if (liblock_acquire(context, words[3], strlen(words[3]), NULL, &lock, &result) != LIBLOCK_OK)
      fail(result.message);
    section(counter, marker, log, result.token);
    if (liblock_release(context, lock, &result) != LIBLOCK_OK) fail(result.message);
    pause_as("INTEROP_PAUSE_MS");
  }
  fclose(log);
  liblock_context_free(context);
  return 0;
}
