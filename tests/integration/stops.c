/* SPDX-License-Identifier: MIT
 *
 * Fifty processes hold a key each, and are stopped (SIGSTOP) for longer than their leases last, again and again.
 * Meanwhile another process takes all the keys; only then they go on. None of them
 *   - is told by any call that it still holds its lock, from its first instruction on,
 *   - goes without the notice that it is lost, or has that twice,
 *   - can extend it, or take anything from the new holder by releasing it,
 *   - has a token that is not smaller than the new holder's.
 * Usage: stops URL (servers that nobody else uses). Prints TAP. LIBLOCK_TEST_SIZE says how many stops there are: quick
 * 200, gate and nightly 1,000.
 */
#include <liblock/liblock.h>
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

#include "tap.h"

enum { CHILDREN = 50, TTL_MS = 300, PATIENCE_MS = 60000 };

/* What a child and its parent tell each other:
 *   state    meaning                                                  left by
 *   Wants    the child asks for its key                               its grant
 *   Holds    it has it, and may be stopped                            the parent, who has taken the key
 *   Taken    the parent has it; the child may find out                the child, who has asked everything
 *   Asked    the child waits for the parent to give the key back      the parent */
enum { Wants, Holds, Taken, Asked };

struct shared {
  atomic_bool stop;
  atomic_ullong believed, extended, released, failed, missed;
  struct {
    atomic_int state;
    atomic_ullong token;
    atomic_int lost, losses; /* its locks, and of how many it was told that */
  } of[CHILDREN];
};

static struct shared *shared;

static int key_of(char *key, size_t size, int number) { return snprintf(key, size, "stopped-%d", number); }

/* Its own clock is all that it can ask. */
static bool believes(liblock_context *context, liblock_lock lock) {
  int64_t remaining_ms = 0;
  const bool is_held = liblock_is_held(context, lock) == LIBLOCK_OK;
  return is_held || liblock_remaining_ms(context, lock, &remaining_ms) == LIBLOCK_OK;
}

static void on_lost(const liblock_completion *completion, void *losses) {
  (void)completion;
  atomic_fetch_add((atomic_int *)losses, 1);
}

/* Of a lock that is lost, once; and not of one before it a second time. */
static void wait_until_told(int number) {
  atomic_int *losses = &shared->of[number].losses;
  const int wanted = atomic_fetch_add(&shared->of[number].lost, 1) + 1;
  const int64_t until = now_ms() + PATIENCE_MS / 4;
  while (atomic_load(losses) < wanted && now_ms() < until) pause_ms(1);
  if (atomic_load(losses) != wanted) atomic_fetch_add(&shared->missed, 1);
}

static void hold_once(liblock_context *context, int number) {
  atomic_int *state = &shared->of[number].state;
  char key[24];
  const int size = key_of(key, sizeof key, number);
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.ttl_ms = TTL_MS;
  options.renew = 1;
  options.wait_ms = 100;
  options.on_lost = on_lost;
  options.on_lost_user_data = &shared->of[number].losses;
  liblock_lock lock;
  uint64_t token = 0;
  if (liblock_acquire(context, key, (size_t)size, &options, &lock, NULL) != LIBLOCK_OK) return;
  if (liblock_fencing_token(context, lock, &token) != LIBLOCK_OK) { /* it was lost by now */
    wait_until_told(number);
    return;
  }
  atomic_store(&shared->of[number].token, token);
  atomic_store(state, Holds);
  while (atomic_load(state) != Taken) {
    if (atomic_load(&shared->stop)) return; /* closing gives back what it holds */
    pause_ms(1);
  }
  if (believes(context, lock)) atomic_fetch_add(&shared->believed, 1);
  if (liblock_extend(context, lock, TTL_MS, LIBLOCK_EXTEND_SET, NULL) == LIBLOCK_OK)
    atomic_fetch_add(&shared->extended, 1);
  wait_until_told(number);
  if (liblock_release(context, lock, NULL) == LIBLOCK_OK) atomic_fetch_add(&shared->released, 1);
  atomic_store(state, Asked);
  while (!atomic_load(&shared->stop) && atomic_load(state) == Asked) pause_ms(1);
}

static void child(const char *url, int number) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  liblock_context *context;
  if (liblock_open(url, NULL, &context, NULL) != LIBLOCK_OK) _exit(3);
  while (!atomic_load(&shared->stop)) hold_once(context, number);
  liblock_context_free(context);
  _exit(0);
}

static void wait_until_all(int state) {
  const int64_t until = now_ms() + PATIENCE_MS;
  for (int i = 0; i < CHILDREN; i++) {
    while (atomic_load(&shared->of[i].state) != state) {
      if (now_ms() > until) fatal("a child has come no further");
      pause_ms(1);
    }
  }
}

static void signal_all(const pid_t *children, int number) {
  for (int i = 0; i < CHILDREN; i++) kill(children[i], number);
}

static void stop_all_once(liblock_context *context, const pid_t *children) {
  wait_until_all(Holds);
  signal_all(children, SIGSTOP);
  liblock_lock locks[CHILDREN];
  for (int i = 0; i < CHILDREN; i++) {
    char key[24];
    const int size = key_of(key, sizeof key, i);
    uint64_t token = 0;
    const bool has_it = liblock_acquire(context, key, (size_t)size, NULL, &locks[i], NULL) == LIBLOCK_OK &&
                        liblock_fencing_token(context, locks[i], &token) == LIBLOCK_OK;
    if (!has_it || token <= atomic_load(&shared->of[i].token)) atomic_fetch_add(&shared->failed, 1);
    atomic_store(&shared->of[i].state, Taken);
  }
  signal_all(children, SIGCONT);
  wait_until_all(Asked);
  for (int i = 0; i < CHILDREN; i++) {
    if (liblock_verify(context, locks[i], NULL) != LIBLOCK_OK ||
        liblock_release(context, locks[i], NULL) != LIBLOCK_OK)
      atomic_fetch_add(&shared->failed, 1);
    atomic_store(&shared->of[i].state, Wants);
  }
}

static void stop_again_and_again(const char *url, int stops) {
  pid_t children[CHILDREN];
  for (int i = 0; i < CHILDREN; i++) {
    children[i] = fork();
    if (children[i] == 0) child(url, i);
    if (children[i] < 0) fatal("fork");
  }
  liblock_context *context;
  if (liblock_open(url, NULL, &context, NULL) != LIBLOCK_OK) fatal("liblock_open");
  for (int i = 0; i < stops / CHILDREN; i++) stop_all_once(context, children);
  atomic_store(&shared->stop, true);
  liblock_context_free(context);
  bool are_fine = true;
  for (int i = 0; i < CHILDREN; i++) {
    int status;
    waitpid(children[i], &status, 0);
    are_fine = are_fine && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  check(are_fine, "every process that was stopped comes to its end");
}

int main(int count, char **words) {
  if (count != 2) {
    fprintf(stderr, "usage: stops URL\n");
    return 2;
  }
  const char *size = getenv("LIBLOCK_TEST_SIZE");
  const int stops = size == NULL || strcmp(size, "quick") == 0 ? 200 : 1000;
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) fatal("mmap");
  stop_again_and_again(words[1], stops);
  char figures[32];
  snprintf(figures, sizeof figures, "%d stops", stops);
  check_figures(atomic_load(&shared->believed) == 0,
                "nobody who was stopped past his lease believes in it afterwards", figures);
  check_figures(atomic_load(&shared->missed) == 0, "each of them is told once that it has lost its lock", figures);
  check(atomic_load(&shared->extended) == 0, "nobody of them extends it");
  check(atomic_load(&shared->released) == 0, "nobody of them gives back what is another one's");
  check(atomic_load(&shared->failed) == 0, "the new holder has a larger token, and keeps what he has");
  return finish();
}
