/* SPDX-License-Identifier: MIT
 *
 * Records live in a growing array under one mutex; slots are freed with the recorder only, so that a late
 * callback of a failed test still writes into live memory.
 */
#include "recorder.h"

#include <stdlib.h>

enum { SLOTS_PER_BLOCK = 256 };

struct slot {
  recorder *owner;
  int tag;
};

struct slot_block {
  struct slot_block *next;
  size_t used;
  struct slot slots[SLOTS_PER_BLOCK];
};

struct recorder {
  latch seen;
  pthread_mutex_t mutex;
  liblock_context *context;
  bool release_in_callback;
  record *records;
  size_t count;
  size_t capacity;
  struct slot_block *blocks;
};

recorder *recorder_new(liblock_context *context, bool release_in_callback) {
  recorder *r = calloc(1, sizeof *r);
  assert_non_null(r);
  latch_init(&r->seen);
  pthread_mutex_init(&r->mutex, NULL);
  r->context = context;
  r->release_in_callback = release_in_callback;
  return r;
}

void recorder_free(recorder *r) {
  while (r->blocks != NULL) {
    struct slot_block *next = r->blocks->next;
    free(r->blocks);
    r->blocks = next;
  }
  free(r->records);
  pthread_mutex_destroy(&r->mutex);
  latch_destroy(&r->seen);
  free(r);
}

void *recorder_slot(recorder *r, int tag) {
  pthread_mutex_lock(&r->mutex);
  if (r->blocks == NULL || r->blocks->used == SLOTS_PER_BLOCK) {
    struct slot_block *block = calloc(1, sizeof *block);
    if (block == NULL) abort();
    block->next = r->blocks;
    r->blocks = block;
  }
  struct slot *slot = &r->blocks->slots[r->blocks->used++];
  slot->owner = r;
  slot->tag = tag;
  pthread_mutex_unlock(&r->mutex);
  return slot;
}

void recorder_callback(const liblock_completion *completion, void *user_data) {
  const struct slot *slot = user_data;
  recorder *r = slot->owner;
  record entry = {.tag = slot->tag, .completion = *completion, .thread = pthread_self()};
  entry.user_data_matches = completion->user_data == user_data;
  if (r->release_in_callback && completion->kind == LIBLOCK_KIND_ACQUIRE && completion->status == LIBLOCK_OK)
    entry.released = liblock_release(r->context, completion->lock, NULL);
  pthread_mutex_lock(&r->mutex);
  if (r->count == r->capacity) {
    r->capacity = r->capacity != 0 ? 2 * r->capacity : 64;
    r->records = realloc(r->records, r->capacity * sizeof *r->records);
    if (r->records == NULL) abort();
  }
  r->records[r->count++] = entry;
  pthread_mutex_unlock(&r->mutex);
  latch_add(&r->seen, 1);
}

bool recorder_await(recorder *r, size_t count) { return latch_await(&r->seen, (int)count); }

size_t recorder_count(recorder *r) {
  pthread_mutex_lock(&r->mutex);
  const size_t count = r->count;
  pthread_mutex_unlock(&r->mutex);
  return count;
}

record recorder_at(recorder *r, size_t index) {
  record entry = {.tag = -1};
  pthread_mutex_lock(&r->mutex);
  if (index < r->count) entry = r->records[index];
  pthread_mutex_unlock(&r->mutex);
  return entry;
}

size_t recorder_count_of(recorder *r, int tag) {
  size_t found = 0;
  pthread_mutex_lock(&r->mutex);
  for (size_t i = 0; i < r->count; i++) found += r->records[i].tag == tag;
  pthread_mutex_unlock(&r->mutex);
  return found;
}

void recorder_clear(recorder *r) {
  pthread_mutex_lock(&r->mutex);
  const size_t count = r->count;
  r->count = 0;
  pthread_mutex_unlock(&r->mutex);
  latch_add(&r->seen, -(int)count);
}

liblock_request request_key(liblock_context *context, recorder *r, int tag, const char *key,
                            const liblock_acquire_options *options) {
  liblock_request request = 0;
  assert_ok(liblock_acquire_async(context, key, strlen(key), options, recorder_callback,
                                  recorder_slot(r, tag), &request));
  assert_true(request != 0);
  return request;
}
