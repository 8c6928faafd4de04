/* SPDX-License-Identifier: MIT
 * One completion queue, several threads that poll its descriptor and read, several that ask and cancel. The
 * queue is small, so that it is often full and often empty: the places where an entry or a wake-up could go
 * astray. Each request ends once, in one reader's hands; what was granted guards a plain counter until that
 * reader releases it.
 */

#include "stress.h"

#include <poll.h>

enum { KEYS = 4, READERS = 3, SUBMITTERS = 4, CAPACITY = 16, REQUESTS_MAX = 1 << 22 };

static liblock_context *context;
static liblock_completions *queue;
static unsigned long counters[KEYS]; /* plain: guarded by what was granted */
static atomic_ulong expected[KEYS];
static atomic_uchar ends[REQUESTS_MAX]; /* how often each request ended */
static atomic_ulong submitted, read_ends, ok_ends, canceled, full, empty_after_poll, unexpected;
static unsigned wanted;

static void take_down(const liblock_completion *end) {
  const uintptr_t number = (uintptr_t)end->user_data;
  atomic_fetch_add(&read_ends, 1);
  if (number >= wanted || end->kind != LIBLOCK_KIND_ACQUIRE) {
    atomic_fetch_add(&unexpected, 1);
    return;
  }
  atomic_fetch_add(&ends[number], 1);
  if (end->status == LIBLOCK_OK) {
    const uintptr_t key = number % KEYS;
    counters[key]++;
    atomic_fetch_add(&expected[key], 1);
    atomic_fetch_add(&ok_ends, 1);
    if (liblock_release(context, end->lock, NULL) != LIBLOCK_OK) atomic_fetch_add(&unexpected, 1);
  } else if (end->status == LIBLOCK_CANCELED) {
    atomic_fetch_add(&canceled, 1);
  } else if (end->status != LIBLOCK_TIMEOUT) {
    atomic_fetch_add(&unexpected, 1);
  }
}

/* Reader 1 waits in the call; the others wait at the descriptor, from time to time looking whether it was
 * closed. */
static void *read_ends_of_requests(void *argument) {
  struct pollfd at = {.events = POLLIN};
  if (liblock_completions_fd(queue, &at.fd) != LIBLOCK_OK) atomic_fetch_add(&unexpected, 1);
  for (;;) {
    liblock_completion end = {.struct_size = sizeof end};
    const bool polls = (uintptr_t)argument != 1;
    const bool readable = polls && poll(&at, 1, 20) == 1;
    const liblock_status status = liblock_completions_next(queue, polls ? 0 : -1, &end);
    if (status == LIBLOCK_CLOSED) return NULL;
    if (status == LIBLOCK_OK) {
      take_down(&end);
    } else if (status != LIBLOCK_TIMEOUT) {
      atomic_fetch_add(&unexpected, 1);
    } else if (readable) {
      atomic_fetch_add(&empty_after_poll, 1); /* another reader was quicker */
    }
  }
}

static void *submit(void *argument) {
  uint64_t random = (uintptr_t)argument * 9311 + 1;
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.completions = queue;
  for (uintptr_t number; (number = atomic_fetch_add(&submitted, 1)) < wanted;) {
    const uint32_t key = (uint32_t)(number % KEYS);
    liblock_request request;
    liblock_status status;
    options.order = (int32_t)(next_random(&random) % 4);
    options.wait_ms = next_random(&random) % 4 == 0 ? (int64_t)(next_random(&random) % 2) + 1 : -1;
    while ((status = liblock_acquire_async(context, &key, sizeof key, &options, NULL, (void *)number,
                                           &request)) == LIBLOCK_LIMIT) {
      atomic_fetch_add(&full, 1);
      sched_yield();
    }
    if (status != LIBLOCK_OK) atomic_fetch_add(&unexpected, 1);
    if (next_random(&random) % 3 != 0) continue;
    status = liblock_cancel(context, request);
    if (status != LIBLOCK_OK && status != LIBLOCK_INVALID_HANDLE) atomic_fetch_add(&unexpected, 1);
  }
  return NULL;
}

static void every_request_is_read_once_by_one_of_several_readers(void **state) {
  (void)state;
  wanted = scaled(20000, 200000, REQUESTS_MAX);
  crew readers, submitters;
  assert_int_equal(liblock_open("local:", NULL, &context, NULL), LIBLOCK_OK);
  assert_int_equal(liblock_completions_open(context, CAPACITY, &queue, NULL), LIBLOCK_OK);
  crew_start(&readers, READERS, read_ends_of_requests);
  crew_start(&submitters, SUBMITTERS, submit);
  crew_join(&submitters);
  const bool all_read = reaches(&read_ends, wanted);
  assert_int_equal(liblock_completions_close(queue), LIBLOCK_OK);
  crew_join(&readers);
  printf("# %lu read: %lu granted, %lu canceled; %lu times full, %lu times readable and empty\n",
         atomic_load(&read_ends), atomic_load(&ok_ends), atomic_load(&canceled), atomic_load(&full),
         atomic_load(&empty_after_poll));
  assert_true(all_read);
  assert_int_equal(atomic_load(&read_ends), wanted);
  for (unsigned i = 0; i < wanted; i++) assert_int_equal(atomic_load(&ends[i]), 1);
  for (int key = 0; key < KEYS; key++) assert_int_equal(counters[key], atomic_load(&expected[key]));
  assert_int_equal(atomic_load(&unexpected), 0);
  assert_true(atomic_load(&ok_ends) > 0 && atomic_load(&canceled) > 0);
  assert_idle(context);
  liblock_completions_free(queue);
  liblock_context_free(context);
}

/* --------------------------------------------------------------- queues freed with entries unread --- */

static unsigned rounds;

/* Its own queue again and again on the shared context: granted or waiting, read or not, cancelled or not. */
static void *open_ask_and_free(void *argument) {
  uint64_t random = (uintptr_t)argument * 523 + 1;
  for (unsigned round = 0; round < rounds; round++) {
    liblock_acquire_options options;
    liblock_acquire_options_init(&options, sizeof options);
    if (liblock_completions_open(context, CAPACITY, &options.completions, NULL) != LIBLOCK_OK) abort();
    for (unsigned i = next_random(&random) % CAPACITY; i > 0; i--) {
      const uint32_t key = next_random(&random) % KEYS;
      liblock_request request;
      liblock_completion end = {.struct_size = sizeof end};
      if (liblock_acquire_async(context, &key, sizeof key, &options, NULL, NULL, &request) != LIBLOCK_OK) {
        atomic_fetch_add(&unexpected, 1);
      }
      if (next_random(&random) % 4 == 0) liblock_cancel(context, request);
      if (next_random(&random) % 2 != 0) continue;
      if (liblock_completions_next(options.completions, 0, &end) != LIBLOCK_OK || end.status != LIBLOCK_OK)
        continue;
      if (liblock_release(context, end.lock, NULL) != LIBLOCK_OK) atomic_fetch_add(&unexpected, 1);
    }
    liblock_completions_free(options.completions);
  }
  return NULL;
}

static void locks_granted_to_a_queue_that_is_freed_are_released(void **state) {
  (void)state;
  rounds = scaled(1000, 10000, 200000);
  crew all;
  assert_int_equal(liblock_open("local:", NULL, &context, NULL), LIBLOCK_OK);
  crew_start(&all, SUBMITTERS, open_ask_and_free);
  crew_join(&all);
  assert_int_equal(atomic_load(&unexpected), 0);
  /* What came to a queue that had been freed is given back by the thread of the callbacks. */
  const int64_t give_up_at = clock_ns() + (int64_t)FOR_EVER_MS * 1000000;
  for (liblock_stats now = stats_now(context); now.locks_held + now.waiters != 0 && clock_ns() < give_up_at;
       now = stats_now(context)) {
    sched_yield();
  }
  assert_idle(context);
  liblock_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_request_is_read_once_by_one_of_several_readers),
      cmocka_unit_test(locks_granted_to_a_queue_that_is_freed_are_released),
  };
  return cmocka_run_group_tests_name("completions", tests, NULL, NULL);
}
