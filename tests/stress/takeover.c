/* SPDX-License-Identifier: MIT
 * Holders that never release in time. Threads walk over many keys with leases of one millisecond, so that
 * nearly every acquire takes over an overdue lock. Each grant leaves its token and its handle in the key's
 * cell: a key granted twice would show as two grants of one token, or as an earlier handle that is still held
 * after a later grant. And threads that sleep for keys of a lock of which another key gets a short lease.
 */
#include "stress.h"

enum { KEYS = 8000, THREADS_MAX = 8, KEPT = 64 };

static struct cell {
  atomic_ullong newest; /* the largest token that a holder has shown */
  atomic_ullong handle; /* of whoever came last */
} cells[KEYS];
static liblock_context *context;
static atomic_uint grants, late_lost, late_other, violations;
static unsigned wanted;

static void show(struct cell *cell, liblock_lock lock, uint64_t token) {
  /* A larger token is well, since the lease may have ended by now; an equal one is a grant given twice. */
  if (!raise_token(&cell->newest, token)) atomic_fetch_add(&violations, 1);
  const liblock_lock former = atomic_exchange(&cell->handle, lock);
  uint64_t held = token;
  if (former != 0 && liblock_fencing_token(context, former, &held) == LIBLOCK_OK && held < token) {
    atomic_fetch_add(&violations, 1); /* two holders */
  }
}

/* Lets go of the lock kept here once its lease is over, which nobody waits for, and keeps the new one
 * instead. */
static void release_late(liblock_lock *kept, liblock_lock lock) {
  if (*kept != 0) {
    if (liblock_is_held(context, *kept) == LIBLOCK_OK) return;
    const liblock_status status = liblock_release(context, *kept, NULL);
    /* NOT_HELD only where more than 4,096 losses of the shard came in between. */
    atomic_fetch_add(status == LIBLOCK_LOST ? &late_lost : &late_other, 1);
    if (status == LIBLOCK_OK) atomic_fetch_add(&violations, 1);
  }
  *kept = lock;
}

static void *take_over(void *argument) {
  uint64_t random = (uint64_t)(uintptr_t)argument * 977 + 1;
  liblock_lock kept[KEPT] = {0};
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.ttl_ms = 1;
  options.wait_ms = 1000;
  while (atomic_load(&grants) < wanted) {
    const uint32_t k = next_random(&random) % KEYS;
    liblock_lock lock;
    liblock_result result = LIBLOCK_RESULT_INIT;
    if (liblock_acquire(context, &k, sizeof k, &options, &lock, &result) != LIBLOCK_OK) continue;
    atomic_fetch_add(&grants, 1);
    show(&cells[k], lock, result.token);
    if (next_random(&random) % 8 == 0) release_late(&kept[next_random(&random) % KEPT], lock);
  }
  return NULL;
}

static void storm(unsigned threads) {
  pthread_t thread[THREADS_MAX];
  atomic_store(&grants, 0);
  for (unsigned i = 0; i < threads; i++) {
    assert_int_equal(pthread_create(&thread[i], NULL, take_over, (void *)(uintptr_t)(i + 1)), 0);
  }
  for (unsigned i = 0; i < threads; i++) pthread_join(thread[i], NULL);
}

static void no_key_ever_has_two_holders_when_overdue_leases_are_taken_over(void **state) {
  (void)state;
  wanted = scaled(60000, 400000, 2000000);
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.cleanup_interval_ms = -1; /* whoever wants the key ends the lease */
  assert_int_equal(liblock_open("local:", &options, &context, NULL), LIBLOCK_OK);
  for (unsigned threads = 2; threads <= THREADS_MAX; threads *= 2) storm(threads);
  liblock_stats stats;
  liblock_stats_init(&stats, sizeof stats);
  assert_int_equal(liblock_stats_get(context, &stats), LIBLOCK_OK);
  printf("# %llu takeovers, %u late releases said LOST, %u NOT_HELD\n", (unsigned long long)stats.taken_over,
         atomic_load(&late_lost), atomic_load(&late_other));
  assert_int_equal(atomic_load(&violations), 0);
  assert_true(stats.taken_over >= scaled(140000, 1000000, 5000000)); /* the few others found their key free */
  assert_true(atomic_load(&late_lost) > 0);
  liblock_context_free(context);
}

enum { TRIOS = 3, PER_TRIO = 3, WAIT_MS = 20000 };

/* One holds three keys, two wait for those whose own leases are long. */
static struct trio {
  pthread_barrier_t turn;
  liblock_owner *owner;
  uint32_t early; /* which key gets the short lease */
} trios[TRIOS];
static atomic_uint overslept;
static unsigned rounds;

static liblock_lock held_again(struct trio *mine, const uint32_t *keys, uint32_t count, int64_t ttl_ms) {
  liblock_bytes bytes[PER_TRIO];
  for (uint32_t i = 0; i < count; i++) bytes[i] = (liblock_bytes){&keys[i], sizeof keys[i]};
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.owner = mine->owner;
  options.ttl_ms = ttl_ms;
  options.on_conflict = count == 1 ? LIBLOCK_ON_CONFLICT_REENTER_EXTEND : LIBLOCK_ON_CONFLICT_REENTER;
  liblock_lock lock = 0;
  if (liblock_acquire_many(context, bytes, count, &options, &lock, NULL) != LIBLOCK_OK)
    atomic_fetch_add(&violations, 1);
  return lock;
}

static void hold_and_forget(struct trio *mine, const uint32_t *keys, uint64_t *random) {
  mine->early = next_random(random) % PER_TRIO;
  const uint32_t *early = &keys[mine->early];
  liblock_lock locks[3] = {held_again(mine, early, 1, FOR_EVER_MS), 0, 0};
  locks[1] = held_again(mine, keys, PER_TRIO, next_random(random) % 2 == 0 ? LIBLOCK_TTL_NONE : FOR_EVER_MS);
  pthread_barrier_wait(&mine->turn);
  for (uint32_t pause = next_random(random) % 4; pause > 0; pause--) sched_yield();
  switch (next_random(random) % 3) {
    case 0: liblock_extend(context, locks[0], 1, 0, NULL); break;
    case 1: liblock_extend_key(context, early, sizeof *early, "", 0, 1, 0, NULL); break;
    default: locks[2] = held_again(mine, early, 1, 1);
  }
  pthread_barrier_wait(&mine->turn);
  for (int i = 0; i < 3; i++) {
    if (locks[i] != 0 && liblock_release(context, locks[i], NULL) != LIBLOCK_LOST) atomic_fetch_add(&violations, 1);
  }
}

static void sleep_for_another(struct trio *mine, const uint32_t *keys, uint64_t *random) {
  pthread_barrier_wait(&mine->turn);
  const uint32_t *key = &keys[(mine->early + 1 + next_random(random) % 2) % PER_TRIO];
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.wait_ms = atomic_load(&overslept) == 0 ? WAIT_MS : 0;
  liblock_lock lock;
  if (liblock_acquire(context, key, sizeof *key, &options, &lock, NULL) == LIBLOCK_OK) {
    liblock_release(context, lock, NULL);
  } else {
    atomic_fetch_add(&overslept, 1);
  }
  pthread_barrier_wait(&mine->turn);
}

static void *play(void *argument) {
  const unsigned number = (unsigned)(uintptr_t)argument - 1, of = number / 3;
  uint64_t random = number * 977 + 1;
  uint32_t keys[PER_TRIO];
  for (uint32_t i = 0; i < PER_TRIO; i++) keys[i] = of * PER_TRIO + i;
  for (unsigned i = 0; i < rounds; i++)
    (number % 3 == 0 ? hold_and_forget : sleep_for_another)(&trios[of], keys, &random);
  return NULL;
}

static void nobody_sleeps_through_the_end_of_a_lock_by_the_lease_of_another_key(void **state) {
  (void)state;
  rounds = scaled(200, 2000, 20000);
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.cleanup_interval_ms = -1; /* nobody but those who wait */
  assert_int_equal(liblock_open("local:", &options, &context, NULL), LIBLOCK_OK);
  for (int i = 0; i < TRIOS; i++) {
    assert_int_equal(pthread_barrier_init(&trios[i].turn, NULL, 3), 0);
    assert_int_equal(liblock_owner_open(context, "holder", 6, &trios[i].owner, NULL), LIBLOCK_OK);
  }
  crew all;
  crew_start(&all, 3 * TRIOS, play);
  crew_join(&all);
  assert_int_equal(atomic_load(&overslept), 0);
  assert_int_equal(atomic_load(&violations), 0);
  assert_idle(context);
  for (int i = 0; i < TRIOS; i++) {
    liblock_owner_free(trios[i].owner);
    pthread_barrier_destroy(&trios[i].turn);
  }
  liblock_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_key_ever_has_two_holders_when_overdue_leases_are_taken_over),
      cmocka_unit_test(nobody_sleeps_through_the_end_of_a_lock_by_the_lease_of_another_key),
  };
  return cmocka_run_group_tests_name("takeover", tests, NULL, NULL);
}
