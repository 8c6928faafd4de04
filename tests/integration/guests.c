/* SPDX-License-Identifier: MIT
 *
 * A thread that waits for a server runs the library's loop meanwhile. What that asks of the thread, and what it must
 * not ask of it: a small stack is enough, cancellation waits for the end of the call, what the library calls on it may
 * not block, signals reach their handlers, and who waits for long keeps nobody else from the server. Prints TAP.
 * Usage: guests URL
 */
#include <liblock/liblock.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1 /* what it puts around everything takes several times the stack */
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif
enum { STACK_BYTES = (SANITIZED ? 1024 : 64) * 1024, ROUNDS = 200 };

static liblock_context *context, *other;

static liblock_status take(liblock_context *from, const char *key, int64_t wait_ms, liblock_lock *lock) {
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.wait_ms = wait_ms;
  return liblock_acquire(from, key, strlen(key), &options, lock, NULL);
}

/* Says what ended otherwise. */
static bool ends(const char *call, liblock_status status, liblock_status wanted) {
  if (status != wanted) printf("# %s: %s\n", call, liblock_status_name(status));
  return status == wanted;
}

/* All that a caller may wait for, on a stack that has been told how small it is. */
static void *call_everything(void *fine) {
  liblock_lock lock = 0, busy = 0;
  liblock_info *info = NULL;
  bool ok = true;
  for (int round = 0; ok && round < ROUNDS; ++round) {
    ok = ends("acquire", take(context, "small", -1, &lock), LIBLOCK_OK) &&
         ends("extend", liblock_extend(context, lock, 5000, 0, NULL), LIBLOCK_OK) &&
         ends("update", liblock_update(context, lock, "value", 5, NULL), LIBLOCK_OK) &&
         ends("verify", liblock_verify(context, lock, NULL), LIBLOCK_OK) &&
         ends("acquire in vain", take(other, "small", 2, &busy), LIBLOCK_TIMEOUT) &&
         ends("inspect", liblock_inspect(context, "small", 5, &info, NULL), LIBLOCK_OK);
    liblock_info_free(info);
    info = NULL;
    ok = ok && ends("release", liblock_release(context, lock, NULL), LIBLOCK_OK);
  }
  *(bool *)fine = ok;
  return NULL;
}

static bool a_stack_of_64_kib_is_enough(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  bool fine = false;
  int32_t locked = 0; /* whose first call meets no server within its time may say CONNECT */
  if (liblock_is_locked(other, "small", 5, &locked) != LIBLOCK_OK) return false;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  if (pthread_create(&thread, &attributes, call_everything, &fine) != 0) return false;
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  return fine;
}

/* One that waits for a lock that somebody has, as a thread of its own. */
typedef struct waiter {
  const char *key;
  pthread_t thread;
  liblock_lock lock;
  _Atomic liblock_status status;
} waiter;

static void *wait_for_it(void *argument) {
  waiter *w = argument;
  w->status = take(context, w->key, -1, &w->lock);
  pthread_testcancel();
  return NULL;
}

static bool is_queued(const char *key) {
  int32_t queued = 0;
  return liblock_is_queued(other, key, strlen(key), &queued) == LIBLOCK_OK && queued == 1;
}

/* The lock that a waiter cannot have yet; the waiter stands in its queue when this returns. */
static bool begin_to_wait(waiter *w, const char *key, liblock_lock *held) {
  *w = (waiter){.key = key, .status = LIBLOCK_INTERNAL};
  if (take(other, key, -1, held) != LIBLOCK_OK) return false;
  if (pthread_create(&w->thread, NULL, wait_for_it, w) != 0) return false;
  while (!is_queued(key)) {}
  return true;
}

static bool a_thread_that_is_cancelled_while_it_waits_ends_its_call_first(void) {
  waiter w;
  liblock_lock held, again;
  if (!begin_to_wait(&w, "cancelled", &held)) return false;
  pthread_cancel(w.thread);
  const bool goes_on = take(context, "meanwhile", -1, &again) == LIBLOCK_OK;
  bool fine = goes_on && liblock_release(context, again, NULL) == LIBLOCK_OK && w.status == LIBLOCK_INTERNAL;
  fine = fine && liblock_release(other, held, NULL) == LIBLOCK_OK;
  void *result = NULL;
  pthread_join(w.thread, &result);
  fine = fine && result == PTHREAD_CANCELED && w.status == LIBLOCK_OK;
  return fine && liblock_release(context, w.lock, NULL) == LIBLOCK_OK;
}

static void *call_although_cancelled(void *done) {
  liblock_lock lock = 0;
  pthread_cancel(pthread_self());
  const bool is_taken = take(context, "beside", -1, &lock) == LIBLOCK_OK;
  *(_Atomic bool *)done = is_taken && liblock_release(context, lock, NULL) == LIBLOCK_OK;
  pthread_testcancel();
  return NULL;
}

/* Somebody else runs the loop, and has to be woken. */
static bool a_thread_that_was_cancelled_before_ends_its_calls_first(void) {
  waiter w;
  liblock_lock held;
  if (!begin_to_wait(&w, "ahead", &held)) return false;
  bool fine = true;
  for (int round = 0; round < 20; ++round) {
    pthread_t thread;
    _Atomic bool done = false;
    void *result = NULL;
    if (pthread_create(&thread, NULL, call_although_cancelled, &done) != 0) return false;
    pthread_join(thread, &result);
    fine = fine && done && result == PTHREAD_CANCELED;
  }
  fine = fine && liblock_release(other, held, NULL) == LIBLOCK_OK;
  pthread_join(w.thread, NULL);
  return fine && w.status == LIBLOCK_OK && liblock_release(context, w.lock, NULL) == LIBLOCK_OK;
}

/* A wait on a condition, and a descriptor that is closed: in either cancellation would end the process. */
static void *read_although_cancelled(void *done) {
  liblock_completions *queue = NULL;
  liblock_completion end = {.struct_size = sizeof end};
  int fd = -1;
  bool fine = liblock_completions_open(context, 4, &queue, NULL) == LIBLOCK_OK;
  fine = fine && liblock_completions_fd(queue, &fd) == LIBLOCK_OK && fd >= 0;
  pthread_cancel(pthread_self());
  fine = fine && liblock_completions_next(queue, 20, &end) == LIBLOCK_TIMEOUT;
  liblock_completions_free(queue);
  *(_Atomic bool *)done = fine;
  pthread_testcancel();
  return NULL;
}

static bool a_thread_that_was_cancelled_before_reads_its_queue_first(void) {
  pthread_t thread;
  _Atomic bool done = false;
  void *result = NULL;
  if (pthread_create(&thread, NULL, read_although_cancelled, &done) != 0) return false;
  pthread_join(thread, &result);
  return done && result == PTHREAD_CANCELED;
}

static bool who_waits_for_long_keeps_nobody_from_the_server(void) {
  waiter w;
  liblock_lock held, lock;
  if (!begin_to_wait(&w, "long", &held)) return false;
  bool fine = true;
  for (int round = 0; round < ROUNDS; ++round) {
    fine = fine && take(context, "short", -1, &lock) == LIBLOCK_OK;
    fine = fine && liblock_release_async(context, lock, NULL, NULL, NULL, NULL) == LIBLOCK_OK;
  }
  fine = fine && w.status == LIBLOCK_INTERNAL && liblock_release(other, held, NULL) == LIBLOCK_OK;
  pthread_join(w.thread, NULL);
  return fine && w.status == LIBLOCK_OK && liblock_release(context, w.lock, NULL) == LIBLOCK_OK;
}

static _Atomic int entries, blocked;

static void on_entry(const liblock_log_entry *entry, void *user_data) {
  (void)entry;
  (void)user_data;
  liblock_lock lock;
  ++entries;
  if (take(context, "inside", -1, &lock) == LIBLOCK_WOULD_DEADLOCK) ++blocked;
}

static bool what_is_called_on_a_thread_that_waits_may_not_block(void) {
  liblock_instrument_options attempts;
  liblock_instrument_options_init(&attempts, sizeof attempts);
  attempts.log_attempts = 1;
  liblock_lock lock;
  bool fine = liblock_set_instruments(context, &attempts) == LIBLOCK_OK;
  fine = fine && liblock_set_log(context, LIBLOCK_LOG_DEBUG, on_entry, NULL) == LIBLOCK_OK;
  for (int round = 0; round < ROUNDS && fine; ++round) {
    fine = take(context, "logged", -1, &lock) == LIBLOCK_OK && liblock_release(context, lock, NULL) == LIBLOCK_OK;
  }
  fine = fine && liblock_set_log(context, LIBLOCK_LOG_OFF, NULL, NULL) == LIBLOCK_OK;
  return fine && entries > ROUNDS && blocked > ROUNDS;
}

static _Atomic int handled;
static void on_signal(int number) {
  (void)number;
  ++handled;
}

static bool a_signal_reaches_its_handler_on_a_thread_that_waits(void) {
  waiter w;
  liblock_lock held;
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGUSR1, &action, NULL);
  if (!begin_to_wait(&w, "signalled", &held)) return false;
  for (int sent = 0; sent < 20; ++sent) {
    pthread_kill(w.thread, SIGUSR1);
    while (handled <= sent) {}
  }
  bool fine = w.status == LIBLOCK_INTERNAL && liblock_release(other, held, NULL) == LIBLOCK_OK;
  pthread_join(w.thread, NULL);
  return fine && w.status == LIBLOCK_OK && liblock_release(context, w.lock, NULL) == LIBLOCK_OK;
}

/* A lease is kept alive also by who has just been a guest, and looks at the loop no more. */
static bool a_lock_that_a_guest_took_is_renewed_without_another_call(void) {
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.ttl_ms = 600;
  options.renew = 1;
  liblock_lock lock;
  if (liblock_acquire(context, "renewed", 7, &options, &lock, NULL) != LIBLOCK_OK) return false;
  pause_ms(2000);
  const bool is_held = liblock_is_held(context, lock) == LIBLOCK_OK;
  return liblock_release(context, lock, NULL) == LIBLOCK_OK && is_held;
}

static double cpu_ms(void) {
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (double)used.tv_sec * 1000 + (double)used.tv_nsec / 1e6;
}

/* Guests look for their answers before they sleep: who waits for long, and a context that nobody uses, do not. */
static bool whoever_waits_burns_no_cpu(void) {
  waiter w;
  liblock_lock held;
  if (!begin_to_wait(&w, "idle", &held)) return false;
  double before = cpu_ms();
  pause_ms(1000);
  const double waiting = cpu_ms() - before;
  bool fine = liblock_release(other, held, NULL) == LIBLOCK_OK;
  pthread_join(w.thread, NULL);
  fine = fine && w.status == LIBLOCK_OK && liblock_release(context, w.lock, NULL) == LIBLOCK_OK;
  before = cpu_ms();
  pause_ms(1000);
  const double idle = cpu_ms() - before;
  printf("# of 1000 ms CPU took %.1f while one waited, %.1f while nobody did\n", waiting, idle);
  return fine && waiting < 100 && idle < 100;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  if (liblock_open(argv[1], NULL, &context, NULL) != LIBLOCK_OK) return 1;
  if (liblock_open(argv[1], NULL, &other, NULL) != LIBLOCK_OK) return 1;
#define TEST(name) check(name(), #name)
  TEST(a_stack_of_64_kib_is_enough);
  TEST(a_thread_that_is_cancelled_while_it_waits_ends_its_call_first);
  TEST(a_thread_that_was_cancelled_before_ends_its_calls_first);
  TEST(a_thread_that_was_cancelled_before_reads_its_queue_first);
  TEST(who_waits_for_long_keeps_nobody_from_the_server);
  TEST(what_is_called_on_a_thread_that_waits_may_not_block);
  TEST(a_signal_reaches_its_handler_on_a_thread_that_waits);
  TEST(a_lock_that_a_guest_took_is_renewed_without_another_call);
  TEST(whoever_waits_burns_no_cpu);
  liblock_context_free(other);
  liblock_context_free(context);
  return finish();
}
