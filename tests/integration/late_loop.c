/* SPDX-License-Identifier: MIT
 *
 * A context on a caller's own loop, which stands still for longer than a server may take to answer while its answer is
 * on the way: the server is heard before it is given up. Prints TAP. Usage: late_loop URL
 */
#include <string.h>

#include "ends.h"
#include "server.h"
#include "tap.h"

enum { LATE_MS = 1500 }; /* command_timeout_ms is 1,000 */

static uv_loop_t loop;
static liblock_context *context;
static redisContext *server;

/* The server's numbers of the connections of liblock. */
static void list_connections(char *numbers, size_t size) {
  redisReply *list = redisCommand(server, "CLIENT LIST");
  numbers[0] = '\0';
  for (const char *line = list->str; *line != '\0'; line += strspn(line, "\n")) {
    const char *const name = strstr(line, " name=liblock"), *const end = line + strcspn(line, "\n");
    const size_t used = strlen(numbers);
    if (name != NULL && name < end) snprintf(numbers + used, size - used, "%.*s ", (int)strcspn(line, " "), line);
    line = end;
  }
  freeReplyObject(list);
}

static void ask_for(const char *key, ended *end) {
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.wait_ms = 5000;
  liblock_request request = 0;
  if (liblock_acquire_async(context, key, strlen(key), &options, on_end, end, &request) != LIBLOCK_OK)
    fatal("an acquire was not taken");
}

int main(int argc, char **argv) {
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.uv_loop = &loop;
  if (argc != 2 || uv_loop_init(&loop) != 0) fatal("usage: late_loop URL");
  if (liblock_open(argv[1], &options, &context, NULL) != LIBLOCK_OK) fatal("no context");
  server = connect_to(argv[1]);
  if (server == NULL || server->err) fatal("no connection of the test's own");

  ended first = {0}, second = {0}, closing = {0};
  ask_for("first", &first);
  check(end_of(&loop, &first, LIBLOCK_OK) == LIBLOCK_OK, "a_lock_is_acquired");
  for (int64_t until = now_ms() + 500; now_ms() < until; uv_run(&loop, UV_RUN_NOWAIT)) {} /* all connections are made */
  char before[256], after[256];
  list_connections(before, sizeof before);
  freeReplyObject(redisCommand(server, "CLIENT PAUSE 200"));
  ask_for("second", &second);
  for (int64_t until = now_ms() + 50; now_ms() < until; uv_run(&loop, UV_RUN_NOWAIT)) {} /* it is sent */
  pause_ms(LATE_MS);
  check(end_of(&loop, &second, LIBLOCK_OK) == LIBLOCK_OK, "another_one_is_acquired_by_a_loop_that_stood_still");
  list_connections(after, sizeof after);
  check_figures(strcmp(before, after) == 0, "over_the_connections_that_there_were", after);

  check(end_of(&loop, &closing, liblock_close_async(context, on_end, &closing)) == LIBLOCK_OK, "the_context_is_closed");
  liblock_context_free(context);
  redisFree(server);
  while (uv_run(&loop, UV_RUN_DEFAULT) != 0) {}
  check(uv_loop_close(&loop) == 0, "nothing_is_left_on_the_loop");
  return finish();
}
