/* SPDX-License-Identifier: MIT
 *
 * What may be called from inside a callback: everything that cannot wait. Everything that could answers
 * WOULD_DEADLOCK at once, and changes nothing.
 */
#include "api.h"
#include "recorder.h"
#include "worker.h"

enum { PROBES = 12 };

struct inside {
  liblock_context *context;
  liblock_owner *owner;
  liblock_completions *queue;
  latch done;
  liblock_status forbidden[PROBES];
  size_t forbidden_count;
  liblock_status allowed[PROBES];
  size_t allowed_count;
};

static void forbid(struct inside *in, liblock_status status) {
  in->forbidden[in->forbidden_count++] = status;
}

static void allow(struct inside *in, liblock_status status) { in->allowed[in->allowed_count++] = status; }

static void call_what_could_wait(const liblock_completion *completion, void *user_data) {
  struct inside *in = user_data;
  liblock_context *context = in->context;
  const liblock_bytes keys[] = {BYTES("x"), BYTES("y")};
  liblock_acquire_options some;
  liblock_acquire_options_init(&some, sizeof some);
  some.wait_ms = 10;
  liblock_completion entry = {.struct_size = sizeof entry};
  liblock_lock lock = 0;
  forbid(in, liblock_acquire(context, KEY("free"), NULL, &lock, NULL));
  forbid(in, liblock_acquire(context, KEY("free"), &some, &lock, NULL));
  forbid(in, liblock_acquire_many(context, keys, 2, NULL, &lock, NULL));
  forbid(in, liblock_acquire_global(context, NULL, &lock, NULL));
  forbid(in, liblock_wait_lost(context, completion->lock, 10, NULL));
  forbid(in, liblock_wait_held(context, KEY("free"), 10, NULL));
  forbid(in, liblock_wait_released(context, KEY("k"), 10, NULL));
  forbid(in, liblock_completions_next(in->queue, 10, &entry));
  forbid(in, liblock_close(context));
  latch_add(&in->done, 1);
}

static void call_what_cannot_wait(const liblock_completion *completion, void *user_data) {
  struct inside *in = user_data;
  liblock_context *context = in->context;
  liblock_acquire_options once;
  liblock_acquire_options_init(&once, sizeof once);
  once.wait_ms = 0;
  liblock_completion entry = {.struct_size = sizeof entry};
  liblock_lock lock = 0;
  int32_t locked = 0;
  allow(in, liblock_is_held(context, completion->lock));
  allow(in, liblock_extend(context, completion->lock, 60000, LIBLOCK_EXTEND_SET, NULL));
  allow(in, liblock_release(context, completion->lock, NULL));
  allow(in, liblock_try_acquire(context, KEY("x"), NULL, &lock, NULL));
  allow(in, liblock_release(context, lock, NULL));
  allow(in, liblock_acquire(context, KEY("x"), &once, &lock, NULL));
  allow(in, liblock_release(context, lock, NULL));
  allow(in, liblock_is_locked(context, KEY("x"), &locked));
  allow(in, liblock_sweep(context, NULL, NULL));
  allow(in, liblock_owner_close(in->owner));
  allow(in,
        liblock_completions_next(in->queue, 0, &entry) == LIBLOCK_TIMEOUT ? LIBLOCK_OK : LIBLOCK_INTERNAL);
  latch_add(&in->done, 1);
}

static struct inside *run_inside(liblock_context *context, liblock_callback callback) {
  static struct inside in;
  memset(&in, 0, sizeof in);
  in.context = context;
  in.owner = open_owner(context, "o");
  assert_ok(liblock_completions_open(context, 4, &in.queue, NULL));
  latch_init(&in.done);
  liblock_request request = 0;
  assert_ok(liblock_acquire_async(context, KEY("k"), NULL, callback, &in, &request));
  assert_true(latch_await(&in.done, 1));
  latch_destroy(&in.done);
  liblock_completions_free(in.queue);
  liblock_owner_free(in.owner);
  return &in;
}

static void calls_that_could_wait_answer_would_deadlock_inside_a_callback(void **state) {
  const struct inside *in = run_inside(*state, call_what_could_wait);
  assert_int_equal(in->forbidden_count, 9);
  for (size_t i = 0; i < in->forbidden_count; i++) {
    if (in->forbidden[i] != LIBLOCK_WOULD_DEADLOCK)
      fail_msg("call %zu answered %s", i, liblock_status_name(in->forbidden[i]));
  }
  assert_int_equal(stats_of(*state).locks_held, 1);
  assert_ok(liblock_ping(*state, NULL));
}

static void calls_that_cannot_wait_are_allowed_inside_a_callback(void **state) {
  const struct inside *in = run_inside(*state, call_what_cannot_wait);
  assert_int_equal(in->allowed_count, 11);
  for (size_t i = 0; i < in->allowed_count; i++) {
    if (in->allowed[i] != LIBLOCK_OK)
      fail_msg("call %zu answered %s", i, liblock_status_name(in->allowed[i]));
  }
  assert_int_equal(stats_of(*state).locks_held, 0);
}

/* A callback that asks again from inside, `left` times. */
struct chain {
  liblock_context *context;
  int left;
  latch done;
  int failures;
};

static void ask_again(const liblock_completion *completion, void *user_data) {
  struct chain *chain = user_data;
  liblock_request request = 0;
  chain->failures += completion->status != LIBLOCK_OK;
  chain->failures += liblock_release(chain->context, completion->lock, NULL) != LIBLOCK_OK;
  if (chain->left-- > 0)
    chain->failures +=
        liblock_acquire_async(chain->context, KEY("k"), NULL, ask_again, chain, &request) != LIBLOCK_OK;
  else
    latch_add(&chain->done, 1);
}

static void a_callback_may_start_the_next_request(void **state) {
  static struct chain chain;
  chain = (struct chain){.context = *state, .left = 1000};
  latch_init(&chain.done);
  liblock_request request = 0;
  assert_ok(liblock_acquire_async(*state, KEY("k"), NULL, ask_again, &chain, &request));
  assert_true(latch_await(&chain.done, 1));
  assert_int_equal(chain.failures, 0);
  latch_destroy(&chain.done);
}

struct slow {
  latch entered;
  latch leave;
};

static void dawdle(const liblock_completion *completion, void *user_data) {
  (void)completion;
  struct slow *slow = user_data;
  latch_add(&slow->entered, 1);
  latch_await(&slow->leave, 1);
}

struct renewing {
  liblock_context *context;
  uint64_t at_least;
};

static bool has_renewed(void *argument) {
  const struct renewing *r = argument;
  return stats_of(r->context).renewals >= r->at_least;
}

static void a_slow_callback_delays_no_renewal(void **state) {
  static struct slow slow;
  latch_init(&slow.entered);
  latch_init(&slow.leave);
  liblock_acquire_options options = with_ttl(900);
  options.renew = 1;
  const liblock_lock lock = take_with(*state, "renewed", &options);
  liblock_request request = 0;
  assert_ok(liblock_acquire_async(*state, KEY("k"), NULL, dawdle, &slow, &request));
  assert_true(latch_await(&slow.entered, 1));
  struct renewing r = {*state, stats_of(*state).renewals + 4};
  const bool renewed = wait_until(has_renewed, &r, GENEROUS_MS);
  latch_add(&slow.leave, 1);
  assert_true(renewed);
  assert_ok(liblock_is_held(*state, lock));
}

static void callbacks_come_exactly_once_after_cancel_and_close(void **state) {
  (void)state;
  for (int round = 0; round < 50; round++) {
    liblock_context *context = open_local("local:", NULL);
    recorder *r = recorder_new(context, false);
    take(context, "k");
    liblock_request requests[40];
    for (int tag = 0; tag < 40; tag++) requests[tag] = request_key(context, r, tag, "k", NULL);
    for (int tag = 0; tag < 40; tag += 2) assert_ok(liblock_cancel(context, requests[tag]));
    assert_ok(liblock_close(context));
    liblock_context_free(context);
    assert_true(recorder_await(r, 40));
    for (int tag = 0; tag < 40; tag++) assert_int_equal(recorder_count_of(r, tag), 1);
    assert_int_equal(recorder_count(r), 40);
    recorder_free(r);
  }
}

static void free_inside(const liblock_completion *completion, void *user_data) {
  (void)completion;
  struct inside *in = user_data;
  liblock_context_free(in->context);
  latch_add(&in->done, 1);
}

static void the_context_may_be_freed_in_the_callback_of_close_async(void **state) {
  (void)state;
  static struct inside in;
  in.context = open_local("local:", NULL);
  latch_init(&in.done);
  take(in.context, "k");
  assert_ok(liblock_close_async(in.context, free_inside, &in));
  assert_true(latch_await(&in.done, 1));
  latch_destroy(&in.done);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(calls_that_could_wait_answer_would_deadlock_inside_a_callback),
      fresh(calls_that_cannot_wait_are_allowed_inside_a_callback),
      fresh(a_callback_may_start_the_next_request),
      fresh(a_slow_callback_delays_no_renewal),
      cmocka_unit_test(callbacks_come_exactly_once_after_cancel_and_close),
      cmocka_unit_test(the_context_may_be_freed_in_the_callback_of_close_async),
  };
  return cmocka_run_group_tests_name("callbacks", tests, NULL, NULL);
}
