/* SPDX-License-Identifier: MIT
 *
 * What processes leave behind on a real server that are killed (SIGKILL) or stopped (SIGSTOP) while they hold a lock
 * for ten minutes, with an interval of 200 ms between two signs of life:
 *   - what a killed one held is free soon after, and it goes from the list of instances; the flush is told;
 *   - a stopped one is silent, but its connection is there: it keeps its lock;
 *   - where the interval is -1, nothing is flushed: neither what is its own, nor by it;
 *   - while nobody is dead a sign of life costs one script call, and no key is searched.
 * Usage: zombies URL (a server that nobody else uses). Prints TAP.
 */
#include <fcntl.h>
#include <liblock/liblock.h>
#include <signal.h>
#include <stdatomic.h>
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

enum { INTERVAL_MS = 200, ALIVE_MS = 300, SOON_MS = 20000, LONG_MS = 3000 };

static const char *url;
static redisContext *server;
static atomic_int told, told_locks;

static liblock_context *open_context(int64_t interval_ms) {
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.zombie_interval_ms = interval_ms;
  options.alive_ms = ALIVE_MS;
  liblock_context *context = NULL;
  if (liblock_open(url, &options, &context, NULL) != LIBLOCK_OK) fatal("open");
  return context;
}

static void hold(liblock_context *context, const char *key) {
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.ttl_ms = 600000;
  liblock_lock lock;
  if (liblock_acquire(context, key, strlen(key), &options, &lock, NULL) != LIBLOCK_OK) fatal("acquire");
}

static bool is_held(liblock_context *context, const char *key) {
  int32_t held = 0;
  if (liblock_is_locked(context, key, strlen(key), &held) != LIBLOCK_OK) fatal("is_locked");
  return held;
}

/* --------------------------------------------------------------------------------------- other processes --- */

static void live(const char *key, int64_t interval_ms, int fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  hold(open_context(interval_ms), key);
  if (write(fd, "!", 1) != 1) _exit(3);
  for (;;) pause();
}

/* Returns when it holds the key. */
static pid_t start(const char *key, int64_t interval_ms) {
  int fds[2];
  char ready;
  if (pipe(fds) != 0) fatal("pipe");
  const pid_t pid = fork();
  if (pid == 0) {
    /* A program of its own: this one has threads already. */
    char interval[32], fd[16];
    snprintf(interval, sizeof interval, "%lld", (long long)interval_ms);
    snprintf(fd, sizeof fd, "%d", fds[1]);
    execl("/proc/self/exe", "zombies", url, key, interval, fd, (char *)NULL);
    _exit(3);
  }
  close(fds[1]);
  if (read(fds[0], &ready, 1) != 1) fatal("a process did not start");
  close(fds[0]);
  return pid;
}

static void end(pid_t pid) {
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
}

/* ------------------------------------------------------------------------------------------------- looking --- */

typedef struct Seen {
  pid_t pid;
  bool found;
  liblock_instance instance; /* but for its texts */
} Seen;

static int32_t see(const liblock_instance *instance, void *user_data) {
  Seen *seen = user_data;
  if (strtol(instance->id.data, NULL, 10) != seen->pid) return 0; /* it begins with the process */
  seen->found = true;
  seen->instance = *instance;
  return 1;
}

static Seen look(liblock_context *context, pid_t pid) {
  Seen seen = {.pid = pid};
  if (liblock_list_instances(context, NULL, see, &seen, NULL, NULL) != LIBLOCK_OK) fatal("list_instances");
  return seen;
}

static int64_t await_list(liblock_context *context, pid_t pid, bool listed) {
  const int64_t began = now_ms();
  while (look(context, pid).found != listed) {
    if (now_ms() - began > SOON_MS) return -1;
    pause_ms(20);
  }
  return now_ms() - began;
}

static int64_t await_free(liblock_context *context, const char *key) {
  const int64_t began = now_ms();
  while (is_held(context, key)) {
    if (now_ms() - began > SOON_MS) return -1;
    pause_ms(10);
  }
  return now_ms() - began;
}

static long long calls_of(const char *command) {
  redisReply *info = redisCommand(server, "INFO commandstats");
  if (!info || info->type != REDIS_REPLY_STRING) fatal("INFO");
  char name[64];
  snprintf(name, sizeof name, "cmdstat_%s:calls=", command);
  const char *at = strstr(info->str, name);
  const long long calls = at ? strtoll(at + strlen(name), NULL, 10) : 0;
  freeReplyObject(info);
  return calls;
}

static liblock_zombies_status status_of(liblock_context *context) {
  liblock_zombies_status status = {.struct_size = sizeof status};
  if (liblock_zombies_status_get(context, &status) != LIBLOCK_OK) fatal("zombies_status_get");
  return status;
}

static uint64_t count_zombies(liblock_context *context) {
  liblock_list_options options;
  liblock_report report;
  liblock_list_options_init(&options, sizeof options);
  liblock_report_init(&report, sizeof report);
  options.zombies_only = 1;
  if (liblock_list_each(context, LIBLOCK_LIST_KEYS, &options, NULL, NULL, &report, NULL) != LIBLOCK_OK)
    fatal("list_each");
  return report.keys;
}

static void hear(const liblock_event *event, void *user_data) {
  (void)user_data;
  told_locks += (int)event->count;
  ++told;
}

/* -------------------------------------------------------------------------------------------------- tests --- */

static void a_killed_process_is_flushed(liblock_context *context) {
  char figures[160];
  const pid_t pid = start("left", INTERVAL_MS);
  const int64_t listed = await_list(context, pid, true);
  const Seen seen = look(context, pid);
  snprintf(figures, sizeof figures, "after %lld ms, silent for %lld ms, listens %d", (long long)listed,
           (long long)seen.instance.silent_ms, seen.instance.listens);
  check_figures(listed >= 0 && seen.instance.interval_ms == INTERVAL_MS && !seen.instance.is_zombie &&
                    !seen.instance.is_self && seen.instance.listens == 1,
                "a process that holds a lock is on the list", figures);
  end(pid);
  const int64_t freed = await_free(context, "left");
  snprintf(figures, sizeof figures, "%lld ms after its end", (long long)freed);
  check_figures(freed >= INTERVAL_MS + ALIVE_MS && is_held(context, "own"),
                "what a killed process held for ten minutes is free soon", figures);
  const int64_t gone = await_list(context, pid, false);
  const liblock_zombies_status status = status_of(context);
  const int64_t until = now_ms() + SOON_MS;
  while (told == 0 && now_ms() < until) pause_ms(10);
  snprintf(figures, sizeof figures, "%lld ms later; %llu flushes, %llu instances, %llu locks; %d events",
           (long long)gone, (unsigned long long)status.flushes, (unsigned long long)status.instances,
           (unsigned long long)status.locks, told);
  check_figures(gone >= 0 && status.flushes == 1 && status.instances == 1 && status.locks == 1 && told == 1 &&
                    told_locks == 1 && status.last_failure == LIBLOCK_OK,
                "it goes from the list, and the flush is counted and told", figures);
}

static void a_stopped_process_is_not(liblock_context *context) {
  char figures[160];
  const pid_t pid = start("kept", INTERVAL_MS);
  const bool is_listed = await_list(context, pid, true) >= 0;
  kill(pid, SIGSTOP);
  pause_ms(LONG_MS);
  const Seen seen = look(context, pid);
  snprintf(figures, sizeof figures, "silent for %lld ms, listens %d", (long long)seen.instance.silent_ms,
           seen.instance.listens);
  check_figures(is_listed && is_held(context, "kept") && seen.found && !seen.instance.is_zombie &&
                    seen.instance.listens == 1 && seen.instance.silent_ms > LONG_MS / 2 &&
                    count_zombies(context) == 0,
                "a stopped process keeps its lock", figures);
  kill(pid, SIGCONT);
  const int64_t began = now_ms();
  Seen again = seen;
  while (!(again.found && again.instance.silent_ms < LONG_MS) && now_ms() - began < SOON_MS) {
    pause_ms(INTERVAL_MS / 2);
    again = look(context, pid);
  }
  snprintf(figures, sizeof figures, "silent for %lld ms", (long long)again.instance.silent_ms);
  check_figures(is_held(context, "kept") && again.found && again.instance.silent_ms < LONG_MS,
                "and says that it lives when it goes on", figures);
  end(pid);
  check_figures(await_free(context, "kept") >= 0, "and is flushed when it is killed", "");
}

static void switched_off_nothing_is_flushed(liblock_context *context) {
  const pid_t quiet = start("quiet", -1);
  pause_ms(3 * INTERVAL_MS);
  const bool was_listed = look(context, quiet).found;
  end(quiet);
  pause_ms(LONG_MS);
  check_figures(!was_listed && is_held(context, "quiet") && count_zombies(context) == 1,
                "a process that gives no sign of life is on no list, and keeps its lock when it is killed",
                "");
  liblock_report report;
  liblock_report_init(&report, sizeof report);
  const bool cleared = liblock_clear_dead(context, NULL, &report, NULL) == LIBLOCK_OK;
  check_figures(cleared && report.locks == 1 && !is_held(context, "quiet"), "but is cleared by hand", "");
}

static void who_is_switched_off_flushes_nobody(void) {
  liblock_context *quiet = open_context(-1);
  const pid_t pid = start("left", INTERVAL_MS);
  const bool is_listed = await_list(quiet, pid, true) >= 0;
  end(pid);
  pause_ms(LONG_MS);
  const Seen seen = look(quiet, pid);
  check_figures(is_listed && is_held(quiet, "left") && seen.found && seen.instance.is_zombie &&
                    status_of(quiet).runs == 0,
                "where all others are switched off a killed process stays a zombie", "");
  liblock_report report;
  liblock_report_init(&report, sizeof report);
  const bool cleared = liblock_clear_dead(quiet, NULL, &report, NULL) == LIBLOCK_OK;
  check_figures(cleared && report.instances == 1 && !look(quiet, pid).found && !is_held(quiet, "left"),
                "until it is cleared by hand, and goes from the list", "");
  liblock_context_free(quiet);
}

static void a_sign_of_life_is_one_script_call(liblock_context *context) {
  char figures[160];
  const long long calls = calls_of("evalsha"), scans = calls_of("scan");
  const uint64_t runs = status_of(context).runs;
  pause_ms(10 * INTERVAL_MS);
  const long long made = calls_of("evalsha") - calls;
  const uint64_t lived = status_of(context).runs - runs;
  snprintf(figures, sizeof figures, "%lld calls, %llu signs of life in %d ms", made,
           (unsigned long long)lived, 10 * INTERVAL_MS);
  check_figures(made >= 1 && made <= (long long)lived + 1 && lived <= 13 && calls_of("scan") == scans,
                "a sign of life is one script call, and nothing is searched", figures);
}

int main(int count, char **words) {
  if (count != 2 && count != 5) {
    fprintf(stderr, "usage: zombies URL\n");
    return 2;
  }
  url = words[1];
  signal(SIGPIPE, SIG_IGN);
  if (count == 5) live(words[2], strtoll(words[3], NULL, 10), (int)strtol(words[4], NULL, 10));
  setvbuf(stdout, NULL, _IOLBF, 0);
  server = connect_to(url);
  if (!server || server->err) fatal("no server");
  liblock_context *context = open_context(INTERVAL_MS);
  liblock_set_events(context, UINT64_C(1) << LIBLOCK_EVENT_DEAD_CLEARED, hear, NULL);
  hold(context, "own");
  a_killed_process_is_flushed(context);
  a_stopped_process_is_not(context);
  switched_off_nothing_is_flushed(context);
  a_sign_of_life_is_one_script_call(context);
  const pid_t self = getpid();
  liblock_context *other = open_context(-1);
  const bool was_listed = look(other, self).found;
  liblock_context_free(context);
  check_figures(was_listed && !look(other, self).found, "a context that is closed goes from the list", "");
  liblock_context_free(other);
  who_is_switched_off_flushes_nobody();
  printf("1..%d\n", tests);
  redisFree(server);
  return failures != 0;
}
