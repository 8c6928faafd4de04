/* SPDX-License-Identifier: MIT
 * Two contexts of one table whose threads, requests, owners, short leases and administrators disturb each other,
 * and a listener of both: every acquire is told to begin and end once, every lock that came of one to end once, after
 * it was obtained. Then the same while listeners, log and sampling come and go.
 */

#include "stress.h"

enum { KEYS = 6, WORKERS = 6, CONTEXTS = 2, ACQUIRES_MAX = 1 << 20 };
enum { SLEEP_OUT_MS = 20 }; /* longer than the short leases last, unless they are prolonged meanwhile */

/* What was told of one acquire; written on the callback thread. */
typedef struct told {
  unsigned char granted, failed, ended, early;
} told;

static liblock_context *contexts[CONTEXTS];
static told all[ACQUIRES_MAX];
static atomic_ulong acquires, finished, unexpected, logged, closed;
static atomic_bool is_over;
static unsigned wanted;

static void on_event(const liblock_event *event, void *user_data) {
  (void)user_data;
  if (event->tag == 0) return; /* administration */
  told *one = &all[event->tag % ACQUIRES_MAX];
  switch (event->kind) {
    case LIBLOCK_EVENT_OBTAINED:
    case LIBLOCK_EVENT_REENTERED:
    case LIBLOCK_EVENT_SERIES_OBTAINED:
      one->granted++;
      break;
    case LIBLOCK_EVENT_DEQUEUED:
    case LIBLOCK_EVENT_DEQUEUED_ON_LIMIT:
    case LIBLOCK_EVENT_FAILED:
      one->failed++;
      break;
    case LIBLOCK_EVENT_LOST:
    case LIBLOCK_EVENT_HOLD_AND_RELEASE:
    case LIBLOCK_EVENT_SERIES_HOLD_AND_RELEASE:
      one->ended++;
      one->early = one->early || !one->granted;
      break;
    default:
      one->early =
          one->early || one->granted || one->failed; /* a hand-off behind the grant that it brought */
      if (event->kind == LIBLOCK_EVENT_EXTENDED) one->early = 0;
  }
}

static void on_log(const liblock_log_entry *entry, void *user_data) {
  (void)user_data;
  atomic_fetch_add(&logged, entry->field_count > 0);
}

static void on_end(const liblock_completion *end, void *user_data) {
  if (end->status == LIBLOCK_OK) {
    const liblock_status status = liblock_release(user_data, end->lock, NULL);
    if (status != LIBLOCK_OK && status != LIBLOCK_LOST) atomic_fetch_add(&unexpected, 1);
  }
  atomic_fetch_add(&finished, 1);
}

static liblock_acquire_options random_options(uint64_t *random, uint64_t tag, liblock_owner *owner) {
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.event_tag = tag;
  options.order = (int32_t)(next_random(random) % 4);
  options.wait_ms = (int64_t)(next_random(random) % 4);
  if (next_random(random) % 4 == 0) options.ttl_ms = 1 + next_random(random) % 3;
  if (next_random(random) % 8 == 0) options.queue_ttl_ms = 1;
  if (next_random(random) % 3 == 0) options.owner = owner;
  if (next_random(random) % 2 == 0) options.on_conflict = LIBLOCK_ON_CONFLICT_REENTER_EXTEND;
  if (next_random(random) % 4 == 0) options.instrument = LIBLOCK_INSTRUMENT_ATTEMPTS;
  return options;
}

static void acquire_once(liblock_context *context, liblock_owner *owner, uint64_t *random, uint64_t tag) {
  const liblock_acquire_options options = random_options(random, tag, owner);
  uint32_t numbers[2] = {next_random(random) % KEYS, next_random(random) % KEYS};
  const liblock_bytes keys[2] = {{&numbers[0], sizeof numbers[0]}, {&numbers[1], sizeof numbers[1]}};
  const size_t count = next_random(random) % 3 == 0 ? 2 : 1;
  liblock_lock lock = 0;
  if (next_random(random) % 3 == 0) {
    liblock_request request;
    if (liblock_acquire_many_async(context, keys, count, &options, on_end, context, &request) != LIBLOCK_OK)
      abort();
    if (next_random(random) % 4 == 0) liblock_cancel(context, request);
    return;
  }
  if (liblock_acquire_many(context, keys, count, &options, &lock, NULL) == LIBLOCK_OK) {
    if (next_random(random) % 4 == 0) liblock_extend(context, lock, 2, LIBLOCK_EXTEND_SET, NULL);
    if (next_random(random) % 4 == 0) sched_yield();
    if (next_random(random) % 16 == 0) liblock_wait_lost(context, lock, SLEEP_OUT_MS, NULL);
    const liblock_status status = liblock_release(context, lock, NULL);
    if (status != LIBLOCK_OK && status != LIBLOCK_LOST) atomic_fetch_add(&unexpected, 1);
  }
  atomic_fetch_add(&finished, 1);
}

static void *work(void *argument) {
  uint64_t random = (uintptr_t)argument * 7907 + 3;
  liblock_context *context = contexts[(uintptr_t)argument % CONTEXTS];
  liblock_owner *owner = NULL;
  if (liblock_owner_open(context, "o", 1, &owner, NULL) != LIBLOCK_OK) abort();
  for (uint64_t tag; (tag = atomic_fetch_add(&acquires, 1) + 1) < wanted;) {
    acquire_once(context, owner, &random, tag);
    /* Short of memory and of patience: no more under way than a listener can follow. */
    while (tag > atomic_load(&finished) + 5000 && !atomic_load(&is_over)) sched_yield();
  }
  return owner;
}

static void *administer(void *argument) {
  uint64_t random = (uintptr_t)argument * 31 + 5;
  while (!atomic_load(&is_over)) {
    /* One key is left to those who clear, and these come seldom: leases there end by time. */
    const uint32_t key = next_random(&random) % (KEYS - 1);
    liblock_context *context = contexts[key % CONTEXTS];
    if (next_random(&random) % 500 == 0) {
      liblock_clear(context, NULL, NULL, NULL);
    } else {
      const int32_t flags = next_random(&random) % 4 == 0 ? LIBLOCK_DROP_QUEUE : 0;
      liblock_force_release(context, &key, sizeof key, flags, NULL);
    }
    for (unsigned i = next_random(&random) % 200; i > 0; i--) sched_yield();
  }
  return NULL;
}

static void *listen_at_random(void *argument) {
  uint64_t random = (uintptr_t)argument * 17 + 1;
  char text[256];
  while (!atomic_load(&is_over)) {
    liblock_context *context = contexts[next_random(&random) % CONTEXTS];
    liblock_instrument_options options;
    liblock_instrument_options_init(&options, sizeof options);
    options.events_percent = (int32_t)(next_random(&random) % 101);
    options.log_percent = (int32_t)(next_random(&random) % 101);
    options.log_attempts = (int32_t)(next_random(&random) % 2);
    options.histograms = (int32_t)(next_random(&random) % 2);
    options.events_max = 1 + next_random(&random) % 100;
    const bool listens = next_random(&random) % 2 == 0;
    if (liblock_set_instruments(context, &options) != LIBLOCK_OK ||
        liblock_set_events(context, ~UINT64_C(0), listens ? on_event : NULL, NULL) != LIBLOCK_OK ||
        liblock_set_log(context, (int32_t)(next_random(&random) % 5), on_log, NULL) != LIBLOCK_OK ||
        liblock_stats_prometheus(context, text, sizeof text, NULL) != LIBLOCK_OK)
      atomic_fetch_add(&unexpected, 1);
    for (unsigned i = next_random(&random) % 50; i > 0; i--) sched_yield();
  }
  return NULL;
}

static void on_closed(const liblock_completion *completion, void *user_data) {
  (void)completion, (void)user_data;
  atomic_fetch_add(&closed, 1);
}

static void run(const char *url, unsigned count, void *(*also)(void *)) {
  wanted = count;
  memset(all, 0, sizeof all);
  atomic_store(&acquires, 0);
  atomic_store(&finished, 0);
  atomic_store(&is_over, false);
  liblock_instrument_options options;
  liblock_instrument_options_init(&options, sizeof options);
  options.events_max = 1048576;
  options.histograms = 1;
  for (int i = 0; i < CONTEXTS; i++) {
    assert_int_equal(liblock_open(url, NULL, &contexts[i], NULL), LIBLOCK_OK);
    assert_int_equal(liblock_set_instruments(contexts[i], &options), LIBLOCK_OK);
    assert_int_equal(liblock_set_events(contexts[i], ~UINT64_C(0), on_event, NULL), LIBLOCK_OK);
    assert_int_equal(liblock_set_log(contexts[i], LIBLOCK_LOG_DEBUG, on_log, NULL), LIBLOCK_OK);
  }
  crew workers, others;
  crew_start(&workers, WORKERS, work);
  crew_start(&others, 1, also);
  void *owners[WORKERS];
  for (unsigned i = 0; i < workers.count; i++) pthread_join(workers.threads[i], &owners[i]);
  const bool all_finished = reaches(&finished, wanted - 1);
  atomic_store(&is_over, true);
  crew_join(&others);
  assert_true(all_finished);
  for (int i = 0; i < WORKERS; i++) liblock_owner_free(owners[i]);
  assert_idle(contexts[0]);
}

static void end_contexts(void) {
  const unsigned long before = atomic_load(&closed);
  for (int i = 0; i < CONTEXTS; i++)
    assert_int_equal(liblock_close_async(contexts[i], on_closed, NULL), LIBLOCK_OK);
  assert_true(reaches(&closed, before + CONTEXTS));
  for (int i = 0; i < CONTEXTS; i++) liblock_context_free(contexts[i]);
  assert_int_equal(atomic_load(&unexpected), 0);
}

static void every_acquire_and_every_lock_is_told_to_end_once(void **state) {
  (void)state;
  run("local:told", scaled(20000, 100000, ACQUIRES_MAX), administer);
  uint64_t expired = 0;
  for (int i = 0; i < CONTEXTS; i++) {
    assert_int_equal(stats_now(contexts[i]).dropped_events, 0);
    expired += stats_now(contexts[i]).expired;
  }
  end_contexts();
  unsigned granted = 0, failed = 0;
  for (unsigned tag = 1; tag < wanted; tag++) {
    if (all[tag].granted + all[tag].failed != 1 || all[tag].ended != all[tag].granted || all[tag].early) {
      fail_msg("acquire %u: %u granted, %u failed, %u ended, early %u", tag, all[tag].granted,
               all[tag].failed, all[tag].ended, all[tag].early);
    }
    granted += all[tag].granted;
    failed += all[tag].failed;
  }
  printf("# %u granted, %u failed, %llu leases ended, %lu log entries\n", granted, failed,
         (unsigned long long)expired, atomic_load(&logged));
  assert_true(granted > 0 && failed > 0);
  assert_true(expired > 0);
}

static void listeners_may_come_and_go_at_any_time(void **state) {
  (void)state;
  run("local:told again", scaled(20000, 100000, ACQUIRES_MAX), listen_at_random);
  end_contexts();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_acquire_and_every_lock_is_told_to_end_once),
      cmocka_unit_test(listeners_may_come_and_go_at_any_time),
  };
  return cmocka_run_group_tests_name("what is told", tests, NULL, NULL);
}
