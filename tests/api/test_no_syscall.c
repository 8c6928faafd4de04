/* SPDX-License-Identifier: MIT
 *
 * Once warm, an uncontended pair makes no system call: the pairs run in a forked child where any system call
 * of the thread is caught, named on stderr, and ends the child. Not built with sanitizers, whose runtimes
 * make their own.
 */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

#include "api.h"
#include "no_syscalls.h"
#include "process.h"
#include "uncontended.h"

static int make_one_system_call(void *argument) {
  (void)argument;
  const int begun = no_syscalls_begin();
  if (begun != NO_SYSCALLS_CLEAN) return begun;
  (void)syscall(SYS_getppid);
  return NO_SYSCALLS_CLEAN;
}

static void the_trap_catches_a_system_call(void **state) {
  (void)state;
  assert_int_equal(run_in_child(make_one_system_call, NULL), NO_SYSCALLS_CAUGHT);
}

struct trapped_run {
  const struct uncontended_kind *kind;
  bool other_threads; /* the runtime is running */
  bool after_global;
};

static void note_nothing(const liblock_completion *completion, void *user_data) {
  (void)completion;
  (void)user_data;
}

static int run_trapped(void *argument) {
  const struct trapped_run *run = argument;
  liblock_context *context = NULL;
  liblock_owner *owner = NULL;
  liblock_lock lock = 0;
  liblock_request request = 0;
  CHILD_CHECK(liblock_open("local:", NULL, &context, NULL) == LIBLOCK_OK);
  CHILD_CHECK(liblock_owner_open(context, KEY("o"), &owner, NULL) == LIBLOCK_OK);
  if (run->other_threads)
    CHILD_CHECK(liblock_acquire_async(context, KEY("x"), NULL, note_nothing, NULL, &request) == LIBLOCK_OK);
  if (run->after_global) {
    CHILD_CHECK(liblock_acquire_global(context, NULL, &lock, NULL) == LIBLOCK_OK);
    CHILD_CHECK(liblock_release(context, lock, NULL) == LIBLOCK_OK);
  }
  CHILD_CHECK(uncontended_run(run->kind, context, owner) == LIBLOCK_OK);
  const int begun = no_syscalls_begin();
  if (begun != NO_SYSCALLS_CLEAN) return begun;
  return uncontended_run(run->kind, context, owner) == LIBLOCK_OK ? NO_SYSCALLS_CLEAN : 1;
}

static void run_all(bool other_threads, bool after_global) {
  for (size_t i = 0; i < uncontended_kind_count; i++) {
    struct trapped_run run = {&uncontended_kinds[i], other_threads, after_global};
    const int status = run_in_child(run_trapped, &run);
    if (status != NO_SYSCALLS_CLEAN)
      fail_msg("%s: %s (%d)", run.kind->name, status == NO_SYSCALLS_CAUGHT ? "a system call" : "did not run",
               status);
  }
}

static void an_uncontended_pair_makes_no_system_call_once_warm(void **state) {
  (void)state;
  run_all(false, false);
}

static void the_same_holds_while_the_runtime_runs(void **state) {
  (void)state;
  run_all(true, false);
}

static void a_global_lock_that_came_and_went_costs_keyed_pairs_no_system_call(void **state) {
  (void)state;
  run_all(false, true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_trap_catches_a_system_call),
      cmocka_unit_test(an_uncontended_pair_makes_no_system_call_once_warm),
      cmocka_unit_test(the_same_holds_while_the_runtime_runs),
      cmocka_unit_test(a_global_lock_that_came_and_went_costs_keyed_pairs_no_system_call),
  };
  return cmocka_run_group_tests_name("no system call", tests, NULL, NULL);
}
