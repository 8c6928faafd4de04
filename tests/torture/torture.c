/* SPDX-License-Identifier: MIT
 *
 * Lets each allocation, and each system call of some kinds, of each scenario fail in turn, and sees that nothing
 * crashes, hangs or leaks, and that the state is what was reported: a lock that was granted is held, no other is.
 * Each scenario runs in a process of its own, which an alarm ends.
 *
 * Usage, with fail.c preloaded: torture [--stride N] [--first N] [--half 1|2] [--only TEXT] [URL]. URL: scenarios of
 * servers, and those of every context, there instead of on a local one; N: only each Nth call fails, or none before the
 * Nth; half: each other scenario, for two that run side by side; TEXT: only scenarios whose name has it. Prints TAP.
 */
#define _GNU_SOURCE
#include "torture.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail.h"
#include "left.h"

enum {
  ALARM_S = 60,
  ENDLESS = 100000,
  WARM_UPS = 3,
  RUNS_BEFORE = 5,
  PROOFS_MAX = 5,
  RETRIES = 200,
  RETRY_US = 50000,
  DESCRIPTORS_MAX = 256
};

static const char *const kind_names[FAIL_KINDS] = {
    "nothing",   "allocation", "pthread_create", "getrandom", "eventfd", "epoll_create1",
    "epoll_ctl", "epoll_wait", "socket",         "connect",   "write",   "read"};
/* What a process calls when it begins to use the library, or a context to connect; and wherever it is called. */
static const int of_first_use[] = {FAIL_THREAD,       FAIL_RANDOM,    FAIL_EVENTFD,
                                   FAIL_EPOLL_CREATE, FAIL_EPOLL_CTL, FAIL_SOCKET,
                                   FAIL_CONNECT};
static const int anywhere[] = {FAIL_EPOLL_WAIT, FAIL_SOCKET, FAIL_CONNECT, FAIL_WRITE, FAIL_READ};

/* What stands when a scenario begins to act. */
struct stage {
  bool has_ends, has_owner;
  size_t granted, asked;
};

/* What a child tells of itself, as far as it came. */
struct told {
  unsigned long nth;
  unsigned long failed; /* how many calls were made to fail */
  int descriptors;      /* that a process has which used it, and whose first use did not fail */
  struct left usual;    /* what a process has out in which nothing fails */
  int whose;            /* the last was: 1 of the call, 2 of the library's loop, whoever runs it, and callbacks */
  struct stage whole;   /* where nothing fails */
  char what[200];
};
static struct told *told;
static unsigned long stride = 1, first = 1;
static unsigned long half; /* 0: both */
static const char *only = "";
static int kind_that_fails;

void torture_must(bool holds, const char *sentence, liblock_status status) {
  if (holds) return;
  fail_disarm();
  snprintf(told->what, sizeof told->what, "%s (%s)", sentence, liblock_status_name(status));
  _exit(1);
}

/* docs/errors.md */
void torture_ended(liblock_status status) {
  const bool is_of_server = status == LIBLOCK_CONNECT || status == LIBLOCK_IN_DOUBT ||
                            status == LIBLOCK_TIMEOUT || status == LIBLOCK_NO_QUORUM ||
                            status == LIBLOCK_PARTIAL; /* over a quorum whose other nodes are slow */
  bool is_known = status == LIBLOCK_OK;
  switch (kind_that_fails) {
    case FAIL_MEMORY: /* of the caller; or of an answer, which costs its connection */
      is_known |= status == LIBLOCK_NO_MEMORY || status == LIBLOCK_LIMIT || is_of_server;
      break;
    case FAIL_NOTHING:
    case FAIL_EPOLL_WAIT: /* a signal is nobody's business; but some run out of time on purpose */
      is_known |= status == LIBLOCK_TIMEOUT || status == LIBLOCK_PARTIAL;
      break;
    case FAIL_THREAD:
    case FAIL_RANDOM:
    case FAIL_EVENTFD:
    case FAIL_EPOLL_CREATE:
    case FAIL_EPOLL_CTL:
    case FAIL_SOCKET:
      is_known |= status == LIBLOCK_INTERNAL || is_of_server;
      break;
    default:
      is_known |= is_of_server;
  }
  torture_must(is_known, "an end that no lack explains", status);
}

/* ------------------------------------------------------------------------------------------------- a run --- */

/* A connection that broke is made anew behind a pause. */
static int32_t is_locked(const struct torture *t, const char *key) {
  int32_t locked = -1;
  for (int n = 0; n < RETRIES; ++n) {
    const liblock_status status = liblock_is_locked(t->context, key, strlen(key), &locked);
    if (status == LIBLOCK_OK) return locked;
    torture_ended(status);
    usleep(RETRY_US);
  }
  torture_must(false, "the server can be asked again", LIBLOCK_CONNECT);
  return locked;
}

/* What nobody knows he holds is undone, though perhaps a moment later. */
static void free_in_the_end(struct torture *t, const char *key) {
  for (int n = 0; n < RETRIES; ++n) {
    if (is_locked(t, key) == 0) return;
    usleep(RETRY_US);
  }
  torture_must(false, "nothing stays locked that nobody holds", LIBLOCK_OK);
}

static void take_after(struct torture *t) {
  liblock_status status = LIBLOCK_OK;
  for (int n = 0; n < RETRIES; ++n) {
    status = torture_take(t, "after", NULL);
    if (status == LIBLOCK_OK) {
      torture_give_back(t, t->granted - 1);
      return;
    }
    usleep(RETRY_US);
  }
  torture_must(false, "the context can be used", status);
}

/* Everything works again: what was reported is so, and can be taken back. */
static void settle(struct torture *t) {
  if (t->context == NULL) return;
  for (bool more = true; more;) { /* who waits is granted by whoever gives back */
    const size_t before = t->granted;
    torture_read(t, 0);
    for (size_t n = 0; n < t->granted; ++n) {
      if (t->locks[n] == 0) continue;
      const liblock_status held = liblock_is_held(t->context, t->locks[n]);
      torture_must(held == LIBLOCK_OK || held == LIBLOCK_LOST, "what was granted is held", held);
      const bool has_key = t->keys[n] != NULL;
      if (held == LIBLOCK_OK && has_key) torture_must(is_locked(t, t->keys[n]) == 1, "its key is locked", held);
      torture_give_back(t, n);
    }
    if (t->asked > 0) torture_read(t, TORTURE_END_MS);
    more = t->granted > before || t->asked > 0;
  }
  for (size_t n = 0; n < t->granted; ++n) torture_must(t->locks[n] == 0, "it can be given back", LIBLOCK_OK);
  for (size_t n = 0; n < t->granted; ++n)
    torture_must(t->keys[n] == NULL || is_locked(t, t->keys[n]) == 0, "what was given back is free", LIBLOCK_OK);
  for (size_t n = 0; n < t->tries; ++n) free_in_the_end(t, t->tried[n]);
  liblock_stats stats = {.struct_size = sizeof stats};
  liblock_stats_get(t->context, &stats);
  torture_must(stats.locks_held == 0, "no lock is left", LIBLOCK_OK);
  torture_must(stats.waiters == 0, "nobody waits", LIBLOCK_OK);
  take_after(t);
}

static void close_all(struct torture *t) {
  liblock_owner_free(t->owner);
  liblock_completions_free(t->ends);
  if (t->context != NULL)
    torture_must(liblock_close(t->context) == LIBLOCK_OK, "it can be closed", LIBLOCK_OK);
  liblock_context_free(t->context);
}

static struct stage stage_of(const struct torture *t) {
  return (struct stage){t->ends != NULL, t->owner != NULL, t->granted, t->asked};
}

/* What failed before may have left less than can be acted on; what it left is judged all the same. */
static bool is_whole(const struct torture *t) {
  const struct stage there = stage_of(t), *whole = &told->whole;
  return there.has_ends >= whole->has_ends && there.has_owner >= whole->has_owner &&
         there.granted >= whole->granted && there.asked >= whole->asked;
}

/* Returns how many calls of this kind there were. */
static unsigned long run(const struct torture_scenario *scenario, const char *url, int kind,
                         unsigned long nth, bool from_start) {
  struct torture t = {.url = url};
  told->nth = nth;
  kind_that_fails = nth == ENDLESS ? FAIL_NOTHING : kind;
  fail_watch(&told->whose, torture_runs_the_loop);
  if (from_start) fail_arm(kind, nth);
  if (scenario->before != NULL) scenario->before(&t);
  if (!from_start) fail_arm(kind, nth);
  if (nth == ENDLESS) told->whole = stage_of(&t);
  if (scenario->before == NULL || scenario->has_own_loop || (t.context != NULL && is_whole(&t)))
    scenario->act(&t);
  const unsigned long seen = fail_disarm();
  settle(&t);
  close_all(&t);
  return seen;
}

/* libuv ends the process a moment behind what failed, on the loop's thread, and whoever asked for something may be done
 * by then. Where a timer fires there, it has come through. */
static void loop_goes_round(const char *url) {
  struct torture t = {.url = url};
  torture_open(&t);
  if (t.context == NULL) return;
  torture_take(&t, "round", NULL);
  liblock_acquire_options options = torture_defaults();
  options.wait_ms = 1;
  torture_ask(&t, "round", &options);
  liblock_completion end = {.struct_size = sizeof end};
  const liblock_status status = liblock_completions_next(t.ends, TORTURE_END_MS, &end);
  torture_must(status == LIBLOCK_OK && end.status == LIBLOCK_TIMEOUT, "a timer fires in the end", end.status);
  close_all(&t);
}

/* The first use of a process: what could not be begun is begun by the next try, and has cost no descriptor. */
static unsigned long run_from_start(const struct torture_scenario *scenario, const char *url, int kind,
                                    unsigned long nth) {
  const unsigned long seen = run(scenario, url, kind, nth, true);
  told->failed += seen >= nth;
  if (kind == FAIL_EPOLL_CTL && strcmp(url, "local:") == 0) loop_goes_round(url);
  told->whose = 0; /* whoever ends the process now does so for nothing */
  run(scenario, url, kind, ENDLESS, true);
  told->nth = nth;
  struct torture again = {.url = url};
  torture_open(&again);
  torture_must(again.context != NULL, "the next try begins it", LIBLOCK_OK);
  if (nth == ENDLESS) told->descriptors = left_at_rest().descriptors;
  const struct left usual = {.blocks = LONG_MAX, .descriptors = told->descriptors, .threads = INT_MAX};
  torture_must(left_in_the_end(&usual) == NULL, "no descriptor is lost", LIBLOCK_OK);
  close_all(&again);
  return seen;
}

/* More may be kept for the next time than without the failure, which the same failure then finds; what is lost grows
 * with each. usual becomes what is kept. */
static void leaves_nothing(const struct torture_scenario *scenario, const char *url, int kind,
                           unsigned long nth, struct left *usual) {
  const char *broken = left_in_the_end(usual);
  for (int again = 0; broken != NULL; ++again) {
    torture_must(again < WARM_UPS, broken, LIBLOCK_OK);
    *usual = left_now();
    run(scenario, url, kind, nth, false);
    broken = left_in_the_end(usual);
  }
  *usual = left_now(); /* may be less: of another thread, that was late */
}

/* What is kept for the next time is there after a few runs; a failure leaves no more than a success. */
static void each_in_turn(const struct torture_scenario *scenario, const char *url, int kind) {
  for (int n = 0; n < WARM_UPS; ++n) run(scenario, url, kind, ENDLESS, false);
  struct left usual = left_at_rest();
  for (unsigned long nth = first; nth < ENDLESS; nth += stride) {
    if (run(scenario, url, kind, nth, false) < nth) return;
    ++told->failed;
    leaves_nothing(scenario, url, kind, nth, &usual);
  }
  torture_must(false, "it comes to an end", LIBLOCK_OK);
}

/* In a process of its own, since most of these end it: it may have no more out afterwards than one in which nothing
 * failed, which tells it first, after a few runs. Another failure in the same process would mostly
 * be at another place: threads take turns. Returns whether it failed. */
static bool fails_once(const struct torture_scenario *scenario, const char *url, unsigned long nth) {
  if (nth == ENDLESS) {
    for (int n = 0; n < RUNS_BEFORE; ++n) run(scenario, url, FAIL_MEMORY, ENDLESS, false);
    told->usual = left_at_rest();
    return false;
  }
  if (run(scenario, url, FAIL_MEMORY, nth, false) < nth) return false;
  ++told->failed;
  const char *broken = left_in_the_end(&told->usual);
  torture_must(broken == NULL, broken, LIBLOCK_OK);
  return true;
}

/* -------------------------------------------------------------------------------------------- the judge --- */

static int tests, failures;
static unsigned long bitten[FAIL_KINDS];

/* What a child exits with when there was no such call any more. */
enum { IS_OVER = 2 };

static bool is_over(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == IS_OVER; }
static bool has_come_through(int status) { return is_over(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0); }

/* libuv ends the process without a word where its loop cannot learn of a descriptor. What anybody says is why it
 * failed. */
static bool says_nothing(FILE *said) {
  char line[200];
  bool is_silent = true;
  rewind(said);
  while (fgets(line, sizeof line, said) != NULL) {
    printf("# %s", line);
    is_silent = false;
  }
  return is_silent;
}

/* ended: the process may end, and how often it did. */
static bool child_fails(const struct torture_scenario *scenario, const char *url, int kind, unsigned long from_start,
                        int *status, unsigned long *ended) {
  FILE *said = tmpfile();
  if (said == NULL) return true;
  fflush(stdout);
  told->whose = 0;
  const pid_t child = fork();
  if (child == 0) {
    alarm(ALARM_S);
    dup2(fileno(said), STDERR_FILENO);
    if (from_start == 0) each_in_turn(scenario, url, kind);
    if (from_start != 0) _exit(run_from_start(scenario, url, kind, from_start) < from_start ? IS_OVER : 0);
    _exit(0);
  }
  waitpid(child, status, 0);
  const bool is_silent = says_nothing(said);
  fclose(said);
  const bool has_ended = kind == FAIL_EPOLL_CTL && told->whose != 0 && WIFSIGNALED(*status) &&
                         WTERMSIG(*status) == SIGABRT && is_silent;
  *ended += has_ended;
  return !has_ended && !has_come_through(*status);
}

/* glibc has words of its own. Anything else that it said is why it failed. */
static bool says_why(FILE *said) {
  char line[200];
  bool is_why = false;
  rewind(said);
  while (fgets(line, sizeof line, said) != NULL) {
    if ((strstr(line, "liblock: no memory is left") != NULL && told->whose != 1) ||
        strstr(line, "glibc error: failed to register TLS destructor") != NULL) {
      is_why = true;
    } else {
      printf("# %s", line);
    }
  }
  return is_why;
}

/* Without memory for a call its caller hears so; where the loop has none, the process ends and says why. glibc's data
 * of threads is whosever it is. */
static bool memory_child_fails(const struct torture_scenario *scenario, const char *url, unsigned long nth,
                               int *status, unsigned long *ended) {
  FILE *said = tmpfile();
  if (said == NULL) return true;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(ALARM_S);
    dup2(fileno(said), STDERR_FILENO);
    _exit(fails_once(scenario, url, nth) ? 0 : IS_OVER);
  }
  waitpid(child, status, 0);
  const bool has_ended = WIFSIGNALED(*status) && WTERMSIG(*status) == SIGABRT && says_why(said);
  *ended += has_ended;
  fclose(said);
  return !has_ended && !has_come_through(*status);
}

static void judge_memory(const struct torture_scenario *scenario, const char *url) {
  memset(told, 0, sizeof *told);
  int status = 0;
  unsigned long nth = first, ended = 0;
  bool failed = memory_child_fails(scenario, url, ENDLESS, &status, &ended);
  for (; !failed && (nth == first || !is_over(status)); nth += stride)
    failed = memory_child_fails(scenario, url, nth, &status, &ended);
  bitten[FAIL_MEMORY] += ended + told->failed;
  printf("%s %d - %s: each allocation may fail # %lu, of which %lu ended the process\n",
         failed ? "not ok" : "ok", ++tests, scenario->name, ended + told->failed, ended);
  if (failed)
    printf("# where the %luth fails: %s%s\n", told->nth, told->what,
           WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "");
  failures += failed;
}

/* From the start, each in a process of its own; or else all in one. */
static void judge(const struct torture_scenario *scenario, const char *url, int kind, bool from_start) {
  memset(told, 0, sizeof *told);
  int status = 0;
  unsigned long ended = 0, nth = first;
  bool failed = child_fails(scenario, url, kind, from_start ? ENDLESS : 0, &status, &ended);
  for (status = 0; from_start && !failed && !is_over(status); nth += stride)
    failed = child_fails(scenario, url, kind, nth, &status, &ended);
  const unsigned long calls = told->failed + ended;
  bitten[kind] += calls;
  if (!failed && calls == 0) return; /* it makes no such call */
  printf("%s %d - %s%s: each %s may fail # %lu", failed ? "not ok" : "ok", ++tests, scenario->name,
         from_start ? ", from the start" : "", kind_names[kind], calls);
  if (kind == FAIL_EPOLL_CTL) printf(", of which %lu ended the process", ended);
  printf("\n");
  if (failed)
    printf("# where the %luth fails: %s%s\n", told->nth, told->what,
           WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "");
  failures += failed;
}

/* On servers what fails may be another thread's, and end the process. */
static bool is_loss_found(const struct torture_scenario *loses, const char *url) {
  int status = 0;
  unsigned long ended = 0;
  memset(told, 0, sizeof *told);
  const bool failed = url == NULL ? child_fails(loses, "local:", FAIL_MEMORY, 0, &status, &ended)
                                  : !memory_child_fails(loses, url, ENDLESS, &status, &ended) &&
                                        memory_child_fails(loses, url, 1, &status, &ended);
  return failed && strstr(told->what, loses->name) != NULL;
}

/* What is lost on purpose is found, or the others would tell nothing. */
static void prove(const char *url) {
  for (const struct torture_scenario *loses = torture_losing; loses->name != NULL; ++loses) {
    bool is_found = false;
    for (int n = 0; n < PROOFS_MAX && !is_found; ++n) is_found = is_loss_found(loses, url);
    printf("%s %d - the loss of a %s is found\n", is_found ? "ok" : "not ok", ++tests, loses->name);
    if (!is_found) printf("# the %luth: %s\n", told->nth, told->what);
    failures += !is_found;
  }
}

/* What is passed by, by whatever way, would be missed by nobody. */
static void prove_that_each_kind_failed(const char *url) {
  for (int kind = FAIL_NOTHING + 1; kind < FAIL_KINDS; ++kind) {
    if (url == NULL && kind >= FAIL_SOCKET) continue;
    printf("%s %d - %s did fail\n", bitten[kind] > 0 ? "ok" : "not ok", ++tests, kind_names[kind]);
    failures += bitten[kind] == 0;
  }
}

static void walk(const struct torture_scenario *scenario, const char *url) {
  const char *where = url == NULL ? "local:" : url;
  for (unsigned long nth = 0; scenario->name != NULL; ++scenario) {
    if (strstr(scenario->name, only) == NULL || (++nth % 2 != half % 2 && half != 0)) continue;
    if (url == NULL) {
      judge(scenario, where, FAIL_MEMORY, false);
    } else if (scenario->before != NULL) { /* where libuv begins, it aborts without a word */
      judge_memory(scenario, where);
    }
    for (size_t n = 0; n < sizeof anywhere / sizeof *anywhere; ++n) judge(scenario, where, anywhere[n], false);
    for (size_t n = 0; n < sizeof of_first_use / sizeof *of_first_use && !scenario->has_own_loop; ++n)
      judge(scenario, where, of_first_use[n], true);
  }
}

int main(int count, char **words) {
  if (fail_arm == NULL) return fprintf(stderr, "torture: fail.c is not preloaded\n"), 2;
  for (int fd = 3; fd < DESCRIPTORS_MAX; ++fd) close(fd); /* whoever began this has left them open */
  int at = 1;
  for (; count > at && words[at][0] == '-'; at += 2) {
    const char *value = count > at + 1 ? words[at + 1] : "";
    if (strcmp(words[at], "--stride") == 0) {
      stride = strtoul(value, NULL, 10);
    } else if (strcmp(words[at], "--first") == 0) {
      first = strtoul(value, NULL, 10);
    } else if (strcmp(words[at], "--only") == 0) {
      only = value;
    } else if (strcmp(words[at], "--half") == 0 && (strcmp(value, "1") == 0 || strcmp(value, "2") == 0)) {
      half = strtoul(value, NULL, 10);
    } else {
      stride = 0;
    }
  }
  const char *url = count > at ? words[at] : NULL;
  told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (told == MAP_FAILED || stride == 0 || first == 0)
    return fprintf(stderr, "usage: torture [--stride N] [--first N] [--half 1|2] [--only TEXT] [URL]\n"), 2;
  walk(url != NULL ? torture_servers : torture_local, url);
  walk(torture_anywhere, url);
  if (*only == '\0' && half != 1) {
    /* On servers libuv begins, and aborts without a word where it lacks memory. */
    if (url == NULL) judge(torture_local, "local:", FAIL_MEMORY, true);
    prove(url);
  }
  if (tests == 0) return fprintf(stderr, "torture: no scenario of that half has '%s' in its name\n", only), 2;
  if (*only == '\0') prove_that_each_kind_failed(url);
  printf("1..%d\n", tests);
  return failures != 0;
}
