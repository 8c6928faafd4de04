/* SPDX-License-Identifier: MIT
 *
 * `burst URL COUNT`: so many acquires at once, and so many releases at once (under a sanitizer of so many times fewer),
 * which take a server longer than it may take to answer one. All are granted and given back, nothing is lost meanwhile,
 * and a lease that was there before is kept. URL: servers that nobody else uses. Prints TAP.
 */
#include <liblock/liblock.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "tap.h"

enum { COMMAND_TIMEOUT_MS = 200 }; /* of a node, unless a sanitizer takes the processors from the servers as well */

static void must(liblock_status status, const char *what) {
  if (status == LIBLOCK_OK) return;
  printf("Bail out! %s: %s\n", what, liblock_status_name(status));
  exit(3);
}

static atomic_int lost;

static void count_lost(const liblock_completion *completion, void *user_data) {
  (void)completion, (void)user_data;
  lost++;
}

struct ends {
  int ok, others;
  liblock_status other; /* the last */
  const char *why;      /* static text */
};

/* The ends of so many requests, of which `locks` takes the locks where it is not NULL. */
static struct ends take_ends(liblock_completions *queue, int count, liblock_lock *locks) {
  struct ends ends = {0, 0, LIBLOCK_OK, ""};
  for (int i = 0; i < count; i++) {
    liblock_completion end = {.struct_size = sizeof end};
    must(liblock_completions_next(queue, 120000, &end), "the end of a request, within two minutes");
    if (end.status == LIBLOCK_OK && locks != NULL) locks[ends.ok] = end.lock;
    if (end.status == LIBLOCK_OK) {
      ends.ok++;
    } else {
      ends.others++;
      ends.other = end.status;
      ends.why = end.message != NULL ? end.message : "";
    }
  }
  return ends;
}

static void check_ends(struct ends ends, int count, int64_t began_ms, const char *name) {
  char figures[512];
  snprintf(figures, sizeof figures, "%d of %d in %.1f s, %d others, the last of them %s %s", ends.ok, count,
           (double)(now_ms() - began_ms) / 1e3, ends.others, liblock_status_name(ends.other), ends.why);
  check_figures(ends.ok == count, name, figures);
}

int main(int count_of_words, char **words) {
  const int count = count_of_words == 3 ? (int)((double)strtol(words[2], NULL, 10) / slowness()) : 0;
  if (count < 1) {
    fprintf(stderr, "usage: burst URL COUNT\n");
    return 2;
  }
  liblock_context *context;
  liblock_context_options how;
  liblock_context_options_init(&how, sizeof how);
  if (slowness() > 1) how.command_timeout_ms = (int64_t)(COMMAND_TIMEOUT_MS * slowness());
  must(liblock_open(words[1], &how, &context, NULL), "open");
  liblock_completions *queue;
  must(liblock_completions_open(context, (uint32_t)count, &queue, NULL), "a queue of completions");
  liblock_lock *const locks = calloc((size_t)count, sizeof *locks);
  if (locks == NULL) fatal("no memory");
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.ttl_ms = (int)(3000 * slowness());
  options.renew = 1;
  options.on_lost = count_lost;
  liblock_lock kept;
  must(liblock_acquire(context, "kept", 4, &options, &kept, NULL), "an acquire");

  options.ttl_ms = 60000;
  options.wait_ms = 120000;
  options.completions = queue;
  int64_t began_ms = now_ms();
  for (int i = 0; i < count; i++) {
    char key[24];
    liblock_request request;
    const int size = snprintf(key, sizeof key, "burst-%d", i);
    must(liblock_acquire_async(context, key, (size_t)size, &options, NULL, NULL, &request), "an acquire");
  }
  check_ends(take_ends(queue, count, locks), count, began_ms, "all that are asked for at once are granted");
  int held = 0;
  for (int i = 0; i < count; i++) held += liblock_is_held(context, locks[i]) == LIBLOCK_OK;
  check(held == count && lost == 0 && liblock_is_held(context, kept) == LIBLOCK_OK, "nothing is lost meanwhile");

  pause_ms(2000); /* the last of them is renewed once by then, for longer than what follows takes */
  began_ms = now_ms();
  for (int i = 0; i < count; i++)
    must(liblock_release_async(context, locks[i], queue, NULL, NULL, NULL), "a release");
  check_ends(take_ends(queue, count, NULL), count, began_ms, "all that are given back at once are free");
  check(lost == 0 && liblock_is_held(context, kept) == LIBLOCK_OK, "and nothing is lost meanwhile");
  liblock_completions_free(queue);
  liblock_context_free(context);
  free(locks);
  return finish();
}
