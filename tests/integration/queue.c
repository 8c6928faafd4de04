/* SPDX-License-Identifier: MIT
 *
 * The wait queue of one key on a real server, with waiters in many processes:
 *   order
 *   - 64 waiters of 8 processes, enqueued in a known order, are served in exactly that order, round after round, also
 *     while one process of the eight is killed (SIGKILL) in each round;
 *   pace
 *   - waiters in stopped processes (SIGSTOP) at the head of the queue cost what one of them costs;
 *   - no wake-up is lost while the connections for messages are cut five times a second.
 * The order in which they were served is that of their tokens. A process enqueues as it is told, and gives back what
 * it gets at once.
 * Usage: queue URL order|pace (a server that nobody else uses). Prints TAP. LIBLOCK_TEST_SIZE: quick has a tenth of the
 * rounds.
 */
#include <fcntl.h>
#include <liblock/liblock.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "server.h"
#include "tap.h"

enum { PROCESSES = 8, WAITERS = 64, STOPPED_MAX = 100, ALIVE_MS = 3000, POLL_MS = 1200 };
/* The longest hand-over, while connections for messages are cut. Whoever is woken by nobody is served by the poll that
 * comes once a second, and so in half of all cases later than this: many cuts, and one that is lost each time shows. */
enum { WOKEN_MS = 500, WOKEN_SLOWLY_MS = 900 };

static const char *url;
static redisContext *server;
static uint64_t random_state = 1;

static uint32_t random_up_to(uint32_t bound) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 33) % (bound + 1);
}

static long long ask(const char *command) {
  redisReply *reply = redisCommand(server, command);
  if (!reply || reply->type != REDIS_REPLY_INTEGER) fatal(command);
  const long long answer = reply->integer;
  freeReplyObject(reply);
  return answer;
}

/* ------------------------------------------------------------------------------- a process that enqueues --- */

typedef struct Process {
  pid_t pid;
  int fd;
} Process;

/* What a process tells of each lock that it got. */
typedef struct Served {
  int32_t number;
  int32_t status;
  uint64_t token;
  int64_t granted_us, released_us;
} Served;

typedef struct Wish {
  int32_t number;
  int32_t ttl_ms;
  int32_t again;   /* so many times more, at once after each */
  int32_t hold_ms; /* before it is given back */
} Wish;

static void enqueue(liblock_context *context, liblock_completions *ends, Wish *wish) {
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.ttl_ms = wish->ttl_ms;
  options.renew = 1;
  options.completions = ends;
  liblock_request request;
  if (liblock_acquire_async(context, "key", 3, &options, NULL, wish, &request) != LIBLOCK_OK) _exit(3);
}

static void serve(liblock_context *context, liblock_completions *ends, int fd) {
  liblock_completion end = {.struct_size = sizeof end};
  while (liblock_completions_next(ends, 0, &end) == LIBLOCK_OK) {
    Wish *wish = end.user_data;
    Served served = {wish->number, end.status, end.token, now_us(), 0};
    if (wish->hold_ms != 0) pause_ms(wish->hold_ms);
    served.released_us = now_us();
    if (end.status == LIBLOCK_OK) served.status = liblock_release(context, end.lock, NULL);
    if (write(fd, &served, sizeof served) != sizeof served) _exit(3);
    if (wish->again-- > 0) {
      enqueue(context, ends, wish);
    } else {
      free(wish);
    }
  }
}

/* Who waits stands in the server's queue, however many of one process there are. */
static liblock_status open_without_front(liblock_context **context) {
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.front_ms = -1;
  return liblock_open(url, &options, context, NULL);
}

static void live(int fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  liblock_context *context;
  liblock_completions *ends;
  int32_t ends_fd;
  if (open_without_front(&context) != LIBLOCK_OK) _exit(3);
  if (liblock_completions_open(context, 1024, &ends, NULL) != LIBLOCK_OK) _exit(3);
  if (liblock_completions_fd(ends, &ends_fd) != LIBLOCK_OK) _exit(3);
  struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.fd = ends_fd, .events = POLLIN}};
  liblock_lock lock; /* so that messages come from the beginning */
  char key[32];
  snprintf(key, sizeof key, "settled-%d", (int)getpid());
  if (liblock_acquire(context, key, strlen(key), NULL, &lock, NULL) != LIBLOCK_OK) _exit(3);
  pause_ms(50);
  if (liblock_release(context, lock, NULL) != LIBLOCK_OK) _exit(3);
  if (write(fd, "!", 1) != 1) _exit(3);
  for (;;) {
    poll(fds, 2, -1);
    if (fds[1].revents) serve(context, ends, fd);
    if (!fds[0].revents) continue;
    Wish *wish = malloc(sizeof *wish);
    if (read(fd, wish, sizeof *wish) != sizeof *wish) _exit(0);
    enqueue(context, ends, wish);
  }
}

static void start(Process *process) {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds) != 0) fatal("socketpair");
  process->pid = fork();
  if (process->pid == 0) {
    /* A program of its own: this one has threads already. */
    char fd[16];
    snprintf(fd, sizeof fd, "%d", fds[1]);
    close(fds[0]);
    execl("/proc/self/exe", "queue", url, "waits", fd, (char *)NULL);
    _exit(3);
  }
  fcntl(fds[0], F_SETFD, FD_CLOEXEC);
  close(fds[1]);
  process->fd = fds[0];
}

static void await_start(Process *process) {
  char ready;
  if (read(process->fd, &ready, 1) != 1) fatal("a process did not start");
}

static void end(Process *process) {
  kill(process->pid, SIGKILL);
  waitpid(process->pid, NULL, 0);
  close(process->fd);
}

/* Returns when the server has put it into the queue. */
static void enqueue_in(Process *process, Wish wish, long long length) {
  if (write(process->fd, &wish, sizeof wish) != sizeof wish) fatal("a process is gone");
  const int64_t until = now_us() + 10000000;
  while (ask("ZCARD ll1:q:{liblock:key}") < length) {
    if (now_us() > until) fatal("a waiter was not enqueued");
  }
}

/* The next that any of them tells; false: nothing in time. */
static bool next_served(Process *processes, int count, int wait_ms, Served *served) {
  struct pollfd fds[STOPPED_MAX + 1];
  for (int i = 0; i < count; i++) fds[i] = (struct pollfd){.fd = processes[i].fd, .events = POLLIN};
  const int64_t until = now_us() + (int64_t)wait_ms * 1000;
  for (;;) {
    const int64_t left_ms = (until - now_us()) / 1000;
    if (left_ms < 0 || poll(fds, (nfds_t)count, (int)left_ms) <= 0) return false;
    for (int i = 0; i < count; i++) {
      if (fds[i].revents & POLLIN && read(fds[i].fd, served, sizeof *served) == sizeof *served) return true;
      if (fds[i].revents) fds[i].fd = -1; /* it was killed */
    }
  }
}

static int by_token(const void *a, const void *b) {
  const uint64_t x = ((const Served *)a)->token, y = ((const Served *)b)->token;
  return (x > y) - (x < y);
}

/* ------------------------------------------------------------------------------------------------- order --- */

static liblock_context *context;

static liblock_lock hold(void) {
  liblock_lock lock;
  if (liblock_acquire(context, "key", 3, NULL, &lock, NULL) != LIBLOCK_OK) fatal("the key cannot be had");
  return lock;
}

/* One round; a process that is killed in it is -1 or its index. Answers inversions; -1: somebody was left out. */
static int round_of(Process *processes, int killed) {
  static Served all[WAITERS];
  const liblock_lock lock = hold();
  /* Whoever is silent for seven eighths of it is passed over, which a live one must not be. */
  const int ttl_ms = killed < 0 ? 30000 : (int)(500 * slowness());
  for (int i = 0; i < WAITERS; i++) enqueue_in(&processes[i % PROCESSES], (Wish){i, ttl_ms, 0, 0}, i + 1);
  if (liblock_release(context, lock, NULL) != LIBLOCK_OK) fatal("release");
  const int due = killed < 0 ? WAITERS : WAITERS - WAITERS / PROCESSES;
  const int kill_at = killed < 0 ? -1 : (int)random_up_to(WAITERS / 2);
  int served = 0, live_ones = 0;
  while (live_ones < due) {
    if (served == kill_at) {
      kill(processes[killed].pid, SIGKILL);
      waitpid(processes[killed].pid, NULL, 0);
    }
    if (!next_served(processes, PROCESSES, 15000, &all[served])) return -1;
    if (all[served].status != LIBLOCK_OK) return -1;
    live_ones += killed < 0 || all[served].number % PROCESSES != killed;
    ++served;
  }
  int inversions = 0;
  qsort(all, (size_t)served, sizeof *all, by_token);
  for (int i = 1; i < served; i++) inversions += all[i].number < all[i - 1].number;
  return inversions;
}

static void serves_in_order(int rounds, bool kills) {
  Process processes[PROCESSES];
  for (int i = 0; i < PROCESSES; i++) start(&processes[i]);
  for (int i = 0; i < PROCESSES; i++) await_start(&processes[i]);
  int inversions = 0, incomplete = 0;
  const int64_t began = now_us();
  for (int round = 0; round < rounds && !incomplete; round++) {
    const int killed = kills ? (int)random_up_to(PROCESSES - 1) : -1;
    const int result = round_of(processes, killed);
    if (result < 0) ++incomplete;
    if (result > 0) inversions += result;
    if (killed < 0) continue;
    end(&processes[killed]);
    start(&processes[killed]);
    await_start(&processes[killed]);
  }
  for (int i = 0; i < PROCESSES; i++) end(&processes[i]);
  char figures[128];
  snprintf(figures, sizeof figures, "%d inversions, %d incomplete, in %d rounds of %d; %.1f s", inversions,
           incomplete, rounds, WAITERS, (double)(now_us() - began) / 1e6);
  check_figures(
      inversions == 0 && incomplete == 0,
      kills ? "waiters are served in order while processes are killed" : "waiters are served in order",
      figures);
}

/* -------------------------------------------------------------------------------------------- dead heads --- */

/* How long a live waiter waits behind so many stopped ones, in ms. */
static double behind_stopped(int count) {
  static Process processes[STOPPED_MAX + 1];
  for (int i = 0; i <= count; i++) start(&processes[i]);
  for (int i = 0; i <= count; i++) await_start(&processes[i]);
  const liblock_lock lock = hold();
  for (int i = 0; i <= count; i++) enqueue_in(&processes[i], (Wish){i, 30000, 0, 0}, i + 1);
  for (int i = 0; i < count; i++) kill(processes[i].pid, SIGSTOP);
  const int64_t began = now_us();
  if (liblock_release(context, lock, NULL) != LIBLOCK_OK) fatal("release");
  Served served = {.status = -1};
  const bool is_served = next_served(&processes[count], 1, 60000, &served) && served.status == LIBLOCK_OK;
  for (int i = 0; i <= count; i++) end(&processes[i]);
  return is_served ? (double)(served.granted_us - began) / 1e3 : 1e9;
}

static void skips_the_dead_at_once(void) {
  double took_ms[3];
  const int counts[] = {1, 10, STOPPED_MAX};
  char figures[128], *at = figures;
  const double slack_ms = slowness() > 1 ? 2000 : 0;
  bool in_time = true;
  for (int i = 0; i < 3; i++) {
    took_ms[i] = behind_stopped(counts[i]);
    in_time = in_time && took_ms[i] <= ALIVE_MS + POLL_MS + slack_ms;
    at += snprintf(at, 40, "%s%d: %.0f ms", i ? ", " : "", counts[i], took_ms[i]);
  }
  check_figures(in_time,
                "a live waiter is served within alive_ms and a poll, however many stopped ones are before it",
                figures);
  check_figures(took_ms[2] <= 1.2 * took_ms[0] + slack_ms, "a hundred stopped waiters cost what one does",
                figures);
}

/* --------------------------------------------------------------------------------------------- deafness --- */

static int by_size(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void loses_no_wake_up(int hand_overs) {
  enum { FEW = 4 };
  Process processes[FEW];
  for (int i = 0; i < FEW; i++) start(&processes[i]);
  for (int i = 0; i < FEW; i++) await_start(&processes[i]);
  Served *all = calloc((size_t)hand_overs, sizeof *all);
  for (int i = 0; i < FEW * 4; i++) {
    const Wish wish = {i, 30000, hand_overs, 1};
    if (write(processes[i % FEW].fd, &wish, sizeof wish) != sizeof wish) fatal("a process is gone");
  }
  int64_t cut_at = now_us();
  int served = 0, cuts = 0;
  bool is_fine = true;
  while (served < hand_overs && is_fine) {
    is_fine = next_served(processes, FEW, 15000, &all[served]) && all[served].status == LIBLOCK_OK;
    ++served;
    if (now_us() < cut_at) continue;
    cuts += ask("CLIENT KILL TYPE pubsub") > 0;
    cut_at = now_us() + 200000;
  }
  for (int i = 0; i < FEW; i++) end(&processes[i]);
  qsort(all, (size_t)served, sizeof *all, by_token);
  int64_t *took_us = calloc((size_t)served, sizeof *took_us); /* the first has none before it */
  for (int i = 1; i < served; i++) took_us[i] = all[i].granted_us - all[i - 1].released_us;
  qsort(took_us, (size_t)served, sizeof *took_us, by_size);
  const int64_t longest_us = took_us[served - 1], p99_us = took_us[(served - 1) * 99LL / 100];
  free(took_us);
  free(all);
  char figures[128];
  snprintf(figures, sizeof figures, "%d hand-overs, %d cuts, p99 %.1f ms, the longest took %.1f ms", served, cuts,
           (double)p99_us / 1e3, (double)longest_us / 1e3);
  check_figures(is_fine && cuts > 0 && longest_us <= 1000 * (slowness() > 1 ? WOKEN_SLOWLY_MS : WOKEN_MS),
                "no wake-up is lost while connections for messages are cut", figures);
}

int main(int count, char **words) {
  const bool orders = count == 3 && strcmp(words[2], "order") == 0;
  const bool paces = count == 3 && strcmp(words[2], "pace") == 0;
  if (!orders && !paces && !(count == 4 && strcmp(words[2], "waits") == 0)) {
    fprintf(stderr, "usage: queue URL order|pace\n");
    return 2;
  }
  url = words[1];
  signal(SIGPIPE, SIG_IGN);
  if (count == 4) live((int)strtol(words[3], NULL, 10));
  setvbuf(stdout, NULL, _IOLBF, 0);
  const char *size = getenv("LIBLOCK_TEST_SIZE");
  const bool is_quick = !size || strcmp(size, "quick") == 0,
             is_nightly = size && strcmp(size, "nightly") == 0;
  server = connect_to(url);
  if (!server || server->err) fatal("no server");
  if (open_without_front(&context) != LIBLOCK_OK) fatal("open");
  if (orders) {
    serves_in_order(is_quick ? 20 : 200, false);
    serves_in_order(is_quick ? 20 : slowness() > 1 ? 50 : 200, true); /* each waits for a lease's end */
  } else {
    skips_the_dead_at_once();
    loses_no_wake_up(is_quick ? 1000 : is_nightly ? 100000 : 10000);
  }
  printf("1..%d\n", tests);
  liblock_context_free(context);
  redisFree(server);
  return failures != 0;
}
