/* SPDX-License-Identifier: MIT
 * The global lock against everything else. Some threads ask for it without end and in every way: blocking,
 * for a short while, asynchronously, cancelled, with a lease, named and unnamed, from within a keyed lock.
 * Others take keys, pairs and nested pairs. Both sides go on until each has been served so often while the
 * other never stopped asking, so that a side that starves is a side that never comes there.
 */
#include "stress.h"

enum { KEYS = 6, GLOBAL_THREADS = 3, THREADS = 8, ENDS_MAX = 1 << 20 };

static liblock_context *context;
/* Plain: guarded by the locks alone. */
static unsigned long counters[KEYS];
static uint64_t newest[KEYS];
static atomic_ulong expected[KEYS];
static atomic_ulong asked, ended, canceled, closed, unexpected, old_tokens, deadlocks, lost;
static atomic_uchar ends[ENDS_MAX]; /* how often each asynchronous request ended */
static atomic_ulong global_grants, keyed_grants;
static atomic_bool stop;

/* again: the owner may hold the key already and then shares its token. */
static void touch(uint32_t key, uint64_t token, bool again) {
  counters[key]++;
  atomic_fetch_add(&expected[key], 1);
  if (token < newest[key] || (token == newest[key] && !again)) atomic_fetch_add(&old_tokens, 1);
  newest[key] = token;
}

static void touch_all(uint64_t token, bool again) {
  for (uint32_t key = 0; key < KEYS; key++) touch(key, token, again);
}

static void release(liblock_lock lock) {
  if (liblock_release(context, lock, NULL) != LIBLOCK_OK) atomic_fetch_add(&unexpected, 1);
}

/* Counts what may come of an acquire but a grant. */
static bool granted(liblock_status status) {
  if (status == LIBLOCK_OK) return true;
  if (status == LIBLOCK_DEADLOCK) atomic_fetch_add(&deadlocks, 1);
  if (status == LIBLOCK_CANCELED) atomic_fetch_add(&canceled, 1);
  if (status != LIBLOCK_DEADLOCK && status != LIBLOCK_CANCELED && status != LIBLOCK_TIMEOUT &&
      status != LIBLOCK_BUSY) {
    atomic_fetch_add(&unexpected, 1);
  }
  return false;
}

enum { ASKED_KEYS = 8 }; /* user data: number * ASKED_KEYS + key, where key KEYS stands for the global lock */

static void on_end(const liblock_completion *end, void *user_data) {
  const uintptr_t number = (uintptr_t)user_data / ASKED_KEYS, key = (uintptr_t)user_data % ASKED_KEYS;
  if (end->status == LIBLOCK_CLOSED) {
    atomic_fetch_add(&closed, 1); /* owners outlive their requests here */
  } else if (granted(end->status) && key == KEYS) {
    touch_all(end->token, true);
    atomic_fetch_add(&global_grants, 1);
    release(end->lock);
  } else if (end->status == LIBLOCK_OK) {
    touch((uint32_t)key, end->token, true);
    atomic_fetch_add(&keyed_grants, 1);
    release(end->lock);
  }
  atomic_fetch_add(&ends[number], 1);
  atomic_fetch_add(&ended, 1);
}

/* An owner is freed when its requests have ended: a callback must not find that its lock went with the owner. */
static void await_ends(void) {
  const unsigned long asked_by_now = atomic_load(&asked);
  for (unsigned long i = 0; i < asked_by_now; i++) {
    while (atomic_load(&ends[i]) == 0) sched_yield();
  }
}

static void ask(const liblock_acquire_options *options, uint32_t key, bool cancel) {
  const unsigned long number = atomic_fetch_add(&asked, 1);
  if (number >= ENDS_MAX) {
    atomic_fetch_sub(&asked, 1);
    return;
  }
  void *user_data = (void *)(uintptr_t)(number * ASKED_KEYS + key);
  liblock_request request;
  const liblock_status status =
      key == KEYS ? liblock_acquire_global_async(context, options, on_end, user_data, &request)
                  : liblock_acquire_async(context, &key, sizeof key, options, on_end, user_data, &request);
  if (status != LIBLOCK_OK) atomic_fetch_add(&unexpected, 1);
  if (!cancel) return;
  const liblock_status told = liblock_cancel(context, request);
  if (told != LIBLOCK_OK && told != LIBLOCK_INVALID_HANDLE) atomic_fetch_add(&unexpected, 1);
}

/* Nothing is written, since it may end while it is held; some are slept out, and the late release is told. */
static void everything_with_a_short_lease(liblock_acquire_options options, bool sleep_out) {
  liblock_lock lock;
  options.ttl_ms = 1;
  const liblock_status status = liblock_acquire_global(context, &options, &lock, NULL);
  if (!granted(status)) return;
  atomic_fetch_add(&global_grants, 1);
  if (sleep_out && liblock_wait_lost(context, lock, FOR_EVER_MS, NULL) != LIBLOCK_LOST)
    atomic_fetch_add(&unexpected, 1);
  const liblock_status released = liblock_release(context, lock, NULL);
  if (released == LIBLOCK_LOST) atomic_fetch_add(&lost, 1);
  if (released != LIBLOCK_LOST && released != LIBLOCK_OK) atomic_fetch_add(&unexpected, 1);
}

/* A named owner also takes a key under it, which must not wait for itself. */
static void everything(const liblock_acquire_options *options, uint32_t key) {
  liblock_lock lock, inner;
  liblock_result result = LIBLOCK_RESULT_INIT;
  const liblock_status status = liblock_acquire_global(context, options, &lock, &result);
  if (!granted(status)) return;
  touch_all(result.token, false);
  atomic_fetch_add(&global_grants, 1);
  if (options->owner != NULL) {
    const liblock_status taken = liblock_acquire(context, &key, sizeof key, options, &inner, &result);
    if (taken == LIBLOCK_OK) {
      touch(key, result.token, (result.flags & LIBLOCK_RESULT_REENTERED) != 0);
      release(inner);
    } else {
      atomic_fetch_add(&unexpected, 1);
    }
  }
  release(lock);
}

static void one_key(const liblock_acquire_options *options, uint32_t key, void (*within)(void *),
                    void *argument) {
  liblock_lock lock;
  liblock_result result = LIBLOCK_RESULT_INIT;
  const liblock_status status = liblock_acquire(context, &key, sizeof key, options, &lock, &result);
  if (!granted(status)) return;
  touch(key, result.token, false);
  atomic_fetch_add(&keyed_grants, 1);
  if (within != NULL) within(argument);
  touch(key, newest[key], true);
  release(lock);
}

struct pair {
  const liblock_acquire_options *options;
  uint32_t a, b;
};

static void both(void *argument) {
  const struct pair *pair = argument;
  const liblock_bytes keys[2] = {{&pair->a, sizeof pair->a}, {&pair->b, sizeof pair->b}};
  liblock_lock lock;
  liblock_result result = LIBLOCK_RESULT_INIT;
  const liblock_status status = liblock_acquire_many(context, keys, 2, pair->options, &lock, &result);
  if (!granted(status)) return;
  const bool again = (result.flags & LIBLOCK_RESULT_REENTERED) != 0;
  touch(pair->a, result.token, again);
  touch(pair->b, result.token, again || pair->a == pair->b);
  atomic_fetch_add(&keyed_grants, 1);
  release(lock);
}

/* For a while only: whoever was there first waits for our key, and where he has no name the circle cannot be
 * seen. */
static void everything_from_within(void *argument) {
  liblock_acquire_options options = *(const liblock_acquire_options *)argument;
  options.wait_ms = 1;
  everything(&options, 0);
}

typedef struct choice {
  uint64_t random;
  liblock_owner *own, *asking; /* the second for requests: their ends come on another thread */
  liblock_acquire_options plain, named, asked;
} choice;

static void choice_open(choice *c, uintptr_t seed) {
  c->random = seed * 6151 + 11;
  liblock_acquire_options_init(&c->plain, sizeof c->plain);
  if (liblock_owner_open(context, "own", 3, &c->own, NULL) != LIBLOCK_OK) abort();
  if (liblock_owner_open(context, "asking", 6, &c->asking, NULL) != LIBLOCK_OK) abort();
}

static void choice_next(choice *c) {
  c->plain.order = (int32_t)(next_random(&c->random) % 4);
  c->plain.wait_ms = next_random(&c->random) % 4 == 0 ? (int64_t)(next_random(&c->random) % 3) : -1;
  c->plain.ttl_ms = next_random(&c->random) % 4 == 0 ? 10 * FOR_EVER_MS : LIBLOCK_TTL_AUTO; /* none ends */
  const bool extends = next_random(&c->random) % 2 == 0;
  c->plain.on_conflict = extends ? LIBLOCK_ON_CONFLICT_REENTER_EXTEND : LIBLOCK_ON_CONFLICT_REENTER;
  c->named = c->asked = c->plain;
  c->named.owner = c->own;
  if (next_random(&c->random) % 2 == 0) c->asked.owner = c->asking;
}

static void choice_close(choice *c) {
  liblock_owner_free(c->own);
  liblock_owner_free(c->asking);
}

static void *want_everything(void *argument) {
  choice c;
  choice_open(&c, (uintptr_t)argument);
  while (!atomic_load(&stop)) {
    choice_next(&c);
    const uint32_t key = next_random(&c.random) % KEYS;
    switch (next_random(&c.random) % 8) {
      case 0:
        ask(&c.asked, KEYS, false);
        break;
      case 1:
        ask(&c.asked, KEYS, true);
        break;
      case 2:
        everything_with_a_short_lease(next_random(&c.random) % 2 == 0 ? c.plain : c.named,
                                      next_random(&c.random) % 16 == 0);
        break;
      case 3:
        one_key(&c.named, key, everything_from_within, &c.named);
        break;
      case 4:
      case 5:
        everything(&c.named, key);
        break;
      default:
        everything(&c.plain, key);
    }
  }
  await_ends();
  choice_close(&c);
  return NULL;
}

static void *want_keys(void *argument) {
  choice c;
  choice_open(&c, (uintptr_t)argument + GLOBAL_THREADS);
  while (!atomic_load(&stop)) {
    choice_next(&c);
    struct pair pair = {&c.named, next_random(&c.random) % KEYS, next_random(&c.random) % KEYS};
    switch (next_random(&c.random) % 8) {
      case 0:
        ask(&c.asked, pair.a, false);
        break;
      case 1:
        ask(&c.asked, pair.a, true);
        break;
      case 2:
        both(&pair);
        break;
      case 3:
      case 4:
        one_key(&c.named, pair.a, both, &pair);
        break;
      case 5:
        one_key(&c.plain, pair.a, NULL, NULL);
        break;
      default:
        one_key(&c.named, pair.a, NULL, NULL);
    }
  }
  await_ends();
  choice_close(&c);
  return NULL;
}

static void neither_the_global_lock_nor_the_keys_starve_and_they_exclude_each_other(void **state) {
  (void)state;
  const unsigned long wanted = scaled(2000, 30000, 600000);
  assert_int_equal(liblock_open("local:", NULL, &context, NULL), LIBLOCK_OK);
  crew global_side, keyed_side;
  crew_start(&global_side, GLOBAL_THREADS, want_everything);
  crew_start(&keyed_side, THREADS - GLOBAL_THREADS, want_keys);
  const bool all_served = reaches(&global_grants, wanted) && reaches(&keyed_grants, wanted);
  atomic_store(&stop, true);
  crew_join(&global_side);
  crew_join(&keyed_side);
  const bool all_ended = reaches(&ended, atomic_load(&asked));
  liblock_lock lock;
  assert_int_equal(liblock_acquire_global(context, NULL, &lock, NULL), LIBLOCK_OK);
  for (int key = 0; key < KEYS; key++) assert_int_equal(counters[key], atomic_load(&expected[key]));
  assert_int_equal(liblock_release(context, lock, NULL), LIBLOCK_OK);
  printf("# %lu global grants, %lu keyed, %lu deadlocks, %lu asked, %lu canceled, %lu leases ended\n",
         atomic_load(&global_grants), atomic_load(&keyed_grants), atomic_load(&deadlocks),
         atomic_load(&asked), atomic_load(&canceled), atomic_load(&lost));
  assert_true(all_served);
  assert_true(all_ended);
  for (unsigned long i = 0; i < atomic_load(&asked); i++) assert_int_equal(atomic_load(&ends[i]), 1);
  assert_int_equal(atomic_load(&unexpected), 0);
  assert_int_equal(atomic_load(&old_tokens), 0);
  assert_int_equal(atomic_load(&closed), 0);
  assert_true(atomic_load(&lost) > 0);
  assert_idle(context);
  liblock_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(neither_the_global_lock_nor_the_keys_starve_and_they_exclude_each_other),
  };
  return cmocka_run_group_tests_name("global", tests, NULL, NULL);
}
