/* SPDX-License-Identifier: MIT
 *
 * Histograms of acquires and holds, and the statistics as text for Prometheus.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "listener.h"
#include "recorder.h"

static void measure(liblock_context *context, int32_t on) {
  liblock_instrument_options options;
  liblock_instrument_options_init(&options, sizeof options);
  options.histograms = on;
  assert_ok(liblock_set_instruments(context, &options));
}

static liblock_histogram histogram_of(liblock_context *context, int32_t which) {
  liblock_histogram histogram;
  liblock_histogram_init(&histogram, sizeof histogram);
  assert_ok(liblock_histogram_get(context, which, &histogram));
  return histogram;
}

/* How many took at least so long. */
static uint64_t at_least_us(const liblock_histogram *histogram, uint64_t us) {
  uint64_t count = 0;
  for (int i = 1; i < LIBLOCK_HISTOGRAM_BUCKETS; i++) {
    if ((UINT64_C(1) << (i - 1)) >= us) count += histogram->buckets[i];
  }
  return count;
}

static void nothing_is_measured_until_somebody_asks(void **state) {
  assert_ok(liblock_release(*state, take(*state, "k"), NULL));
  listener *l = listen_to_events(*state);
  assert_ok(liblock_release(*state, take(*state, "k"), NULL));
  assert_true(listener_await(l, LIBLOCK_EVENT_HOLD_AND_RELEASE, 1));
  assert_int_equal(histogram_of(*state, LIBLOCK_HISTOGRAM_ACQUIRE).count, 0);
  assert_int_equal(histogram_of(*state, LIBLOCK_HISTOGRAM_HOLD).count, 0);
}

static void every_acquire_and_every_hold_is_measured_once(void **state) {
  measure(*state, 1);
  for (int i = 0; i < 10; i++) assert_ok(liblock_release(*state, take(*state, "k"), NULL));
  const liblock_lock lock = take(*state, "k");
  assert_int_equal(histogram_of(*state, LIBLOCK_HISTOGRAM_ACQUIRE).count, 11);
  assert_int_equal(histogram_of(*state, LIBLOCK_HISTOGRAM_HOLD).count, 10);
  assert_status(LIBLOCK_BUSY, probe(*state, "k")); /* not granted */
  assert_int_equal(histogram_of(*state, LIBLOCK_HISTOGRAM_ACQUIRE).count, 11);
  measure(*state, 0);
  assert_ok(liblock_release(*state, lock, NULL)); /* of an acquire that was measured */
  assert_ok(liblock_release(*state, take(*state, "k"), NULL));
  assert_int_equal(histogram_of(*state, LIBLOCK_HISTOGRAM_ACQUIRE).count, 11);
  assert_int_equal(histogram_of(*state, LIBLOCK_HISTOGRAM_HOLD).count, 11);
}

static void a_long_hold_and_a_long_wait_lie_in_buckets_of_their_length(void **state) {
  measure(*state, 1);
  recorder *r = recorder_new(*state, false); /* its lock is held on: how long would be the machine's affair */
  const liblock_lock lock = take(*state, "k");
  request_key(*state, r, 0, "k", NULL);
  let_pass_ms(40);
  assert_ok(liblock_release(*state, lock, NULL));
  assert_true(recorder_await(r, 1));
  const liblock_histogram waits = histogram_of(*state, LIBLOCK_HISTOGRAM_ACQUIRE);
  const liblock_histogram holds = histogram_of(*state, LIBLOCK_HISTOGRAM_HOLD);
  assert_int_equal(waits.count, 2);
  assert_true(at_least_us(&waits, 32768) >= 1); /* so may the first be, where the machine stands still */
  assert_int_equal(holds.count, 1);
  assert_int_equal(at_least_us(&holds, 32768), 1);
  assert_true(holds.sum_us >= 40000);
  recorder_free(r);
}

static void a_lost_lock_was_held_until_its_loss(void **state) {
  measure(*state, 1);
  const liblock_acquire_options brief = with_ttl(20);
  const liblock_lock lock = take_with(*state, "k", &brief);
  assert_status(LIBLOCK_LOST, liblock_wait_lost(*state, lock, GENEROUS_MS, NULL));
  const liblock_status late = liblock_release(*state, lock, NULL);
  assert_true(late == LIBLOCK_LOST || late == LIBLOCK_NOT_HELD);
  const liblock_histogram holds = histogram_of(*state, LIBLOCK_HISTOGRAM_HOLD);
  const liblock_histogram waits = histogram_of(*state, LIBLOCK_HISTOGRAM_ACQUIRE);
  assert_int_equal(holds.count, 1);
  assert_true(waits.sum_us + holds.sum_us >= 10000); /* the lease began between the call and its end */
}

static void a_histogram_that_is_none_is_refused(void **state) {
  liblock_histogram histogram;
  liblock_histogram_init(&histogram, sizeof histogram);
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_histogram_get(*state, 0, &histogram));
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_histogram_get(*state, 3, &histogram));
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_histogram_get(*state, LIBLOCK_HISTOGRAM_HOLD, NULL));
  histogram.struct_size = 0;
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_histogram_get(*state, LIBLOCK_HISTOGRAM_HOLD, &histogram));
}

static char *text_of(liblock_context *context) {
  size_t needed = 0;
  assert_ok(liblock_stats_prometheus(context, NULL, 0, &needed));
  char *text = malloc(needed + 64);
  assert_non_null(text);
  assert_ok(liblock_stats_prometheus(context, text, needed + 64, &needed));
  assert_int_equal(strlen(text), needed);
  return text;
}

/* The number behind the line that begins so; the test fails when there is none. */
static unsigned long long value_of(const char *text, const char *metric) {
  const size_t length = strlen(metric);
  for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    if (strncmp(line, metric, length) != 0 || (line[length] != '{' && line[length] != '"')) continue;
    return strtoull(strchr(line, '}') + 1, NULL, 10);
  }
  fail_msg("no metric %s", metric);
  return 0;
}

static void the_text_is_cut_as_snprintf_would(void **state) {
  char small[20];
  size_t needed = 0;
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_stats_prometheus(*state, NULL, 10, &needed));
  assert_ok(liblock_stats_prometheus(*state, small, sizeof small, &needed));
  assert_int_equal(strlen(small), sizeof small - 1);
  assert_true(needed > 2000);
  assert_ok(liblock_stats_prometheus(*state, small, sizeof small, NULL));
}

static void the_text_says_what_the_statistics_say(void **state) {
  take(*state, "a");
  assert_ok(liblock_release(*state, take(*state, "b"), NULL));
  char *text = text_of(*state);
  assert_int_equal(value_of(text, "liblock_locks_held"), 1);
  assert_int_equal(value_of(text, "liblock_acquired_total"), 2);
  assert_int_equal(value_of(text, "liblock_released_total"), 1);
  assert_int_equal(value_of(text, "liblock_dropped_events_total"), 0);
  char instance[80], label[120];
  assert_ok(liblock_instance_id(*state, instance, sizeof instance, NULL));
  snprintf(label, sizeof label, "liblock_locks_held{instance_id=\"%s\"} 1\n", instance);
  assert_non_null(strstr(text, label));
  free(text);
}

static void the_text_has_whole_histograms(void **state) {
  measure(*state, 1);
  for (int i = 0; i < 3; i++) assert_ok(liblock_release(*state, take(*state, "k"), NULL));
  char *text = text_of(*state);
  assert_int_equal(value_of(text, "liblock_acquire_seconds_count"), 3);
  assert_int_equal(value_of(text, "liblock_hold_seconds_count"), 3);
  unsigned long long last = 0, buckets = 0;
  for (const char *at = text; (at = strstr(at, "liblock_hold_seconds_bucket{")) != NULL; at++) {
    const unsigned long long value = strtoull(strchr(at, '}') + 1, NULL, 10);
    assert_true(value >= last);
    last = value;
    buckets++;
  }
  assert_int_equal(buckets, LIBLOCK_HISTOGRAM_BUCKETS);
  assert_int_equal(last, 3);
  assert_non_null(strstr(text, "le=\"0.000001\""));
  assert_non_null(strstr(text, "le=\"+Inf\"} 3\n"));
  free(text);
}

/* "# HELP name text", "# TYPE name kind", then lines of that name only. */
static void every_metric_has_its_help_and_its_type(void **state) {
  char *text = text_of(*state);
  char name[80] = "";
  int metrics = 0;
  char *rest = text;
  for (char *line = strtok_r(rest, "\n", &rest); line != NULL; line = strtok_r(rest, "\n", &rest)) {
    if (strncmp(line, "# HELP ", 7) == 0) {
      const size_t length = strcspn(line + 7, " ");
      assert_true(length < sizeof name && line[7 + length + 1] != '\0');
      memcpy(name, line + 7, length);
      name[length] = '\0';
      metrics++;
    } else if (strncmp(line, "# TYPE ", 7) == 0) {
      assert_memory_equal(line + 7, name, strlen(name));
      const char *type = line + 7 + strlen(name) + 1;
      assert_true(strcmp(type, "gauge") == 0 || strcmp(type, "counter") == 0 ||
                  strcmp(type, "histogram") == 0);
    } else {
      assert_memory_equal(line, name, strlen(name));
      assert_non_null(strstr(line, "instance_id=\""));
      assert_true(isdigit((unsigned char)line[strlen(line) - 1]));
    }
  }
  assert_int_equal(metrics, 21);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fresh(a_histogram_that_is_none_is_refused),
      fresh(nothing_is_measured_until_somebody_asks),
      fresh(every_acquire_and_every_hold_is_measured_once),
      fresh(a_long_hold_and_a_long_wait_lie_in_buckets_of_their_length),
      fresh(a_lost_lock_was_held_until_its_loss),
      fresh(the_text_is_cut_as_snprintf_would),
      fresh(the_text_says_what_the_statistics_say),
      fresh(the_text_has_whole_histograms),
      fresh(every_metric_has_its_help_and_its_type),
  };
  return cmocka_run_group_tests_name("histograms", tests, NULL, NULL);
}
