/* SPDX-License-Identifier: MIT
 *
 * See listener.h. One growing array for each, under one mutex.
 */
#include "listener.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct listener {
  listener *next;
  pthread_mutex_t mutex;
  heard *events;
  size_t event_count, event_room;
  written *entries;
  size_t entry_count, entry_room;
};

static listener *all_listeners; /* of the test's own thread; kept where a leak checker finds them */

listener *listener_new(void) {
  listener *l = calloc(1, sizeof *l);
  assert_non_null(l);
  pthread_mutex_init(&l->mutex, NULL);
  l->next = all_listeners;
  all_listeners = l;
  return l;
}

static void copy(char *to, size_t size, liblock_bytes bytes) {
  const size_t length = bytes.size < size ? bytes.size : size - 1;
  if (length != 0) memcpy(to, bytes.data, length);
  to[length] = '\0';
}

static void *room_for_one(void *array, size_t count, size_t *room, size_t size) {
  if (count < *room) return array;
  *room = *room != 0 ? 2 * *room : 64;
  void *grown = realloc(array, *room * size);
  if (grown == NULL) abort();
  return grown;
}

void listener_on_event(const liblock_event *event, void *user_data) {
  listener *l = user_data;
  heard one;
  memset(&one, 0, sizeof one);
  one.event = *event;
  copy(one.key, sizeof one.key, event->key);
  copy(one.owner, sizeof one.owner, event->owner);
  copy(one.instance, sizeof one.instance, event->instance);
  snprintf(one.message, sizeof one.message, "%s", event->message);
  for (size_t i = 0; i < event->key_count; i++) {
    const size_t used = strlen(one.keys);
    snprintf(one.keys + used, sizeof one.keys - used, "%.*s,", (int)event->keys[i].size,
             (const char *)event->keys[i].data);
  }
  pthread_mutex_lock(&l->mutex);
  l->events = room_for_one(l->events, l->event_count, &l->event_room, sizeof *l->events);
  l->events[l->event_count++] = one;
  pthread_mutex_unlock(&l->mutex);
}

void listener_on_log(const liblock_log_entry *entry, void *user_data) {
  listener *l = user_data;
  written one;
  memset(&one, 0, sizeof one);
  one.id = entry->id;
  one.level = entry->level;
  one.at_us = entry->at_us;
  one.tag = entry->tag;
  snprintf(one.name, sizeof one.name, "%s", entry->name);
  snprintf(one.message, sizeof one.message, "%s", entry->message);
  for (size_t i = 0; i < entry->field_count; i++) {
    const liblock_log_field *field = &entry->fields[i];
    const size_t used = strlen(one.fields);
    if (field->type == LIBLOCK_FIELD_TEXT) {
      snprintf(one.fields + used, sizeof one.fields - used, " %s=%.*s", field->name, (int)field->text.size,
               (const char *)field->text.data);
    } else {
      snprintf(one.fields + used, sizeof one.fields - used, " %s=%lld", field->name,
               (long long)field->number);
    }
  }
  pthread_mutex_lock(&l->mutex);
  l->entries = room_for_one(l->entries, l->entry_count, &l->entry_room, sizeof *l->entries);
  l->entries[l->entry_count++] = one;
  pthread_mutex_unlock(&l->mutex);
}

listener *listen_to_events(liblock_context *context) {
  listener *l = listener_new();
  assert_ok(liblock_set_events(context, ~UINT64_C(0), listener_on_event, l));
  return l;
}

listener *listen_to_log(liblock_context *context) {
  listener *l = listener_new();
  assert_ok(liblock_set_log(context, LIBLOCK_LOG_DEBUG, listener_on_log, l));
  return l;
}

size_t listener_count(listener *l, int32_t kind) {
  size_t count = 0;
  pthread_mutex_lock(&l->mutex);
  for (size_t i = 0; i < l->event_count; i++) count += kind == 0 || l->events[i].event.kind == kind;
  pthread_mutex_unlock(&l->mutex);
  return count;
}

size_t listener_count_written(listener *l, int32_t id) {
  size_t count = 0;
  pthread_mutex_lock(&l->mutex);
  for (size_t i = 0; i < l->entry_count; i++) count += id == 0 || l->entries[i].id == id;
  pthread_mutex_unlock(&l->mutex);
  return count;
}

struct awaited {
  listener *l;
  int32_t kind;
  size_t count;
};

static bool has_come(void *argument) {
  const struct awaited *a = argument;
  return listener_count(a->l, a->kind) >= a->count;
}

static bool is_written(void *argument) {
  const struct awaited *a = argument;
  return listener_count_written(a->l, a->kind) >= a->count;
}

bool listener_await(listener *l, int32_t kind, size_t count) {
  struct awaited a = {l, kind, count};
  return wait_until(has_come, &a, GENEROUS_MS);
}

heard event_heard(listener *l, int32_t kind, size_t n) {
  if (!listener_await(l, kind, n + 1)) fail_msg("%s did not come", liblock_event_name(kind));
  heard found;
  memset(&found, 0, sizeof found);
  pthread_mutex_lock(&l->mutex);
  for (size_t i = 0; i < l->event_count; i++) {
    if (kind != 0 && l->events[i].event.kind != kind) continue;
    found = l->events[i];
    if (n-- == 0) break;
  }
  pthread_mutex_unlock(&l->mutex);
  return found;
}

written entry_written(listener *l, int32_t id, size_t n) {
  struct awaited a = {l, id, n + 1};
  if (!wait_until(is_written, &a, GENEROUS_MS)) fail_msg("entry %d was not written", (int)id);
  written found;
  memset(&found, 0, sizeof found);
  pthread_mutex_lock(&l->mutex);
  for (size_t i = 0; i < l->entry_count; i++) {
    if (id != 0 && l->entries[i].id != id) continue;
    found = l->entries[i];
    if (n-- == 0) break;
  }
  pthread_mutex_unlock(&l->mutex);
  return found;
}

void events_told(listener *l, char *text, size_t size) {
  text[0] = '\0';
  pthread_mutex_lock(&l->mutex);
  for (size_t i = 0; i < l->event_count; i++) {
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s ", liblock_event_name(l->events[i].event.kind));
  }
  pthread_mutex_unlock(&l->mutex);
}

void entries_written(listener *l, char *text, size_t size) {
  text[0] = '\0';
  pthread_mutex_lock(&l->mutex);
  for (size_t i = 0; i < l->entry_count; i++) {
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s ", l->entries[i].name);
  }
  pthread_mutex_unlock(&l->mutex);
}

bool has_field(const written *entry, const char *field) {
  const char *found = strstr(entry->fields, field);
  if (found == NULL) return false;
  const char end = found[strlen(field)];
  return field[strlen(field) - 1] == '=' || end == ' ' || end == '\0';
}
