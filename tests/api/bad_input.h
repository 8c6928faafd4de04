/* SPDX-License-Identifier: MIT
 *
 * What the rows of bad_input_rows.h are written in: an environment with everything a call could need, in good
 * order, and words to put one thing of it in disorder.
 */
#ifndef LIBLOCK_TESTS_BAD_INPUT_H
#define LIBLOCK_TESTS_BAD_INPUT_H

#include "api.h"
#include "recorder.h"

#define UNTOUCHED UINT64_C(0x7777777777777777)
#define FORGED UINT64_C(0xfeedfacecafebeef)

typedef struct environment {
  const char *url; /* of all contexts */
  liblock_context *context;
  liblock_context *closed;
  liblock_owner *owner;
  liblock_owner *closed_owner;
  liblock_context *stranger; /* another context, open */
  liblock_owner *strangers_owner;
  liblock_completions *strangers_queue;
  liblock_completions *queue;
  liblock_completions *closed_queue;
  liblock_info *held_info;
  liblock_cursor *open_cursor;
  recorder *ends;
  liblock_lock held;     /* on the key "held", by `owner` */
  liblock_lock released; /* a handle of before */
  liblock_request pending;
  /* Places for answers; a refused call leaves them empty or untouched. */
  liblock_context *new_context;
  liblock_owner *new_owner;
  liblock_completions *new_queue;
  liblock_lock lock;
  liblock_request request;
  liblock_info *info;
  liblock_cursor *cursor;
  liblock_metadata metadata;
  liblock_completion completion;
  liblock_result result;
  liblock_stats stats;
  liblock_histogram histogram;
  int64_t number;
  uint64_t token;
  uint32_t count;
  int32_t answer;
  size_t needed;
  char text[64];
  /* Arguments that a row puts in disorder. */
  liblock_acquire_options options;
  liblock_context_options context_options;
  liblock_list_options list_options;
  liblock_instrument_options instruments;
  liblock_clear_options clear_options;
  liblock_report report;
  liblock_instance_list_options instance_options;
  liblock_zombies_status zombies;
  liblock_quorum_state quorum;
  const char *urls[16];
  liblock_bytes keys[1025];
  liblock_metadata pairs[65];
  char large[5000];
} environment;

/* "redis://0", "redis://1", … and the last as given (NULL is one, too). */
static inline const char *const *servers_of(environment *e, size_t count, const char *last) {
  static const char *const good[] = {"redis://0", "redis://1", "redis://2",  "redis://3",  "redis://4",
                                     "redis://5", "redis://6", "redis://7",  "redis://8",  "redis://9",
                                     "redis://a", "redis://b", "redis://c",  "redis://d",  "redis://e"};
  for (size_t i = 0; i + 1 < count; i++) e->urls[i] = good[i];
  if (count > 0) e->urls[count - 1] = last;
  return e->urls;
}

/* Good options with one field changed. */
#define WITH(field, value) (e->options = acquire_options(), e->options.field = (value), &e->options)
/* Good options with two fields changed. */
#define WITH_BOTH(field, value, other, content) \
  (e->options = acquire_options(), e->options.field = (value), e->options.other = (content), &e->options)
#define LEASED(field, value) (e->options = with_ttl(60000), e->options.field = (value), &e->options)
#define OPEN_WITH(field, value)                                                                          \
  liblock_open(                                                                                          \
      e->url,                                                                                            \
      (e->context_options = context_options(), e->context_options.field = (value), &e->context_options), \
      &e->new_context, NULL)
#define ACQUIRE_WITH(field, value) liblock_acquire(e->context, KEY("k"), WITH(field, value), &e->lock, NULL)
#define INSTRUMENTS(field, value)                                                                           \
  (liblock_instrument_options_init(&e->instruments, sizeof e->instruments), e->instruments.field = (value), \
   &e->instruments)
#define BAD_RESULT (e->result = empty_result(), e->result.struct_size = 8, &e->result)
#define LISTED_BY(size)                                                                                      \
  (liblock_list_options_init(&e->list_options, sizeof e->list_options), e->list_options.batch_size = (size), \
   &e->list_options)
#define CLEARED_BY(field, value)                                                                             \
  (liblock_clear_options_init(&e->clear_options, sizeof e->clear_options), e->clear_options.field = (value), \
   &e->clear_options)
#define INSTANCES_WITH(field, value)                                                     \
  (liblock_instance_list_options_init(&e->instance_options, sizeof e->instance_options), \
   e->instance_options.field = (value), &e->instance_options)
#define LISTED_WITH(field, value)                                                                        \
  (liblock_list_options_init(&e->list_options, sizeof e->list_options), e->list_options.field = (value), \
   &e->list_options)
/* Servers of a quorum: good ones but for the last of `count`. */
#define SERVERS(count, last)                                                                                  \
  (e->context_options = context_options(),                                                                    \
   e->context_options.servers = servers_of(e, count, last), e->context_options.server_count = (count),        \
   &e->context_options)
#define OPEN_SERVERS(count, last) liblock_open(NULL, SERVERS(count, last), &e->new_context, NULL)
#define OPEN_OBSERVED_BY(count, last)                                                                         \
  liblock_open("quorum:redis://a,redis://b,redis://c",                                                        \
               (e->context_options = context_options(),                                                       \
                e->context_options.observers = servers_of(e, count, last),                                    \
                e->context_options.observer_count = (count), &e->context_options),                            \
               &e->new_context, NULL)
#define OPEN_QUORUM(urls) liblock_open("quorum:" urls, NULL, &e->new_context, NULL)
#define OPEN_QUORUM_WITH(field, value)                                                                        \
  liblock_open("quorum:redis://a,redis://b,redis://c,redis://d",                                              \
               (e->context_options = context_options(), e->context_options.field = (value),                   \
                &e->context_options),                                                                         \
               &e->new_context, NULL)
#define ACQUIRE_ON(count, last)                                                                               \
  liblock_acquire(e->context, KEY("k"), WITH_BOTH(nodes, servers_of(e, count, last), node_count, count),      \
                  &e->lock, NULL)
#define SET_NODES(count, last, votes) \
  liblock_quorum_set_nodes(e->context, servers_of(e, count, last), count, NULL, 0, votes, NULL)
#define BAD_REPORT (e->report.struct_size = 8, &e->report)
#define BAD_KEYS(at, bytes, length) (e->keys[at] = (liblock_bytes){bytes, length}, e->keys)

#endif
