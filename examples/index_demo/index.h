/* SPDX-License-Identifier: MIT
 * The inverted index that all threads build: for each word how often it occurs, in which documents, and how often it
 * stands beside another word. Plain memory: no atomics, no lock of its own. Whoever updates a word holds the lock on
 * that word, or, when the demo shows what happens otherwise, does not. Every array has its final size from the
 * beginning, so that a race loses updates but never corrupts memory.
 */
#ifndef INDEX_DEMO_INDEX_H
#define INDEX_DEMO_INDEX_H

#include "corpus.h"

typedef struct posting {
  uint32_t document;
  uint32_t count;
} posting;

typedef struct index_word {
  uint64_t occurrences;
  uint64_t neighbours; /* times it stood beside another word: both words of a pair change together */
  uint64_t token;      /* of the last holder: must rise */
  uint32_t posting_count, posting_room;
  posting *postings;
} index_word;

typedef struct word_index {
  index_word *words;
  posting *all_postings;
  uint32_t word_count;
} word_index;

void index_make(word_index *index, const corpus *c);
void index_free(word_index *index);
/* One more occurrence of the word in the document. pause: let another thread in between reading and writing. */
void index_add(index_word *w, uint32_t in_document, int pause);
/* The two stood beside each other. */
void index_link(index_word *a, index_word *b, int pause);
/* Words whose figures differ between the two; *missing counts the occurrences and neighbours that a has less. */
uint32_t index_differences(const word_index *a, const word_index *b, uint64_t *missing);

#endif
