/* SPDX-License-Identifier: MIT
 *
 * Walks a path for instruments that count: `costs PATH ROUNDS [URL]`. After a warm-up the rounds run in
 * costs_counted_rounds, which is never inlined, between two system calls that nobody else makes (getppid) and two lines
 * "mark", each of which waits for a line of input, so that servers can be asked what they have seen. At last a line of
 * JSON says how many operations that were, how often the allocator was called for them, and what compiled it. `costs`
 * alone lists the paths.
 *
 * The allocator is counted by standing in front of the C library's, for all threads and all libraries of the process.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "costs.h"

enum { WARM_UP = 2 * COSTS_KEYS };

static atomic_ulong allocations;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static void *counted(void *memory) {
  atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
  return memory;
}
void *malloc(size_t size) { return counted(__libc_malloc(size)); }
void *calloc(size_t count, size_t size) { return counted(__libc_calloc(count, size)); }
void *realloc(void *memory, size_t size) { return counted(__libc_realloc(memory, size)); }
void *aligned_alloc(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size)); }
int posix_memalign(void **memory, size_t alignment, size_t size) {
  *memory = counted(__libc_memalign(alignment, size));
  return *memory != NULL ? 0 : ENOMEM;
}

void costs_must(liblock_status status, liblock_status expected, const char *call) {
  if (status == expected) return;
  fprintf(stderr, "%s: %s (%s)\n", call, liblock_status_name(status), liblock_status_text(status));
  exit(2);
}

const liblock_bytes *costs_key(const struct costs *costs, unsigned long nth) {
  return &costs->keys[nth % COSTS_KEYS];
}

void costs_open(struct costs *costs) {
  COSTS_MUST(liblock_open(costs->url, NULL, &costs->context, NULL));
  COSTS_MUST(liblock_owner_open(costs->context, "counted", 7, &costs->owner, NULL));
}

void costs_close(struct costs *costs) {
  liblock_completions_free(costs->completions);
  liblock_owner_free(costs->owner);
  COSTS_MUST(liblock_close(costs->context));
  liblock_context_free(costs->context);
}

static const struct costs_path *path_named(const char *name) {
  const struct costs_path *const all[] = {costs_local_paths, costs_asynchronous_paths, costs_remote_paths};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
    for (const struct costs_path *path = all[i]; path->name != NULL; ++path) {
      if (name == NULL) puts(path->name);
      if (name != NULL && strcmp(path->name, name) == 0) return path;
    }
  }
  return NULL;
}

static void make_keys(struct costs *costs) {
  static char text[COSTS_KEYS][COSTS_KEY_SIZE + 1];
  for (int i = 0; i < COSTS_KEYS; ++i) {
    snprintf(text[i], sizeof text[i], "what-it-costs-%02d", i);
    costs->keys[i].data = text[i];
    costs->keys[i].size = COSTS_KEY_SIZE;
  }
}

static void print_counts(unsigned long operations, unsigned long allocated) {
#if defined(__clang__)
  const char *compiler = "clang";
  const int major = __clang_major__;
#else
  const char *compiler = "gcc";
  const int major = __GNUC__;
#endif
#if defined(__x86_64__)
  const char *machine = "x86_64";
#elif defined(__aarch64__)
  const char *machine = "aarch64";
#else
  const char *machine = "another machine";
#endif
  printf("{\"operations\": %lu, \"allocations\": %lu, \"made_by\": \"%s %d on %s\"}\n", operations, allocated,
         compiler, major, machine);
}

static void mark(void) {
  puts("mark");
  fflush(stdout);
  for (int c = getchar(); c != '\n' && c != EOF;) c = getchar();
}

/* Whatever is made once and kept, for each key and each pool, is there after this. */
static unsigned long warm_up(const struct costs_path *path, struct costs *costs) {
  const unsigned long rounds = path->operations < WARM_UP ? WARM_UP / path->operations : 1;
  for (unsigned long nth = 0; nth < rounds; ++nth) path->round(costs, nth);
  return rounds;
}

__attribute__((noinline)) void costs_counted_rounds(const struct costs_path *path, struct costs *costs,
                                                    unsigned long from, unsigned long to);
void costs_counted_rounds(const struct costs_path *path, struct costs *costs, unsigned long from,
                          unsigned long to) {
  for (unsigned long nth = from; nth < to; ++nth) path->round(costs, nth);
}

int main(int argc, char **argv) {
  static struct costs costs;
  char *end = NULL;
  const unsigned long rounds = argc >= 3 ? strtoul(argv[2], &end, 10) : 0;
  const struct costs_path *path = path_named(argc >= 3 ? argv[1] : NULL);
  if (argc == 1) return 0;
  if (path == NULL || rounds == 0 || *end != '\0') {
    fprintf(stderr, "usage: costs PATH ROUNDS [URL]; costs alone lists the paths\n");
    return 2;
  }
  costs.url = argc > 3 ? argv[3] : "local:";
  make_keys(&costs);
  liblock_acquire_options_init(&costs.options, sizeof costs.options);
  path->prepare(&costs);
  const unsigned long first = warm_up(path, &costs);
  mark();
  const unsigned long before = atomic_load(&allocations);
  (void)getppid();
  costs_counted_rounds(path, &costs, first, first + rounds);
  (void)getppid();
  const unsigned long allocated = atomic_load(&allocations) - before;
  mark();
  print_counts(rounds * path->operations, allocated);
  path->finish(&costs);
  return 0;
}
