/* SPDX-License-Identifier: MIT
 * See index.h. The updates are exempt from the thread sanitizer: the run without locks races on purpose.
 */
#include "index.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define RACES_ON_PURPOSE __attribute__((no_sanitize("thread"), noinline))

void index_make(word_index *index, const corpus *c) {
  uint64_t room = 0;
  index->word_count = c->word_count;
  for (uint32_t w = 0; w < c->word_count; w++) room += c->words[w].documents;
  index->words = calloc(c->word_count + 1, sizeof *index->words);
  index->all_postings = calloc(room + 1, sizeof *index->all_postings);
  if (index->words == NULL || index->all_postings == NULL) {
    fprintf(stderr, "index-demo: out of memory; give it fewer or smaller files\n");
    exit(2);
  }
  posting *next = index->all_postings;
  for (uint32_t w = 0; w < c->word_count; w++) {
    index->words[w].postings = next;
    index->words[w].posting_room = c->words[w].documents;
    next += c->words[w].documents;
  }
}

void index_free(word_index *index) {
  free(index->words);
  free(index->all_postings);
}

RACES_ON_PURPOSE void index_add(index_word *w, uint32_t in_document, int pause) {
  const uint64_t occurrences = w->occurrences;
  if (pause) sched_yield();
  w->occurrences = occurrences + 1;
  uint32_t at = 0;
  while (at < w->posting_count && at < w->posting_room && w->postings[at].document != in_document) at++;
  if (at >= w->posting_room) return; /* only a race can come here */
  if (at == w->posting_count) {
    w->postings[at].document = in_document;
    w->posting_count = at + 1;
  }
  w->postings[at].count++;
}

RACES_ON_PURPOSE void index_link(index_word *a, index_word *b, int pause) {
  const uint64_t of_a = a->neighbours, of_b = b->neighbours;
  if (pause) sched_yield();
  a->neighbours = of_a + 1;
  b->neighbours = of_b + 1;
}

static uint64_t postings_sum(const index_word *w) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < w->posting_count && i < w->posting_room; i++) {
    sum += (uint64_t)w->postings[i].count * (w->postings[i].document + 1);
  }
  return sum;
}

uint32_t index_differences(const word_index *a, const word_index *b, uint64_t *missing) {
  uint32_t different = 0;
  *missing = 0;
  for (uint32_t w = 0; w < a->word_count; w++) {
    const index_word *x = &a->words[w], *y = &b->words[w];
    different += x->occurrences != y->occurrences || x->neighbours != y->neighbours ||
                 x->posting_count != y->posting_count || postings_sum(x) != postings_sum(y);
    if (y->occurrences > x->occurrences) *missing += y->occurrences - x->occurrences;
    if (y->neighbours > x->neighbours) *missing += y->neighbours - x->neighbours;
  }
  return different;
}
