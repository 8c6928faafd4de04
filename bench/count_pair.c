/* SPDX-License-Identifier: MIT
 *
 * Uncontended pairs for instruments that count instead of measuring time: instructions, allocations, system
 * calls.
 *
 *   count-pair MODE PAIRS     MODE: single, single-lease, single-owner, many, many-lease, many-owner
 *
 * After a warm-up exactly PAIRS pairs run inside counted_pairs(), which is never inlined:
 *   instructions   valgrind --tool=callgrind --toggle-collect=counted_pairs ./count-pair single-lease 10000
 *   system calls   strace ./count-pair …: nothing may stand between the two calls of getppid()
 *   allocations    counted here, by standing in front of the C library's allocator
 * The line printed is JSON; the count of hand-overs is the library's own.
 */
#include <liblock/liblock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEYS = 64, KEY_SIZE = 16, KEYS_PER_LOCK = 3, WARM_UP = 4 * KEYS };

/* Only the thread in counted_pairs() switches this, yet what any thread allocates meanwhile is counted. */
static volatile int counting;
static volatile unsigned long allocations;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

static void note(void) {
  if (counting) ++allocations;
}
void *malloc(size_t size) {
  note();
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  note();
  return __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size) {
  note();
  return __libc_realloc(memory, size);
}
void *memalign(size_t alignment, size_t size) {
  note();
  return __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  note();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void **memory, size_t alignment, size_t size) {
  note();
  *memory = __libc_memalign(alignment, size);
  return *memory == NULL ? 12 : 0;
}
void free(void *memory) {
  if (memory != NULL) note();
  __libc_free(memory);
}

struct setup {
  liblock_context *context;
  liblock_owner *owner;
  liblock_acquire_options options;
  int many;
  char keys[KEYS][KEY_SIZE + 1];
  liblock_bytes names[KEYS + KEYS_PER_LOCK];
};

static void must(liblock_status status, const char *call) {
  if (status == LIBLOCK_OK) return;
  fprintf(stderr, "%s: %s (%s)\n", call, liblock_status_name(status), liblock_status_text(status));
  exit(2);
}

static void one_pair(const struct setup *setup, unsigned long nth) {
  const liblock_bytes *names = &setup->names[nth % KEYS];
  liblock_lock lock;
  if (setup->many) {
    must(liblock_acquire_many(setup->context, names, KEYS_PER_LOCK, &setup->options, &lock, NULL),
         "liblock_acquire_many");
  } else {
    must(liblock_acquire(setup->context, names->data, names->size, &setup->options, &lock, NULL),
         "liblock_acquire");
  }
  must(liblock_release(setup->context, lock, NULL), "liblock_release");
}

__attribute__((noinline)) void counted_pairs(const struct setup *setup, unsigned long pairs);
void counted_pairs(const struct setup *setup, unsigned long pairs) {
  for (unsigned long nth = 0; nth < pairs; ++nth) one_pair(setup, nth);
}

static int prepare(struct setup *setup, const char *mode) {
  const char *const modes[] = {"single", "single-lease", "single-owner", "many", "many-lease", "many-owner"};
  int known = 0;
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; ++i) known |= strcmp(mode, modes[i]) == 0;
  if (!known) return 0;
  must(liblock_open("local:", NULL, &setup->context, NULL), "liblock_open");
  liblock_acquire_options_init(&setup->options, sizeof setup->options);
  setup->many = strncmp(mode, "many", 4) == 0;
  if (strstr(mode, "-lease") != NULL) setup->options.ttl_ms = 30000;
  if (strstr(mode, "-owner") != NULL) {
    must(liblock_owner_open(setup->context, "counted", 7, &setup->owner, NULL), "liblock_owner_open");
    setup->options.owner = setup->owner;
  }
  for (int i = 0; i < KEYS + KEYS_PER_LOCK; ++i) {
    char *key = setup->keys[i % KEYS];
    snprintf(key, KEY_SIZE + 1, "count-pair-%05d", i % KEYS);
    setup->names[i].data = key;
    setup->names[i].size = KEY_SIZE;
  }
  return 1;
}

int main(int argc, char **argv) {
  static struct setup setup;
  char *end = NULL;
  const unsigned long pairs = argc == 3 ? strtoul(argv[2], &end, 10) : 0;
  if (pairs == 0 || *end != '\0' || !prepare(&setup, argv[1])) {
    fprintf(stderr, "usage: count-pair single|single-lease|single-owner|many|many-lease|many-owner PAIRS\n");
    return 2;
  }
  for (unsigned long nth = 0; nth < WARM_UP; ++nth) one_pair(&setup, nth);

  (void)getppid();
  counting = 1;
  counted_pairs(&setup, pairs);
  counting = 0;
  (void)getppid();

  liblock_stats stats;
  liblock_stats_init(&stats, sizeof stats);
  must(liblock_stats_get(setup.context, &stats), "liblock_stats_get");
  printf(
      "{\"mode\": \"%s\", \"pairs\": %lu, \"allocations\": %lu, \"handed_off\": %llu, \"contended\": %llu}\n",
      argv[1], pairs, allocations, (unsigned long long)stats.handed_off, (unsigned long long)stats.contended);
  liblock_owner_free(setup.owner);
  must(liblock_close(setup.context), "liblock_close");
  liblock_context_free(setup.context);
  return 0;
}
