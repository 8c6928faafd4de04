/* SPDX-License-Identifier: MIT
 *
 * Run with the portable object in place of the other one: that it is this one which answers, since what a test proves
 * of the wrong object is nothing. Only there the descriptor of a completion queue is a pipe.
 */
#define _POSIX_C_SOURCE 200809L

#include "api.h"

#include <stdio.h>
#include <unistd.h>

static void the_object_that_is_loaded_is_the_portable_one(void **state) {
  liblock_context *context = *state;
  liblock_completions *queue = NULL;
  int32_t fd = -1;
  char path[64], target[64] = "";
  assert_int_equal(liblock_completions_open(context, 1, &queue, NULL), LIBLOCK_OK);
  assert_int_equal(liblock_completions_fd(queue, &fd), LIBLOCK_OK);
  snprintf(path, sizeof path, "/proc/self/fd/%d", (int)fd);
  assert_true(readlink(path, target, sizeof target - 1) > 0);
  liblock_completions_free(queue);
  assert_memory_equal(target, "pipe:", 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {fresh(the_object_that_is_loaded_is_the_portable_one)};
  return cmocka_run_group_tests_name("portable", tests, NULL, NULL);
}
