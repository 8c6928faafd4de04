/* SPDX-License-Identifier: MIT
 *
 * Which acquires are told about: by percent, by a sampler, by force; and the bound of events that wait.
 */
#include "listener.h"
#include "recorder.h"

enum { PAIRS = 400 };

static liblock_instrument_options instruments(void) {
  liblock_instrument_options options;
  liblock_instrument_options_init(&options, sizeof options);
  return options;
}

static void make_pairs(liblock_context *context, int count) {
  for (int i = 0; i < count; i++) assert_ok(liblock_release(context, take(context, "k"), NULL));
}

/* Of how many acquires the events, or the log, were told. */
static size_t told_of(liblock_context *context, listener *l) {
  const size_t before = listener_count(l, LIBLOCK_EVENT_CLEARED);
  assert_ok(liblock_clear(context, NULL, NULL, NULL));
  assert_true(listener_await(l, LIBLOCK_EVENT_CLEARED, before + 1));
  const size_t obtained = listener_count(l, LIBLOCK_EVENT_OBTAINED);
  assert_int_equal(listener_count(l, LIBLOCK_EVENT_HOLD_AND_RELEASE), obtained);
  return obtained;
}

static void a_percentage_out_of_range_is_refused_and_changes_nothing(void **state) {
  listener *l = listen_to_events(*state);
  liblock_instrument_options options = instruments();
  options.events_percent = 101;
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_set_instruments(*state, &options));
  options.events_percent = -1;
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_set_instruments(*state, &options));
  make_pairs(*state, 5);
  assert_int_equal(told_of(*state, l), 5);
}

static void zero_percent_tells_of_none_and_a_hundred_of_all(void **state) {
  listener *l = listen_to_events(*state);
  assert_ok(liblock_set_log(*state, LIBLOCK_LOG_DEBUG, listener_on_log, l));
  liblock_instrument_options options = instruments();
  options.events_percent = options.log_percent = 0;
  assert_ok(liblock_set_instruments(*state, &options));
  make_pairs(*state, 50);
  assert_int_equal(told_of(*state, l), 0);
  assert_int_equal(listener_count_written(l, 0), 0);
  assert_ok(liblock_set_instruments(*state, NULL));
  make_pairs(*state, 50);
  assert_int_equal(told_of(*state, l), 50);
  assert_int_equal(listener_count_written(l, LIBLOCK_ENTRY_OBTAINED), 50);
}

static void events_and_log_are_sampled_by_themselves(void **state) {
  listener *l = listen_to_events(*state);
  assert_ok(liblock_set_log(*state, LIBLOCK_LOG_DEBUG, listener_on_log, l));
  liblock_instrument_options options = instruments();
  options.events_percent = 0;
  options.log_percent = 30;
  assert_ok(liblock_set_instruments(*state, &options));
  make_pairs(*state, PAIRS);
  assert_int_equal(told_of(*state, l), 0);
  const size_t logged = listener_count_written(l, LIBLOCK_ENTRY_OBTAINED);
  assert_true(logged > PAIRS * 15 / 100 && logged < PAIRS * 50 / 100); /* twice five sigma would still pass */
  assert_int_equal(listener_count_written(l, LIBLOCK_ENTRY_RELEASED), logged);
}

static void what_is_forced_is_told_whatever_the_sampling_says(void **state) {
  listener *l = listen_to_events(*state);
  assert_ok(liblock_set_log(*state, LIBLOCK_LOG_DEBUG, listener_on_log, l));
  liblock_instrument_options none = instruments();
  none.events_percent = none.log_percent = 0;
  assert_ok(liblock_set_instruments(*state, &none));
  liblock_acquire_options options = acquire_options();
  options.instrument = LIBLOCK_INSTRUMENT_EVENTS;
  assert_ok(liblock_release(*state, take_with(*state, "k", &options), NULL));
  assert_int_equal(told_of(*state, l), 1);
  assert_int_equal(listener_count_written(l, 0), 0);
  options.instrument = LIBLOCK_INSTRUMENT_LOG;
  assert_ok(liblock_release(*state, take_with(*state, "k", &options), NULL));
  assert_int_equal(told_of(*state, l), 1);
  assert_int_equal(listener_count_written(l, LIBLOCK_ENTRY_OBTAINED), 1);
  options.instrument = 8;
  liblock_lock lock = 0;
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_acquire(*state, KEY("k"), &options, &lock, NULL));
}

static void administration_is_told_about_whatever_the_sampling_says(void **state) {
  listener *l = listen_to_events(*state);
  liblock_instrument_options none = instruments();
  none.events_percent = 0;
  assert_ok(liblock_set_instruments(*state, &none));
  take(*state, "k");
  assert_ok(liblock_force_release(*state, KEY("k"), 0, NULL));
  assert_true(listener_await(l, LIBLOCK_EVENT_FORCE_RELEASED, 1));
  assert_int_equal(listener_count(l, 0), 1);
}

struct sampled {
  int calls;
  int32_t percent;
  uint64_t tag;
  size_t key_size;
  bool without_key;
  liblock_context *context;
  liblock_status inside;
};

/* Keys that begin with 'y', and what has no key. */
static int32_t by_key(int32_t percent, const liblock_bytes *key, uint64_t tag, void *user_data) {
  struct sampled *seen = user_data;
  liblock_lock lock = 0;
  seen->calls++;
  seen->percent = percent;
  seen->tag = tag;
  seen->without_key = key == NULL;
  seen->key_size = key != NULL ? key->size : 0;
  seen->inside = liblock_wait_lost(seen->context, lock, -1, NULL);
  return key == NULL || *(const char *)key->data == 'y';
}

static void a_sampler_decides_with_key_and_tag(void **state) {
  struct sampled seen = {.context = *state};
  listener *l = listen_to_events(*state);
  liblock_instrument_options options = instruments();
  options.events_percent = 15;
  options.events_sampler = by_key;
  options.events_sampler_user_data = &seen;
  assert_ok(liblock_set_instruments(*state, &options));
  liblock_acquire_options tagged = acquire_options();
  tagged.event_tag = 42;
  assert_ok(liblock_release(*state, take_with(*state, "no", &tagged), NULL));
  assert_int_equal(seen.calls, 1);
  assert_int_equal(seen.percent, 15);
  assert_int_equal(seen.key_size, 2);
  assert_true(seen.tag == 42);
  assert_status(LIBLOCK_WOULD_DEADLOCK, seen.inside);
  assert_int_equal(told_of(*state, l), 0);
  assert_ok(liblock_release(*state, take(*state, "yes"), NULL));
  assert_int_equal(told_of(*state, l), 1);
  liblock_lock global = 0;
  assert_ok(liblock_acquire_global(*state, NULL, &global, NULL));
  assert_ok(liblock_release(*state, global, NULL));
  assert_true(seen.without_key);
  assert_int_equal(told_of(*state, l), 2);
  tagged.instrument = LIBLOCK_INSTRUMENT_EVENTS; /* nobody needs to be asked */
  assert_ok(liblock_release(*state, take_with(*state, "no", &tagged), NULL));
  assert_int_equal(seen.calls, 3);
  assert_int_equal(told_of(*state, l), 3);
  assert_ok(liblock_set_instruments(*state, NULL));
}

struct gate {
  latch entered, opened;
  listener *l;
};

static void wait_at_gate(const liblock_event *event, void *user_data) {
  struct gate *gate = user_data;
  latch_add(&gate->entered, 1);
  latch_await(&gate->opened, 1);
  listener_on_event(event, gate->l);
}

static void events_beyond_events_max_are_dropped_and_counted(void **state) {
  struct gate gate = {.l = listener_new()};
  latch_init(&gate.entered);
  latch_init(&gate.opened);
  liblock_instrument_options options = instruments();
  options.events_max = 8;
  assert_ok(liblock_set_instruments(*state, &options));
  assert_ok(liblock_set_events(*state, ~UINT64_C(0), wait_at_gate, &gate));
  take(*state, "first");
  assert_true(latch_await(&gate.entered, 1)); /* taken out, so that it counts no more */
  make_pairs(*state, 4);
  assert_int_equal(stats_of(*state).dropped_events, 0); /* at the bound */
  take(*state, "ninth");
  assert_int_equal(stats_of(*state).dropped_events, 1);
  latch_add(&gate.opened, 1);
  assert_true(listener_await(gate.l, 0, 9));
  assert_ok(liblock_set_events(*state, 0, NULL, NULL));
  assert_int_equal(listener_count(gate.l, 0), 9);
  assert_int_equal(stats_of(*state).dropped_events, 1);
  latch_destroy(&gate.entered);
  latch_destroy(&gate.opened);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(a_percentage_out_of_range_is_refused_and_changes_nothing),
      fresh(zero_percent_tells_of_none_and_a_hundred_of_all),
      fresh(events_and_log_are_sampled_by_themselves),
      fresh(what_is_forced_is_told_whatever_the_sampling_says),
      fresh(administration_is_told_about_whatever_the_sampling_says),
      fresh(a_sampler_decides_with_key_and_tag),
      fresh(events_beyond_events_max_are_dropped_and_counted),
  };
  return cmocka_run_group_tests_name("sampling", tests, NULL, NULL);
}
