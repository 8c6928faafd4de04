/* SPDX-License-Identifier: MIT
 * What an agent is told: NUMBER VERB ARGUMENT… OPTION=VALUE…, on one line; arguments and values are percent-encoded.
 */
#ifndef AGENT_REQUEST_H
#define AGENT_REQUEST_H

#include <liblock/liblock.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 40 };

struct word {
  char *text;
  size_t size;
};

struct request {
  char *line;
  const char *number;
  size_t count;
  struct word words[WORDS_MAX];
};

static void decode(struct word *word) {
  char *to = word->text;
  for (const char *from = word->text; *from; from++) {
    unsigned byte;
    if (*from == '%' && sscanf(from + 1, "%2x", &byte) == 1) {
      *to++ = (char)byte;
      from += 2;
    } else {
      *to++ = *from;
    }
  }
  *to = '\0';
  word->size = (size_t)(to - word->text);
}

static const struct word *option(const struct request *request, const char *name) {
  static _Thread_local struct word found;
  const size_t size = strlen(name);
  for (size_t i = 1; i < request->count; i++) {
    const struct word *word = &request->words[i];
    if (strncmp(word->text, name, size) != 0 || word->text[size] != '=') continue;
    found = (struct word){word->text + size + 1, word->size - size - 1};
    return &found;
  }
  return NULL;
}

static int64_t number_option(const struct request *request, const char *name, int64_t otherwise) {
  const struct word *word = option(request, name);
  if (!word) return otherwise;
  if (strcmp(word->text, "AUTO") == 0) return LIBLOCK_TTL_AUTO;
  if (strcmp(word->text, "NONE") == 0) return LIBLOCK_TTL_NONE;
  return strtoll(word->text, NULL, 10);
}

static const char *text_option(const struct request *request, const char *name) {
  return option(request, name) ? option(request, name)->text : NULL;
}

static struct request *read_request(char *line) {
  struct request *request = calloc(1, sizeof *request);
  request->line = line;
  char *rest = line, *word;
  request->number = strsep(&rest, " ");
  while (request->count < WORDS_MAX && (word = strsep(&rest, " ")) != NULL) {
    request->words[request->count] = (struct word){word, 0};
    decode(&request->words[request->count++]);
  }
  return request;
}

#endif
