/* SPDX-License-Identifier: MIT
 *
 * A recorder takes completions down from whatever thread they come on, in the order in which they come; the
 * test thread waits for them and asserts. Each request gets a slot of its own as user_data, so that an end
 * can be matched with its beginning.
 */
#ifndef LIBLOCK_TESTS_RECORDER_H
#define LIBLOCK_TESTS_RECORDER_H

#include <pthread.h>

#include "api.h"
#include "worker.h"

typedef struct recorder recorder;

typedef struct record {
  int tag;
  liblock_completion completion; /* message points at static text */
  bool user_data_matches;
  pthread_t thread;
  liblock_status released; /* what the release from inside the callback answered, else OK */
} record;

/* release_in_callback: a granted lock is released from inside the callback that reports it. */
recorder *recorder_new(liblock_context *context, bool release_in_callback);
void recorder_free(recorder *r);

/* The callback, and the user_data for the request (or lock) called `tag`. */
void recorder_callback(const liblock_completion *completion, void *user_data);
void *recorder_slot(recorder *r, int tag);

/* True when at least `count` completions have come before the generous limit. */
bool recorder_await(recorder *r, size_t count);
size_t recorder_count(recorder *r);
record recorder_at(recorder *r, size_t index);
/* Completions of this tag so far. */
size_t recorder_count_of(recorder *r, int tag);
void recorder_clear(recorder *r);

/* Requests the key with the recorder's callback; the test takes acceptance for granted. */
liblock_request request_key(liblock_context *context, recorder *r, int tag, const char *key,
                            const liblock_acquire_options *options);

#endif
