/* SPDX-License-Identifier: MIT
 *
 * A guest in the host process: the library's threads start only when something needs them and block every
 * signal, its descriptors are close-on-exec, and it leaves none of either behind.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>

#include "api.h"
#include "process.h"
#include "recorder.h"
#include "worker.h"

/* Signals that nobody can block (KILL, STOP) or that the C library keeps for itself (32, 33). */
#define UNBLOCKABLE                                                                        \
  ((UINT64_C(1) << (SIGKILL - 1)) | (UINT64_C(1) << (SIGSTOP - 1)) | (UINT64_C(1) << 31) | \
   (UINT64_C(1) << 32))

static void *come_and_go(void *argument) { return argument; }

/* A sanitizer starts a thread of its own with the first one of the program: it must not count as ours. */
static void let_the_first_thread_come_and_go(void) {
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, come_and_go, NULL), 0);
  pthread_join(thread, NULL);
}

/* Must run first: after it the runtime may have been started by another test of this process. */
/* A joined thread is seen in /proc for a moment longer. */
static bool counts_are_back(void *argument) {
  const size_t *expected = argument;
  return list_threads().count <= expected[0] && list_descriptors().count <= expected[1];
}

static void no_thread_and_no_descriptor_until_something_needs_one(void **state) {
  (void)state;
  let_the_first_thread_come_and_go();
  const id_list threads = list_threads();
  const id_list descriptors = list_descriptors();
  liblock_context *context = open_local("local:", NULL);
  liblock_owner *owner = open_owner(context, "o");
  const liblock_acquire_options mine = owned_by(owner);
  for (int i = 0; i < 100; i++) {
    const liblock_lock lock = take_with(context, "k", &mine);
    assert_status(LIBLOCK_BUSY, probe(context, "k"));
    assert_ok(liblock_release(context, lock, NULL));
  }
  const liblock_lock held = take(context, "k");
  worker *waiting = worker_acquires(context, "k", NULL);
  await_waiters(context, 1);
  assert_ok(liblock_release(context, held, NULL));
  assert_ok(worker_join(waiting, NULL, NULL));
  size_t before[2] = {threads.count, descriptors.count};
  assert_soon(counts_are_back, before);
  liblock_owner_free(owner);
  end_context(context);
}

/* Starts everything that the library may start; what is new since `threads` and `descriptors` is ours. */
static recorder *start_everything(liblock_context *context, liblock_completions **queue) {
  recorder *r = recorder_new(context, true);
  liblock_acquire_options leased = with_ttl(20);
  leased.on_lost = recorder_callback;
  leased.on_lost_user_data = recorder_slot(r, 1);
  take_with(context, "leased", &leased);
  request_key(context, r, 0, "k", NULL);
  assert_ok(liblock_completions_open(context, 4, queue, NULL));
  assert_true(recorder_await(r, 2));
  return r;
}

static void our_threads_block_every_signal_and_are_known_by_their_names(void **state) {
  (void)state;
  const id_list before = list_threads();
  liblock_context *context = open_local("local:", NULL);
  liblock_completions *queue = NULL;
  recorder *r = start_everything(context, &queue);
  const id_list after = list_threads();
  size_t ours = 0;
  for (size_t i = 0; i < after.count; i++) {
    if (list_has(&before, after.ids[i])) continue;
    ours++;
    assert_true(thread_name_begins(after.ids[i], "liblock-"));
    const uint64_t open_signals = ~(blocked_signals(after.ids[i]) | UNBLOCKABLE);
    if (open_signals != 0)
      fail_msg("a thread of ours leaves signals open: %016llx", (unsigned long long)open_signals);
  }
  assert_true(ours >= 1);
  liblock_completions_free(queue);
  end_context(context);
  recorder_free(r);
}

static void starting_our_threads_leaves_the_callers_signal_mask_alone(void **state) {
  (void)state;
  sigset_t before;
  sigset_t after;
  assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
  liblock_context *context = open_local("local:", NULL);
  liblock_completions *queue = NULL;
  recorder *r = start_everything(context, &queue);
  assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
  for (int s = 1; s <= SIGRTMAX; s++) assert_int_equal(sigismember(&before, s), sigismember(&after, s));
  liblock_completions_free(queue);
  end_context(context);
  recorder_free(r);
}

enum { BEGINNERS = 8 };

static pthread_barrier_t begin;

static void hear_nothing(const liblock_completion *completion, void *user_data) {
  (void)completion, (void)user_data;
}

static void *begin_to_use(void *context) {
  liblock_request request;
  pthread_barrier_wait(&begin);
  const liblock_status status = liblock_acquire_async(context, KEY("k"), NULL, hear_nothing, NULL, &request);
  return status == LIBLOCK_OK ? context : NULL;
}

/* In a process of its own, where nothing of the library runs yet. 0: its threads are two. */
static int begins_once(void *unused) {
  (void)unused;
  pthread_t threads[BEGINNERS];
  liblock_context *context = NULL;
  let_the_first_thread_come_and_go();
  if (liblock_open("local:", NULL, &context, NULL) != LIBLOCK_OK) return 2;
  const size_t before = list_threads().count;
  pthread_barrier_init(&begin, NULL, BEGINNERS);
  for (int i = 0; i < BEGINNERS; i++)
    if (pthread_create(&threads[i], NULL, begin_to_use, context) != 0) return 3;
  for (int i = 0; i < BEGINNERS; i++) {
    void *used;
    if (pthread_join(threads[i], &used) != 0 || used == NULL) return 4;
  }
  const size_t ours[] = {before + 2, SIZE_MAX};
  return wait_until(counts_are_back, (void *)ours, GENEROUS_MS) && list_threads().count == before + 2 ? 0 : 5;
}

static void many_who_begin_at_once_start_each_thread_once(void **state) {
  (void)state;
  for (int i = 0; i < 20; i++) assert_int_equal(run_in_child(begins_once, NULL), 0);
}

static void every_descriptor_of_ours_is_close_on_exec(void **state) {
  (void)state;
  const id_list before = list_descriptors();
  liblock_context *context = open_local("local:", NULL);
  liblock_completions *queue = NULL;
  recorder *r = start_everything(context, &queue);
  const id_list after = list_descriptors();
  size_t ours = 0;
  for (size_t i = 0; i < after.count; i++) {
    if (list_has(&before, after.ids[i])) continue;
    ours++;
    const int flags = fcntl(after.ids[i], F_GETFD);
    assert_true(flags != -1);
    assert_true((flags & FD_CLOEXEC) != 0);
  }
  assert_true(ours >= 1);
  liblock_completions_free(queue);
  end_context(context);
  recorder_free(r);
}

static void contexts_that_come_and_go_leave_no_thread_and_no_descriptor(void **state) {
  (void)state;
  size_t after_first[2] = {0, 0};
  for (int round = 0; round < 30; round++) {
    liblock_context *context = open_local("local:", NULL);
    liblock_completions *queue = NULL;
    recorder *r = start_everything(context, &queue);
    liblock_completions_free(queue);
    end_context(context);
    recorder_free(r);
    if (round == 0) {
      after_first[0] = list_threads().count;
      after_first[1] = list_descriptors().count;
    }
  }
  assert_soon(counts_are_back, after_first);
}

static void no_signal_handler_is_changed(void **state) {
  (void)state;
  struct sigaction before[32];
  for (int s = 1; s < 32; s++) sigaction(s, NULL, &before[s]);
  liblock_context *context = open_local("local:", NULL);
  liblock_completions *queue = NULL;
  recorder *r = start_everything(context, &queue);
  for (int s = 1; s < 32; s++) {
    struct sigaction now;
    sigaction(s, NULL, &now);
    assert_ptr_equal((void *)(uintptr_t)now.sa_handler, (void *)(uintptr_t)before[s].sa_handler);
  }
  liblock_completions_free(queue);
  end_context(context);
  recorder_free(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_thread_and_no_descriptor_until_something_needs_one),
      cmocka_unit_test(our_threads_block_every_signal_and_are_known_by_their_names),
      cmocka_unit_test(starting_our_threads_leaves_the_callers_signal_mask_alone),
      cmocka_unit_test(many_who_begin_at_once_start_each_thread_once),
      cmocka_unit_test(every_descriptor_of_ours_is_close_on_exec),
      cmocka_unit_test(contexts_that_come_and_go_leave_no_thread_and_no_descriptor),
      cmocka_unit_test(no_signal_handler_is_changed),
  };
  return cmocka_run_group_tests_name("guest in the host process", tests, NULL, NULL);
}
