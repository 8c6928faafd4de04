/* SPDX-License-Identifier: MIT
 *
 * Scenarios on a local context. The first one is what a program does that uses the library for the first time, the
 * next two the same where a thread is needed.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fail.h"
#include "torture.h"

enum { SEARCHED_BY_MS = 20, LOOP_SLEEPS_MS = 50 };

/* What is refused has not been done. */
static void give_back_and_be_called(struct torture *t) {
  torture_open(t);
  if (torture_take(t, "c", NULL) != LIBLOCK_OK) return;
  const size_t nth = t->granted - 1;
  liblock_request request = 0;
  const liblock_status status =
      liblock_release_async(t->context, t->locks[nth], NULL, torture_called, &torture_calls, &request);
  torture_ended(status);
  torture_must((status == LIBLOCK_OK) == (request != 0), "a request comes with OK, and only then", status);
  if (status == LIBLOCK_OK) t->locks[nth] = 0;
}

static void take_and_be_told_of_its_loss(struct torture *t) {
  torture_open(t);
  if (t->context == NULL) return;
  liblock_acquire_options options = torture_defaults();
  options.on_lost = torture_called;
  options.on_lost_user_data = &torture_calls;
  liblock_lock lock = 0;
  liblock_result result = LIBLOCK_RESULT_INIT;
  const liblock_status status = liblock_acquire(t->context, "a", 1, &options, &lock, &result);
  torture_ended(status);
  torture_must(status != LIBLOCK_INTERNAL || strstr(result.message, "raise the limit") != NULL,
               "what is lacked is said", status);
  torture_keep(t, status, lock, "a");
}

static void use_it(struct torture *t) {
  torture_open(t);
  if (torture_take(t, "a", NULL) == LIBLOCK_OK) torture_give_back(t, t->granted - 1);
  if (t->owner == NULL) return;
  const liblock_acquire_options options = torture_of_owner(t);
  torture_take(t, "b", &options);
}

/* Of another name each time: what is left of one is found by no later one. */
static void open_named(struct torture *t) {
  static char url[32];
  static unsigned number;
  snprintf(url, sizeof url, "local:torture%u", ++number);
  t->url = url;
  torture_open(t);
  torture_take(t, "a", NULL);
}

static void take_long_key(struct torture *t) {
  static char key[513];
  memset(key, 'k', sizeof key - 1);
  torture_take(t, key, NULL);
}

static void take_for_thread(struct torture *t) {
  liblock_acquire_options options = torture_defaults();
  options.owner = LIBLOCK_OWNER_THREAD;
  torture_take(t, "a", &options);
}

static void take_many(struct torture *t, size_t count) {
  static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
  liblock_bytes keys[12];
  for (size_t n = 0; n < count; ++n) keys[n] = (liblock_bytes){names[n], 1};
  liblock_lock lock = 1;
  const liblock_status status = liblock_acquire_many(t->context, keys, count, NULL, &lock, NULL);
  torture_ended(status);
  torture_keep(t, status, lock, "a");
}
static void take_twelve(struct torture *t) { take_many(t, 12); }

static void take_global(struct torture *t) {
  liblock_lock lock = 1;
  const liblock_status status = liblock_acquire_global(t->context, NULL, &lock, NULL);
  torture_ended(status);
  torture_must((status == LIBLOCK_OK) == (lock != 0), "a handle comes with OK, and only then", status);
  if (lock == 0) return;
  const liblock_status end = liblock_release(t->context, lock, NULL);
  torture_must(end == LIBLOCK_OK, "the global lock can be given back", end);
}

static void take_fifty(struct torture *t) {
  static char keys[50][4];
  for (int n = 0; n < 50; ++n) {
    keys[n][0] = 'k';
    keys[n][1] = (char)('a' + n / 10);
    keys[n][2] = (char)('a' + n % 10);
    torture_take(t, keys[n], NULL);
  }
}

/* The owner has one key, the thread another. */
static void hold_as_two(struct torture *t) {
  torture_open(t);
  torture_take_for_owner(t);
  liblock_acquire_options options = torture_defaults();
  options.owner = LIBLOCK_OWNER_THREAD;
  torture_take(t, "b", &options);
}

static void wait_until_searched(struct torture *t) {
  liblock_acquire_options options = torture_of_owner(t);
  options.wait_ms = SEARCHED_BY_MS; /* which is done after one */
  torture_take(t, "b", &options);
}

static void ask(struct torture *t) {
  torture_ask(t, "a", NULL);
  torture_read(t, 0);
}

static void ask_and_hand_over(struct torture *t) {
  torture_ask(t, "a", NULL);
  torture_ask(t, "a", NULL);
  torture_give_back(t, 0);
  torture_read(t, 0);
}

/* Long enough for the loop's thread to go to sleep meanwhile, which a busy machine lets it do in few of the others. */
static void watch_long(struct torture *t) {
  liblock_request request = 0;
  torture_ended(liblock_wait_released_async(t->context, "a", 1, LOOP_SLEEPS_MS / 2, NULL, torture_called,
                                            &torture_calls, &request));
  torture_ended(liblock_wait_lost(t->context, t->locks[0], LOOP_SLEEPS_MS, NULL));
}

static void wait_in_order(struct torture *t) {
  liblock_acquire_options options = torture_defaults();
  options.order = LIBLOCK_ORDER_PRIORITY;
  options.priority = 3;
  options.queue_ttl_ms = 60000;
  torture_ask(t, "a", &options);
  options.order = LIBLOCK_ORDER_LIFO;
  torture_ask(t, "a", &options);
}

static atomic_int losses_told;

static void count_loss(const liblock_completion *completion, void *user_data) {
  (void)completion, (void)user_data;
  atomic_fetch_add(&losses_told, 1);
}

static void hold_three(struct torture *t) {
  static const liblock_bytes keys[] = {{"a", 1}, {"b", 1}, {"c", 1}};
  liblock_acquire_options options = torture_defaults();
  options.on_lost = count_loss;
  torture_open(t);
  liblock_lock lock = 1;
  const liblock_status status = liblock_acquire_many(t->context, keys, 3, &options, &lock, NULL);
  torture_ended(status);
  torture_keep(t, status, lock, "a");
}

/* Which has none, and no timer yet. */
static void give_three_a_lease(struct torture *t) {
  const liblock_status status = liblock_extend(t->context, t->locks[0], 60000, LIBLOCK_EXTEND_SET, NULL);
  torture_ended(status);
  fail_disarm();
  int64_t remaining_ms = 0;
  const liblock_status asked = liblock_remaining_ms(t->context, t->locks[0], &remaining_ms);
  torture_must(asked == LIBLOCK_OK, "it is held still", asked);
  torture_must((remaining_ms >= 0) == (status == LIBLOCK_OK), "what is refused has not been done", status);
}

/* By their key: who holds them wants to be told of the loss, and is not asked. */
static void give_three_a_lease_by_a_key(struct torture *t) {
  torture_ended(liblock_extend_key(t->context, "b", 1, NULL, 0, 60000, LIBLOCK_EXTEND_SET, NULL));
}

/* Somebody waits for the global lock until the owner holds nothing any more. */
static void hold_while_all_is_wanted(struct torture *t) {
  torture_hold_as_owner(t);
  liblock_acquire_options options = torture_defaults();
  options.completions = t->ends;
  liblock_request request = 0;
  if (t->ends == NULL) return;
  const liblock_status status = liblock_acquire_global_async(t->context, &options, NULL, NULL, &request);
  torture_ended(status);
  t->asked += status == LIBLOCK_OK;
}

static void take_while_all_is_wanted(struct torture *t) {
  static char key[400];
  memset(key, 'k', sizeof key - 1);
  const liblock_acquire_options options = torture_of_owner(t);
  torture_take(t, key, &options);
  fail_disarm();
  for (size_t n = 0; n < t->granted; ++n) torture_give_back(t, n);
  liblock_completion end = {.struct_size = sizeof end};
  const liblock_status status = liblock_completions_next(t->ends, TORTURE_END_MS, &end);
  --t->asked;
  torture_must(status == LIBLOCK_OK && end.status == LIBLOCK_OK, "whoever wants all has it once nobody holds a key",
               status == LIBLOCK_OK ? end.status : status);
  const liblock_status released = liblock_release(t->context, end.lock, NULL);
  torture_must(released == LIBLOCK_OK, "the global lock can be given back", released);
}

static void open_owner(struct torture *t) {
  liblock_owner *owner = NULL;
  torture_ended(liblock_owner_open(t->context, "other", 5, &owner, NULL));
  liblock_owner_free(owner);
}

static void on_event(const liblock_event *event, void *user_data) {
  (void)event;
  ++*(int *)user_data;
}

static void listen_and_take(struct torture *t) {
  static int events;
  torture_ended(liblock_set_events(t->context, ~UINT64_C(0), on_event, &events));
  torture_take(t, "b", NULL);
  torture_give_back(t, 1);
}

static void on_entry(const liblock_log_entry *entry, void *user_data) {
  (void)entry;
  ++*(int *)user_data;
}

static void log_and_take(struct torture *t) {
  static int entries;
  torture_ended(liblock_set_log(t->context, LIBLOCK_LOG_DEBUG, on_entry, &entries));
  torture_take(t, "b", NULL);
  torture_ended(liblock_set_log(t->context, LIBLOCK_LOG_OFF, NULL, NULL));
}

static void print_statistics(struct torture *t) {
  static char text[65536];
  size_t needed = 0;
  torture_ended(liblock_stats_prometheus(t->context, text, sizeof text, &needed));
}

static void queue_of_ends(struct torture *t) {
  liblock_completions *ends = NULL;
  torture_ended(liblock_completions_open(t->context, 1000, &ends, NULL));
  liblock_completions_free(ends);
}

/* Of a queue with one place: what was refused has not used it up. */
static void ask_twice(struct torture *t) {
  liblock_completions *one = NULL;
  const liblock_status opened = liblock_completions_open(t->context, 1, &one, NULL);
  torture_ended(opened);
  if (opened != LIBLOCK_OK) return;
  liblock_request request = 0;
  liblock_status status = LIBLOCK_NO_MEMORY;
  for (int n = 0; n < 2 && status == LIBLOCK_NO_MEMORY; ++n)
    status = liblock_ping_async(t->context, one, NULL, NULL, &request);
  torture_must(status == LIBLOCK_OK, "a place in the queue comes back", status);
  liblock_completion end = {.struct_size = sizeof end};
  torture_ended(liblock_completions_next(one, TORTURE_END_MS, &end));
  torture_ended(end.status);
  liblock_completions_free(one);
}

/* An end comes where it was accepted, with the answer or without memory for it. */
static void ask_who_holds_it(struct torture *t) {
  liblock_request request = 0;
  const liblock_status status = liblock_inspect_async(t->context, "a", 1, t->ends, NULL, NULL, &request);
  torture_ended(status);
  if (status != LIBLOCK_OK) return;
  liblock_completion end = {.struct_size = sizeof end};
  torture_ended(liblock_completions_next(t->ends, TORTURE_END_MS, &end));
  torture_ended(end.status);
  torture_must(end.request == request, "each end is of what was asked", end.status);
  torture_must((end.status == LIBLOCK_OK) == (end.info != NULL), "an answer comes with OK, and only then", end.status);
  liblock_info_free(end.info);
}

/* Whoever takes it away needs no memory for whoever is told. */
static void take_away_what_somebody_is_told_of(struct torture *t) {
  const int before = atomic_load(&losses_told);
  const liblock_status status = liblock_force_release(t->context, "a", 1, 0, NULL);
  fail_disarm();
  torture_ended(status);
  if (status != LIBLOCK_OK) return;
  const struct timespec moment = {0, 1000000};
  for (int ms = 0; ms < TORTURE_END_MS && atomic_load(&losses_told) == before; ++ms) nanosleep(&moment, NULL);
  torture_must(atomic_load(&losses_told) == before + 1, "who lost it is told once", status);
  const liblock_status late = liblock_release(t->context, t->locks[0], NULL);
  torture_must(late == LIBLOCK_LOST || late == LIBLOCK_NOT_HELD, "what was taken away is not given back", late);
  t->locks[0] = 0;
}

static void ask_to_callback(struct torture *t) {
  liblock_request request = 0;
  liblock_acquire_options options = torture_defaults();
  options.wait_ms = 0;
  torture_ended(liblock_acquire_async(t->context, "a", 1, &options, torture_called, &torture_calls, &request));
}

const struct torture_scenario torture_local[] = {
    {"open, take, give back", NULL, use_it, false},
    {"open, take, be called when it is given back", NULL, give_back_and_be_called, false},
    {"open, take, be told when it is lost", NULL, take_and_be_told_of_its_loss, false},
    {"open a table of a name", NULL, open_named, false},
    {"take a key of 512 bytes", torture_open, take_long_key, false},
    {"take for the thread", torture_open, take_for_thread, false},
    {"take twelve keys", torture_open, take_twelve, false},
    {"take the global lock", torture_open, take_global, false},
    {"take fifty keys one after the other", torture_open, take_fifty, false},
    {"wait until a deadlock is searched for", hold_as_two, wait_until_searched, false},
    {"ask", torture_open, ask, false},
    {"ask twice and hand over", torture_hold, ask_and_hand_over, false},
    {"watch for long", torture_hold, watch_long, false},
    {"wait in an order", torture_hold, wait_in_order, false},
    {"ask again what was refused", torture_open, ask_twice, false},
    {"ask who holds it", torture_hold, ask_who_holds_it, false},
    {"take away what somebody is told of", hold_three, take_away_what_somebody_is_told_of, false},
    {"ask for a callback", torture_hold, ask_to_callback, false},
    {"give a lock of three keys a lease", hold_three, give_three_a_lease, false},
    {"give a lock of three keys a lease by a key", hold_three, give_three_a_lease_by_a_key, false},
    {"open an owner", torture_open, open_owner, false},
    {"take for an owner while all is wanted", hold_while_all_is_wanted, take_while_all_is_wanted, false},
    {"listen and take", torture_hold, listen_and_take, false},
    {"log and take", torture_hold, log_and_take, false},
    {"print statistics", torture_hold, print_statistics, false},
    {"open a completion queue", torture_open, queue_of_ends, false},
    {"close with nine who wait", torture_hold_many_and_wait, torture_close_context, false},
    {"open, close first of all, and be called", NULL, torture_close_first_of_all, false},
    {"close with nine who wait, and be called", torture_hold_many_and_wait, torture_close_context_and_be_called, false},
    {"open on a loop of the caller", torture_make_loop, torture_open_on_loop, true},
    {NULL, NULL, NULL, false},
};
