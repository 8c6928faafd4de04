/* SPDX-License-Identifier: MIT
 *
 * The completion queue: ends are read instead of called back; its descriptor is readable just while it is not
 * empty.
 */
#include <poll.h>
#include <stdio.h>

#include "api.h"
#include "worker.h"

static liblock_completions *open_queue(liblock_context *context, size_t capacity) {
  liblock_completions *queue = NULL;
  assert_ok(liblock_completions_open(context, capacity, &queue, NULL));
  assert_non_null(queue);
  return queue;
}

static liblock_request request_to(liblock_context *context, liblock_completions *queue, const char *key,
                                  void *user_data, liblock_acquire_options options) {
  liblock_request request = 0;
  options.completions = queue;
  assert_ok(liblock_acquire_async(context, key, strlen(key), &options, NULL, user_data, &request));
  return request;
}

static liblock_completion next_of(liblock_completions *queue) {
  liblock_completion completion = {.struct_size = sizeof completion};
  assert_ok(liblock_completions_next(queue, GENEROUS_MS, &completion));
  return completion;
}

static liblock_status peek(liblock_completions *queue, int64_t wait_ms) {
  liblock_completion completion = {.struct_size = sizeof completion};
  return liblock_completions_next(queue, wait_ms, &completion);
}

static bool readable(liblock_completions *queue, int wait_ms) {
  int32_t fd = -1;
  assert_ok(liblock_completions_fd(queue, &fd));
  struct pollfd entry = {.fd = fd, .events = POLLIN};
  return poll(&entry, 1, wait_ms) == 1 && (entry.revents & POLLIN) != 0;
}

static void never_called(const liblock_completion *completion, void *user_data) {
  (void)completion;
  *(bool *)user_data = true;
}

static void a_callback_and_a_queue_together_are_refused(void **state) {
  static bool called;
  liblock_completions *queue = open_queue(*state, 4);
  liblock_acquire_options options = acquire_options();
  options.completions = queue;
  liblock_request request = 1;
  assert_status(LIBLOCK_INVALID_ARGUMENT,
                liblock_acquire_async(*state, KEY("k"), &options, never_called, &called, &request));
  assert_true(request == 0);
  assert_status(LIBLOCK_TIMEOUT, peek(queue, 20));
  assert_false(called);
  liblock_completions_free(queue);
}

static void an_empty_queue_is_not_readable_and_times_out(void **state) {
  liblock_completions *queue = open_queue(*state, 4);
  assert_false(readable(queue, 0));
  assert_status(LIBLOCK_TIMEOUT, peek(queue, 0));
  assert_status(LIBLOCK_TIMEOUT, peek(queue, 10));
  liblock_completions_free(queue);
}

static void the_descriptor_is_readable_just_while_the_queue_is_not_empty(void **state) {
  int tag = 0;
  liblock_completions *queue = open_queue(*state, 8);
  for (int round = 0; round < 50; round++) {
    request_to(*state, queue, "a", &tag, acquire_options());
    request_to(*state, queue, "b", &tag, acquire_options());
    assert_true(readable(queue, GENEROUS_MS));
    const liblock_completion first = next_of(queue);
    assert_true(readable(queue, GENEROUS_MS));
    const liblock_completion second = next_of(queue);
    assert_false(readable(queue, 0));
    assert_status(LIBLOCK_TIMEOUT, peek(queue, 0));
    assert_ok(liblock_release(*state, first.lock, NULL));
    assert_ok(liblock_release(*state, second.lock, NULL));
  }
  liblock_completions_free(queue);
}

static void a_descriptor_that_is_asked_for_late_is_readable_at_once(void **state) {
  liblock_completions *queue = open_queue(*state, 8);
  request_to(*state, queue, "a", NULL, acquire_options());
  request_to(*state, queue, "b", NULL, acquire_options());
  const liblock_completion first = next_of(queue);
  assert_ok(liblock_release(*state, first.lock, NULL));
  assert_true(readable(queue, 0)); /* the first that is heard of it, while one end waits to be read */
  const liblock_completion second = next_of(queue);
  assert_false(readable(queue, 0));
  assert_ok(liblock_release(*state, second.lock, NULL));
  liblock_completions_free(queue);
}

static void read_in_turn(liblock_completions *queue, uintptr_t from, uintptr_t to) {
  for (uintptr_t nth = from; nth < to; nth++) assert_true((uintptr_t)next_of(queue).user_data == nth);
}

/* Two in three are read at once, so that what is left grows while its beginning moves on. */
static void a_queue_that_grows_while_it_is_read_keeps_the_order(void **state) {
  enum { ENDS = 15000 };
  liblock_completions *queue = open_queue(*state, ENDS);
  uintptr_t read = 0;
  for (int again = 0; again < 2; again++) {
    const uintptr_t from = read;
    for (uintptr_t nth = from; nth < from + ENDS; nth++) {
      char key[32];
      snprintf(key, sizeof key, "%zu", (size_t)nth);
      request_to(*state, queue, key, (void *)nth, acquire_options());
      if (nth % 3 == 2) {
        read_in_turn(queue, read, read + 2);
        read += 2;
      }
    }
    read_in_turn(queue, read, from + ENDS);
    read = from + ENDS;
    assert_status(LIBLOCK_TIMEOUT, peek(queue, 0));
  }
  liblock_completions_free(queue);
}

static void an_entry_tells_request_lock_token_and_user_data(void **state) {
  int tag = 0;
  liblock_completions *queue = open_queue(*state, 4);
  const liblock_request request = request_to(*state, queue, "k", &tag, acquire_options());
  const liblock_completion entry = next_of(queue);
  assert_int_equal(entry.kind, LIBLOCK_KIND_ACQUIRE);
  assert_ok(entry.status);
  assert_true(entry.request == request);
  assert_ptr_equal(entry.user_data, &tag);
  uint64_t token = 0;
  assert_ok(liblock_fencing_token(*state, entry.lock, &token));
  assert_true(entry.token == token);
  liblock_completions_free(queue);
}

static void ends_are_read_in_the_order_in_which_they_came(void **state) {
  static int tags[32];
  liblock_completions *queue = open_queue(*state, 32);
  liblock_lock held = take(*state, "k");
  for (int i = 0; i < 32; i++) request_to(*state, queue, "k", &tags[i], acquire_options());
  for (int i = 0; i < 32; i++) {
    assert_status(LIBLOCK_TIMEOUT, peek(queue, 0));
    assert_ok(liblock_release(*state, held, NULL));
    const liblock_completion entry = next_of(queue);
    assert_ptr_equal(entry.user_data, &tags[i]);
    held = entry.lock;
  }
  assert_ok(liblock_release(*state, held, NULL));
  liblock_completions_free(queue);
}

static void a_cancelled_request_ends_in_the_queue_too(void **state) {
  liblock_completions *queue = open_queue(*state, 4);
  take(*state, "k");
  const liblock_request request = request_to(*state, queue, "k", NULL, acquire_options());
  assert_ok(liblock_cancel(*state, request));
  const liblock_completion entry = next_of(queue);
  assert_status(LIBLOCK_CANCELED, entry.status);
  assert_true(entry.request == request);
  assert_true(entry.lock == 0);
  liblock_completions_free(queue);
}

static void losses_arrive_there_too(void **state) {
  int tag = 0;
  liblock_completions *queue = open_queue(*state, 4);
  request_to(*state, queue, "k", &tag, with_ttl(30));
  const liblock_completion granted = next_of(queue);
  assert_ok(granted.status);
  const liblock_completion lost = next_of(queue);
  assert_int_equal(lost.kind, LIBLOCK_KIND_LOST);
  assert_status(LIBLOCK_LOST, lost.status);
  assert_true(lost.lock == granted.lock);
  assert_true(lost.request == 0);
  assert_status(LIBLOCK_LOST, liblock_release(*state, granted.lock, NULL));
  assert_status(LIBLOCK_TIMEOUT, peek(queue, 20));
  liblock_completions_free(queue);
}

static void a_request_reserves_its_place_and_the_next_one_finds_the_limit(void **state) {
  liblock_completions *queue = open_queue(*state, 2);
  const liblock_lock held = take(*state, "k");
  request_to(*state, queue, "k", NULL, acquire_options());
  const liblock_request second = request_to(*state, queue, "k", NULL, acquire_options());
  liblock_acquire_options options = acquire_options();
  options.completions = queue;
  liblock_request third = 1;
  assert_status(LIBLOCK_LIMIT, liblock_acquire_async(*state, KEY("free"), &options, NULL, NULL, &third));
  assert_true(third == 0);
  assert_ok(probe(*state, "free"));
  assert_ok(liblock_cancel(*state, second));
  assert_status(LIBLOCK_CANCELED, next_of(queue).status);
  request_to(*state, queue, "free", NULL, acquire_options());
  assert_ok(next_of(queue).status);
  assert_ok(liblock_release(*state, held, NULL));
  assert_ok(next_of(queue).status);
  liblock_completions_free(queue);
}

static bool a_notice_was_dropped(void *argument) { return stats_of(argument).dropped_notices == 1; }

static void a_loss_that_finds_the_queue_full_is_dropped_and_counted(void **state) {
  liblock_completions *queue = open_queue(*state, 1);
  request_to(*state, queue, "k", NULL, with_ttl(500));
  assert_ok(next_of(queue).status);
  take(*state, "busy");
  request_to(*state, queue, "busy", NULL, acquire_options());
  assert_soon(a_notice_was_dropped, *state);
  assert_status(LIBLOCK_TIMEOUT, peek(queue, 0));
  liblock_completions_free(queue);
}

struct reader {
  liblock_completions *queue;
  latch begun;
  liblock_status status;
};

static void *read_for_ever(void *argument) {
  struct reader *reader = argument;
  liblock_completion completion = {.struct_size = sizeof completion};
  latch_add(&reader->begun, 1);
  reader->status = liblock_completions_next(reader->queue, -1, &completion);
  return NULL;
}

static void closing_wakes_those_who_wait(void **state) {
  static struct reader reader;
  reader.queue = open_queue(*state, 4);
  latch_init(&reader.begun);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, read_for_ever, &reader), 0);
  assert_true(latch_await(&reader.begun, 1));
  let_pass_ms(5);
  assert_ok(liblock_completions_close(reader.queue));
  pthread_join(thread, NULL);
  assert_status(LIBLOCK_CLOSED, reader.status);
  liblock_completions_free(reader.queue);
  latch_destroy(&reader.begun);
}

static void a_closed_queue_takes_no_request_but_lets_what_is_pending_be_read(void **state) {
  liblock_completions *queue = open_queue(*state, 4);
  const liblock_lock held = take(*state, "k");
  request_to(*state, queue, "k", NULL, acquire_options());
  assert_ok(liblock_completions_close(queue));
  liblock_acquire_options options = acquire_options();
  options.completions = queue;
  liblock_request request = 1;
  assert_status(LIBLOCK_CLOSED, liblock_acquire_async(*state, KEY("free"), &options, NULL, NULL, &request));
  assert_ok(liblock_release(*state, held, NULL));
  assert_ok(next_of(queue).status);
  assert_status(LIBLOCK_CLOSED, peek(queue, 0));
  assert_ok(liblock_completions_close(queue));
  liblock_completions_free(queue);
}

static void locks_granted_to_a_queue_unread_are_released_with_it(void **state) {
  liblock_completions *queue = open_queue(*state, 4);
  request_to(*state, queue, "k", NULL, acquire_options());
  assert_true(readable(queue, GENEROUS_MS));
  assert_status(LIBLOCK_BUSY, probe(*state, "k"));
  liblock_completions_free(queue);
  assert_ok(probe(*state, "k"));
}

static bool is_free(void *context) { return probe(context, "k") == LIBLOCK_OK; }

/* Each lock that is given back ends the request behind it: not within one another, or no stack is long enough. */
static void locks_that_come_to_a_freed_queue_go_through_all_who_wait(void **state) {
  enum { REQUESTS = 100000 };
  liblock_completions *queue = open_queue(*state, REQUESTS);
  const liblock_lock first = take(*state, "k");
  for (int i = 0; i < REQUESTS; i++) request_to(*state, queue, "k", NULL, acquire_options());
  liblock_completions_free(queue);
  assert_ok(liblock_release(*state, first, NULL));
  assert_soon(is_free, *state);
  assert_int_equal(REQUESTS, stats_of(*state).handed_off);
}

static void an_end_names_the_server_and_what_is_wrong_as_a_result_does(void **state) {
  (void)state;
  liblock_context *context = NULL;
  liblock_result result = LIBLOCK_RESULT_INIT;
  assert_ok(liblock_open("redis://127.0.0.1:1", NULL, &context, NULL)); /* nobody listens there */
  assert_status(LIBLOCK_CONNECT, liblock_ping(context, &result));
  assert_non_null(strstr(result.message, "redis://127.0.0.1:1/0: "));
  liblock_completions *queue = open_queue(context, 4);
  request_to(context, queue, "k", NULL, acquire_options());
  const liblock_completion of_acquire = next_of(queue);
  assert_int_equal(LIBLOCK_CONNECT, of_acquire.status);
  assert_string_equal(result.message, of_acquire.message);
  assert_ok(liblock_ping_async(context, queue, NULL, NULL, NULL));
  const liblock_completion of_ping = next_of(queue);
  assert_int_equal(LIBLOCK_CONNECT, of_ping.status);
  liblock_completions_free(queue);
  liblock_context_free(context);
  assert_string_equal(result.message, of_ping.message); /* which outlives both */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_end_names_the_server_and_what_is_wrong_as_a_result_does),
      fresh(a_callback_and_a_queue_together_are_refused),
      fresh(an_empty_queue_is_not_readable_and_times_out),
      fresh(the_descriptor_is_readable_just_while_the_queue_is_not_empty),
      fresh(a_descriptor_that_is_asked_for_late_is_readable_at_once),
      fresh(a_queue_that_grows_while_it_is_read_keeps_the_order),
      fresh(an_entry_tells_request_lock_token_and_user_data),
      fresh(ends_are_read_in_the_order_in_which_they_came),
      fresh(a_cancelled_request_ends_in_the_queue_too),
      fresh(losses_arrive_there_too),
      fresh(a_request_reserves_its_place_and_the_next_one_finds_the_limit),
      fresh(a_loss_that_finds_the_queue_full_is_dropped_and_counted),
      fresh(closing_wakes_those_who_wait),
      fresh(a_closed_queue_takes_no_request_but_lets_what_is_pending_be_read),
      fresh(locks_granted_to_a_queue_unread_are_released_with_it),
      fresh(locks_that_come_to_a_freed_queue_go_through_all_who_wait),
  };
  return cmocka_run_group_tests_name("completion queue", tests, NULL, NULL);
}
