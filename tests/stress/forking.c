/* SPDX-License-Identifier: MIT
 * Children born in the middle of everything. Threads lock, ask, read completions, open and close contexts at
 * full speed while two others fork again and again. In each child the copies answer FORKED and can be closed
 * and freed, a name opens a table of the child's own where nothing is held, callbacks run, a grandchild sees
 * the same once more, and the exit is clean. The parent's threads go on as if nothing had been.
 */
#include "stress.h"

#include <sys/wait.h>
#include <unistd.h>

#include "process.h"

enum { KEYS = 4, WORKERS = 4, FORKERS = 2 };

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#elif __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

/* Sanitizers' allocators do not mind forks as malloc does: a lock of theirs that another thread held stays shut in the
 * child. So under them the child asks for no memory; and AddressSanitizer's search for leaks would take for lost what
 * the stacks of the missing threads point at. ThreadSanitizer's memory makes a fork a quarter of a second.
 */
#if defined(__SANITIZE_THREAD__)
enum { MAY_ALLOCATE = 0, FORK_COST = 8 };
#elif defined(__SANITIZE_ADDRESS__)
enum { MAY_ALLOCATE = 0, FORK_COST = 1 };
#else
enum { MAY_ALLOCATE = 1, FORK_COST = 1 };
#endif

static const char url[] = "local:forking";
static liblock_context *context;
static liblock_completions *queue;
static unsigned long counters[KEYS]; /* plain: guarded by the locks */
static atomic_ulong expected[KEYS];
static atomic_ulong turns, asked, ended, unexpected, bad_children, stood_still;
static atomic_bool stop;
static unsigned rounds;

static void touch(uint32_t key) {
  counters[key]++;
  atomic_fetch_add(&expected[key], 1);
}

static void expect(bool fine) {
  if (!fine) atomic_fetch_add(&unexpected, 1);
}

/* ------------------------------------------------------------------------------------------ the parent ---
 */

static void on_end(const liblock_completion *end, void *user_data) {
  expect(end->status == LIBLOCK_OK);
  touch((uint32_t)(uintptr_t)user_data);
  expect(liblock_release(context, end->lock, NULL) == LIBLOCK_OK);
  atomic_fetch_add(&ended, 1);
}

static void ask(uint32_t key, bool queued) {
  liblock_acquire_options options;
  liblock_request request;
  liblock_acquire_options_init(&options, sizeof options);
  if (queued) options.completions = queue;
  const liblock_status status = liblock_acquire_async(
      context, &key, sizeof key, &options, queued ? NULL : on_end, (void *)(uintptr_t)key, &request);
  if (status == LIBLOCK_OK) atomic_fetch_add(&asked, 1);
  expect(status == LIBLOCK_OK || status == LIBLOCK_LIMIT);
}

/* A thread of its own: nobody who reads may wait for a lock, since it may lie unread. */
static void *read_all(void *argument) {
  liblock_completion end = {.struct_size = sizeof end};
  while (liblock_completions_next(queue, -1, &end) == LIBLOCK_OK) on_end(&end, end.user_data);
  return argument;
}

static void take(const liblock_acquire_options *options, uint32_t a, uint32_t b) {
  const liblock_bytes keys[2] = {{&a, sizeof a}, {&b, sizeof b}};
  liblock_lock lock;
  expect(liblock_acquire_many(context, keys, 2, options, &lock, NULL) == LIBLOCK_OK);
  touch(a);
  if (a != b) touch(b);
  expect(liblock_release(context, lock, NULL) == LIBLOCK_OK);
}

static void open_and_close(uint32_t key) {
  liblock_context *other;
  liblock_lock lock;
  expect(liblock_open("local:another", NULL, &other, NULL) == LIBLOCK_OK);
  expect(liblock_acquire(other, &key, sizeof key, NULL, &lock, NULL) == LIBLOCK_OK);
  expect(liblock_release(other, lock, NULL) == LIBLOCK_OK);
  liblock_context_free(other);
}

static void *work(void *argument) {
  uint64_t random = (uintptr_t)argument * 1301 + 1;
  liblock_acquire_options plain, mine;
  liblock_acquire_options_init(&plain, sizeof plain);
  liblock_acquire_options_init(&mine, sizeof mine);
  mine.owner = LIBLOCK_OWNER_THREAD;
  while (!atomic_load(&stop)) {
    const uint32_t a = next_random(&random) % KEYS, b = next_random(&random) % KEYS;
    switch (next_random(&random) % 8) {
      case 0:
        ask(a, true);
        break;
      case 1:
        ask(a, false);
        break;
      case 2:
        open_and_close(a);
        break;
      case 3:
        take(&mine, a, b);
        break;
      case 4:
        take(&plain, a, b);
        break;
      default:
        take(&plain, a, a);
    }
    atomic_fetch_add(&turns, 1);
  }
  return NULL;
}

/* ------------------------------------------------------------------------------------------- a child --- */

typedef struct birth {
  liblock_context *context;
  liblock_owner *owner;
  liblock_completions *queue;
  liblock_lock held; /* of "held", in the parent */
  unsigned round;
  bool exits; /* by exit, with all that is registered to run then */
} birth;

static void copies_answer_forked(const birth *b) {
  liblock_lock lock = 1;
  liblock_request request;
  liblock_owner *owner;
  liblock_stats stats;
  liblock_completion end = {.struct_size = sizeof end};
  liblock_stats_init(&stats, sizeof stats);
  CHILD_CHECK(liblock_acquire(b->context, "free", 4, NULL, &lock, NULL) == LIBLOCK_FORKED && lock == 0);
  CHILD_CHECK(liblock_acquire_global(b->context, NULL, &lock, NULL) == LIBLOCK_FORKED);
  CHILD_CHECK(liblock_acquire_async(b->context, "free", 4, NULL, on_end, NULL, &request) == LIBLOCK_FORKED);
  CHILD_CHECK(liblock_release(b->context, b->held, NULL) == LIBLOCK_FORKED);
  CHILD_CHECK(liblock_is_held(b->context, b->held) == LIBLOCK_FORKED);
  CHILD_CHECK(liblock_owner_open(b->context, "o", 1, &owner, NULL) == LIBLOCK_FORKED);
  CHILD_CHECK(liblock_stats_get(b->context, &stats) == LIBLOCK_FORKED);
  CHILD_CHECK(liblock_clear(b->context, NULL, NULL, NULL) == LIBLOCK_FORKED);
  CHILD_CHECK(liblock_completions_next(b->queue, 0, &end) == LIBLOCK_FORKED);
}

static void copies_can_be_freed(const birth *b) {
  CHILD_CHECK(liblock_owner_close(b->owner) == LIBLOCK_OK);
  liblock_owner_free(b->owner);
  CHILD_CHECK(liblock_completions_close(b->queue) == LIBLOCK_OK);
  liblock_completions_free(b->queue);
  CHILD_CHECK(liblock_close(b->context) == LIBLOCK_OK);
  liblock_context_free(b->context);
}

static atomic_ulong called_back;

static void call_back(const liblock_completion *end, void *user_data) {
  if (end->status == LIBLOCK_OK && liblock_release(user_data, end->lock, NULL) == LIBLOCK_OK) {
    atomic_fetch_add(&called_back, 1);
  }
}

/* Of the child's own: what the parent holds is free here, and nothing else is held. */
static void a_table_of_its_own(const birth *b) {
  liblock_context *fresh;
  liblock_lock lock, mine;
  liblock_request request;
  liblock_stats stats;
  liblock_acquire_options by_thread;
  liblock_acquire_options_init(&by_thread, sizeof by_thread);
  by_thread.owner = LIBLOCK_OWNER_THREAD;
  liblock_stats_init(&stats, sizeof stats);
  CHILD_CHECK(liblock_open(url, NULL, &fresh, NULL) == LIBLOCK_OK);
  CHILD_CHECK(liblock_try_acquire(fresh, "held", 4, NULL, &lock, NULL) == LIBLOCK_OK);
  CHILD_CHECK(liblock_try_acquire(fresh, "mine", 4, &by_thread, &mine, NULL) == LIBLOCK_OK);
  CHILD_CHECK(liblock_stats_get(fresh, &stats) == LIBLOCK_OK && stats.locks_held == 2 && stats.waiters == 0);
  const bool calls_back = b->round % 4 == 0;
  if (calls_back) {
    CHILD_CHECK(liblock_acquire_async(fresh, "held", 4, NULL, call_back, fresh, &request) == LIBLOCK_OK);
  }
  CHILD_CHECK(liblock_release(fresh, lock, NULL) == LIBLOCK_OK);
  if (calls_back) CHILD_CHECK(reaches(&called_back, 1));
  if (b->round % 8 == 1) {
    const pid_t grandchild = fork();
    if (grandchild == 0) _exit(liblock_release(fresh, mine, NULL) == LIBLOCK_FORKED ? 0 : 1);
    int status = -1;
    CHILD_CHECK(grandchild > 0 && waitpid(grandchild, &status, 0) == grandchild && status == 0);
  }
  CHILD_CHECK(liblock_release(fresh, mine, NULL) == LIBLOCK_OK);
  liblock_context_free(fresh);
}

static int live(void *argument) {
  const birth *b = argument;
  copies_answer_forked(b);
  if (MAY_ALLOCATE) {
    a_table_of_its_own(b);
    copies_answer_forked(b);
  }
  if (b->round % 3 != 0) copies_can_be_freed(b);
  if (MAY_ALLOCATE && b->exits) exit(0);
  return 0;
}

/* -------------------------------------------------------------------------------------------- births --- */

static void *bear(void *argument) {
  birth b = {.context = context, .queue = queue};
  liblock_acquire_options mine;
  char key[16];
  const int size = snprintf(key, sizeof key, "held%u", (unsigned)(uintptr_t)argument);
  liblock_acquire_options_init(&mine, sizeof mine);
  mine.owner = LIBLOCK_OWNER_THREAD; /* whose end in the child must not touch the copy */
  expect(liblock_owner_open(context, "forker", 6, &b.owner, NULL) == LIBLOCK_OK);
  for (b.round = 0; b.round < rounds; b.round++) {
    expect(liblock_acquire(context, key, (size_t)size, &mine, &b.held, NULL) == LIBLOCK_OK);
    b.exits = b.round % 5 < 2;
    if (run_in_child(live, &b) != 0) atomic_fetch_add(&bad_children, 1);
    if (!reaches(&turns, atomic_load(&turns) + WORKERS)) atomic_fetch_add(&stood_still, 1);
    expect(liblock_is_held(context, b.held) == LIBLOCK_OK);
    expect(liblock_release(context, b.held, NULL) == LIBLOCK_OK);
  }
  liblock_owner_free(b.owner);
  return NULL;
}

static void a_fork_amid_locking_threads_is_well_for_child_and_parent(void **state) {
  (void)state;
  rounds = scaled(30, 300, 6000) / FORK_COST;
  crew workers, forkers, reader;
  assert_int_equal(liblock_open(url, NULL, &context, NULL), LIBLOCK_OK);
  assert_int_equal(liblock_completions_open(context, 64, &queue, NULL), LIBLOCK_OK);
  crew_start(&reader, 1, read_all);
  crew_start(&workers, WORKERS, work);
  crew_start(&forkers, FORKERS, bear);
  crew_join(&forkers);
  atomic_store(&stop, true);
  crew_join(&workers);
  const bool all_ended = reaches(&ended, atomic_load(&asked));
  assert_int_equal(liblock_completions_close(queue), LIBLOCK_OK);
  crew_join(&reader);
  printf("# %u children, %lu turns of the parent's threads, %lu requests\n", rounds * FORKERS,
         atomic_load(&turns), atomic_load(&asked));
  assert_true(all_ended);
  assert_int_equal(atomic_load(&ended), atomic_load(&asked));
  assert_int_equal(atomic_load(&bad_children), 0);
  assert_int_equal(atomic_load(&stood_still), 0);
  assert_int_equal(atomic_load(&unexpected), 0);
  liblock_lock all;
  assert_int_equal(liblock_acquire_global(context, NULL, &all, NULL), LIBLOCK_OK);
  for (int key = 0; key < KEYS; key++) assert_int_equal(counters[key], atomic_load(&expected[key]));
  assert_int_equal(liblock_release(context, all, NULL), LIBLOCK_OK);
  assert_idle(context);
  liblock_completions_free(queue);
  liblock_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_fork_amid_locking_threads_is_well_for_child_and_parent),
  };
  return cmocka_run_group_tests_name("forking", tests, NULL, NULL);
}
