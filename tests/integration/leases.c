/* SPDX-License-Identifier: MIT
 *
 * Ten thousand leases of 3 s (under a sanitizer of so many times that, or the first would end before the last is
 * taken), kept alive by one context.
 *
 * `leases URL` keeps them for a minute: no lease may be lost, and renewal may take no more than 400 script calls a
 * second. `leases URL beside` lets another process acquire and release keys of its own on the same server: its 99th
 * percentile may be no more than twice what it is while nothing else goes on (the best of ten spans each, and of five
 * rounds, since others use the machine as well). LIBLOCK_TEST_SIZE=quick keeps them for five seconds, and takes three
 * spans. URL: a server that nobody else uses. Prints TAP.
 */
#include <liblock/liblock.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "server.h"
#include "tap.h"

enum { LEASES = 10000, TTL_MS = 3000, CALLS_PER_SECOND_MAX = 400, PAIRS_PER_SPAN = 1000 };

static int spans;

static int ttl_ms(void) { return (int)(TTL_MS * slowness()); }

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* What cannot go on is told in TAP's own words. */
static void must(liblock_status status, const char *what) {
  if (status == LIBLOCK_OK) return;
  printf("Bail out! %s: %s\n", what, liblock_status_name(status));
  exit(3);
}

/* The best 99th percentile of an acquire over some spans, in ms. */
static double best_p99(liblock_context *context) {
  static double took[PAIRS_PER_SPAN];
  double best = 1e9;
  for (int span = 0; span < spans; span++) {
    for (int i = 0; i < PAIRS_PER_SPAN; i++) {
      liblock_lock lock;
      const double began = now_s();
      must(liblock_acquire(context, "other", 5, NULL, &lock, NULL), "an unrelated acquire");
      took[i] = (now_s() - began) * 1e3;
      must(liblock_release(context, lock, NULL), "an unrelated release");
      pause_ms(1);
    }
    qsort(took, PAIRS_PER_SPAN, sizeof *took, by_size);
    if (took[PAIRS_PER_SPAN * 99 / 100] < best) best = took[PAIRS_PER_SPAN * 99 / 100];
  }
  return best;
}

/* The other process: measures once for each byte that it reads, and answers with the figure. */
static void other(const char *url, int questions, int answers) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  liblock_context *context;
  must(liblock_open(url, NULL, &context, NULL), "open of the other process");
  char question;
  while (read(questions, &question, 1) == 1) {
    const double figure = best_p99(context);
    if (write(answers, &figure, sizeof figure) != sizeof figure) _exit(3);
  }
  liblock_context_free(context);
  _exit(0);
}

static double measured(int questions, int answers) {
  double figure;
  if (write(questions, "?", 1) != 1 || read(answers, &figure, sizeof figure) != sizeof figure) exit(3);
  return figure;
}

/* Script calls of the server since it started. */
static long long script_calls(redisContext *server) {
  redisReply *info = redisCommand(server, "INFO commandstats");
  long long calls = 0;
  for (const char *at = info->str; (at = strstr(at, "cmdstat_eval")) != NULL; at++) {
    const char *count = strstr(at, "calls=");
    calls += atoll(count + 6);
  }
  freeReplyObject(info);
  return calls;
}

static atomic_int lost;

static void count_lost(const liblock_completion *completion, void *user_data) {
  (void)completion, (void)user_data;
  lost++;
}

static void acquire_all(liblock_context *context, liblock_lock *locks) {
  liblock_completions *ends;
  must(liblock_completions_open(context, LEASES, &ends, NULL), "a queue of completions");
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.ttl_ms = ttl_ms();
  options.renew = 1;
  options.on_lost = count_lost;
  options.completions = ends;
  for (int i = 0; i < LEASES; i++) {
    char key[16];
    liblock_request request;
    const int size = snprintf(key, sizeof key, "lease-%d", i);
    must(liblock_acquire_async(context, key, (size_t)size, &options, NULL, NULL, &request), "an acquire");
  }
  for (int i = 0; i < LEASES; i++) {
    liblock_completion end = {.struct_size = sizeof end};
    must(liblock_completions_next(ends, 10000, &end), "the end of an acquire, within 10 s");
    must(end.status, "an acquire's end");
    locks[i] = end.lock;
  }
  liblock_completions_free(ends);
}

static liblock_lock locks[LEASES];

static liblock_context *open_with_leases(const char *url) {
  liblock_context *context;
  must(liblock_open(url, NULL, &context, NULL), "open");
  acquire_all(context, locks);
  return context;
}

/* What else the machine does only adds, and changes from minute to minute: renewals that are in the way are so in each
 * of a few rounds, each of which has a figure of its own for when there is none. */
static void see_other(const char *url, int questions, int answers) {
  char figures[128];
  bool is_near = false;
  for (int round = 0; round < 5 && !is_near; round++) {
    const double idle_ms = measured(questions, answers);
    liblock_context *context = open_with_leases(url);
    const double busy_ms = measured(questions, answers);
    liblock_context_free(context);
    is_near = busy_ms <= 2 * idle_ms * slowness();
    snprintf(figures, sizeof figures, "p99 %.3f ms idle, %.3f ms beside them: %.2f", idle_ms, busy_ms,
             busy_ms / idle_ms);
  }
  check_figures(is_near, "an unrelated acquire is hardly slower beside them", figures);
}

static void keep(const char *url, double seconds) {
  char figures[128];
  liblock_context *context = open_with_leases(url);
  pause_ms(ttl_ms()); /* each is renewed once by itself, soon after it was taken */
  redisContext *server = connect_to(url);
  if (!server || server->err) exit(3);
  const double began = now_s();
  const long long calls_before = script_calls(server);
  while (now_s() - began < seconds) pause_ms(50);
  const double calls = (double)(script_calls(server) - calls_before) / (now_s() - began);
  int held = 0;
  for (int i = 0; i < LEASES; i++) held += liblock_is_held(context, locks[i]) == LIBLOCK_OK;
  snprintf(figures, sizeof figures, "%d held, %d lost, after %.0f s", held, lost, seconds);
  check_figures(held == LEASES && lost == 0, "no lease is lost", figures);
  snprintf(figures, sizeof figures, "%.0f calls per second", calls);
  check_figures(calls > 0 && calls <= CALLS_PER_SECOND_MAX, "renewal takes few script calls", figures);
  redisFree(server);
  liblock_context_free(context);
}

int main(int count, char **words) {
  const bool is_beside = count == 3 && strcmp(words[2], "beside") == 0;
  if (count != 2 && !is_beside) {
    fprintf(stderr, "usage: leases URL [beside]\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  const char *size = getenv("LIBLOCK_TEST_SIZE");
  const bool is_quick = !size || strcmp(size, "quick") == 0;
  spans = is_quick ? 3 : 10;
  if (!is_beside) {
    keep(words[1], is_quick ? 5 : 60);
    return finish();
  }
  int questions[2], answers[2];
  if (pipe(questions) != 0 || pipe(answers) != 0) return 3;
  const pid_t process = fork();
  if (process == 0) {
    close(questions[1]);
    other(words[1], questions[0], answers[1]);
  }
  see_other(words[1], questions[1], answers[0]);
  close(questions[1]);
  int status;
  waitpid(process, &status, 0);
  return finish();
}
