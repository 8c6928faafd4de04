/* SPDX-License-Identifier: MIT
 *
 * Instances of a local table: the contexts that are open on it, and those that were closed and left locks behind.
 */
#include "api.h"

struct seen {
  int count, stop_after, zombies, selves;
  char last[256];
};

static int32_t see(const liblock_instance *instance, void *user_data) {
  struct seen *seen = user_data;
  assert_true(instance->struct_size >= sizeof *instance && instance->id.size < sizeof seen->last);
  memcpy(seen->last, instance->id.data, instance->id.size);
  seen->last[instance->id.size] = '\0';
  const char *at = strrchr(seen->last, '@');
  assert_non_null(at);
  assert_int_equal(instance->host.size, strlen(at + 1));
  assert_memory_equal(instance->host.data, at + 1, instance->host.size);
  assert_int_equal(instance->interval_ms, -1);
  assert_int_equal(instance->listens, !instance->is_zombie);
  assert_true(instance->silent_ms >= 0 && instance->silent_ms <= GENEROUS_MS);
  assert_true(instance->heard_us > INT64_C(1600000000000000));
  seen->zombies += instance->is_zombie;
  seen->selves += instance->is_self;
  seen->count++;
  return seen->count == seen->stop_after;
}

static struct seen list(liblock_context *context, int32_t zombies_only) {
  struct seen seen = {0};
  liblock_report report;
  liblock_instance_list_options options;
  liblock_report_init(&report, sizeof report);
  liblock_instance_list_options_init(&options, sizeof options);
  options.zombies_only = zombies_only;
  assert_ok(liblock_list_instances(context, &options, see, &seen, &report, NULL));
  assert_int_equal(report.instances, seen.count);
  assert_true(report.steps == 1 && report.elapsed_us >= 0);
  return seen;
}

static uint64_t count_locks(liblock_context *context, int32_t what) {
  liblock_list_options options;
  liblock_report report;
  liblock_list_options_init(&options, sizeof options);
  options.zombies_only = 1;
  liblock_report_init(&report, sizeof report);
  assert_ok(liblock_list_each(context, what, &options, NULL, NULL, &report, NULL));
  return report.keys;
}

static void the_contexts_of_a_table_are_its_instances(void **state) {
  (void)state;
  liblock_context *one = open_local("local:listed", NULL);
  liblock_context *two = open_local("local:listed", NULL);
  liblock_context *other = open_local("local:elsewhere", NULL);
  struct seen seen = list(two, 0);
  assert_int_equal(seen.count, 2);
  assert_int_equal(seen.selves, 1);
  assert_int_equal(seen.zombies, 0);
  seen = (struct seen){.stop_after = 1};
  assert_ok(liblock_list_instances(two, NULL, see, &seen, NULL, NULL));
  assert_int_equal(seen.count, 1);
  assert_ok(liblock_list_instances(two, NULL, NULL, NULL, NULL, NULL));
  end_context(one);
  char self[256];
  assert_ok(liblock_instance_id(two, self, sizeof self, NULL));
  seen = list(two, 0);
  assert_int_equal(seen.count, 1);
  assert_string_equal(seen.last, self);
  end_context(two);
  end_context(other);
}

static void a_closed_context_is_a_zombie_only_where_it_left_locks_and_until_they_are_cleared(void **state) {
  (void)state;
  liblock_context_options leave = context_options();
  leave.on_close = LIBLOCK_ON_CLOSE_LEAVE;
  liblock_context *keeper = open_local("local:left", NULL);
  liblock_context *one = open_local("local:left", &leave);
  liblock_context *none = open_local("local:left", &leave);
  liblock_context *global = open_local("local:left", &leave);
  take(one, "left");
  take(keeper, "held");
  end_context(none);
  end_context(one);
  struct seen seen = list(keeper, 1);
  assert_int_equal(seen.count, 1);
  assert_int_equal(seen.zombies, 1);
  assert_int_equal(list(keeper, 0).count, 3);
  assert_int_equal(count_locks(keeper, LIBLOCK_LIST_LOCKS), 1);
  assert_int_equal(count_locks(keeper, LIBLOCK_LIST_KEYS), 1);
  assert_int_equal(count_locks(keeper, LIBLOCK_LIST_QUEUES), 0);
  liblock_report report;
  liblock_report_init(&report, sizeof report);
  assert_ok(liblock_clear_dead(keeper, NULL, &report, NULL));
  assert_int_equal(report.locks, 1);
  assert_int_equal(report.instances, 1);
  assert_int_equal(list(keeper, 1).count, 0);
  assert_int_equal(count_locks(keeper, LIBLOCK_LIST_LOCKS), 0);
  assert_ok(liblock_force_release(keeper, KEY("held"), 0, NULL));
  liblock_lock lock;
  assert_ok(liblock_acquire_global(global, NULL, &lock, NULL));
  end_context(global);
  assert_int_equal(list(keeper, 1).count, 1);
  end_context(keeper);
}

static void nothing_is_done_about_zombies_in_the_background(void **state) {
  liblock_zombies_status status;
  memset(&status, 0x55, sizeof status);
  liblock_zombies_status_init(&status, sizeof status);
  assert_int_equal(status.interval_ms, -1);
  memset(&status, 0x55, sizeof status);
  status.struct_size = sizeof status;
  assert_ok(liblock_zombies_status_get(*state, &status));
  assert_int_equal(status.struct_size, sizeof status);
  assert_int_equal(status.enabled, 0);
  assert_int_equal(status.interval_ms, -1);
  assert_int_equal(status.runs + status.flushes + status.instances + status.locks + status.waiters, 0);
  assert_int_equal(status.last_run_us, 0);
  assert_int_equal(status.last_failure, LIBLOCK_OK);
  struct {
    liblock_zombies_status status;
    char newer[16];
  } large;
  memset(&large, 0x55, sizeof large);
  large.status.struct_size = sizeof large;
  assert_ok(liblock_zombies_status_get(*state, &large.status));
  assert_int_equal(large.newer[0], 0);
}

static void every_interval_in_its_range_opens_and_another_says_what_it_may_be(void **state) {
  (void)state;
  const int64_t fine[] = {-1, 100, 3600000, LIBLOCK_DEFAULT};
  liblock_context_options options = context_options();
  liblock_context *context = NULL;
  for (size_t i = 0; i < COUNT_OF(fine); i++) {
    options.zombie_interval_ms = fine[i];
    end_context(open_local("local:", &options));
  }
  options.zombie_interval_ms = 99;
  liblock_result result = LIBLOCK_RESULT_INIT;
  assert_status(LIBLOCK_INVALID_ARGUMENT, liblock_open("local:", &options, &context, &result));
  assert_string_equal(result.message,
                      "zombie_interval_ms is 99; use 100 to 3600000, -1 for off, or LIBLOCK_DEFAULT");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_contexts_of_a_table_are_its_instances),
      cmocka_unit_test(a_closed_context_is_a_zombie_only_where_it_left_locks_and_until_they_are_cleared),
      fresh(nothing_is_done_about_zombies_in_the_background),
      cmocka_unit_test(every_interval_in_its_range_opens_and_another_says_what_it_may_be),
  };
  return cmocka_run_group_tests_name("instances", tests, NULL, NULL);
}
