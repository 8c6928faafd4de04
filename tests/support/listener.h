/* SPDX-License-Identifier: MIT
 *
 * A listener takes events and log entries down, with copies of what they point at, from whatever thread they come
 * on; the test thread waits for them and asserts. It lives as long as the program, since events that were emitted
 * may still come when their context is gone.
 */
#ifndef LIBLOCK_TESTS_LISTENER_H
#define LIBLOCK_TESTS_LISTENER_H

#include "api.h"

typedef struct listener listener;

typedef struct heard {
  liblock_event event; /* pointers are of no use any more */
  char key[80], owner[160], instance[80], message[256];
  char keys[160]; /* each followed by a comma */
} heard;

typedef struct written {
  int32_t id, level;
  int64_t at_us;
  uint64_t tag;
  char name[48], message[128];
  char fields[1024]; /* " name=value" each, in their order; numbers in decimal */
} written;

listener *listener_new(void);
void listener_on_event(const liblock_event *event, void *user_data);
void listener_on_log(const liblock_log_entry *entry, void *user_data);
/* A listener of all events, or of the whole log; the test takes that for granted. */
listener *listen_to_events(liblock_context *context);
listener *listen_to_log(liblock_context *context);

/* kind (or id) 0: of any. True when at least `count` have come before the generous limit. */
bool listener_await(listener *l, int32_t kind, size_t count);
size_t listener_count(listener *l, int32_t kind);
size_t listener_count_written(listener *l, int32_t id);
/* The n-th of them, from 0; waits for it, and fails the test when it does not come. */
heard event_heard(listener *l, int32_t kind, size_t n);
written entry_written(listener *l, int32_t id, size_t n);
/* Names of the events in order, each followed by a blank; or of the entries. */
void events_told(listener *l, char *text, size_t size);
void entries_written(listener *l, char *text, size_t size);
/* Whether the entry has this field: " name=value" or " name=". */
bool has_field(const written *entry, const char *field);

#endif
