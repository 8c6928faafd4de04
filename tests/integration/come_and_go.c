/* SPDX-License-Identifier: MIT
 *
 * Contexts come, lock and go, very many of them, locally and on a server: afterwards the process has the descriptors,
 * the threads and the memory that it had after the first few, and the server their connections no more. Memory that the
 * library keeps for later is left out by ../torture/no_spare_memory.cpp: who ends what is chance. Prints TAP.
 * Usage: come_and_go URL (a server that nobody else uses). LIBLOCK_TEST_SIZE=quick has a tenth of them.
 */
#include <dirent.h>
#include <liblock/liblock.h>
#include <malloc.h>
#include <string.h>

#include "server.h"
#include "tap.h"

enum {
  LOCAL = 100000,
  REMOTE = 10000,
  KEYS = 97,
  FIRST_FEW = 100,
  SETTLE_TRIES = 200,
  SETTLE_MS = 10,
  BEFORE_LOOKING_MS = 200,
  PATIENCE_MS = 5000, /* a busy machine is no reason to be in doubt */
  ALLOWED_BYTES = 8 * 1024 /* less than the smallest block of each of a quick form */
};

struct left {
  long descriptors, threads, bytes;
};

static long entries_of(const char *path) {
  DIR *directory = opendir(path);
  if (directory == NULL) fatal(path);
  long count = 0;
  while (readdir(directory) != NULL) ++count;
  closedir(directory);
  return count;
}

static struct left look(void) {
  return (struct left){entries_of("/proc/self/fd"), entries_of("/proc/self/task"), (long)mallinfo2().uordblks};
}

static bool is_no_more(const struct left *now, const struct left *first) {
  return now->descriptors <= first->descriptors && now->threads <= first->threads &&
         now->bytes <= first->bytes + ALLOWED_BYTES;
}

/* Threads that nobody needs any more end a moment later. */
static struct left settle(const struct left *first) {
  struct left now = look();
  for (int tries = 0; tries < SETTLE_TRIES && !is_no_more(&now, first); ++tries) {
    pause_ms(SETTLE_MS);
    now = look();
  }
  return now;
}

static void must(liblock_status status, const char *what) {
  if (status == LIBLOCK_OK) return;
  printf("# %s: %s\n", what, liblock_status_name(status));
  fatal(what);
}

/* A key of many, and every other lock is left to the close. */
static void come_and_go(const char *url, long count) {
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.connect_timeout_ms = options.command_timeout_ms = PATIENCE_MS;
  for (long n = 0; n < count; ++n) {
    liblock_context *context = NULL;
    liblock_lock lock = 0;
    char key[24];
    const int size = snprintf(key, sizeof key, "key %ld", n % KEYS);
    must(liblock_open(url, &options, &context, NULL), "open");
    must(liblock_acquire(context, key, (size_t)size, NULL, &lock, NULL), "acquire");
    if (n % 2 == 0) must(liblock_release(context, lock, NULL), "release");
    must(liblock_close(context), "close");
    liblock_context_free(context);
  }
}

static void leaves_nothing(const char *url, long count, const char *name) {
  come_and_go(url, FIRST_FEW);
  pause_ms(BEFORE_LOOKING_MS);
  const struct left first = look();
  const int64_t began = now_ms();
  come_and_go(url, count);
  const int64_t took = now_ms() - began;
  const struct left now = settle(&first);
  char figures[160];
  snprintf(figures, sizeof figures, "%ld in %.1f s; descriptors %+ld, threads %+ld, bytes %+ld", count,
           (double)took / 1000, now.descriptors - first.descriptors, now.threads - first.threads,
           now.bytes - first.bytes);
  check_figures(is_no_more(&now, &first), name, figures);
}

static redisReply *info_of(redisContext *server) {
  redisReply *info = redisCommand(server, "INFO");
  if (info == NULL || info->type == REDIS_REPLY_ERROR) fatal("the server says nothing of itself");
  return info;
}

/* What it does not name there is none of. */
static long long said(const redisReply *info, const char *name) {
  const char *at = strstr(info->str, name);
  return at != NULL ? strtoll(at + strlen(name), NULL, 10) : 0;
}

static long long of_server(redisContext *server, const char *name) {
  redisReply *info = info_of(server);
  const long long value = said(info, name);
  freeReplyObject(info);
  return value;
}

/* A server that closes a connection may do so a moment later. */
static bool has_come_down_to(redisContext *server, long long clients) {
  for (int tries = 0; tries < SETTLE_TRIES; ++tries) {
    if (of_server(server, "\r\nconnected_clients:") <= clients) return true;
    pause_ms(SETTLE_MS);
  }
  return false;
}

int main(int argc, char **argv) {
  redisContext *server = argc == 2 ? connect_to(argv[1]) : NULL;
  if (server == NULL || server->err) fatal("usage: come_and_go URL");
  const char *size = getenv("LIBLOCK_TEST_SIZE");
  const int part = size == NULL || strcmp(size, "quick") == 0 ? 10 : 1;
  leaves_nothing("local:", LOCAL / part, "local_contexts_leave_nothing_in_the_process");
  const long long clients = of_server(server, "\r\nconnected_clients:");
  leaves_nothing(argv[1], REMOTE / part, "contexts_on_a_server_leave_nothing_in_the_process");
  char figures[64];
  snprintf(figures, sizeof figures, "%lld connections were made",
           of_server(server, "\r\ntotal_connections_received:"));
  check_figures(has_come_down_to(server, clients), "the_server_has_none_of_their_connections_left", figures);
  redisReply *info = info_of(server);
  const long long keys = said(info, "keys="), expiring = said(info, "expires=");
  snprintf(figures, sizeof figures, "%lld keys", keys);
  check_figures(keys >= KEYS && keys == expiring, "every_key_that_they_left_there_expires", figures);
  freeReplyObject(info);
  redisFree(server);
  return finish();
}
