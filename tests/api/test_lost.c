/* SPDX-License-Identifier: MIT
 *
 * Renewal and loss: a renewed lease lives on until its maximum hold, on_lost comes once and only for a lock
 * that was lost, and wait_lost wakes.
 */
#include "api.h"
#include "recorder.h"
#include "worker.h"

static void renew_without_a_ttl_is_invalid(void **state) {
  liblock_acquire_options options = acquire_options();
  options.renew = 1;
  liblock_lock lock = 1;
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_acquire(*state, KEY("k"), &options, &lock, NULL));
  assert_true(lock == 0);
}

struct renewing {
  liblock_context *context;
  uint64_t at_least;
};

static bool has_renewed(void *argument) {
  const struct renewing *r = argument;
  return stats_of(r->context).renewals >= r->at_least;
}

static void a_renewed_lease_outlives_its_ttl_many_times(void **state) {
  liblock_acquire_options options = with_ttl(900);
  options.renew = 1;
  const int64_t begin = now_ms();
  const liblock_lock lock = take_with(*state, "k", &options);
  struct renewing r = {*state, 5};
  assert_soon(has_renewed, &r);
  assert_true(now_ms() - begin > 900);
  assert_ok(liblock_is_held(*state, lock));
  assert_status(LIBLOCK_BUSY, probe(*state, "k"));
  assert_ok(liblock_release(*state, lock, NULL));
}

static void a_released_lock_is_renewed_no_more(void **state) {
  liblock_acquire_options options = with_ttl(900);
  options.renew = 1;
  const liblock_lock lock = take_with(*state, "k", &options);
  struct renewing r = {*state, 1};
  assert_soon(has_renewed, &r);
  assert_ok(liblock_release(*state, lock, NULL));
  const uint64_t renewals = stats_of(*state).renewals;
  let_pass_ms(500);
  assert_int_equal(stats_of(*state).renewals, renewals);
  assert_ok(probe(*state, "k"));
}

static void no_renewal_reaches_beyond_max_hold(void **state) {
  liblock_acquire_options options = with_ttl(1500);
  options.renew = 1;
  options.max_hold_ms = 1800;
  const liblock_lock lock = take_with(*state, "k", &options);
  const int64_t begin = now_ms();
  struct renewing r = {*state, 1};
  assert_soon(has_renewed, &r);
  int64_t remaining = 0;
  const int64_t seen = now_ms();
  assert_ok(liblock_remaining_ms(*state, lock, &remaining));
  assert_true(seen - begin + remaining <= 1800 + 2);
  assert_ok(liblock_release(*state, lock, NULL));
}

static void max_hold_ends_a_lease_that_is_renewed(void **state) {
  liblock_acquire_options options = with_ttl(1000);
  options.renew = 1;
  options.max_hold_ms = 1500;
  const int64_t begin = now_ms();
  const liblock_lock lock = take_with(*state, "k", &options);
  await_lost(*state, lock);
  assert_true(now_ms() - begin >= 1500 - 10);
  assert_status(LIBLOCK_LOST, liblock_release(*state, lock, NULL));
}

static void on_lost_comes_once_when_the_lease_ends(void **state) {
  recorder *r = recorder_new(*state, false);
  liblock_acquire_options options = with_ttl(20);
  options.on_lost = recorder_callback;
  options.on_lost_user_data = recorder_slot(r, 1);
  const liblock_lock lock = take_with(*state, "k", &options);
  assert_true(recorder_await(r, 1));
  const record entry = recorder_at(r, 0);
  assert_int_equal(entry.completion.kind, LIBLOCK_KIND_LOST);
  assert_int_equal(entry.completion.status, LIBLOCK_LOST);
  assert_true(entry.completion.lock == lock);
  assert_true(entry.completion.request == 0);
  assert_true(entry.user_data_matches);
  assert_false(pthread_equal(entry.thread, pthread_self()));
  assert_ok(probe(*state, "k"));
  assert_ok(liblock_sweep(*state, NULL, NULL));
  assert_status(LIBLOCK_LOST, liblock_release(*state, lock, NULL));
  let_pass_ms(60);
  assert_int_equal(recorder_count(r), 1);
  recorder_free(r);
}

static void a_renewed_lease_outlives_an_extension_that_adds_and_one_that_shortens(void **state) {
  liblock_acquire_options options = with_ttl(1500);
  options.renew = 1;
  const liblock_lock added = take_with(*state, "a", &options);
  const liblock_lock cut = take_with(*state, "b", &options);
  liblock_lock global = 0;
  assert_ok(liblock_extend(*state, added, 200, LIBLOCK_EXTEND_ADD, NULL));
  assert_ok(liblock_extend(*state, cut, 900, LIBLOCK_EXTEND_SET, NULL));
  let_pass_ms(1500);
  assert_ok(liblock_release(*state, added, NULL));
  assert_ok(liblock_release(*state, cut, NULL));
  assert_ok(liblock_acquire_global(*state, &options, &global, NULL));
  assert_ok(liblock_extend(*state, global, 200, LIBLOCK_EXTEND_ADD, NULL));
  assert_ok(liblock_extend(*state, global, 900, LIBLOCK_EXTEND_SET, NULL));
  let_pass_ms(1200);
  assert_ok(liblock_release(*state, global, NULL));
}

static void on_lost_comes_for_a_lock_that_was_given_its_lease_later(void **state) {
  recorder *r = recorder_new(*state, false);
  liblock_acquire_options options = acquire_options();
  options.on_lost = recorder_callback;
  options.on_lost_user_data = recorder_slot(r, 1);
  const liblock_lock lock = take_with(*state, "k", &options);
  assert_ok(liblock_extend(*state, lock, 20, LIBLOCK_EXTEND_SET, NULL));
  assert_true(recorder_await(r, 1));
  assert_true(recorder_at(r, 0).completion.lock == lock);
  assert_status(LIBLOCK_LOST, liblock_release(*state, lock, NULL));
  recorder_free(r);
}

static void on_lost_comes_once_when_an_administrator_takes_the_lock_away(void **state) {
  recorder *r = recorder_new(*state, false);
  liblock_acquire_options options = acquire_options();
  options.on_lost = recorder_callback;
  options.on_lost_user_data = recorder_slot(r, 1);
  const liblock_lock lock = take_with(*state, "k", &options);
  assert_ok(liblock_force_release(*state, KEY("k"), 0, NULL));
  assert_true(recorder_await(r, 1));
  assert_true(recorder_at(r, 0).completion.lock == lock);
  assert_status(LIBLOCK_LOST, liblock_release(*state, lock, NULL));
  let_pass_ms(30);
  assert_int_equal(recorder_count(r), 1);
  recorder_free(r);
}

struct asking {
  liblock_context *context;
  latch asked;
  liblock_status answer;
};

static void ask_inside(const liblock_completion *completion, void *user_data) {
  struct asking *a = user_data;
  a->answer = liblock_is_held(a->context, completion->lock);
  latch_add(&a->asked, 1);
}

static void a_loss_is_known_to_is_held_before_on_lost_comes(void **state) {
  static struct asking a;
  a.context = *state;
  latch_init(&a.asked);
  liblock_acquire_options options = with_ttl(20);
  options.on_lost = ask_inside;
  options.on_lost_user_data = &a;
  take_with(*state, "k", &options);
  assert_true(latch_await(&a.asked, 1));
  assert_status(LIBLOCK_LOST, a.answer);
  latch_destroy(&a.asked);
}

static void on_lost_never_comes_for_a_lock_that_was_released(void **state) {
  recorder *r = recorder_new(*state, false);
  size_t lost = 0; /* on a machine that stood still for as long as the lease */
  for (int i = 0; i < 50; i++) {
    liblock_acquire_options options = with_ttl(40);
    options.on_lost = recorder_callback;
    options.on_lost_user_data = recorder_slot(r, i);
    const liblock_status status = liblock_release(*state, take_with(*state, "k", &options), NULL);
    if (status == LIBLOCK_LOST)
      lost++;
    else
      assert_ok(status);
  }
  let_pass_ms(150);
  assert_true(recorder_await(r, lost));
  assert_int_equal(recorder_count(r), lost);
  recorder_free(r);
}

struct lost_wait {
  liblock_context *context;
  liblock_lock lock;
  liblock_status status;
};

static void *wait_lost_for_ever(void *argument) {
  struct lost_wait *w = argument;
  w->status = liblock_wait_lost(w->context, w->lock, -1, NULL);
  return NULL;
}

static liblock_status wait_lost_while(liblock_context *context, liblock_lock lock,
                                      liblock_status (*act)(struct lost_wait *)) {
  static struct lost_wait w;
  w.context = context;
  w.lock = lock;
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, wait_lost_for_ever, &w), 0);
  await_waiters(context, 1);
  const liblock_status acted = act(&w);
  pthread_join(thread, NULL);
  assert_ok(acted);
  return w.status;
}

static liblock_status release_it(struct lost_wait *w) { return liblock_release(w->context, w->lock, NULL); }

static liblock_status let_it_expire(struct lost_wait *w) {
  return liblock_extend(w->context, w->lock, 20, LIBLOCK_EXTEND_SET, NULL);
}

static void wait_lost_times_out_while_the_lock_is_held(void **state) {
  const liblock_lock lock = take(*state, "k");
  assert_status(LIBLOCK_TIMEOUT, liblock_wait_lost(*state, lock, 10, NULL));
  assert_status(LIBLOCK_TIMEOUT, liblock_wait_lost(*state, lock, 0, NULL));
}

static void wait_lost_tells_a_loss_from_a_release(void **state) {
  assert_status(LIBLOCK_NOT_HELD, wait_lost_while(*state, take(*state, "a"), release_it));
  assert_status(LIBLOCK_LOST, wait_lost_while(*state, take(*state, "b"), let_it_expire));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(renew_without_a_ttl_is_invalid),
      fresh(a_renewed_lease_outlives_its_ttl_many_times),
      fresh(a_released_lock_is_renewed_no_more),
      fresh(no_renewal_reaches_beyond_max_hold),
      fresh(max_hold_ends_a_lease_that_is_renewed),
      fresh(on_lost_comes_once_when_the_lease_ends),
      fresh(a_renewed_lease_outlives_an_extension_that_adds_and_one_that_shortens),
      fresh(on_lost_comes_for_a_lock_that_was_given_its_lease_later),
      fresh(on_lost_comes_once_when_an_administrator_takes_the_lock_away),
      fresh(a_loss_is_known_to_is_held_before_on_lost_comes),
      fresh(on_lost_never_comes_for_a_lock_that_was_released),
      fresh(wait_lost_times_out_while_the_lock_is_held),
      fresh(wait_lost_tells_a_loss_from_a_release),
  };
  return cmocka_run_group_tests_name("renewal and loss", tests, NULL, NULL);
}
