/* SPDX-License-Identifier: MIT
 * Owners that end while they hold and while others wait. Threads that are their own owner exit with locks in
 * hand: all is given back before pthread_join returns, and the next waiter runs. Named owners are closed by
 * another thread in the middle of their waits, and end as CLOSED.
 */
#include "stress.h"

enum { KEYS = 4, SPAWNERS = 4, HANDLES = 4, WORKERS = 5, CLOSERS = 2, SAMPLES_MAX = 200000 };

static liblock_context *context;
static unsigned long counters[KEYS]; /* plain: guarded by the locks, until the thread is gone */
static atomic_ulong expected[KEYS];
static atomic_ulong unexpected, still_held, deadlocks, exits;
static unsigned rounds;

static void touch(uint32_t key) {
  counters[key]++;
  atomic_fetch_add(&expected[key], 1);
}

/* ------------------------------------------------------------------------------- threads that exit --- */

typedef struct leaver {
  uint64_t random;
  liblock_lock held[HANDLES];
  unsigned count;
} leaver;

static void take(leaver *l, const liblock_bytes *keys, size_t count, const liblock_acquire_options *options) {
  liblock_lock lock;
  const liblock_status status =
      count == 1 ? liblock_acquire(context, keys[0].data, keys[0].size, options, &lock, NULL)
                 : liblock_acquire_many(context, keys, count, options, &lock, NULL);
  if (status == LIBLOCK_DEADLOCK) atomic_fetch_add(&deadlocks, 1);
  if (status != LIBLOCK_OK && status != LIBLOCK_DEADLOCK) atomic_fetch_add(&unexpected, 1);
  if (status != LIBLOCK_OK) return;
  l->held[l->count++] = lock;
  for (size_t i = 0; i < count; i++) touch(*(const uint32_t *)keys[i].data);
}

/* A key, the same once more, a pair, another key; in any order, so that circles come and are broken. */
static void *leave(void *argument) {
  leaver *l = argument;
  liblock_acquire_options mine;
  liblock_acquire_options_init(&mine, sizeof mine);
  mine.owner = LIBLOCK_OWNER_THREAD;
  mine.order = (int32_t)(next_random(&l->random) % 4);
  const uint32_t a = next_random(&l->random) % KEYS, b = next_random(&l->random) % KEYS;
  const liblock_bytes keys[2] = {{&a, sizeof a}, {&b, sizeof b}};
  take(l, keys, 1, &mine);
  if (next_random(&l->random) % 2 == 0) take(l, keys, 1, &mine);
  if (next_random(&l->random) % 2 == 0) take(l, keys, 2, &mine);
  if (next_random(&l->random) % 2 == 0) take(l, keys + 1, 1, &mine);
  return NULL;
}

static void *spawn(void *argument) {
  uint64_t random = (uintptr_t)argument * 2221 + 7;
  for (unsigned i = 0; i < rounds; i++) {
    leaver l = {.random = next_random(&random)};
    pthread_t thread;
    if (pthread_create(&thread, NULL, leave, &l) != 0) {
      atomic_fetch_add(&unexpected, 1);
      continue;
    }
    pthread_join(thread, NULL);
    atomic_fetch_add(&exits, 1);
    for (unsigned k = 0; k < l.count; k++) {
      if (liblock_is_held(context, l.held[k]) != LIBLOCK_NOT_HELD) atomic_fetch_add(&still_held, 1);
    }
  }
  return NULL;
}

static void what_a_thread_held_is_free_when_it_is_joined(void **state) {
  (void)state;
  rounds = scaled(500, 4000, 80000);
  crew spawners;
  assert_int_equal(liblock_open("local:", NULL, &context, NULL), LIBLOCK_OK);
  crew_start(&spawners, SPAWNERS, spawn);
  crew_join(&spawners);
  printf("# %lu threads left with locks in hand, %lu deadlocks\n", atomic_load(&exits),
         atomic_load(&deadlocks));
  for (int key = 0; key < KEYS; key++) assert_int_equal(counters[key], atomic_load(&expected[key]));
  assert_int_equal(atomic_load(&exits), rounds * SPAWNERS);
  assert_int_equal(atomic_load(&still_held), 0);
  assert_int_equal(atomic_load(&unexpected), 0);
  assert_idle(context);
  liblock_context_free(context);
}

/* ----------------------------------------------------------------------- from the exit to the next grant ---
 */

static int64_t samples[SAMPLES_MAX];
static int64_t left_at;
static uint32_t sample_count;

/* Each holds the key until the next waits for it, and looks at the clock last; the key guards the plain
 * variables. */
static void *relay(void *argument) {
  liblock_acquire_options mine;
  liblock_lock lock;
  int32_t queued = 0;
  liblock_acquire_options_init(&mine, sizeof mine);
  mine.owner = LIBLOCK_OWNER_THREAD;
  if (liblock_acquire(context, "baton", 5, &mine, &lock, NULL) != LIBLOCK_OK)
    atomic_fetch_add(&unexpected, 1);
  if (left_at != 0) samples[sample_count++] = clock_ns() - left_at;
  while (!queued && argument != NULL) {
    if (liblock_is_queued(context, "baton", 5, &queued) != LIBLOCK_OK) atomic_fetch_add(&unexpected, 1);
    if (!queued) sched_yield();
  }
  left_at = clock_ns();
  return NULL;
}

static int ascending(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void the_next_waiter_has_the_key_when_its_holder_exits(void **state) {
  (void)state;
  const unsigned runners = scaled(1000, 10000, SAMPLES_MAX);
  pthread_t before, now;
  assert_int_equal(liblock_open("local:", NULL, &context, NULL), LIBLOCK_OK);
  assert_int_equal(pthread_create(&before, NULL, relay, &context), 0);
  assert_int_equal(liblock_wait_held(context, "baton", 5, -1, NULL), LIBLOCK_OK); /* the first is first */
  for (unsigned i = 1; i <= runners; i++) {
    assert_int_equal(pthread_create(&now, NULL, relay, i < runners ? &context : NULL), 0);
    pthread_join(before, NULL);
    before = now;
  }
  pthread_join(before, NULL);
  qsort(samples, sample_count, sizeof samples[0], ascending);
  const int64_t p50 = samples[sample_count / 2], p99 = samples[sample_count * 99ul / 100];
  printf("# from exit to next grant: p50 %.1f us, p99 %.1f us, %u exits\n", (double)p50 / 1000,
         (double)p99 / 1000, sample_count);
  assert_int_equal(sample_count, runners);
  assert_true(samples[0] >= 0);
  assert_int_equal(atomic_load(&unexpected), 0);
  assert_idle(context);
  liblock_context_free(context);
}

/* --------------------------------------------------------------------- owners that are closed by others ---
 */

static struct worker {
  _Atomic(liblock_owner *) owner; /* whoever takes it out closes it, then tells */
  atomic_bool closed;
} workers[WORKERS];
static atomic_ullong newest[KEYS];
static atomic_ulong closes, ended_closed, doubles, gone;
static atomic_bool stop;

/* Until it is told CLOSED. A close in between has given back what is released here. */
static void use_until_closed(liblock_owner *owner, uint64_t *random) {
  liblock_acquire_options named;
  liblock_acquire_options_init(&named, sizeof named);
  named.owner = owner;
  for (liblock_status status = LIBLOCK_OK; status != LIBLOCK_CLOSED;) {
    liblock_lock outer = 0, inner = 0;
    liblock_result result = LIBLOCK_RESULT_INIT;
    const uint32_t a = next_random(random) % KEYS, b = next_random(random) % KEYS;
    const liblock_bytes keys[2] = {{&a, sizeof a}, {&b, sizeof b}};
    named.order = (int32_t)(next_random(random) % 4);
    status = liblock_acquire(context, &a, sizeof a, &named, &outer, &result);
    if (status == LIBLOCK_OK && !raise_token(&newest[a], result.token)) atomic_fetch_add(&doubles, 1);
    if (status == LIBLOCK_OK) status = liblock_acquire_many(context, keys, 2, &named, &inner, NULL);
    for (int i = 0; i < 2; i++) {
      const liblock_lock lock = i == 0 ? inner : outer;
      const liblock_status released = lock == 0 ? LIBLOCK_OK : liblock_release(context, lock, NULL);
      if (released != LIBLOCK_OK && released != LIBLOCK_NOT_HELD) atomic_fetch_add(&unexpected, 1);
    }
    if (status != LIBLOCK_OK && status != LIBLOCK_CLOSED && status != LIBLOCK_DEADLOCK) {
      atomic_fetch_add(&unexpected, 1);
    }
  }
  atomic_fetch_add(&ended_closed, 1);
}

static void *work(void *argument) {
  struct worker *w = &workers[(uintptr_t)argument - 1];
  uint64_t random = (uintptr_t)argument * 8161 + 1;
  while (!atomic_load(&stop)) {
    liblock_owner *owner;
    if (liblock_owner_open(context, "worker", 6, &owner, NULL) != LIBLOCK_OK) abort();
    atomic_store(&w->closed, false);
    atomic_store(&w->owner, owner);
    use_until_closed(owner, &random);
    while (!atomic_load(&w->closed)) sched_yield(); /* its closer may still be inside the close */
    liblock_owner_free(owner);
  }
  atomic_fetch_add(&gone, 1);
  return NULL;
}

static void *close_owners(void *argument) {
  uint64_t random = (uintptr_t)argument * 3461 + 1;
  while (atomic_load(&gone) < WORKERS) {
    if (atomic_load(&closes) >= rounds) atomic_store(&stop, true);
    struct worker *w = &workers[next_random(&random) % WORKERS];
    liblock_owner *owner = atomic_exchange(&w->owner, NULL);
    if (owner == NULL) {
      sched_yield();
      continue;
    }
    if (liblock_owner_close(owner) != LIBLOCK_OK) atomic_fetch_add(&unexpected, 1);
    atomic_fetch_add(&closes, 1);
    atomic_store(&w->closed, true);
  }
  return NULL;
}

static void an_owner_that_another_thread_closes_waits_no_longer_and_holds_nothing(void **state) {
  (void)state;
  rounds = scaled(2000, 20000, 400000);
  crew users, closers;
  assert_int_equal(liblock_open("local:", NULL, &context, NULL), LIBLOCK_OK);
  crew_start(&users, WORKERS, work);
  crew_start(&closers, CLOSERS, close_owners);
  crew_join(&closers);
  crew_join(&users);
  printf("# %lu owners closed, %lu workers told so\n", atomic_load(&closes), atomic_load(&ended_closed));
  assert_int_equal(atomic_load(&closes), atomic_load(&ended_closed));
  assert_int_equal(atomic_load(&unexpected), 0);
  assert_int_equal(atomic_load(&doubles), 0);
  assert_idle(context);
  liblock_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_a_thread_held_is_free_when_it_is_joined),
      cmocka_unit_test(the_next_waiter_has_the_key_when_its_holder_exits),
      cmocka_unit_test(an_owner_that_another_thread_closes_waits_no_longer_and_holds_nothing),
  };
  return cmocka_run_group_tests_name("exits", tests, NULL, NULL);
}
