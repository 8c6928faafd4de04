/* SPDX-License-Identifier: MIT
 *
 * Named threads. Each performs one call at a time and is otherwise parked, so that the order in which the
 * steps of all threads run is the order in which they are written.
 *
 * Invariant: `call` and `state` are guarded by the actor's mutex; a call belongs to the thread from RUN to
 * OVER.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "drive.h"

enum actor_state { ACTOR_IDLE, ACTOR_RUN, ACTOR_OVER, ACTOR_LEAVE };

struct actor {
  struct actor *next;
  char name[64];
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  enum actor_state state;
  struct call *call;
};

static void *actor_main(void *argument) {
  struct actor *actor = argument;
  pthread_mutex_lock(&actor->mutex);
  while (actor->state != ACTOR_LEAVE) {
    if (actor->state != ACTOR_RUN) {
      pthread_cond_wait(&actor->changed, &actor->mutex);
      continue;
    }
    struct call *call = actor->call;
    pthread_mutex_unlock(&actor->mutex);
    call->verb->perform(call);
    pthread_mutex_lock(&actor->mutex);
    actor->state = ACTOR_OVER;
    pthread_cond_broadcast(&actor->changed);
  }
  pthread_mutex_unlock(&actor->mutex);
  return NULL;
}

static struct actor *actor_find(struct world *world, const char *name) {
  for (struct actor *actor = world->actors; actor; actor = actor->next) {
    if (strcmp(actor->name, name) == 0) return actor;
  }
  return NULL;
}

static struct actor *actor_begin(struct world *world, const char *name) {
  struct actor *actor = arena_get(&world->arena, sizeof *actor);
  snprintf(actor->name, sizeof actor->name, "%s", name);
  pthread_mutex_init(&actor->mutex, NULL);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&actor->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  if (pthread_create(&actor->thread, NULL, actor_main, actor) != 0) {
    blame(&world->fault, "no thread could be started");
    return NULL;
  }
  actor->next = world->actors;
  world->actors = actor;
  return actor;
}

static struct call *actor_wait(struct actor *actor) {
  struct timespec limit;
  clock_gettime(CLOCK_MONOTONIC, &limit);
  limit.tv_sec += LIMIT_MS / 1000;
  struct call *call = NULL;
  pthread_mutex_lock(&actor->mutex);
  while (actor->state == ACTOR_RUN) {
    if (pthread_cond_timedwait(&actor->changed, &actor->mutex, &limit) != 0) break;
  }
  if (actor->state == ACTOR_OVER) {
    call = actor->call;
    actor->call = NULL;
    actor->state = ACTOR_IDLE;
  }
  pthread_mutex_unlock(&actor->mutex);
  return call;
}

bool actor_run(struct world *world, const char *name, struct call *call) {
  struct actor *actor = actor_find(world, name);
  if (!actor) actor = actor_begin(world, name);
  if (!actor) return false;
  pthread_mutex_lock(&actor->mutex);
  const bool idle = actor->state == ACTOR_IDLE;
  if (idle) {
    actor->call = call;
    actor->state = ACTOR_RUN;
    pthread_cond_broadcast(&actor->changed);
  }
  pthread_mutex_unlock(&actor->mutex);
  if (!idle) {
    json_decref(call->got);
    return blame(&world->fault, "thread \"%s\" still has a call: finish it first", name);
  }
  if (step_flag(call, "background")) return false;
  if (!actor_wait(actor)) return blame(&world->fault, "the call on thread \"%s\" did not end", name);
  return true;
}

struct call *actor_finish(struct world *world, const char *name, struct fault *fault) {
  struct actor *actor = actor_find(world, name);
  struct call *call = actor ? actor_wait(actor) : NULL;
  if (!call) blame(fault, "thread \"%s\" has no call, or its call did not end", name);
  return call;
}

/* The thread leaves at once when parked; one that is inside a call leaves after it. */
static void actor_join(struct actor *actor) {
  pthread_mutex_lock(&actor->mutex);
  while (actor->state == ACTOR_RUN) pthread_cond_wait(&actor->changed, &actor->mutex);
  actor->state = ACTOR_LEAVE;
  pthread_cond_broadcast(&actor->changed);
  pthread_mutex_unlock(&actor->mutex);
  pthread_join(actor->thread, NULL);
  pthread_cond_destroy(&actor->changed);
  pthread_mutex_destroy(&actor->mutex);
}

bool actor_end(struct world *world, const char *name, struct fault *fault) {
  struct actor *actor = actor_find(world, name);
  if (!actor) return blame(fault, "no thread is named \"%s\"", name);
  pthread_mutex_lock(&actor->mutex);
  const bool idle = actor->state == ACTOR_IDLE;
  pthread_mutex_unlock(&actor->mutex);
  if (!idle) return blame(fault, "thread \"%s\" still has a call: finish it first", name);
  for (struct actor **at = &world->actors; *at; at = &(*at)->next) {
    if (*at != actor) continue;
    *at = actor->next;
    break;
  }
  actor_join(actor);
  return true;
}

void actors_end(struct world *world) {
  for (struct actor *actor = world->actors; actor; actor = actor->next) {
    if (actor->call && !world->fault.set) {
      blame(&world->fault, "at the end: the background call of thread \"%s\" was never finished",
            actor->name);
    }
    actor_join(actor);
    if (actor->call) json_decref(actor->call->got);
  }
  world->actors = NULL;
}
