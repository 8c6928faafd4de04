/* SPDX-License-Identifier: MIT
 *
 * Names, fences and the end of a scenario: see world.h.
 */
#include "world.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "drive.h"

int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void world_begin(struct world *world, const char *url, const char *scenario) {
  static unsigned scenarios;
  memset(world, 0, sizeof *world);
  world->url = url;
  world->scenario = scenario;
  world->number = ++scenarios;
  pthread_mutex_init(&world->mutex, NULL);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&world->changed, &attributes);
  pthread_condattr_destroy(&attributes);
}

struct context_slot *world_context(struct world *world, const char *name) {
  for (size_t i = 0; i < world->context_count; i++) {
    if (strcmp(world->contexts[i].name, name) == 0) return &world->contexts[i];
  }
  return NULL;
}

struct owner_slot *world_owner(struct world *world, const char *name) {
  for (size_t i = 0; i < world->owner_count; i++) {
    if (strcmp(world->owners[i].name, name) == 0) return &world->owners[i];
  }
  return NULL;
}

struct hold *world_hold(struct world *world, const char *name) {
  for (size_t i = 0; i < world->hold_count; i++) {
    if (strcmp(world->holds[i].name, name) == 0) return &world->holds[i];
  }
  return NULL;
}

struct context_slot *world_add_context(struct world *world, const char *name) {
  if (world->context_count == SLOTS_MAX || world_context(world, name)) return NULL;
  struct context_slot *slot = &world->contexts[world->context_count++];
  snprintf(slot->name, sizeof slot->name, "%s", name);
  return slot;
}

struct owner_slot *world_add_owner(struct world *world, const char *name) {
  if (world->owner_count == SLOTS_MAX || world_owner(world, name)) return NULL;
  struct owner_slot *slot = &world->owners[world->owner_count++];
  snprintf(slot->name, sizeof slot->name, "%s", name);
  return slot;
}

struct hold *world_add_hold(struct world *world, const char *name) {
  if (world->hold_count == HOLDS_MAX || world_hold(world, name)) return NULL;
  struct hold *hold = &world->holds[world->hold_count++];
  snprintf(hold->name, sizeof hold->name, "%s", name);
  hold->world = world;
  return hold;
}

liblock_completions *world_completions(struct world *world, struct context_slot *slot) {
  if (slot->completions) return slot->completions;
  const liblock_status status = liblock_completions_open(slot->context, 4096, &slot->completions, NULL);
  if (status != LIBLOCK_OK) {
    blame(&world->fault, "completions_open answered %s", liblock_status_name(status));
    slot->completions = NULL;
  }
  return slot->completions;
}

static struct fence *fence_of(struct world *world, const char *space, liblock_bytes key) {
  for (struct fence *fence = world->fences; fence; fence = fence->next) {
    if (strcmp(fence->space, space) == 0 && bytes_equal(fence->key, key)) return fence;
  }
  struct fence *fence = arena_get(&world->arena, sizeof *fence);
  *fence = (struct fence){world->fences, space, key, 0};
  world->fences = fence;
  return fence;
}

static bool key_repeated(const struct hold *hold, size_t index) {
  for (size_t i = 0; i < index; i++) {
    if (bytes_equal(hold->keys[i], hold->keys[index])) return true;
  }
  return false;
}

/* The end of a request does not say whether it was a reentry, so grants of named owners may also repeat the
 * token. */
void world_granted(struct world *world, struct hold *hold, bool reentered) {
  for (size_t i = 0; i < hold->key_count; i++) {
    if (key_repeated(hold, i)) continue;
    struct fence *fence = fence_of(world, hold->context->space, hold->keys[i]);
    const bool repeats = (reentered || hold->owned) && hold->token == fence->token;
    if (hold->token > fence->token || repeats) {
      fence->token = hold->token;
      continue;
    }
    blame(&world->fault, "token %llu of \"%s\" does not exceed the key's earlier token %llu",
          (unsigned long long)hold->token, hold->name, (unsigned long long)fence->token);
  }
}

void on_lost_called(const liblock_completion *completion, void *user_data) {
  struct hold *hold = user_data;
  pthread_mutex_lock(&hold->world->mutex);
  hold->notices++;
  if (completion->kind != LIBLOCK_KIND_LOST || completion->status != LIBLOCK_LOST || !completion->lock) {
    hold->notices += 1000; /* reported as a wrong count by the step that awaits it, or at the end */
  }
  pthread_cond_broadcast(&hold->world->changed);
  pthread_mutex_unlock(&hold->world->mutex);
}

static void close_all(struct world *world) {
  for (size_t i = 0; i < world->context_count; i++) {
    struct context_slot *slot = &world->contexts[i];
    if (!slot->context || slot->closed) continue;
    const liblock_status status = liblock_close(slot->context);
    if (status != LIBLOCK_OK)
      blame(&world->fault, "close of \"%s\" answered %s", slot->name, liblock_status_name(status));
  }
}

static void free_all(struct world *world) {
  for (size_t i = 0; i < world->owner_count; i++) liblock_owner_free(world->owners[i].owner);
  for (size_t i = 0; i < world->context_count; i++) {
    liblock_completions_free(world->contexts[i].completions);
    liblock_context_free(world->contexts[i].context);
  }
}

static void notices_check(struct world *world) {
  for (size_t i = 0; i < world->hold_count; i++) {
    struct hold *hold = &world->holds[i];
    pthread_mutex_lock(&world->mutex);
    const unsigned notices = hold->notices;
    pthread_mutex_unlock(&world->mutex);
    if (notices == hold->notices_awaited) continue;
    blame(&world->fault, "at the end: on_lost of \"%s\" was called %u times, awaited %u times", hold->name,
          notices, hold->notices_awaited);
  }
}

void world_end(struct world *world) {
  if (!world->fault.set) ends_none(world, &world->fault);
  close_all(world);
  actors_end(world);
  if (!world->fault.set) ends_closed(world);
  free_all(world);
  if (!world->fault.set) notices_check(world);
  pthread_cond_destroy(&world->changed);
  pthread_mutex_destroy(&world->mutex);
  arena_clear(&world->arena);
}
