/* SPDX-License-Identifier: MIT
 *
 * A million locks on a server: listed through the C API, counted, and taken away again. Every lock must be shown once,
 * memory may grow by less than 64 MiB meanwhile, and the server must never be asked for KEYS. Records and queues are
 * written by scripts, as the library would write them, so that filling takes seconds. LIBLOCK_TEST_SIZE=quick takes a
 * tenth of them.
 * Usage: listing URL (a server that nobody else uses). Prints TAP.
 */
#include <liblock/liblock.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server.h"
#include "tap.h"

enum { PER_SCRIPT = 10000, QUEUES = 1000, WAITERS = 3, GROWTH_MAX_KIB = 64 * 1024 };

static const char fill_locks[] =
    "local now = redis.call('TIME') local us = now[1] * 1000000 + now[2]\n"
    "for i = ARGV[1], ARGV[2] do\n"
    "  local id = string.format('%032x', i)\n"
    "  redis.call('SET', 'liblock:job/' .. i, table.concat({'ll1', id, '00000000', string.format('%.0f', us "
    "+ i),\n"
    "    '77-aa@far/1/clerk', '77-aa@far', '@' .. string.format('%.0f', us) .. ',600000', 'value ' .. i}, "
    "'|'),\n"
    "    'PX', 600000)\n"
    "end";
static const char fill_queues[] =
    "local now = redis.call('TIME') local us = string.format('%.0f', now[1] * 1000000 + now[2])\n"
    "for i = 1, ARGV[1] do for n = 1, ARGV[2] do\n"
    "  local tag, id = '{liblock:job/' .. i .. '}', string.format('%032x', i * 100 + n)\n"
    "  redis.call('ZADD', 'll1:q:' .. tag, n, id)\n"
    "  redis.call('HSET', 'll1:e:' .. tag, id, n .. '|' .. us .. '|3000|0|0|88-bb@far|88-bb@far/' .. n .. "
    "'/o|')\n"
    "end end";

static size_t locks_in_all = 1000000;
static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static long resident_kib(void) {
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2) exit(3);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void must(redisReply *reply) {
  if (!reply || reply->type == REDIS_REPLY_ERROR) {
    fprintf(stderr, "%s\n", reply ? reply->str : "no answer");
    exit(3);
  }
  freeReplyObject(reply);
}

static void fill(redisContext *server) {
  for (size_t first = 1; first <= locks_in_all; first += PER_SCRIPT)
    must(redisCommand(server, "EVAL %s 0 %d %d", fill_locks, (int)first, (int)first + PER_SCRIPT - 1));
  must(redisCommand(server, "EVAL %s 0 %d %d", fill_queues, QUEUES, WAITERS));
}

/* How often the server was given this command. */
static long long calls_of(redisContext *server, const char *command) {
  char name[64];
  snprintf(name, sizeof name, "cmdstat_%s:calls=", command);
  redisReply *info = redisCommand(server, "INFO commandstats");
  const char *at = strstr(info->str, name);
  const long long calls = at ? strtoll(at + strlen(name), NULL, 10) : 0;
  freeReplyObject(info);
  return calls;
}

struct shown {
  unsigned char *seen; /* by number of the job */
  size_t count, twice, strange, waiters;
  long resident_kib_max;
};

static int32_t show(const liblock_info *info, void *user_data) {
  struct shown *shown = user_data;
  size_t size = 0;
  const char *key = liblock_info_key(info, &size);
  char text[32] = "";
  if (size > 4 && size < sizeof text && memcmp(key, "job/", 4) == 0) memcpy(text, key + 4, size - 4);
  const long number = strtol(text, NULL, 10);
  if (number < 1 || number > (long)locks_in_all) return ++shown->strange, 0;
  shown->twice += shown->seen[number]++ != 0;
  shown->waiters += liblock_info_waiter_count(info);
  if (liblock_info_is_held(info)) {
    const int64_t since_us = liblock_info_since_us(info);
    const bool fine = liblock_info_initial_ttl_ms(info) == 600000 && since_us > 0 &&
                      liblock_info_remaining_ms(info) > 0 && liblock_info_host(info, &size) && size == 3;
    shown->strange += !fine;
  }
  if (++shown->count % 10000 == 0) {
    const long resident = resident_kib();
    if (resident > shown->resident_kib_max) shown->resident_kib_max = resident;
  }
  return 0;
}

static void list(liblock_context *context, int32_t what, int64_t batch_size, size_t locks, size_t queues,
                 const char *name) {
  static struct shown shown;
  unsigned char *const seen = shown.seen ? shown.seen : malloc(locks_in_all + 1);
  memset(seen, 0, locks_in_all + 1);
  shown = (struct shown){.seen = seen};
  liblock_list_options options;
  liblock_list_options_init(&options, sizeof options);
  options.batch_size = batch_size;
  liblock_report report;
  liblock_report_init(&report, sizeof report);
  const long before_kib = resident_kib();
  const liblock_status status = liblock_list_each(context, what, &options, show, &shown, &report, NULL);
  const size_t keys = what == LIBLOCK_LIST_QUEUES ? queues : locks;
  const bool right = status == LIBLOCK_OK && shown.count == keys && !shown.twice && !shown.strange &&
                     report.locks == locks && report.queues == queues && report.keys == locks + queues &&
                     shown.waiters == QUEUES * WAITERS;
  char figures[300];
  snprintf(figures, sizeof figures,
           "%s, %zu shown, %zu twice, %zu strange, %llu locks and %llu queues in %.2f s and %llu steps",
           liblock_status_name(status), shown.count, shown.twice, shown.strange,
           (unsigned long long)report.locks, (unsigned long long)report.queues,
           (double)report.elapsed_us / 1e6, (unsigned long long)report.steps);
  check_figures(right, name, figures);
#ifndef SANITIZED /* its memory is not ours */
  if (what == LIBLOCK_LIST_QUEUES) return;
  const long growth = shown.resident_kib_max - before_kib;
  snprintf(figures, sizeof figures, "from %ld to at most %ld KiB", before_kib, shown.resident_kib_max);
  check_figures(growth < GROWTH_MAX_KIB, "memory grows by less than 64 MiB", figures);
#else
  (void)before_kib;
#endif
}

static void clear(liblock_context *context, redisContext *server) {
  char figures[200];
  liblock_clear_options options;
  liblock_clear_options_init(&options, sizeof options);
  options.batch_size = options.scan_size = 1000;
  liblock_report report;
  liblock_report_init(&report, sizeof report);
  const long long scripts = calls_of(server, "evalsha") + calls_of(server, "eval");
  const double began = now_s();
  const liblock_status status = liblock_clear(context, &options, &report, NULL);
  const long long calls = calls_of(server, "evalsha") + calls_of(server, "eval") - scripts;
  snprintf(figures, sizeof figures, "%s, %llu locks, %llu queues, %llu waiters in %.2f s, %lld script calls",
           liblock_status_name(status), (unsigned long long)report.locks, (unsigned long long)report.queues,
           (unsigned long long)report.waiters, now_s() - began, calls);
  check_figures(status == LIBLOCK_OK && report.locks == locks_in_all && report.queues == QUEUES &&
                    report.waiters == QUEUES * WAITERS && (size_t)calls < locks_in_all / 200,
                "all are taken away, many in a script call", figures);
  redisReply *left = redisCommand(server, "DBSIZE");
  snprintf(figures, sizeof figures, "%lld keys", left->integer);
  check_figures(left->integer == 0, "nothing is left on the server", figures);
  freeReplyObject(left);
}

int main(int argc, char **argv) {
  redisContext *server = argc == 2 ? connect_to(argv[1]) : NULL;
  liblock_context *context;
  liblock_context_options quiet;
  liblock_context_options_init(&quiet, sizeof quiet);
  quiet.zombie_interval_ms = -1; /* a sign of life is a key, and a script call */
  if (!server || server->err || liblock_open(argv[1], &quiet, &context, NULL) != LIBLOCK_OK) return 2;
  if (liblock_ping(context, NULL) != LIBLOCK_OK) return 2;
  const char *test_size = getenv("LIBLOCK_TEST_SIZE");
  if (test_size && strcmp(test_size, "quick") == 0) locks_in_all = 100000;
  const double began = now_s();
  fill(server);
  printf("# %zu locks filled in within %.2f s\n", locks_in_all, now_s() - began);
  list(context, LIBLOCK_LIST_LOCKS, LIBLOCK_DEFAULT, locks_in_all, 0, "all locks are listed, each once");
  list(context, LIBLOCK_LIST_KEYS, 65536, locks_in_all, QUEUES, "in the largest steps too, and their queues");
  list(context, LIBLOCK_LIST_QUEUES, LIBLOCK_DEFAULT, 0, QUEUES, "the queues alone are found among them");
  char figures[100];
  const long long keys = calls_of(server, "keys"), scans = calls_of(server, "scan");
  snprintf(figures, sizeof figures, "%lld KEYS, %lld SCAN", keys, scans);
  check_figures(keys == 0 && (size_t)scans > locks_in_all / 500, "the server is never asked for KEYS",
                figures);
  clear(context, server);
  liblock_context_free(context);
  redisFree(server);
  return finish();
}
