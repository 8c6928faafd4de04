/* SPDX-License-Identifier: MIT
 *
 * Two processes, each with many threads, contend for keys of a server or of a quorum, whose locks go from hand to hand
 * within each process (front_ms). Undisturbed, with one key, each has its share and nobody waits for long. Then, with
 * some keys, one or the other process stands still (SIGSTOP) for longer than a lease lasts, connections are cut in the
 * middle of messages, and now and then somebody stays for longer than his lease, which is not renewed.
 *   - Nobody comes to a resource while somebody else is there who still holds the lock when he leaves: no overlap.
 *   - The resource accepts no token that is not larger than the last: it never refuses one who still holds the lock.
 * Usage: front URL (servers that nobody else uses). Prints TAP. LIBLOCK_TEST_SIZE says how many hand-overs there are at
 * least: quick 20,000, gate 100,000, nightly 1,000,000; over a quorum a tenth, and under a sanitizer
 * (LIBLOCK_TEST_SLOWNESS) a quarter of that. LIBLOCK_SEED replays the faults.
 */
#include <liblock/liblock.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"
#include "tap.h"

enum { PROCESSES = 2, THREADS = 16, KEYS = 4, TTL_MS = 400, BUDGET_MS = 10, SERVERS_MAX = 15 };
/* One turn in so many has a lease of LAPSE_MS, and stays for half as long again. */
enum { LAPSE_EVERY = 400, LAPSE_MS = 40 };

/* What both processes see of each other. */
struct shared {
  atomic_bool stop, faults;
  struct resource {
    atomic_ullong inside;     /* token of the last one who came in */
    atomic_ullong last_token; /* that it accepted */
  } resources[KEYS];
  atomic_ullong overlaps, refused, lost, held, failed;
  struct {
    atomic_ullong turns, passed_on;
    atomic_llong longest_wait_ms;
  } of[PROCESSES];
};

static struct shared *shared;
static const char *const key_names[KEYS] = {"key0", "key1", "key2", "key3"};
static uint64_t random_state;
static char server_names[1024];
static const char *servers[SERVERS_MAX];
static unsigned server_count;
static int share_ms = 3000;

static uint32_t random_up_to(uint32_t bound) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 33) % (bound + 1);
}

static bool accepted(struct resource *resource, unsigned long long token) {
  unsigned long long last = atomic_load(&resource->last_token);
  while (token > last) {
    if (atomic_compare_exchange_weak(&resource->last_token, &last, token)) return true;
  }
  return false;
}

struct worker {
  liblock_context *context;
  int process, key;
};

/* At the resource, with the lock. */
static void be_inside(const struct worker *worker, liblock_lock lock, bool outstays) {
  struct resource *resource = &shared->resources[worker->key];
  uint64_t token = 0;
  const bool came_in = liblock_fencing_token(worker->context, lock, &token) == LIBLOCK_OK;
  if (came_in) atomic_store(&resource->inside, token);
  const bool was_accepted = came_in && accepted(resource, token);
  if (token % 64 == 0) pause_ms(1); /* most are over before anybody could come */
  if (outstays) pause_ms(LAPSE_MS + LAPSE_MS / 2);
  /* A smaller one is of somebody who had lost his lease before he came in: the resource refuses him. */
  const bool is_alone = !came_in || atomic_load(&resource->inside) <= token;
  const bool holds = liblock_is_held(worker->context, lock) == LIBLOCK_OK;
  if (holds && !is_alone) atomic_fetch_add(&shared->overlaps, 1);
  if (holds && !was_accepted) atomic_fetch_add(&shared->refused, 1);
  atomic_fetch_add(holds ? &shared->held : &shared->lost, 1);
}

static void take_a_turn(const struct worker *worker, const liblock_acquire_options *options) {
  liblock_lock lock;
  liblock_result result;
  liblock_result_init(&result, sizeof result);
  const int64_t asked_at = now_ms();
  const liblock_status status =
      liblock_acquire(worker->context, key_names[worker->key], 4, options, &lock, &result);
  if (status != LIBLOCK_OK) {
    /* A connection that was cut in the middle of an attempt; anything else is a fault of ours. */
    if (status != LIBLOCK_CONNECT && status != LIBLOCK_IN_DOUBT && status != LIBLOCK_TOO_LATE)
      atomic_fetch_add(&shared->failed, 1);
    return;
  }
  const int64_t waited_ms = now_ms() - asked_at;
  atomic_llong *longest = &shared->of[worker->process].longest_wait_ms;
  if (waited_ms > atomic_load(longest)) atomic_store(longest, waited_ms);
  be_inside(worker, lock, options->renew == 0);
  atomic_fetch_add(&shared->of[worker->process].turns, 1);
  liblock_release(worker->context, lock, NULL);
}

static void *work(void *argument) {
  liblock_acquire_options options, lapsing;
  liblock_acquire_options_init(&options, sizeof options);
  options.ttl_ms = TTL_MS;
  options.renew = 1;
  lapsing = options;
  lapsing.ttl_ms = LAPSE_MS;
  lapsing.renew = 0;
  for (unsigned turn = 1; !atomic_load(&shared->stop); turn++)
    take_a_turn(argument, atomic_load(&shared->faults) && turn % LAPSE_EVERY == 0 ? &lapsing : &options);
  return NULL;
}

static void be_a_process(const char *url, int number, int64_t front_ms, int keys) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.front_ms = front_ms;
  liblock_context *context;
  if (liblock_open(url, &options, &context, NULL) != LIBLOCK_OK) _exit(3);
  pthread_t threads[THREADS];
  struct worker workers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (struct worker){context, number, i % keys};
    if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0) _exit(3);
  }
  while (!atomic_load(&shared->stop)) {
    pause_ms(20);
    liblock_stats stats;
    liblock_stats_init(&stats, sizeof stats);
    if (liblock_stats_get(context, &stats) == LIBLOCK_OK)
      atomic_store(&shared->of[number].passed_on, stats.passed_on);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  liblock_context_free(context);
  _exit(0);
}

static void start(const char *url, pid_t *processes, int64_t front_ms, int keys) {
  memset((void *)shared, 0, sizeof *shared);
  atomic_store(&shared->faults, keys > 1);
  for (int i = 0; i < PROCESSES; i++) {
    fflush(stdout);
    processes[i] = fork();
    if (processes[i] == 0) be_a_process(url, i, front_ms, keys);
    if (processes[i] < 0) fatal("fork");
  }
}

static bool stop(const pid_t *processes) {
  atomic_store(&shared->stop, true);
  bool fine = true;
  for (int i = 0; i < PROCESSES; i++) {
    int status = 0;
    kill(processes[i], SIGCONT);
    if (waitpid(processes[i], &status, 0) != processes[i]) fatal("waitpid");
    fine = fine && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return fine;
}

static unsigned long long hand_overs(void) {
  unsigned long long count = 0;
  for (int i = 0; i < PROCESSES; i++) count += atomic_load(&shared->of[i].passed_on);
  return count;
}

static void nobody_shared_the_key(const char *when) {
  char name[128], figures[192];
  snprintf(figures, sizeof figures,
           "%llu turns, %llu of them lost their lease, %llu hand-overs within a process",
           atomic_load(&shared->held) + atomic_load(&shared->lost), atomic_load(&shared->lost), hand_overs());
  snprintf(name, sizeof name, "%s nobody is at the resource with one who still holds the lock", when);
  check_figures(atomic_load(&shared->overlaps) == 0 && atomic_load(&shared->held) > 0, name, figures);
  snprintf(name, sizeof name, "%s the resource refuses nobody who still holds the lock", when);
  check(atomic_load(&shared->refused) == 0, name);
  snprintf(name, sizeof name, "%s no acquire ends but by a cut connection", when);
  check(atomic_load(&shared->failed) == 0, name);
}

static bool both_have_begun(void) {
  return atomic_load(&shared->of[0].turns) != 0 && atomic_load(&shared->of[1].turns) != 0;
}

static void each_has_its_share(const char *url, int64_t front_ms) {
  pid_t processes[PROCESSES];
  start(url, processes, front_ms, 1);
  for (int i = 0; i < 1000 && !both_have_begun(); i++) pause_ms(10);
  const unsigned long long one_had = atomic_load(&shared->of[0].turns),
                           two_had = atomic_load(&shared->of[1].turns);
  pause_ms(share_ms);
  const unsigned long long one = atomic_load(&shared->of[0].turns) - one_had,
                           two = atomic_load(&shared->of[1].turns) - two_had;
  check(stop(processes), "both processes come to their end");
  const int64_t longest =
      atomic_load(&shared->of[0].longest_wait_ms) > atomic_load(&shared->of[1].longest_wait_ms)
          ? atomic_load(&shared->of[0].longest_wait_ms)
          : atomic_load(&shared->of[1].longest_wait_ms);
  char name[96], figures[128];
  snprintf(figures, sizeof figures, "%llu and %llu turns, %lld ms at most, %llu hand-overs", one, two,
           (long long)longest, hand_overs());
  snprintf(name, sizeof name, "with a budget of %lld ms each has its share", (long long)front_ms);
  const bool is_fair = 3 * one > two && 3 * two > one;
  check_figures(one > 0 && two > 0 && (is_fair || slowness() > 1), name, figures);
  check(atomic_load(&shared->overlaps) + atomic_load(&shared->refused) == 0, "and nobody shares the key");
}

/* One of what may befall them. */
static void befall(const pid_t *processes) {
  if (random_up_to(2) != 0) {
    const pid_t process = processes[random_up_to(PROCESSES - 1)];
    kill(process, SIGSTOP);
    pause_ms((int)(random_up_to(3) == 0 ? 2 * TTL_MS + random_up_to(200) : random_up_to(100)));
    kill(process, SIGCONT);
    return;
  }
  redisContext *server = connect_to(servers[random_up_to(server_count - 1)]);
  if (server == NULL || server->err != 0) fatal("no server");
  redisReply *reply = redisCommand(server, "CLIENT KILL TYPE %s", random_up_to(1) == 0 ? "normal" : "pubsub");
  if (reply != NULL) freeReplyObject(reply);
  redisFree(server);
}

static bool enough_were_lost(unsigned long long hand_overs_least) {
  return atomic_load(&shared->lost) * 4 * LAPSE_EVERY >= hand_overs_least;
}

static void faults_befall_them(const char *url, unsigned long long least) {
  pid_t processes[PROCESSES];
  start(url, processes, BUDGET_MS, KEYS);
  const int64_t until = now_ms() + 8 * 60 * 1000;
  while ((hand_overs() < least || !enough_were_lost(least)) && now_ms() < until) {
    pause_ms((int)random_up_to(400));
    befall(processes);
  }
  check(stop(processes), "with faults both processes come to their end");
  char figures[64];
  snprintf(figures, sizeof figures, "%llu of %llu", hand_overs(), least);
  check_figures(hand_overs() >= least, "there are as many hand-overs as were asked for", figures);
  snprintf(figures, sizeof figures, "%llu", atomic_load(&shared->lost));
  check_figures(enough_were_lost(least), "and leases are lost all the while", figures);
  nobody_shared_the_key("with faults");
}

static void the_keys_come_free(const char *url) {
  liblock_context *context;
  if (liblock_open(url, NULL, &context, NULL) != LIBLOCK_OK) fatal("liblock_open");
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.wait_ms = (int64_t)(2 * TTL_MS * slowness());
  bool are_free = true;
  for (int i = 0; i < KEYS; i++) {
    liblock_lock lock;
    uint64_t token = 0;
    are_free = are_free && liblock_acquire(context, key_names[i], 4, &options, &lock, NULL) == LIBLOCK_OK &&
               liblock_fencing_token(context, lock, &token) == LIBLOCK_OK &&
               token > atomic_load(&shared->resources[i].last_token);
  }
  check(are_free, "in the end the keys are free, and their tokens went on");
  liblock_context_free(context);
}

/* Those that a quorum: url names, or the one. */
static void name_servers(const char *url) {
  const char *const quorum = "quorum:";
  const bool is_quorum = strncmp(url, quorum, strlen(quorum)) == 0;
  snprintf(server_names, sizeof server_names, "%s", is_quorum ? url + strlen(quorum) : url);
  for (char *name = server_names; name != NULL && server_count < SERVERS_MAX;) {
    servers[server_count++] = name;
    name = strchr(name, ',');
    if (name != NULL) *name++ = 0;
  }
  if (is_quorum) share_ms = 1000;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  name_servers(argv[1]);
  const char *seed = getenv("LIBLOCK_SEED"), *size = getenv("LIBLOCK_TEST_SIZE");
  random_state = seed != NULL ? strtoull(seed, NULL, 10) : (uint64_t)now_us();
  printf("# LIBLOCK_SEED=%llu\n", (unsigned long long)random_state);
  unsigned long long least = 20000;
  if (size != NULL && strcmp(size, "gate") == 0) least = 100000;
  if (size != NULL && strcmp(size, "nightly") == 0) least = 1000000;
  if (server_count > 1) least /= 10;
  if (slowness() > 1) least /= 4;
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) fatal("mmap");
  each_has_its_share(argv[1], 0);
  each_has_its_share(argv[1], BUDGET_MS);
  faults_befall_them(argv[1], least);
  the_keys_come_free(argv[1]);
  return finish();
}
