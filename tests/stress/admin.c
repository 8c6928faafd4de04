/* SPDX-License-Identifier: MIT
 * Everything that takes locks away, at once: leases of a millisecond or two, sweeps, forced releases, clears,
 * while holders renew, extend, update and release, and others list and inspect. Holds may end at any moment,
 * so nothing plain is guarded; that two never hold a key at once is seen by the tokens: the newest token of a
 * key that was shown never goes back, and who releases with OK was the newest up to then. By its status each
 * holder learns which way its hold ended, and the table's counters agree to the last one.
 */
#include "stress.h"

enum { KEYS = 300, SPARED = 60, HOLDERS = 4, SLOTS = 64, NOTICES_MAX = 1 << 20 };

static liblock_context *context;
static atomic_ullong newest[KEYS];
static atomic_ullong handles[SLOTS]; /* of whoever held something lately, for others to try */
static atomic_ulong grants, released, lost, doubles, went_back, unexpected, disturbed, looked, noticed;
static atomic_uchar notices[NOTICES_MAX];       /* of each hold that wanted to be told */
static atomic_uchar released_well[NOTICES_MAX]; /* 1: it was released, so no notice may come */
static atomic_ulong watched;
static atomic_bool stop;
static unsigned rounds;

static void expect(bool fine, const char *what, liblock_status status) {
  if (fine) return;
  atomic_fetch_add(&unexpected, 1);
  fprintf(stderr, "# %s answered %s\n", what, liblock_status_name(status));
}

static bool over_or_not(liblock_status status) {
  return status == LIBLOCK_OK || status == LIBLOCK_LOST || status == LIBLOCK_NOT_HELD;
}

static void on_lost(const liblock_completion *notice, void *user_data) {
  expect(notice->kind == LIBLOCK_KIND_LOST && notice->status == LIBLOCK_LOST, "on_lost", notice->status);
  atomic_fetch_add(&notices[(uintptr_t)user_data], 1);
  atomic_fetch_add(&noticed, 1);
}

/* --------------------------------------------------------------------------------------------- holders ---
 */

/* The lock of a grant is the key's newest, or it is over. */
static void show(uint32_t key, liblock_lock lock, uint64_t token) {
  unsigned long long seen = atomic_load(&newest[key]);
  if (!raise_token(&newest[key], token)) atomic_fetch_add(&doubles, 1);
  if (seen > token && liblock_is_held(context, lock) == LIBLOCK_OK) atomic_fetch_add(&went_back, 1);
}

/* A lease that nobody prolongs is slept out, so some end by time at whatever pace the machine runs. */
static void use(liblock_lock lock, bool sleep_out, uint64_t *random) {
  int64_t remaining;
  liblock_status status = LIBLOCK_OK;
  switch (next_random(random) % 8) {
    case 0:
      status = liblock_extend(context, lock, 2, LIBLOCK_EXTEND_SET, NULL);
      break;
    case 1:
      status = liblock_extend(context, lock, 1, LIBLOCK_EXTEND_ADD, NULL);
      break;
    case 2:
      status = liblock_update(context, lock, "value", 5, NULL);
      break;
    case 3:
      status =
          liblock_wait_lost(context, lock, sleep_out ? FOR_EVER_MS : (int64_t)(next_random(random) % 4), NULL);
      if (status == LIBLOCK_TIMEOUT && !sleep_out) status = LIBLOCK_OK;
      break;
    case 4:
      for (unsigned i = next_random(random) % 8; i > 0; i--) sched_yield();
      break;
    case 5:
      status = liblock_remaining_ms(context, lock, &remaining);
      break;
    default:
      break;
  }
  expect(status == LIBLOCK_OK || status == LIBLOCK_LOST, "a use of a lock", status);
}

/* What was newest before a release that says OK was this hold. */
static void let_go(uint32_t key, liblock_lock lock, uint64_t token, uintptr_t number) {
  const unsigned long long before = atomic_load(&newest[key]);
  const liblock_status status = liblock_release(context, lock, NULL);
  expect(status == LIBLOCK_OK || status == LIBLOCK_LOST, "release", status);
  atomic_fetch_add(status == LIBLOCK_OK ? &released : &lost, 1);
  if (status == LIBLOCK_OK && before != token) atomic_fetch_add(&went_back, 1);
  if (status == LIBLOCK_OK && number < NOTICES_MAX) atomic_store(&released_well[number], 1);
  if (liblock_release(context, lock, NULL) != LIBLOCK_NOT_HELD) atomic_fetch_add(&unexpected, 1);
}

static void hold_once(liblock_owner *owner, uint64_t *random) {
  liblock_acquire_options options;
  liblock_result result = LIBLOCK_RESULT_INIT;
  liblock_lock lock;
  uintptr_t number = NOTICES_MAX;
  const uint32_t key =
      next_random(random) % 4 == 0 ? 0 : next_random(random) % KEYS; /* one of them crowded */
  liblock_acquire_options_init(&options, sizeof options);
  options.ttl_ms = 1 + next_random(random) % 2;
  options.order = (int32_t)(next_random(random) % 4);
  options.wait_ms = next_random(random) % 4 == 0 ? 1 : -1;
  if (next_random(random) % 2 == 0) options.owner = owner;
  options.renew = next_random(random) % 8 == 0;
  if (next_random(random) % 4 == 0 && (number = atomic_fetch_add(&watched, 1)) < NOTICES_MAX) {
    options.on_lost = on_lost;
    options.on_lost_user_data = (void *)number;
  }
  const liblock_status status = liblock_acquire(context, &key, sizeof key, &options, &lock, &result);
  if (status != LIBLOCK_OK) {
    expect(status == LIBLOCK_TIMEOUT || status == LIBLOCK_DEQUEUED, "acquire", status);
    return;
  }
  atomic_fetch_add(&grants, 1);
  show(key, lock, result.token);
  atomic_store(&handles[next_random(random) % SLOTS], lock);
  use(lock, key >= KEYS - SPARED && !options.renew, random);
  let_go(key, lock, result.token, number);
}

static void *hold(void *argument) {
  uint64_t random = (uintptr_t)argument * 7001 + 1;
  liblock_owner *owner;
  if (liblock_owner_open(context, "holder", 6, &owner, NULL) != LIBLOCK_OK) abort();
  for (unsigned i = 0; i < rounds; i++) hold_once(owner, &random);
  liblock_owner_free(owner);
  return NULL;
}

/* ------------------------------------------------------------------------------- those who disturb them ---
 */

static void look_at_one(uint32_t key) {
  liblock_info *info = NULL;
  liblock_status status = liblock_inspect_queue(context, &key, sizeof key, &info, NULL);
  expect(status == LIBLOCK_OK || status == LIBLOCK_NOT_HELD, "inspect_queue", status);
  liblock_info_free(info);
  info = NULL;
  status = liblock_inspect(context, &key, sizeof key, &info, NULL);
  expect(status == LIBLOCK_OK || status == LIBLOCK_NOT_HELD, "inspect", status);
  if (status == LIBLOCK_OK) {
    /* Shown before its holder could show it, so it is not compared with what was shown; but no token is 0. */
    expect(liblock_info_token(info) > 0 && liblock_info_is_held(info) == 1, "an info", status);
    expect(liblock_info_remaining_ms(info) >= 0, "a lease", status);
    size_t size = 0;
    const void *owner = liblock_info_owner(info, &size);
    if (size > 0 && key % 16 == 1) {
      status = liblock_clear_owner(context, owner, size, NULL, NULL, NULL);
      expect(status == LIBLOCK_OK, "clear_owner", status);
    }
  }
  liblock_info_free(info);
}

static void look_at_all(bool queues) {
  liblock_cursor *cursor = NULL;
  liblock_info *info = NULL;
  liblock_status status = queues ? liblock_list_queues(context, NULL, &cursor, NULL)
                                 : liblock_list_locks(context, NULL, &cursor, NULL);
  expect(status == LIBLOCK_OK, "list", status);
  unsigned char seen[KEYS] = {0};
  while ((status = liblock_cursor_next(cursor, &info)) == LIBLOCK_OK && info != NULL) {
    size_t size = 0;
    uint32_t key = 0;
    const void *bytes = liblock_info_key(info, &size);
    if (size == sizeof key) memcpy(&key, bytes, sizeof key);
    expect(size == sizeof key && key < KEYS && seen[key % KEYS]++ == 0, "a listing", status); /* none twice */
    liblock_info_free(info);
    atomic_fetch_add(&looked, 1);
  }
  expect(status == LIBLOCK_OK, "cursor_next", status);
  liblock_cursor_free(cursor);
}

/* Handles of others: each answers as it must whatever became of it. A release is its holder's alone. */
static void try_handle(uint64_t *random) {
  const liblock_lock lock = atomic_load(&handles[next_random(random) % SLOTS]);
  int64_t remaining;
  uint64_t token;
  if (lock == 0) return;
  liblock_status status = liblock_verify(context, lock, NULL);
  expect(over_or_not(status), "verify", status);
  status = liblock_extend(context, lock, 1 + next_random(random) % 2, LIBLOCK_EXTEND_SET, NULL);
  expect(over_or_not(status), "extend", status);
  status = liblock_update(context, lock, "other", 5, NULL);
  expect(over_or_not(status), "update", status);
  status = liblock_remaining_ms(context, lock, &remaining);
  expect(over_or_not(status), "remaining_ms", status);
  status = liblock_fencing_token(context, lock, &token);
  expect(over_or_not(status), "fencing_token", status);
}

static void *look(void *argument) {
  uint64_t random = (uintptr_t)argument * 1009 + 1;
  while (!atomic_load(&stop)) {
    for (int i = 0; i < 20; i++) look_at_one(next_random(&random) % KEYS);
    for (int i = 0; i < 20; i++) try_handle(&random);
    look_at_all(next_random(&random) % 2 == 0);
  }
  return NULL;
}

static void *disturb(void *argument) {
  uint64_t random = (uintptr_t)argument * 4001 + 3;
  while (!atomic_load(&stop)) {
    /* Some keys are left to those who clear, and these come seldom: leases there live long enough to end by time. */
    const uint32_t key = next_random(&random) % 3 == 0 ? 0 : next_random(&random) % (KEYS - SPARED);
    const uint64_t what = next_random(&random) % 8192;
    liblock_status status;
    if (what == 0)
      status = liblock_clear(context, NULL, NULL, NULL);
    else if (what < 3 * 128)
      status = liblock_sweep(context, NULL, NULL);
    else if (what < 4 * 128)
      status = liblock_clear_dead(context, NULL, NULL, NULL);
    else
      status =
          liblock_force_release(context, &key, sizeof key, what < 5 * 128 ? LIBLOCK_DROP_QUEUE : 0, NULL);
    expect(status == LIBLOCK_OK || status == LIBLOCK_NOT_HELD, "administration", status);
    atomic_fetch_add(&disturbed, 1);
    sched_yield();
  }
  return NULL;
}

static void whatever_ends_a_hold_there_is_one_holder_and_he_is_told(void **state) {
  (void)state;
  rounds = scaled(2000, 20000, 400000);
  crew holders, lookers, disturbers;
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.cleanup_interval_ms = 1;
  options.cleanup_batch_size = 16;
  assert_int_equal(liblock_open("local:", &options, &context, NULL), LIBLOCK_OK);
  crew_start(&lookers, 1, look);
  crew_start(&disturbers, 2, disturb);
  crew_start(&holders, HOLDERS, hold);
  crew_join(&holders);
  atomic_store(&stop, true);
  crew_join(&lookers);
  crew_join(&disturbers);
  const liblock_stats stats = stats_now(context);
  printf(
      "# %lu grants: %lu released, %lu lost (%llu leases ended, %llu taken away, %llu taken over), %lu "
      "notices\n",
      atomic_load(&grants), atomic_load(&released), atomic_load(&lost), (unsigned long long)stats.expired,
      (unsigned long long)stats.taken_away, (unsigned long long)stats.taken_over, atomic_load(&noticed));
  assert_int_equal(atomic_load(&unexpected), 0);
  assert_int_equal(atomic_load(&doubles), 0);
  assert_int_equal(atomic_load(&went_back), 0);
  assert_int_equal(stats.acquired, atomic_load(&grants));
  assert_int_equal(stats.released, atomic_load(&released));
  assert_int_equal(stats.expired + stats.taken_away, atomic_load(&lost));
  assert_true(atomic_load(&released) > 0);
  assert_true(stats.expired > 0);
  assert_true(stats.taken_away > 0);
  assert_true(stats.sweeps > 0);
  assert_true(atomic_load(&looked) > 0 && atomic_load(&disturbed) > 0 && atomic_load(&noticed) > 0);
  assert_idle(context);
  liblock_context_free(
      context); /* what notices there are have been posted; the callback thread may still run */
  for (unsigned long i = 0; i < atomic_load(&watched) && i < NOTICES_MAX; i++) {
    assert_true(atomic_load(&notices[i]) <= 1 - atomic_load(&released_well[i]));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whatever_ends_a_hold_there_is_one_holder_and_he_is_told),
  };
  return cmocka_run_group_tests_name("admin", tests, NULL, NULL);
}
