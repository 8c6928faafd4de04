/* SPDX-License-Identifier: MIT
 *
 * Handles: used twice, used late, made up, or taken to another context, they answer INVALID_HANDLE or
 * NOT_HELD and touch nothing.
 */
#include "api.h"
#include "recorder.h"
#include "worker.h"

static uint64_t next_random(uint64_t *x) {
  *x ^= *x << 13;
  *x ^= *x >> 7;
  *x ^= *x << 17;
  return *x;
}

static bool refused(liblock_status status) {
  return status == LIBLOCK_INVALID_HANDLE || status == LIBLOCK_NOT_HELD;
}

static void a_double_release_is_not_held_and_leaves_the_next_holder_alone(void **state) {
  for (int i = 0; i < 1000; i++) {
    const liblock_lock lock = take(*state, "k");
    assert_ok(liblock_release(*state, lock, NULL));
    const liblock_lock next = take(*state, "k");
    assert_true(lock != next);
    assert_status(LIBLOCK_NOT_HELD, liblock_release(*state, lock, NULL));
    assert_ok(liblock_is_held(*state, next));
    assert_ok(liblock_release(*state, next, NULL));
  }
}

static void a_handle_stays_refused_while_its_slot_is_used_again_and_again(void **state) {
  const liblock_lock old = take(*state, "old");
  assert_ok(liblock_release(*state, old, NULL));
  for (int i = 0; i < 100000; i++) {
    const liblock_lock lock = take(*state, "k");
    assert_true(lock != old);
    assert_ok(liblock_release(*state, lock, NULL));
  }
  assert_true(refused(liblock_release(*state, old, NULL)));
}

static void zero_is_never_a_handle(void **state) {
  assert_status(LIBLOCK_INVALID_HANDLE, liblock_release(*state, 0, NULL));
  assert_status(LIBLOCK_INVALID_HANDLE, liblock_is_held(*state, 0));
  assert_status(LIBLOCK_INVALID_HANDLE, liblock_extend(*state, 0, 1000, LIBLOCK_EXTEND_SET, NULL));
  assert_status(LIBLOCK_INVALID_HANDLE, liblock_cancel(*state, 0));
}

static void made_up_handles_never_open_anything(void **state) {
  liblock_context *context = *state;
  static liblock_lock real[64];
  for (size_t i = 0; i < COUNT_OF(real); i++) {
    const unsigned char key = (unsigned char)i;
    assert_ok(liblock_acquire(context, &key, 1, NULL, &real[i], NULL));
  }
  uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);
  for (int i = 0; i < 200000; i++) {
    const uint64_t forged = next_random(&seed) >> (next_random(&seed) % 64);
    bool is_real = false;
    for (size_t j = 0; j < COUNT_OF(real); j++) is_real = is_real || real[j] == forged;
    if (is_real) continue;
    int64_t remaining = 0;
    assert_true(refused(liblock_release(context, forged, NULL)));
    assert_true(refused(liblock_is_held(context, forged)));
    assert_true(refused(liblock_remaining_ms(context, forged, &remaining)));
    assert_true(refused(liblock_extend(context, forged, 1000, LIBLOCK_EXTEND_SET, NULL)));
    assert_status(LIBLOCK_INVALID_HANDLE, liblock_cancel(context, forged));
  }
  assert_int_equal(stats_of(context).locks_held, COUNT_OF(real));
  for (size_t i = 0; i < COUNT_OF(real); i++) assert_ok(liblock_release(context, real[i], NULL));
}

static void a_handle_with_one_bit_changed_is_refused(void **state) {
  const liblock_lock lock = take(*state, "k");
  for (int bit = 0; bit < 64; bit++) {
    const liblock_lock forged = lock ^ (UINT64_C(1) << bit);
    assert_true(refused(liblock_is_held(*state, forged)));
    assert_true(refused(liblock_release(*state, forged, NULL)));
  }
  assert_ok(liblock_release(*state, lock, NULL));
}

static void a_handle_of_another_context_is_refused(void **state) {
  liblock_context *other = open_local("local:", NULL);
  for (int i = 0; i < 50; i++) {
    const liblock_lock ours = take(*state, "k");
    const liblock_lock theirs = take(other, "k");
    if (ours != theirs) { /* generations start at random: equal by chance at most */
      assert_true(refused(liblock_release(other, ours, NULL)));
      assert_true(refused(liblock_release(*state, theirs, NULL)));
    }
    assert_ok(liblock_release(*state, ours, NULL));
    assert_ok(liblock_release(other, theirs, NULL));
  }
  end_context(other);
}

static void a_handle_of_a_context_on_the_same_table_is_refused_too(void **state) {
  (void)state;
  liblock_context *one = open_local("local:handles", NULL);
  liblock_context *two = open_local("local:handles", NULL);
  const liblock_lock lock = take(one, "k");
  int64_t remaining = 0;
  assert_true(refused(liblock_release(two, lock, NULL)));
  assert_status(LIBLOCK_INVALID_HANDLE, liblock_is_held(two, lock));
  assert_status(LIBLOCK_INVALID_HANDLE, liblock_remaining_ms(two, lock, &remaining));
  assert_status(LIBLOCK_INVALID_HANDLE, liblock_extend(two, lock, 1000, LIBLOCK_EXTEND_SET, NULL));
  assert_ok(liblock_is_held(one, lock));
  assert_ok(liblock_remaining_ms(one, lock, &remaining));
  assert_int_equal(remaining, -1);
  end_context(one);
  end_context(two);
}

static void a_lock_is_no_request_and_a_request_is_no_lock(void **state) {
  recorder *r = recorder_new(*state, false);
  const liblock_lock lock = take(*state, "k");
  const liblock_request request = request_key(*state, r, 0, "k", NULL);
  if (request != lock) {
    assert_status(LIBLOCK_INVALID_HANDLE, liblock_cancel(*state, lock));
    assert_true(refused(liblock_release(*state, request, NULL)));
  }
  assert_int_equal(recorder_count(r), 0);
  assert_ok(liblock_release(*state, lock, NULL));
  assert_true(recorder_await(r, 1));
  recorder_free(r);
}

struct releaser {
  liblock_context *context;
  liblock_lock lock;
  latch *go;
  liblock_status status;
};

static void *release_on_word(void *argument) {
  struct releaser *r = argument;
  latch_await(r->go, 1);
  r->status = liblock_release(r->context, r->lock, NULL);
  return NULL;
}

static void of_many_threads_that_release_one_handle_just_one_succeeds(void **state) {
  for (int round = 0; round < 200; round++) {
    static struct releaser releasers[4];
    static latch go;
    pthread_t threads[4];
    latch_init(&go);
    const liblock_lock lock = take(*state, "k");
    for (size_t i = 0; i < 4; i++) {
      releasers[i] = (struct releaser){*state, lock, &go, LIBLOCK_INTERNAL};
      assert_int_equal(pthread_create(&threads[i], NULL, release_on_word, &releasers[i]), 0);
    }
    latch_add(&go, 1);
    int succeeded = 0;
    for (size_t i = 0; i < 4; i++) {
      pthread_join(threads[i], NULL);
      if (releasers[i].status == LIBLOCK_OK)
        succeeded++;
      else
        assert_status(LIBLOCK_NOT_HELD, releasers[i].status);
    }
    assert_int_equal(succeeded, 1);
    assert_ok(probe(*state, "k"));
    latch_destroy(&go);
  }
}

static void handles_start_somewhere_else_in_every_context(void **state) {
  (void)state;
  int alike = 0;
  for (int i = 0; i < 20; i++) {
    liblock_context *one = open_local("local:", NULL);
    liblock_context *two = open_local("local:", NULL);
    alike += take(one, "k") == take(two, "k");
    end_context(one);
    end_context(two);
  }
  assert_true(alike < 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(a_double_release_is_not_held_and_leaves_the_next_holder_alone),
      fresh(a_handle_stays_refused_while_its_slot_is_used_again_and_again),
      fresh(zero_is_never_a_handle),
      fresh(made_up_handles_never_open_anything),
      fresh(a_handle_with_one_bit_changed_is_refused),
      fresh(a_handle_of_another_context_is_refused),
      cmocka_unit_test(a_handle_of_a_context_on_the_same_table_is_refused_too),
      fresh(a_lock_is_no_request_and_a_request_is_no_lock),
      fresh(of_many_threads_that_release_one_handle_just_one_succeeds),
      cmocka_unit_test(handles_start_somewhere_else_in_every_context),
  };
  return cmocka_run_group_tests_name("handles", tests, NULL, NULL);
}
