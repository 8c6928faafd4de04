/* SPDX-License-Identifier: MIT
 *
 * A context on a server that runs on the loop of the main thread, and is used until the process is gone: by a handler
 * that runs at its exit, when what that thread kept for itself (thread_local) has been destroyed. Prints TAP.
 * Usage: exit_loop URL
 */
#include <string.h>
#include <unistd.h>

#include "ends.h"
#include "tap.h"

static const char key[] = "a key that is longer than short strings are";
static uv_loop_t loop;
static liblock_context *context;
static liblock_lock held;

static liblock_status acquire(void) {
  ended end = {0};
  liblock_request request;
  const liblock_status status =
      end_of(&loop, &end, liblock_acquire_async(context, key, strlen(key), NULL, on_end, &end, &request));
  held = end.completion.lock;
  return status;
}

static liblock_status release(void) {
  ended end = {0};
  return end_of(&loop, &end, liblock_release_async(context, held, NULL, on_end, &end, NULL));
}

static void at_exit(void) {
  check(release() == LIBLOCK_OK, "a_lock_is_released_by_an_exit_handler_on_the_loop_of_the_main_thread");
  check(acquire() == LIBLOCK_OK && release() == LIBLOCK_OK, "another_one_is_acquired_and_released_there");
  ended end = {0};
  check(acquire() == LIBLOCK_OK && end_of(&loop, &end, liblock_close_async(context, on_end, &end)) == LIBLOCK_OK,
        "the_context_is_closed_there_and_gives_back_what_it_holds");
  liblock_context_free(context);
  while (uv_run(&loop, UV_RUN_DEFAULT) != 0) {}
  check(uv_loop_close(&loop) == 0, "nothing_is_left_on_the_loop");
  const int status = finish();
  fflush(stdout);
  _exit(status);
}

int main(int argc, char **argv) {
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.uv_loop = &loop;
  if (argc != 2 || uv_loop_init(&loop) != 0) fatal("usage: exit_loop URL");
  if (liblock_open(argv[1], &options, &context, NULL) != LIBLOCK_OK) fatal("no context");
  const liblock_status first = acquire();
  if (first != LIBLOCK_OK) fatal(liblock_status_name(first));
  atexit(at_exit);
  return 0;
}
