/* SPDX-License-Identifier: MIT
 * The text that the demo indexes: documents as sequences of word numbers, and the dictionary behind the numbers.
 * Built by one thread, read-only afterwards, so that nothing about it needs a lock.
 */
#ifndef INDEX_DEMO_CORPUS_H
#define INDEX_DEMO_CORPUS_H

#include <stddef.h>
#include <stdint.h>

enum { WORD_SIZE_MAX = 32, DOCUMENTS_MAX = 4096, CORPUS_BYTES_MAX = 256 * 1024 * 1024 };

typedef struct word {
  char text[WORD_SIZE_MAX];
  uint32_t size;
  uint32_t documents; /* in how many documents it occurs: the room its posting list needs */
  uint32_t last_document;
} word;

typedef struct document {
  char *path;
  uint32_t *words;
  uint32_t count, capacity;
} document;

typedef struct corpus {
  document *documents;
  uint32_t document_count;
  word *words;
  uint32_t word_count, word_capacity;
  uint32_t *slots; /* hash table: word number + 1, 0 = empty */
  uint32_t slot_count;
  uint64_t occurrences, bytes;
} corpus;

/* Adds one file. 0, or -1 after a message with cause and cure. */
int corpus_add_file(corpus *c, const char *path);
/* Adds the repository's own text below the current directory, and the system's licence texts. */
void corpus_add_defaults(corpus *c);
void corpus_free(corpus *c);

#endif
