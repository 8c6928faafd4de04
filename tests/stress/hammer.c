/* SPDX-License-Identifier: MIT
 * Everything at once on few keys: orders, pairs of keys, named owners that reenter, time-outs, asynchronous
 * requests that are cancelled. Each key guards a plain counter; the counters must add up, each callback come
 * once, and nothing be held at the end. Deadlocks among owners must be reported, not hang.
 */
#include "stress.h"

enum { KEYS = 6, THREADS = 8 };

static liblock_context *context;
static unsigned long counters[KEYS]; /* plain: guarded by the locks alone */
static atomic_ulong expected[KEYS];
static atomic_ulong asked, ended, unexpected, deadlocks;
static unsigned rounds;

static void touch(uint32_t key) {
  counters[key]++;
  atomic_fetch_add(&expected[key], 1);
}

static void release(liblock_lock lock) {
  if (liblock_release(context, lock, NULL) != LIBLOCK_OK) atomic_fetch_add(&unexpected, 1);
}

static void granted(const liblock_completion *end, void *user_data) {
  if (end->status == LIBLOCK_OK) {
    touch((uint32_t)(uintptr_t)user_data);
    release(end->lock);
  } else if (end->status != LIBLOCK_CANCELED && end->status != LIBLOCK_TIMEOUT &&
             end->status != LIBLOCK_BUSY) {
    atomic_fetch_add(&unexpected, 1);
  }
  atomic_fetch_add(&ended, 1);
}

static void one_key(const liblock_acquire_options *options, uint32_t key) {
  liblock_lock lock;
  const liblock_status status = liblock_acquire(context, &key, sizeof key, options, &lock, NULL);
  if (status == LIBLOCK_OK) {
    touch(key);
    release(lock);
  } else if (status != LIBLOCK_TIMEOUT && status != LIBLOCK_BUSY) {
    atomic_fetch_add(&unexpected, 1);
  }
}

static void pair(const liblock_acquire_options *options, uint32_t a, uint32_t b) {
  const liblock_bytes keys[2] = {{&a, sizeof a}, {&b, sizeof b}};
  liblock_lock lock;
  const liblock_status status = liblock_acquire_many(context, keys, 2, options, &lock, NULL);
  if (status == LIBLOCK_OK) {
    touch(a);
    touch(b);
    release(lock);
  } else if (status == LIBLOCK_DEADLOCK) {
    atomic_fetch_add(&deadlocks, 1);
  } else if (status != LIBLOCK_TIMEOUT && status != LIBLOCK_BUSY) {
    atomic_fetch_add(&unexpected, 1);
  }
}

/* The global lock guards all counters at once. */
static void everything(void) {
  liblock_lock lock;
  if (liblock_acquire_global(context, NULL, &lock, NULL) != LIBLOCK_OK) {
    atomic_fetch_add(&unexpected, 1);
    return;
  }
  for (uint32_t key = 0; key < KEYS; key++) touch(key);
  release(lock);
}

/* Holds one key and wants a pair: circles between owners are certain to come. All pairs name an owner: a
 * circle through a nameless request that keeps one key and waits for another could not be seen.
 */
static void nested(const liblock_acquire_options *options, uint32_t a, uint32_t b) {
  liblock_lock lock;
  const liblock_status status = liblock_acquire(context, &a, sizeof a, options, &lock, NULL);
  if (status == LIBLOCK_DEADLOCK) atomic_fetch_add(&deadlocks, 1);
  if (status != LIBLOCK_OK) return;
  pair(options, a, b);
  touch(a);
  release(lock);
}

static void ask(const liblock_acquire_options *options, uint32_t key, int cancel) {
  liblock_request request;
  atomic_fetch_add(&asked, 1);
  if (liblock_acquire_async(context, &key, sizeof key, options, granted, (void *)(uintptr_t)key, &request) !=
      LIBLOCK_OK) {
    atomic_fetch_add(&unexpected, 1);
    return;
  }
  if (cancel) liblock_cancel(context, request);
}

static void *hammer(void *argument) {
  uint64_t random = (uint64_t)(uintptr_t)argument * 7919 + 3;
  liblock_owner *owner;
  liblock_acquire_options plain, named;
  liblock_acquire_options_init(&plain, sizeof plain);
  liblock_acquire_options_init(&named, sizeof named);
  if (liblock_owner_open(context, "hammer", 6, &owner, NULL) != LIBLOCK_OK) return argument;
  named.owner = owner;
  for (unsigned i = 0; i < rounds; i++) {
    const uint32_t a = next_random(&random) % KEYS, b = next_random(&random) % KEYS;
    plain.order = (int32_t)(next_random(&random) % 4);
    plain.wait_ms = next_random(&random) % 4 == 0 ? (int64_t)(next_random(&random) % 3) : -1;
    named.on_conflict =
        next_random(&random) % 2 == 0 ? LIBLOCK_ON_CONFLICT_REENTER_EXTEND : LIBLOCK_ON_CONFLICT_REENTER;
    switch (next_random(&random) % 16) {
      case 0:
        everything();
        break;
      case 1:
      case 2:
        pair(&named, a, b);
        break;
      case 3:
      case 4:
        nested(&named, a, b);
        break;
      case 5:
        ask(&plain, a, 0);
        break;
      case 6:
        ask(&plain, a, 1);
        break;
      default:
        one_key(&plain, a);
    }
  }
  liblock_owner_free(owner);
  return NULL;
}

static void updates_under_locks_add_up_whatever_is_mixed(void **state) {
  (void)state;
  rounds = scaled(3000, 20000, 400000);
  assert_int_equal(liblock_open("local:", NULL, &context, NULL), LIBLOCK_OK);
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, hammer, (void *)(i + 1)), 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  while (atomic_load(&ended) < atomic_load(&asked)) sched_yield();
  liblock_lock lock;
  assert_int_equal(liblock_acquire_global(context, NULL, &lock, NULL), LIBLOCK_OK);
  for (int key = 0; key < KEYS; key++) assert_int_equal(counters[key], atomic_load(&expected[key]));
  assert_int_equal(liblock_release(context, lock, NULL), LIBLOCK_OK);
  liblock_stats stats;
  liblock_stats_init(&stats, sizeof stats);
  assert_int_equal(liblock_stats_get(context, &stats), LIBLOCK_OK);
  printf("# %llu acquired, %llu contended, %lu deadlocks\n", (unsigned long long)stats.acquired,
         (unsigned long long)stats.contended, atomic_load(&deadlocks));
  assert_int_equal(stats.locks_held, 0);
  assert_int_equal(stats.waiters, 0);
  assert_int_equal(atomic_load(&unexpected), 0);
  assert_int_equal(atomic_load(&ended), atomic_load(&asked));
  liblock_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(updates_under_locks_add_up_whatever_is_mixed),
  };
  return cmocka_run_group_tests_name("hammer", tests, NULL, NULL);
}
