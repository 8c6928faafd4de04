/* SPDX-License-Identifier: MIT
 * The lives of asynchronous requests: threads open contexts, ask for keys in every way, watch, cancel, ask again from
 * callbacks, lose leases, free owners and completion queues under what is pending, and close. Every request
 * ends exactly once, whatever went before it; what the memory checkers say is half of the test.
 */
#include "stress.h"

enum { THREADS = 6, STEPS = 200, KEYS = 4 };
enum { SLEEP_OUT_MS = 20 }; /* longer than the leases that somebody extended to be short */

typedef struct life {
  liblock_context *context;
  liblock_owner *owner;
  liblock_completions *queue;
  liblock_lock lock;
  uint64_t random;
  atomic_ulong asked, ended;
} life;

static atomic_ulong requests, expired, stuck;
static unsigned rounds;

static uint32_t pick(life *l, uint32_t bound) { return next_random(&l->random) % bound; }

static void ended(const liblock_completion *end, void *user_data) {
  life *l = user_data;
  if (end->status == LIBLOCK_OK) liblock_release(l->context, end->lock, NULL);
  atomic_fetch_add(&l->ended, 1);
}

static void ended_and_asks_again(const liblock_completion *end, void *user_data) {
  life *l = user_data;
  liblock_request request;
  atomic_fetch_add(&l->asked, 1);
  if (liblock_acquire_async(l->context, "again", 5, NULL, ended, l, &request) != LIBLOCK_OK) {
    atomic_fetch_sub(&l->asked, 1);
  } else {
    liblock_cancel(l->context, request);
  }
  ended(end, user_data);
}

static void lost(const liblock_completion *end, void *user_data) {
  (void)end;
  (void)user_data;
}

static liblock_acquire_options some_options(life *l) {
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  if (pick(l, 3) == 0) options.owner = l->owner;
  if (pick(l, 3) == 0) options.ttl_ms = 1 + pick(l, 5);
  if (pick(l, 4) == 0) options.wait_ms = pick(l, 4);
  if (pick(l, 7) == 0) options.on_lost = lost;
  if (pick(l, 6) == 0) {
    options.ttl_ms = 30;
    options.renew = 1;
  }
  options.order = (int32_t)pick(l, 4);
  return options;
}

static void ask(life *l, const char *key) {
  const liblock_bytes keys[2] = {{key, 1}, {"z", 1}};
  const liblock_acquire_options options = some_options(l);
  liblock_request request = 0;
  liblock_status status;
  atomic_fetch_add(&l->asked, 1);
  switch (pick(l, 4)) {
    case 0:
      status = liblock_acquire_many_async(l->context, keys, 2, &options, ended, l, &request);
      break;
    case 1:
      status = liblock_acquire_global_async(l->context, &options, ended, l, &request);
      break;
    case 2:
      status = liblock_acquire_async(l->context, key, 1, &options, ended_and_asks_again, l, &request);
      break;
    default:
      status = liblock_acquire_async(l->context, key, 1, &options, ended, l, &request);
  }
  if (status != LIBLOCK_OK) {
    atomic_fetch_sub(&l->asked, 1);
  } else if (pick(l, 2) == 0) {
    liblock_cancel(l->context, request);
  }
}

/* Of a lock that may have ended, or of a key whoever has it. */
static void watch_others(life *l, const char *key) {
  const int64_t wait_ms = pick(l, 3) == 0 ? -1 : (int64_t)pick(l, 4);
  liblock_request request;
  liblock_status status;
  atomic_fetch_add(&l->asked, 1);
  switch (pick(l, 3)) {
    case 0:
      status = liblock_wait_held_async(l->context, key, 1, wait_ms, NULL, ended, l, &request);
      break;
    case 1:
      status = liblock_wait_released_async(l->context, key, 1, wait_ms, NULL, ended, l, &request);
      break;
    default:
      status = liblock_wait_lost_async(l->context, l->lock, wait_ms, NULL, ended, l, &request);
  }
  if (status != LIBLOCK_OK) {
    atomic_fetch_sub(&l->asked, 1);
  } else if (pick(l, 2) == 0) {
    liblock_cancel(l->context, request);
  }
}

static void read_queue(life *l) {
  liblock_completion end = {.struct_size = sizeof end};
  if (l->queue == NULL || liblock_completions_next(l->queue, 0, &end) != LIBLOCK_OK) return;
  if (end.kind == LIBLOCK_KIND_ACQUIRE && end.lock != 0) liblock_release(l->context, end.lock, NULL);
}

static void ask_through_queue(life *l, const char *key) {
  liblock_acquire_options options = some_options(l);
  liblock_request request;
  options.completions = l->queue;
  if (l->queue == NULL) return;
  if (liblock_acquire_async(l->context, key, 1, &options, NULL, NULL, &request) == LIBLOCK_OK &&
      pick(l, 2) == 0)
    liblock_cancel(l->context, request);
}

static void hold_and_extend(life *l, const char *key) {
  const liblock_acquire_options options = some_options(l);
  liblock_lock lock;
  if (liblock_try_acquire(l->context, key, 1, &options, &lock, NULL) != LIBLOCK_OK) return;
  l->lock = lock;
  if (pick(l, 2) == 0) watch_others(l, key);
  liblock_extend(l->context, lock, 1 + pick(l, 9), (int32_t)pick(l, 2), NULL);
  if (pick(l, 16) == 0) liblock_wait_lost(l->context, lock, SLEEP_OUT_MS, NULL);
  if (pick(l, 2) == 0) liblock_release(l->context, lock, NULL);
}

static void step(life *l, int number) {
  const char key[1] = {(char)('a' + pick(l, KEYS))};
  switch (pick(l, 9)) {
    case 0:
      ask_through_queue(l, key);
      break;
    case 1:
      liblock_sweep(l->context, NULL, NULL);
      liblock_force_release(l->context, key, 1, (int32_t)pick(l, 2), NULL);
      break;
    case 2:
      hold_and_extend(l, key);
      break;
    case 3:
      read_queue(l);
      break;
    case 4:
      watch_others(l, key);
      break;
    default:
      ask(l, key);
  }
  if (number == STEPS / 2 && pick(l, 3) == 0) {
    liblock_owner_free(l->owner);
    if (liblock_owner_open(l->context, "new", 3, &l->owner, NULL) != LIBLOCK_OK) abort();
  }
  if (number == STEPS - 20 && pick(l, 3) == 0) {
    liblock_completions_free(l->queue);
    l->queue = NULL;
  }
}

static void live_once(life *l) {
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  if (pick(l, 3) == 0) options.requests_max = 1 + pick(l, 3);
  options.on_close = pick(l, 2) == 0 ? LIBLOCK_ON_CLOSE_LEAVE : LIBLOCK_ON_CLOSE_RELEASE;
  if (liblock_open(pick(l, 2) == 0 ? "local:requests" : "local:", &options, &l->context, NULL) != LIBLOCK_OK)
    abort();
  if (liblock_owner_open(l->context, "o", 1, &l->owner, NULL) != LIBLOCK_OK) abort();
  l->queue = NULL;
  atomic_store(&l->asked, 0);
  atomic_store(&l->ended, 0);
  if (pick(l, 2) == 0 && liblock_completions_open(l->context, 64, &l->queue, NULL) != LIBLOCK_OK) abort();
  for (int i = 0; i < STEPS; i++) step(l, i);
  liblock_stats stats;
  liblock_stats_init(&stats, sizeof stats);
  if (liblock_stats_get(l->context, &stats) != LIBLOCK_OK) abort();
  atomic_fetch_add(&expired, stats.expired);
  const uint32_t close_first = pick(l, 2);
  if (close_first) liblock_close(l->context);
  liblock_completions_free(l->queue);
  liblock_owner_free(l->owner);
  if (!close_first) liblock_close(l->context);
  /* A callback may still use the context: it is freed when the last has come. */
  for (unsigned long i = 0; atomic_load(&l->ended) < atomic_load(&l->asked); i++) {
    if (i == 20000000) {
      atomic_fetch_add(&stuck, 1);
      return;
    }
    sched_yield();
  }
  atomic_fetch_add(&requests, atomic_load(&l->ended));
  liblock_context_free(l->context);
}

static void *live(void *number) {
  static life lives[THREADS];
  life *l = &lives[(uintptr_t)number];
  l->random = (uint64_t)(uintptr_t)number * 104729 + 11;
  for (unsigned i = 0; i < rounds; i++) live_once(l);
  return NULL;
}

static void every_request_ends_once_whatever_goes_before_it(void **state) {
  (void)state;
  rounds = scaled(60, 300, 3000);
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, live, (void *)i), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  printf("# %lu requests, %lu leases ended\n", atomic_load(&requests), atomic_load(&expired));
  assert_int_equal(atomic_load(&stuck), 0);
  assert_true(atomic_load(&requests) > 100UL * rounds);
  assert_true(atomic_load(&expired) > 0);
}

static void hand_over(const liblock_completion *end, void *user_data) {
  life *l = user_data;
  l->lock = end->lock;
  atomic_fetch_add(&l->ended, 1);
}

/* Each request waits for one key after the other; a thread that releases drives it to the next one while the
 * library's own thread searches. */
static void *go_from_key_to_key(void *number) {
  static liblock_context *context;
  static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
  static life lives[CREW_MAX];
  life *l = &lives[(uintptr_t)number % CREW_MAX];
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.deadlock_delay_ms = 0;
  pthread_mutex_lock(&opening);
  if (context == NULL && liblock_open("local:", &options, &context, NULL) != LIBLOCK_OK) abort();
  pthread_mutex_unlock(&opening);
  l->context = context;
  l->random = (uint64_t)(uintptr_t)number;
  if (liblock_owner_open(context, "o", 1, &l->owner, NULL) != LIBLOCK_OK) abort();
  const liblock_bytes keys[] = {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}};
  for (unsigned i = 0; i < rounds; i++) {
    liblock_acquire_options asked;
    liblock_acquire_options_init(&asked, sizeof asked);
    asked.owner = l->owner;
    asked.on_conflict = LIBLOCK_ON_CONFLICT_WAIT;
    asked.order = (int32_t)pick(l, 4);
    liblock_request request;
    const liblock_status status =
        liblock_acquire_many_async(context, keys, 2 + pick(l, 3), &asked, hand_over, l, &request);
    if (status != LIBLOCK_OK) abort();
    if (!reaches(&l->ended, i + 1) || liblock_release(context, l->lock, NULL) != LIBLOCK_OK)
      atomic_fetch_add(&stuck, 1);
  }
  liblock_owner_free(l->owner);
  return NULL;
}

static void every_wait_of_a_request_is_searched_for_deadlocks(void **state) {
  (void)state;
  rounds = scaled(2000, 10000, 100000);
  crew c;
  crew_start(&c, THREADS, go_from_key_to_key);
  crew_join(&c);
  assert_int_equal(atomic_load(&stuck), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_request_ends_once_whatever_goes_before_it),
      cmocka_unit_test(every_wait_of_a_request_is_searched_for_deadlocks),
  };
  return cmocka_run_group_tests_name("requests", tests, NULL, NULL);
}
