/* SPDX-License-Identifier: MIT
 *
 * The wall clock decides nothing. This program stands in for the clock: every reading of it, by the library
 * too, goes through the functions below, which step it forwards and backwards by hours; monotonic clocks pass
 * untouched.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "api.h"
#include "recorder.h"
#include "worker.h"

static atomic_long step_s;

static int really_read(clockid_t id, struct timespec *out) {
  return (int)syscall(SYS_clock_gettime, id, out);
}

int clock_gettime(clockid_t id, struct timespec *out) {
  const int status = really_read(id, out);
  if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_TAI)
    out->tv_sec += atomic_load(&step_s);
  return status;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
  (void)zone;
  struct timespec t;
  const int status = clock_gettime(CLOCK_REALTIME, &t);
  out->tv_sec = t.tv_sec;
  out->tv_usec = t.tv_nsec / 1000;
  return status;
}

time_t time(time_t *out) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  if (out != NULL) *out = t.tv_sec;
  return t.tv_sec;
}

static void step_the_wall_clock(long seconds) { atomic_fetch_add(&step_s, seconds); }

static void the_stand_in_steps_what_everyone_reads(void **state) {
  (void)state;
  const time_t before = time(NULL);
  step_the_wall_clock(7200);
  assert_true(time(NULL) - before >= 7200);
  step_the_wall_clock(-7200);
}

static void a_step_forwards_ends_no_lease(void **state) {
  const liblock_acquire_options leased = with_ttl(600000);
  const liblock_lock lock = take_with(*state, "k", &leased);
  step_the_wall_clock(7200);
  assert_ok(liblock_is_held(*state, lock));
  assert_status(LIBLOCK_BUSY, probe(*state, "k"));
  uint64_t ended = 9;
  assert_ok(liblock_sweep(*state, &ended, NULL));
  assert_int_equal(ended, 0);
  int64_t remaining = 0;
  assert_ok(liblock_remaining_ms(*state, lock, &remaining));
  assert_in_range(remaining, 500000, 600000);
  step_the_wall_clock(-7200);
}

static void a_step_backwards_makes_no_lease_immortal(void **state) {
  const liblock_acquire_options leased = with_ttl(40);
  const liblock_lock lock = take_with(*state, "k", &leased);
  step_the_wall_clock(-7200);
  await_lost(*state, lock);
  assert_ok(probe(*state, "k"));
  step_the_wall_clock(7200);
}

static void a_step_ends_and_prolongs_no_wait(void **state) {
  liblock_context *context = *state;
  take(context, "k");
  const liblock_acquire_options patient = waits(400);
  recorder *r = recorder_new(context, false);
  request_key(context, r, 0, "k", &patient);
  worker *waiting = worker_acquires(context, "k", &patient);
  let_pass_ms(50);
  step_the_wall_clock(7200);
  let_pass_ms(50);
  step_the_wall_clock(-14400);
  liblock_result result;
  assert_status(LIBLOCK_TIMEOUT, worker_join(waiting, NULL, &result));
  assert_true(result.waited_ms >= 390);
  assert_true(recorder_await(r, 1));
  assert_status(LIBLOCK_TIMEOUT, recorder_at(r, 0).completion.status);
  assert_true(recorder_at(r, 0).completion.waited_ms >= 390);
  step_the_wall_clock(7200);
  recorder_free(r);
}

static void a_step_backwards_never_repeats_a_token(void **state) {
  uint64_t last = 0;
  for (int i = 0; i < 10; i++) {
    uint64_t token = 0;
    const liblock_lock lock = take(*state, "k");
    assert_ok(liblock_fencing_token(*state, lock, &token));
    assert_true(token > last);
    last = token;
    assert_ok(liblock_release(*state, lock, NULL));
    step_the_wall_clock(-3600);
  }
  atomic_store(&step_s, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_stand_in_steps_what_everyone_reads),
      fresh(a_step_forwards_ends_no_lease),
      fresh(a_step_backwards_makes_no_lease_immortal),
      fresh(a_step_ends_and_prolongs_no_wait),
      fresh(a_step_backwards_never_repeats_a_token),
  };
  return cmocka_run_group_tests_name("wall clock", tests, NULL, NULL);
}
