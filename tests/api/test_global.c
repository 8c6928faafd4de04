/* SPDX-License-Identifier: MIT
 *
 * The global lock excludes every other lock of its table, neither starves nor is starved, and lets pass those
 * who already hold something.
 */
#include <stdatomic.h>

#include "api.h"
#include "recorder.h"
#include "worker.h"

static liblock_lock take_global(liblock_context *context) {
  liblock_lock lock = 0;
  assert_ok(liblock_acquire_global(context, NULL, &lock, NULL));
  assert_true(lock != 0);
  return lock;
}

static liblock_status probe_global(liblock_context *context) {
  const liblock_acquire_options once = try_once();
  liblock_lock lock = 0;
  const liblock_status status = liblock_acquire_global(context, &once, &lock, NULL);
  if (status == LIBLOCK_OK) assert_ok(liblock_release(context, lock, NULL));
  return status;
}

static worker *worker_acquires_global(liblock_context *context, const liblock_acquire_options *options) {
  return worker_acquires_many(context, NULL, 0, options);
}

static void a_held_global_lock_excludes_every_key(void **state) {
  const liblock_lock global = take_global(*state);
  assert_status(LIBLOCK_BUSY, probe(*state, "a"));
  assert_status(LIBLOCK_BUSY, probe(*state, "never seen before"));
  assert_status(LIBLOCK_BUSY, probe_global(*state));
  assert_ok(liblock_release(*state, global, NULL));
  assert_ok(probe(*state, "a"));
}

static void any_held_key_excludes_the_global_lock(void **state) {
  const liblock_lock lock = take(*state, "a");
  assert_status(LIBLOCK_BUSY, probe_global(*state));
  assert_ok(liblock_release(*state, lock, NULL));
  assert_ok(probe_global(*state));
}

static void a_held_global_lock_excludes_locks_on_many_keys(void **state) {
  const liblock_bytes keys[] = {BYTES("a"), BYTES("b")};
  take_global(*state);
  const liblock_acquire_options once = try_once();
  liblock_lock lock = 1;
  assert_status(LIBLOCK_BUSY, liblock_acquire_many(*state, keys, 2, &once, &lock, NULL));
}

static void a_free_key_that_is_waited_for_is_not_held_whichever_way_one_asks(void **state) {
  liblock_context *context = *state;
  take(context, "held");
  worker *global = worker_acquires_global(context, NULL);
  await_waiters(context, 1);
  worker *next = worker_acquires(context, "free", NULL);
  await_waiters(context, 2);
  liblock_info *info = NULL;
  assert_status(LIBLOCK_NOT_HELD, liblock_inspect(context, KEY("free"), &info, NULL));
  assert_ok(liblock_inspect_queue(context, KEY("free"), &info, NULL));
  liblock_info_free(info);
  recorder *r = recorder_new(context, false);
  assert_ok(liblock_inspect_async(context, KEY("free"), NULL, recorder_callback, recorder_slot(r, 0), NULL));
  assert_true(recorder_await(r, 1));
  assert_status(LIBLOCK_NOT_HELD, recorder_at(r, 0).completion.status);
  recorder_free(r);
  assert_ok(liblock_close(context));
  assert_status(LIBLOCK_CLOSED, worker_join(global, NULL, NULL));
  worker_join(next, NULL, NULL); /* the key was free, once nobody asked for everything any more */
}

static void a_waiting_global_lock_is_served_when_the_last_key_goes(void **state) {
  liblock_context *context = *state;
  const liblock_lock a = take(context, "a");
  const liblock_lock b = take(context, "b");
  worker *global = worker_acquires_global(context, NULL);
  await_waiters(context, 1);
  assert_ok(liblock_release(context, a, NULL));
  assert_false(worker_is_done(global));
  assert_ok(liblock_release(context, b, NULL));
  liblock_result result;
  assert_ok(worker_join(global, NULL, &result));
  assert_true((result.flags & LIBLOCK_RESULT_WAITED) != 0);
  assert_status(LIBLOCK_BUSY, probe(context, "a"));
}

static void a_global_lock_queued_behind_another_says_that_it_waited(void **state) {
  liblock_context *context = *state;
  const liblock_lock first = take_global(context);
  worker *second = worker_acquires_global(context, NULL);
  await_waiters(context, 1);
  assert_ok(liblock_release(context, first, NULL));
  liblock_result result;
  assert_ok(worker_join(second, NULL, &result));
  assert_true((result.flags & LIBLOCK_RESULT_WAITED) != 0);
  assert_true(result.token != 0);
}

static void the_end_of_a_global_lock_can_be_waited_for(void **state) {
  const liblock_acquire_options brief = with_ttl(100);
  liblock_lock lock = 0;
  assert_ok(liblock_acquire_global(*state, NULL, &lock, NULL));
  assert_status(LIBLOCK_TIMEOUT, liblock_wait_lost(*state, lock, 5, NULL));
  assert_ok(liblock_release(*state, lock, NULL));
  assert_status(LIBLOCK_NOT_HELD, liblock_wait_lost(*state, lock, 5, NULL));
  assert_ok(liblock_acquire_global(*state, &brief, &lock, NULL));
  assert_status(LIBLOCK_LOST, liblock_wait_lost(*state, lock, GENEROUS_MS, NULL));
}

struct free_key {
  liblock_context *context;
  const char *key;
};

static bool is_shut(void *argument) {
  const struct free_key *of = argument;
  return probe(of->context, of->key) == LIBLOCK_BUSY;
}

/* Whoever asks for the global lock is counted as one who waits before the last gate has gone up. */
static void await_gate(liblock_context *context, const char *key) {
  struct free_key of = {context, key};
  assert_true(wait_until(is_shut, &of, GENEROUS_MS));
}

static void keyed_requests_queue_behind_a_waiting_global_lock(void **state) {
  liblock_context *context = *state;
  const liblock_lock a = take(context, "a");
  worker *global = worker_acquires_global(context, NULL);
  await_waiters(context, 1);
  await_gate(context, "free");
  worker *keyed = worker_acquires(context, "free", NULL);
  await_waiters(context, 2);
  assert_ok(liblock_release(context, a, NULL));
  liblock_lock lock = 0;
  assert_ok(worker_join(global, &lock, NULL));
  assert_false(worker_is_done(keyed));
  assert_ok(liblock_release(context, lock, NULL));
  assert_ok(worker_join(keyed, NULL, NULL));
}

static void an_owner_that_holds_a_key_is_let_pass_by_a_waiting_global_lock(void **state) {
  liblock_context *context = *state;
  liblock_owner *owner = open_owner(context, "nesting");
  const liblock_acquire_options mine = owned_by(owner);
  const liblock_lock outer = take_with(context, "outer", &mine);
  worker *global = worker_acquires_global(context, NULL);
  await_waiters(context, 1);
  const liblock_lock inner = take_with(context, "inner", &mine);
  await_gate(context, "inner too");
  assert_ok(liblock_release(context, inner, NULL));
  assert_false(worker_is_done(global));
  assert_ok(liblock_release(context, outer, NULL));
  liblock_lock lock = 0;
  assert_ok(worker_join(global, &lock, NULL));
  assert_ok(liblock_release(context, lock, NULL));
  liblock_owner_free(owner);
}

static void a_global_wait_that_times_out_lets_the_keyed_requests_go(void **state) {
  liblock_context *context = *state;
  recorder *r = recorder_new(context, false);
  take(context, "a");
  const liblock_acquire_options brief = waits(60);
  liblock_request request = 0;
  assert_ok(liblock_acquire_global_async(context, &brief, recorder_callback, recorder_slot(r, 0), &request));
  request_key(context, r, 1, "b", NULL);
  assert_true(recorder_await(r, 2));
  for (size_t i = 0; i < 2; i++) {
    const record entry = recorder_at(r, i);
    assert_status(entry.tag == 0 ? LIBLOCK_TIMEOUT : LIBLOCK_OK, entry.completion.status);
  }
  assert_ok(probe(context, "c"));
  recorder_free(r);
}

struct traffic {
  liblock_context *context;
  atomic_bool stop;
  atomic_long pairs;
  atomic_int failures;
  bool global;
};

// The rounds differ in length: valgrind runs one thread at a time, each for a fixed number of steps. Were all rounds
// alike, the turn of this thread could end at the same place of a round for ever, with a lock of the library's in hand.
static void *keep_locking(void *argument) {
  struct traffic *t = argument;
  for (unsigned round = 0; !atomic_load(&t->stop); round++) {
    for (volatile unsigned i = round % 61; i > 0;) i--;
    liblock_lock lock = 0;
    const liblock_status status = t->global ? liblock_acquire_global(t->context, NULL, &lock, NULL)
                                            : liblock_acquire(t->context, KEY("busy"), NULL, &lock, NULL);
    if (status != LIBLOCK_OK || liblock_release(t->context, lock, NULL) != LIBLOCK_OK)
      atomic_fetch_add(&t->failures, 1);
    atomic_fetch_add(&t->pairs, 1);
  }
  return NULL;
}

static void under_traffic(liblock_context *context, bool global,
                          liblock_status (*one_pair)(liblock_context *)) {
  static struct traffic t;
  t.context = context;
  t.global = global;
  atomic_store(&t.stop, false);
  pthread_t threads[4];
  for (size_t i = 0; i < COUNT_OF(threads); i++)
    assert_int_equal(pthread_create(&threads[i], NULL, keep_locking, &t), 0);
  liblock_status status = LIBLOCK_OK;
  for (int i = 0; i < 100 && status == LIBLOCK_OK; i++) status = one_pair(context);
  atomic_store(&t.stop, true);
  for (size_t i = 0; i < COUNT_OF(threads); i++) pthread_join(threads[i], NULL);
  assert_ok(status);
  assert_int_equal(atomic_load(&t.failures), 0);
}

static liblock_status one_global_pair(liblock_context *context) {
  const liblock_acquire_options patient = waits(GENEROUS_MS);
  liblock_lock lock = 0;
  const liblock_status status = liblock_acquire_global(context, &patient, &lock, NULL);
  return status == LIBLOCK_OK ? liblock_release(context, lock, NULL) : status;
}

static liblock_status one_keyed_pair(liblock_context *context) {
  const liblock_acquire_options patient = waits(GENEROUS_MS);
  liblock_lock lock = 0;
  const liblock_status status = liblock_acquire(context, KEY("keyed"), &patient, &lock, NULL);
  return status == LIBLOCK_OK ? liblock_release(context, lock, NULL) : status;
}

static void a_stream_of_keyed_locks_does_not_starve_the_global_lock(void **state) {
  under_traffic(*state, false, one_global_pair);
}

static void a_stream_of_global_locks_does_not_starve_a_keyed_lock(void **state) {
  under_traffic(*state, true, one_keyed_pair);
}

static void the_token_of_a_global_lock_is_larger_than_every_earlier_one(void **state) {
  uint64_t before = 0;
  uint64_t global = 0;
  uint64_t after = 0;
  const liblock_lock first = take(*state, "a");
  assert_ok(liblock_fencing_token(*state, first, &before));
  assert_ok(liblock_release(*state, first, NULL));
  const liblock_lock lock = take_global(*state);
  assert_ok(liblock_fencing_token(*state, lock, &global));
  assert_ok(liblock_release(*state, lock, NULL));
  assert_ok(liblock_fencing_token(*state, take(*state, "a"), &after));
  assert_true(before < global);
  assert_true(global < after);
}

static void a_global_lock_finds_overdue_keys_by_itself(void **state) {
  const liblock_acquire_options brief = with_ttl(15);
  const liblock_lock first = take_with(*state, "a", &brief);
  await_lost(*state, first);
  let_pass_ms(20);
  assert_ok(probe_global(*state));
  take_with(*state, "b", &brief);
  assert_ok(one_global_pair(*state));
  assert_status(LIBLOCK_LOST, liblock_release(*state, first, NULL));
}

static void a_global_lease_ends_and_the_next_takes_over(void **state) {
  const liblock_acquire_options brief = with_ttl(20);
  liblock_lock global = 0;
  assert_ok(liblock_acquire_global(*state, &brief, &global, NULL));
  take(*state, "a");
  assert_status(LIBLOCK_LOST, liblock_release(*state, global, NULL));
  assert_status(LIBLOCK_BUSY, probe(*state, "a"));
}

static void a_global_lock_given_its_lease_later_ends_and_wakes_who_waits(void **state) {
  liblock_context *context = *state;
  const liblock_lock global = take_global(context);
  worker *keyed = worker_acquires(context, "a", NULL);
  worker *other = worker_acquires_global(context, NULL);
  await_waiters(context, 2);
  assert_ok(liblock_extend(context, global, 20, LIBLOCK_EXTEND_SET, NULL));
  liblock_lock lock = 0;
  assert_ok(worker_join(keyed, &lock, NULL));
  assert_ok(liblock_release(context, lock, NULL));
  assert_ok(worker_join(other, NULL, NULL));
  assert_status(LIBLOCK_LOST, liblock_release(context, global, NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(a_held_global_lock_excludes_every_key),
      fresh(any_held_key_excludes_the_global_lock),
      fresh(a_held_global_lock_excludes_locks_on_many_keys),
      fresh(a_free_key_that_is_waited_for_is_not_held_whichever_way_one_asks),
      fresh(a_waiting_global_lock_is_served_when_the_last_key_goes),
      fresh(a_global_lock_queued_behind_another_says_that_it_waited),
      fresh(the_end_of_a_global_lock_can_be_waited_for),
      fresh(keyed_requests_queue_behind_a_waiting_global_lock),
      fresh(an_owner_that_holds_a_key_is_let_pass_by_a_waiting_global_lock),
      fresh(a_global_wait_that_times_out_lets_the_keyed_requests_go),
      fresh(a_stream_of_keyed_locks_does_not_starve_the_global_lock),
      fresh(a_stream_of_global_locks_does_not_starve_a_keyed_lock),
      fresh(the_token_of_a_global_lock_is_larger_than_every_earlier_one),
      fresh(a_global_lock_finds_overdue_keys_by_itself),
      fresh(a_global_lease_ends_and_the_next_takes_over),
      fresh(a_global_lock_given_its_lease_later_ends_and_wakes_who_waits),
  };
  return cmocka_run_group_tests_name("global lock", tests, NULL, NULL);
}
