/* SPDX-License-Identifier: MIT
 * See corpus.h. A word is a run of at least three ASCII letters, in lower case, cut at 31 bytes.
 */
#include "corpus.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void *must(void *memory) {
  if (memory != NULL) return memory;
  fprintf(stderr, "index-demo: out of memory; give it fewer or smaller files\n");
  exit(2);
}

static uint32_t hash_of(const char *text, uint32_t size) {
  uint32_t hash = 2166136261u; /* FNV-1a */
  for (uint32_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
  return hash;
}

static void grow_slots(corpus *c) {
  c->slot_count = c->slot_count == 0 ? 4096 : c->slot_count * 2;
  free(c->slots);
  c->slots = must(calloc(c->slot_count, sizeof *c->slots));
  for (uint32_t w = 0; w < c->word_count; w++) {
    uint32_t at = hash_of(c->words[w].text, c->words[w].size) & (c->slot_count - 1);
    while (c->slots[at] != 0) at = (at + 1) & (c->slot_count - 1);
    c->slots[at] = w + 1;
  }
}

static uint32_t number_of(corpus *c, const char *text, uint32_t size) {
  if (c->word_count * 2 >= c->slot_count) grow_slots(c);
  uint32_t at = hash_of(text, size) & (c->slot_count - 1);
  for (; c->slots[at] != 0; at = (at + 1) & (c->slot_count - 1)) {
    const word *known = &c->words[c->slots[at] - 1];
    if (known->size == size && memcmp(known->text, text, size) == 0) return c->slots[at] - 1;
  }
  if (c->word_count == c->word_capacity) {
    c->word_capacity = c->word_capacity == 0 ? 1024 : c->word_capacity * 2;
    c->words = must(realloc(c->words, c->word_capacity * sizeof *c->words));
  }
  word *fresh = &c->words[c->word_count++];
  memset(fresh, 0, sizeof *fresh);
  memcpy(fresh->text, text, size);
  fresh->size = size;
  fresh->last_document = UINT32_MAX;
  c->slots[at] = c->word_count;
  return c->word_count - 1;
}

static void add_word(corpus *c, const char *text, uint32_t size) {
  const uint32_t number = number_of(c, text, size);
  const uint32_t here = c->document_count;
  document *d = &c->documents[here];
  if (d->count == d->capacity) {
    d->capacity = d->capacity == 0 ? 256 : d->capacity * 2;
    d->words = must(realloc(d->words, d->capacity * sizeof *d->words));
  }
  d->words[d->count++] = number;
  c->occurrences++;
  if (c->words[number].last_document == here) return;
  c->words[number].last_document = here;
  c->words[number].documents++;
}

static void add_text(corpus *c, FILE *file) {
  char text[WORD_SIZE_MAX];
  uint32_t size = 0;
  int byte;
  do {
    byte = getc(file);
    c->bytes += byte != EOF;
    if (byte != EOF && isalpha(byte) && byte < 128) {
      if (size < WORD_SIZE_MAX - 1) text[size++] = (char)tolower(byte);
      continue;
    }
    if (size >= 3) add_word(c, text, size);
    size = 0;
  } while (byte != EOF && c->bytes < CORPUS_BYTES_MAX);
}

int corpus_add_file(corpus *c, const char *path) {
  if (c->documents == NULL) c->documents = must(calloc(DOCUMENTS_MAX, sizeof *c->documents));
  if (c->document_count == DOCUMENTS_MAX || c->bytes >= CORPUS_BYTES_MAX) {
    fprintf(stderr, "index-demo: more than %d files or %d MB; give it less\n", DOCUMENTS_MAX,
            CORPUS_BYTES_MAX / 1024 / 1024);
    return -1;
  }
  struct stat status;
  FILE *file = stat(path, &status) == 0 && S_ISREG(status.st_mode) ? fopen(path, "rb") : NULL;
  if (file == NULL) {
    fprintf(stderr, "index-demo: cannot read %s: %s; name readable text files\n", path,
            errno != 0 ? strerror(errno) : "not a file");
    return -1;
  }
  add_text(c, file);
  fclose(file);
  document *d = &c->documents[c->document_count];
  if (d->count == 0) return 0; /* no words: nothing to index */
  d->path = must(strdup(path));
  c->document_count++;
  return 0;
}

static int has_text(const char *name) {
  static const char *const endings[] = {".md", ".h", ".c", ".cpp", ".hpp", ".py", ".json", ".sh"};
  const size_t size = strlen(name);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    const size_t ending = strlen(endings[i]);
    if (size > ending && strcmp(name + size - ending, endings[i]) == 0) return 1;
  }
  return 0;
}

static void add_tree(corpus *c, const char *folder, int all, int depth) {
  DIR *dir = depth > 0 ? opendir(folder) : NULL;
  if (dir == NULL) return;
  for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
    char path[4096];
    struct stat status;
    if (entry->d_name[0] == '.' || strncmp(entry->d_name, "build", 5) == 0) continue;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= sizeof path) continue;
    if (lstat(path, &status) != 0) continue;
    if (S_ISDIR(status.st_mode)) add_tree(c, path, all, depth - 1);
    const int wanted = S_ISREG(status.st_mode) && (all || has_text(entry->d_name));
    if (wanted && c->document_count < DOCUMENTS_MAX) corpus_add_file(c, path);
  }
  closedir(dir);
}

void corpus_add_defaults(corpus *c) {
  add_tree(c, ".", 0, 8);
  add_tree(c, "/usr/share/common-licenses", 1, 1);
}

void corpus_free(corpus *c) {
  for (uint32_t i = 0; c->documents != NULL && i < c->document_count; i++) {
    free(c->documents[i].path);
    free(c->documents[i].words);
  }
  free(c->documents);
  free(c->words);
  free(c->slots);
}
