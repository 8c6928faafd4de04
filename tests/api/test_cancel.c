/* SPDX-License-Identifier: MIT
 *
 * Cancelling: asks a request to end, in whatever phase it is; the completion comes exactly once and tells the
 * truth.
 */
#include "api.h"
#include "recorder.h"
#include "worker.h"

static void a_request_that_never_was_cannot_be_cancelled(void **state) {
  assert_status(LIBLOCK_INVALID_HANDLE, liblock_cancel(*state, 0));
  assert_status(LIBLOCK_INVALID_HANDLE, liblock_cancel(*state, UINT64_C(0x123456789abcdef)));
}

static void a_request_that_has_ended_cannot_be_cancelled(void **state) {
  recorder *r = recorder_new(*state, false);
  const liblock_request request = request_key(*state, r, 0, "k", NULL);
  assert_true(recorder_await(r, 1));
  assert_status(LIBLOCK_INVALID_HANDLE, liblock_cancel(*state, request));
  assert_ok(liblock_is_held(*state, recorder_at(r, 0).completion.lock));
  recorder_free(r);
}

static void the_id_of_a_request_that_has_ended_does_not_end_the_next_one(void **state) {
  // Often enough that the next one has the place of the one that has ended, which is free a moment after its callback.
  for (int round = 0; round < 50; ++round) {
    recorder *r = recorder_new(*state, false);
    const liblock_request ended = request_key(*state, r, 0, "k", NULL);
    assert_true(recorder_await(r, 1));
    const liblock_request next = request_key(*state, r, 1, "k", NULL);
    assert_true(next != ended);
    assert_status(LIBLOCK_INVALID_HANDLE, liblock_cancel(*state, ended));
    assert_int_equal(stats_of(*state).waiters, 1);
    assert_ok(liblock_cancel(*state, next));
    assert_true(recorder_await(r, 2));
    assert_ok(liblock_release(*state, recorder_at(r, 0).completion.lock, NULL));
    recorder_free(r);
  }
}

static void a_queued_request_ends_as_canceled_and_holds_nothing(void **state) {
  recorder *r = recorder_new(*state, false);
  const liblock_lock held = take(*state, "k");
  const liblock_request request = request_key(*state, r, 0, "k", NULL);
  assert_ok(liblock_cancel(*state, request));
  assert_true(recorder_await(r, 1));
  assert_status(LIBLOCK_CANCELED, recorder_at(r, 0).completion.status);
  assert_true(recorder_at(r, 0).completion.lock == 0);
  assert_status(LIBLOCK_INVALID_HANDLE, liblock_cancel(*state, request));
  assert_ok(liblock_release(*state, held, NULL));
  assert_ok(probe(*state, "k"));
  const liblock_stats stats = stats_of(*state);
  assert_int_equal(stats.canceled, 1);
  assert_int_equal(stats.waiters, 0);
  recorder_free(r);
}

static void a_cancelled_request_gives_its_place_to_the_ones_behind(void **state) {
  recorder *r = recorder_new(*state, true);
  const liblock_lock held = take(*state, "k");
  liblock_request requests[10];
  for (int tag = 0; tag < 10; tag++) requests[tag] = request_key(*state, r, tag, "k", NULL);
  const int gone[] = {0, 4, 5, 9};
  for (size_t i = 0; i < COUNT_OF(gone); i++) assert_ok(liblock_cancel(*state, requests[gone[i]]));
  assert_true(recorder_await(r, 4));
  assert_ok(liblock_release(*state, held, NULL));
  assert_true(recorder_await(r, 10));
  const int left[] = {1, 2, 3, 6, 7, 8};
  for (size_t i = 0; i < COUNT_OF(left); i++) {
    assert_int_equal(recorder_at(r, 4 + i).tag, left[i]);
    assert_ok(recorder_at(r, 4 + i).completion.status);
  }
  recorder_free(r);
}

static void a_cancelled_lock_on_many_keys_gives_back_what_it_kept(void **state) {
  const liblock_bytes keys[] = {BYTES("a"), BYTES("b"), BYTES("c")};
  recorder *r = recorder_new(*state, false);
  take(*state, "c");
  liblock_request request = 0;
  assert_ok(
      liblock_acquire_many_async(*state, keys, 3, NULL, recorder_callback, recorder_slot(r, 0), &request));
  assert_status(LIBLOCK_BUSY, probe(*state, "a"));
  assert_ok(liblock_cancel(*state, request));
  assert_true(recorder_await(r, 1));
  assert_status(LIBLOCK_CANCELED, recorder_at(r, 0).completion.status);
  assert_ok(probe(*state, "a"));
  assert_ok(probe(*state, "b"));
  recorder_free(r);
}

static void a_cancelled_global_lock_lets_the_keyed_ones_go(void **state) {
  recorder *r = recorder_new(*state, false);
  take(*state, "a");
  liblock_request request = 0;
  assert_ok(liblock_acquire_global_async(*state, NULL, recorder_callback, recorder_slot(r, 0), &request));
  request_key(*state, r, 1, "b", NULL);
  assert_status(LIBLOCK_BUSY, probe(*state, "c"));
  assert_ok(liblock_cancel(*state, request));
  assert_true(recorder_await(r, 2));
  for (size_t i = 0; i < 2; i++) {
    const record entry = recorder_at(r, i);
    assert_status(entry.tag == 0 ? LIBLOCK_CANCELED : LIBLOCK_OK, entry.completion.status);
  }
  assert_ok(probe(*state, "c"));
  recorder_free(r);
}

static uint32_t next_random(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

static void ten_thousand_waiters_cancelled_in_random_order_end_once_each(void **state) {
  enum { MANY = 10000 };
  static liblock_request requests[MANY];
  recorder *r = recorder_new(*state, false);
  const liblock_lock held = take(*state, "k");
  for (int tag = 0; tag < MANY; tag++) requests[tag] = request_key(*state, r, tag, "k", NULL);
  assert_int_equal(stats_of(*state).waiters, MANY);
  uint32_t seed = 2463534242u;
  for (uint32_t i = MANY - 1; i > 0; i--) {
    const uint32_t j = next_random(&seed) % (i + 1);
    const liblock_request swapped = requests[i];
    requests[i] = requests[j];
    requests[j] = swapped;
  }
  const int64_t begin = now_ns();
  for (int i = 0; i < MANY; i++) assert_ok(liblock_cancel(*state, requests[i]));
  print_message("# a cancel took %.0f ns\n", (double)(now_ns() - begin) / MANY);
  assert_true(recorder_await(r, MANY));
  static unsigned char seen[MANY];
  memset(seen, 0, sizeof seen);
  for (size_t i = 0; i < MANY; i++) {
    assert_status(LIBLOCK_CANCELED, recorder_at(r, i).completion.status);
    assert_int_equal(seen[recorder_at(r, i).tag]++, 0);
  }
  assert_int_equal(stats_of(*state).waiters, 0);
  assert_ok(liblock_release(*state, held, NULL));
  assert_ok(probe(*state, "k"));
  recorder_free(r);
}

struct canceller {
  liblock_context *context;
  liblock_request request;
  latch go;
  liblock_status status;
};

static void *cancel_on_word(void *argument) {
  struct canceller *c = argument;
  latch_await(&c->go, 1);
  c->status = liblock_cancel(c->context, c->request);
  return NULL;
}

static void a_cancel_that_races_a_grant_ends_the_request_once_and_truly(void **state) {
  static struct canceller c;
  int granted = 0;
  for (int round = 0; round < 500; round++) {
    recorder *r = recorder_new(*state, false);
    const liblock_lock held = take(*state, "k");
    c.context = *state;
    c.request = request_key(*state, r, 0, "k", NULL);
    latch_init(&c.go);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_on_word, &c), 0);
    const int64_t release_at = now_ns() + round * INT64_C(300); /* 0 to 150 us: either may come first */
    latch_add(&c.go, 1);
    while (now_ns() < release_at) continue;
    assert_ok(liblock_release(*state, held, NULL));
    pthread_join(thread, NULL);
    assert_true(recorder_await(r, 1));
    const record entry = recorder_at(r, 0);
    if (entry.completion.status == LIBLOCK_OK) {
      granted++;
      assert_ok(liblock_release(*state, entry.completion.lock, NULL));
    } else {
      assert_status(LIBLOCK_CANCELED, entry.completion.status);
      assert_ok(c.status);
    }
    assert_ok(probe(*state, "k"));
    assert_int_equal(recorder_count(r), 1);
    recorder_free(r);
    latch_destroy(&c.go);
  }
  print_message("# of 500 races the grant won %d\n", granted);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(a_request_that_never_was_cannot_be_cancelled),
      fresh(a_request_that_has_ended_cannot_be_cancelled),
      fresh(the_id_of_a_request_that_has_ended_does_not_end_the_next_one),
      fresh(a_queued_request_ends_as_canceled_and_holds_nothing),
      fresh(a_cancelled_request_gives_its_place_to_the_ones_behind),
      fresh(a_cancelled_lock_on_many_keys_gives_back_what_it_kept),
      fresh(a_cancelled_global_lock_lets_the_keyed_ones_go),
      fresh(ten_thousand_waiters_cancelled_in_random_order_end_once_each),
      fresh(a_cancel_that_races_a_grant_ends_the_request_once_and_truly),
  };
  return cmocka_run_group_tests_name("cancel", tests, NULL, NULL);
}
