/* SPDX-License-Identifier: MIT
 *
 * What was asked for an owner before he was closed is done, what is asked for afterwards is not. On the caller's loop,
 * where nothing runs between the two. Prints TAP. Usage: closed_owner URL
 */
#include <string.h>

#include "ends.h"
#include "tap.h"

enum { PATIENCE_MS = 5000 }; /* a busy machine is no reason to be in doubt */

static uv_loop_t loop;

static void must(liblock_status status, const char *what) {
  if (status == LIBLOCK_OK) return;
  printf("# %s: %s\n", what, liblock_status_name(status));
  fatal(what);
}

static liblock_context *open_on_loop(const char *url) {
  liblock_context *context = NULL;
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.uv_loop = &loop;
  options.connect_timeout_ms = options.command_timeout_ms = PATIENCE_MS;
  must(liblock_open(url, &options, &context, NULL), "open");
  return context;
}

static void acquire(liblock_context *context, liblock_owner *owner, const char *key) {
  ended end = {0};
  liblock_request request;
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.owner = owner;
  must(end_of(&loop, &end,
              liblock_acquire_async(context, key, strlen(key), &options, on_end, &end, &request)), "acquire");
}

static void close_all(liblock_context *context, liblock_owner *owner) {
  ended end = {0};
  must(end_of(&loop, &end, liblock_close_async(context, on_end, &end)), "close");
  liblock_owner_free(owner);
  liblock_context_free(context);
  while (uv_run(&loop, UV_RUN_DEFAULT) != 0) {}
}

int main(int argc, char **argv) {
  if (argc != 2 || uv_loop_init(&loop) != 0) fatal("usage: closed_owner URL");
  liblock_context *context = open_on_loop(argv[1]);
  liblock_owner *owner = NULL;
  must(liblock_owner_open(context, "owner", 5, &owner, NULL), "open an owner");
  acquire(context, owner, "first");
  acquire(context, owner, "second");

  const liblock_bytes first = {"first", 5}, second = {"second", 6};
  ended before = {0}, after = {0};
  const liblock_status asked = liblock_release_keys_async(context, owner, &first, 1, NULL, on_end, &before, NULL);
  must(liblock_owner_close(owner), "close the owner");
  const liblock_status late = liblock_release_keys_async(context, owner, &second, 1, NULL, on_end, &after, NULL);
  check(end_of(&loop, &before, asked) == LIBLOCK_OK,
        "keys_that_were_given_back_before_their_owner_was_closed_are_given_back");
  check(end_of(&loop, &after, late) == LIBLOCK_CLOSED,
        "keys_that_are_given_back_afterwards_are_those_of_a_closed_owner");
  close_all(context, owner);
  check(uv_loop_close(&loop) == 0, "nothing_is_left_on_the_loop");
  return finish();
}
