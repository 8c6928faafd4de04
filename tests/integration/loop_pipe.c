/* SPDX-License-Identifier: MIT
 *
 * A context on a server behind a unix socket, on the loop of the caller's thread, whose server is killed: before the
 * next request, and while more waits to be written than the socket takes. The host hears of it by the status of its
 * calls, and never by a SIGPIPE, which would end it. Prints TAP.
 * Usage: loop_pipe URL PID (of the server, which nobody else uses, and which is killed)
 */
#include <liblock/liblock.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "tap.h"

enum { WAITING = 1000, VALUE_BYTES = 4096 };

static uv_loop_t loop;
static volatile sig_atomic_t signals;
static int ended;
static liblock_status last;

static void on_signal(int number) {
  (void)number;
  signals++;
}

static void on_end(const liblock_completion *completion, void *user_data) {
  (void)user_data;
  last = completion->status;
  ended++;
}

static bool ask(liblock_context *context, const char *key, const liblock_acquire_options *options) {
  liblock_request request;
  return liblock_acquire_async(context, key, strlen(key), options, on_end, NULL, &request) == LIBLOCK_OK;
}

static void await(int count) {
  while (ended < count) uv_run(&loop, UV_RUN_ONCE);
}

/* It is gone when nobody accepts there any more; the loop is not turned meanwhile, and hears nothing of it. */
static void kill_server(const char *path, pid_t server) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  kill(server, SIGKILL);
  for (bool is_there = true; is_there;) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    is_there = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
  }
}

static bool blocks_signal(void) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  return sigismember(&mask, SIGPIPE) == 1;
}

/* More than the server, which stands still, takes. */
static void fill(liblock_context *context) {
  static char value[VALUE_BYTES];
  memset(value, 'v', sizeof value);
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.value = value;
  options.value_size = sizeof value;
  options.wait_ms = 1000;
  for (int i = 0; i < WAITING; i++) {
    char key[16];
    snprintf(key, sizeof key, "key %d", i);
    if (!ask(context, key, &options)) exit(3);
  }
  for (int turns = 0; turns < 20; turns++) uv_run(&loop, UV_RUN_NOWAIT);
}

int main(int count, char **words) {
  if (count != 4) {
    fprintf(stderr, "usage: loop_pipe URL PID idle|full\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  const bool is_full = strcmp(words[3], "full") == 0;
  const pid_t server = (pid_t)strtol(words[2], NULL, 10);
  signal(SIGPIPE, on_signal);
  uv_loop_init(&loop);
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.uv_loop = &loop;
  liblock_context *context;
  if (liblock_open(words[1], &options, &context, NULL) != LIBLOCK_OK) return 3;
  if (!ask(context, "first", NULL)) return 3;
  await(1);
  check(last == LIBLOCK_OK, "a_lock_is_acquired");
  if (is_full) {
    kill(server, SIGSTOP);
    fill(context);
  }
  kill_server(strstr(words[1], "unix://") + strlen("unix://"), server);
  liblock_acquire_options brief;
  liblock_acquire_options_init(&brief, sizeof brief);
  brief.wait_ms = 0;
  if (!ask(context, "second", &brief)) return 3;
  await(is_full ? 2 + WAITING : 2);
  check(last != LIBLOCK_OK, "who_asks_a_server_that_is_gone_is_told_so");
  check(signals == 0, "no_signal_reaches_the_thread_of_the_loop");
  check(!blocks_signal(), "its_mask_is_what_it_was");
  liblock_close_async(context, on_end, NULL);
  while (uv_run(&loop, UV_RUN_DEFAULT) != 0) {}
  liblock_context_free(context);
  while (uv_run(&loop, UV_RUN_DEFAULT) != 0) {}
  check(uv_loop_close(&loop) == 0, "nothing_is_left_on_the_loop");
  return finish();
}
