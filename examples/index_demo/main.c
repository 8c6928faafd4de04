/* SPDX-License-Identifier: MIT
 * liblock's main job on real input: many threads build one inverted index of a set of files, each word guarded by its
 * own lock. The result is compared, word by word, with that of one thread; then the same work runs without locks, to
 * show what they are good for. Exit status: 0 verified, 1 something was wrong, 2 unusable arguments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workers.h"

static const char *label = "";
static double last_share = -1;

static void show_progress(double share) {
  if (share > 1) share = 1;
  if (isatty(1)) {
    printf("\r  %s %3.0f %%", label, share * 100);
    fflush(stdout);
  } else if (share - last_share >= 0.25) {
    printf("  %s %3.0f %%\n", label, share * 100);
    last_share = share;
  }
}

static void end_progress(void) {
  if (isatty(1)) printf("\r                                        \r");
  last_share = -1;
}

static int usage(int status) {
  fprintf(status == 0 ? stdout : stderr,
          "usage: index-demo [--threads N] [FILE...]\n"
          "Indexes the words of the files (default: the text below this folder and the system's licence\n"
          "texts) with N threads (1 to %d, default 8) under liblock's locks, and verifies the result.\n",
          THREADS_MAX);
  return status;
}

static uint64_t wait_percentile(const run_report *r, double share) {
  const double wanted = (double)r->waited * share;
  uint64_t seen = 0;
  for (int i = 0; i < WAIT_BUCKETS; i++) {
    seen += r->wait_us[i];
    if (seen > 0 && (double)seen >= wanted) return 1ull << i;
  }
  return 0;
}

static void print_tokens(const corpus *c, const word_index *index) {
  uint32_t top[3] = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
  for (uint32_t w = 0; w < index->word_count; w++) {
    uint32_t at = 3;
    while (at > 0 && (top[at - 1] == UINT32_MAX ||
                      index->words[w].occurrences > index->words[top[at - 1]].occurrences)) {
      at--;
    }
    for (uint32_t i = 2; at < 3 && i > at; i--) top[i] = top[i - 1];
    if (at < 3) top[at] = w;
  }
  printf("  fencing tokens of the busiest words (each grant of a key has a larger one than the last):\n");
  for (int i = 0; i < 3 && top[i] != UINT32_MAX; i++) {
    const index_word *w = &index->words[top[i]];
    printf("    %-12s %9llu occurrences, last token %llu\n", c->words[top[i]].text,
           (unsigned long long)w->occurrences, (unsigned long long)w->token);
  }
}

/* Without locks on one CPU nothing may be lost for a while, so it tries a few times. */
static void show_lost_updates(const corpus *c, const word_index *expected, int threads) {
  for (int round = 1; round <= 5; round++) {
    word_index unlocked;
    run_report r;
    uint64_t missing = 0;
    index_make(&unlocked, c);
    label = "without locks";
    build_index(c, &unlocked, NULL, threads, show_progress, &r);
    end_progress();
    const uint32_t different = index_differences(&unlocked, expected, &missing);
    index_free(&unlocked);
    if (different == 0) continue;
    printf("3. the same without locks: %u words wrong, %llu updates lost (%.0f updates/s)\n", different,
           (unsigned long long)missing, (double)r.updates / r.seconds);
    return;
  }
  printf("3. the same without locks: nothing was lost in 5 runs, by luck; more threads or files lose some\n");
}

static int run(const corpus *c, int threads) {
  word_index expected, locked;
  run_report one, many;
  uint64_t missing = 0;
  liblock_context *context = NULL;
  liblock_result result = LIBLOCK_RESULT_INIT;
  if (liblock_open("local:index-demo", NULL, &context, &result) != LIBLOCK_OK) {
    fprintf(stderr, "index-demo: open: %s\n", result.message);
    return 1;
  }
  printf("%u files, %llu words, %u different; liblock %s\n", c->document_count, (unsigned long long)c->occurrences,
         c->word_count, liblock_version_string());
  index_make(&expected, c);
  build_index(c, &expected, NULL, 1, NULL, &one);
  printf("1. one thread, no locks: %llu updates in %.2f s: this is what must come out\n",
         (unsigned long long)one.updates, one.seconds);
  index_make(&locked, c);
  label = "under locks";
  build_index(c, &locked, context, threads, show_progress, &many);
  end_progress();
  const uint32_t different = index_differences(&locked, &expected, &missing);
  printf("2. %d threads under per-word locks: %llu updates in %.2f s\n", threads, (unsigned long long)many.updates,
         many.seconds);
  printf("  %.0f locks/s, %.0f updates/s; %llu locks taken, %llu had to wait", (double)many.acquires / many.seconds,
         (double)many.updates / many.seconds, (unsigned long long)many.acquires, (unsigned long long)many.waited);
  printf(" (p50 <= %llu us, p99 <= %llu us)\n", (unsigned long long)wait_percentile(&many, 0.50),
         (unsigned long long)wait_percentile(&many, 0.99));
  printf("  %llu deadlocks reported and resolved, %llu fencing tokens out of order\n",
         (unsigned long long)many.deadlocks, (unsigned long long)many.token_regressions);
  print_tokens(c, &locked);
  show_lost_updates(c, &expected, threads);
  liblock_stats stats;
  liblock_stats_init(&stats, sizeof stats);
  const int asked = liblock_stats_get(context, &stats) == LIBLOCK_OK;
  const int fine = asked && different == 0 && !many.failed && many.token_regressions == 0 && stats.locks_held == 0;
  if (fine) {
    printf("verified: all %u words equal the single-threaded result, no lock is left held\n", c->word_count);
  } else {
    printf("WRONG: %u words differ, %llu locks left held\n", different, (unsigned long long)stats.locks_held);
  }
  index_free(&expected);
  index_free(&locked);
  liblock_context_free(context);
  return fine ? 0 : 1;
}

int main(int argc, char **argv) {
  int threads = 8, first = 1;
  for (; first < argc && argv[first][0] == '-'; first++) {
    if (strcmp(argv[first], "--help") == 0) return usage(0);
    if (strcmp(argv[first], "--threads") != 0 || ++first == argc) return usage(2);
    char *end = NULL;
    const long asked = strtol(argv[first], &end, 10);
    if (*end != '\0' || asked < 1 || asked > THREADS_MAX) return usage(2);
    threads = (int)asked;
  }
  corpus c;
  memset(&c, 0, sizeof c);
  for (int i = first; i < argc; i++) {
    if (corpus_add_file(&c, argv[i]) != 0) return 2;
  }
  if (first == argc) corpus_add_defaults(&c);
  int status = 2;
  if (c.word_count == 0) {
    fprintf(stderr, "index-demo: no words found; name text files, or run it inside the repository\n");
  } else {
    status = run(&c, threads);
  }
  corpus_free(&c);
  return status;
}
