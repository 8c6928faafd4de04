/* SPDX-License-Identifier: MIT
 *
 * Faults, arena, bytes and words: see base.h.
 */
#include "base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool blame(struct fault *fault, const char *format, ...) {
  if (fault->set) return false;
  fault->set = true;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(fault->text, sizeof fault->text, format, arguments);
  va_end(arguments);
  return false;
}

struct arena_block {
  struct arena_block *next;
  max_align_t data[];
};

void *arena_get(struct arena *arena, size_t size) {
  struct arena_block *block = calloc(1, sizeof *block + size);
  if (!block) {
    fputs("Bail out! out of memory\n", stdout);
    exit(2);
  }
  block->next = arena->blocks;
  arena->blocks = block;
  return block->data;
}

char *arena_text(struct arena *arena, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  va_list again;
  va_copy(again, arguments);
  const int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  char *text = arena_get(arena, (size_t)length + 1);
  vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  return text;
}

void arena_clear(struct arena *arena) {
  while (arena->blocks) {
    struct arena_block *next = arena->blocks->next;
    free(arena->blocks);
    arena->blocks = next;
  }
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

static bool read_hex(const char *text, size_t length, struct arena *arena, liblock_bytes *out,
                     struct fault *fault) {
  if (length % 2) return blame(fault, "\"hex\" needs an even number of digits: %s", text);
  unsigned char *data = arena_get(arena, length / 2 + 1);
  for (size_t i = 0; i < length / 2; i++) {
    const int high = hex_digit(text[2 * i]);
    const int low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return blame(fault, "\"hex\" takes 0-9 and a-f only: %s", text);
    data[i] = (unsigned char)(high * 16 + low);
  }
  *out = (liblock_bytes){data, length / 2};
  return true;
}

static bool read_repeat(const json_t *node, struct arena *arena, liblock_bytes *out, struct fault *fault) {
  const json_t *unit = json_object_get(node, "repeat");
  const json_t *times = json_object_get(node, "times");
  if (!json_is_string(unit) || !json_is_integer(times) || json_integer_value(times) < 0 ||
      json_integer_value(times) > 1000000) {
    return blame(fault, "\"repeat\" takes a string, \"times\" a number of 0 to 1,000,000");
  }
  const size_t length = json_string_length(unit);
  const size_t count = (size_t)json_integer_value(times);
  char *data = arena_get(arena, length * count + 1);
  for (size_t i = 0; i < count; i++) memcpy(data + i * length, json_string_value(unit), length);
  *out = (liblock_bytes){data, length * count};
  return true;
}

bool bytes_read(const json_t *node, struct arena *arena, liblock_bytes *out, struct fault *fault) {
  if (json_is_string(node)) {
    *out = (liblock_bytes){json_string_value(node), json_string_length(node)};
    return true;
  }
  if (json_is_object(node) && json_object_size(node) == 1) {
    const json_t *hex = json_object_get(node, "hex");
    if (json_is_string(hex))
      return read_hex(json_string_value(hex), json_string_length(hex), arena, out, fault);
  }
  if (json_is_object(node) && json_object_size(node) == 2 && json_object_get(node, "repeat")) {
    return read_repeat(node, arena, out, fault);
  }
  return blame(fault, "bytes are \"text\", {\"hex\": …} or {\"repeat\": …, \"times\": …}, not %s",
               json_line(arena, node));
}

json_t *bytes_write(const void *data, size_t size) {
  const unsigned char *bytes = data;
  bool printable = true;
  for (size_t i = 0; i < size; i++) printable = printable && bytes[i] >= 0x20 && bytes[i] < 0x7f;
  if (printable) return json_stringn(size ? data : "", size);
  char *hex = malloc(2 * size + 1);
  if (!hex) abort();
  for (size_t i = 0; i < size; i++) snprintf(hex + 2 * i, 3, "%02x", (unsigned)bytes[i]);
  json_t *node = json_pack("{s:s}", "hex", hex);
  free(hex);
  return node;
}

bool bytes_equal(liblock_bytes left, liblock_bytes right) {
  return left.size == right.size && (left.size == 0 || memcmp(left.data, right.data, left.size) == 0);
}

bool word_in(const char *list, const char *word) {
  const size_t length = strlen(word);
  if (!list || !length) return false;
  for (const char *at = list; (at = strstr(at, word)); at += length) {
    const bool begins = at == list || at[-1] == ' ';
    const bool ends = at[length] == ' ' || at[length] == '\0';
    if (begins && ends) return true;
  }
  return false;
}

const char *json_line(struct arena *arena, const json_t *node) {
  char *text = json_dumps(node, JSON_ENCODE_ANY | JSON_COMPACT);
  const char *kept = arena_text(arena, "%.900s", text ? text : "(nothing)");
  free(text);
  return kept;
}
