/* SPDX-License-Identifier: MIT
 *
 * After fork the child's copies answer FORKED and can be closed and freed; our descriptors are closed there;
 * a named table opened in the child is a new one; the parent notices nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "api.h"
#include "process.h"
#include "recorder.h"
#include "worker.h"

/* Before the library opened anything; the runtime's descriptors stay for as long as the process lives. */
static id_list *opened_by_others;

struct forked {
  liblock_context *context;
  liblock_owner *owner;
  liblock_completions *queue;
  liblock_lock lock;
  char url[64]; /* another one for each test: one that fails leaves its table behind */
  id_list before;
  id_list ours;
};

static int copies_answer_forked(void *argument) {
  struct forked *f = argument;
  liblock_lock lock = 1;
  liblock_request request = 1;
  uint64_t token = 0;
  liblock_owner *owner = NULL;
  liblock_stats stats;
  liblock_stats_init(&stats, sizeof stats);
  liblock_completion entry = {.struct_size = sizeof entry};
  CHILD_CHECK(liblock_acquire(f->context, KEY("free"), NULL, &lock, NULL) == LIBLOCK_FORKED);
  CHILD_CHECK(lock == 0);
  CHILD_CHECK(liblock_try_acquire(f->context, KEY("free"), NULL, &lock, NULL) == LIBLOCK_FORKED);
  CHILD_CHECK(liblock_acquire_async(f->context, KEY("free"), NULL, recorder_callback, NULL, &request) ==
              LIBLOCK_FORKED);
  CHILD_CHECK(liblock_release(f->context, f->lock, NULL) == LIBLOCK_FORKED);
  CHILD_CHECK(liblock_extend(f->context, f->lock, 10, LIBLOCK_EXTEND_SET, NULL) == LIBLOCK_FORKED);
  CHILD_CHECK(liblock_is_held(f->context, f->lock) == LIBLOCK_FORKED);
  CHILD_CHECK(liblock_fencing_token(f->context, f->lock, &token) == LIBLOCK_FORKED);
  CHILD_CHECK(liblock_owner_open(f->context, KEY("o"), &owner, NULL) == LIBLOCK_FORKED);
  CHILD_CHECK(liblock_ping(f->context, NULL) == LIBLOCK_FORKED);
  CHILD_CHECK(liblock_stats_get(f->context, &stats) == LIBLOCK_FORKED);
  CHILD_CHECK(liblock_set_events(f->context, 0, NULL, NULL) == LIBLOCK_FORKED);
  CHILD_CHECK(liblock_set_log(f->context, 0, NULL, NULL) == LIBLOCK_FORKED);
  CHILD_CHECK(liblock_set_instruments(f->context, NULL) == LIBLOCK_FORKED);
  CHILD_CHECK(liblock_stats_prometheus(f->context, NULL, 0, NULL) == LIBLOCK_FORKED);
  CHILD_CHECK(liblock_clear(f->context, NULL, NULL, NULL) == LIBLOCK_FORKED);
  CHILD_CHECK(liblock_completions_next(f->queue, 0, &entry) == LIBLOCK_FORKED);
  return 0;
}

static int copies_can_be_closed_and_freed(void *argument) {
  struct forked *f = argument;
  CHILD_CHECK(liblock_owner_close(f->owner) == LIBLOCK_OK);
  liblock_owner_free(f->owner);
  CHILD_CHECK(liblock_completions_close(f->queue) == LIBLOCK_OK);
  liblock_completions_free(f->queue);
  CHILD_CHECK(liblock_close(f->context) == LIBLOCK_OK);
  CHILD_CHECK(liblock_close(f->context) == LIBLOCK_OK);
  liblock_context_free(f->context);
  return 0;
}

/* libuv 1.45 and newer keep one in a loop that nobody else can get at. */
static bool is_ring_of_libuv(int fd) {
  char path[64], target[64] = "";
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return readlink(path, target, sizeof target - 1) > 0 && strcmp(target, "anon_inode:[io_uring]") == 0;
}

static int our_descriptors_are_closed(void *argument) {
  const struct forked *f = argument;
  int rings = 0;
  for (size_t i = 0; i < f->ours.count; i++) {
    if (is_ring_of_libuv(f->ours.ids[i])) {
      rings++;
    } else {
      CHILD_CHECK(fcntl(f->ours.ids[i], F_GETFD) == -1 && errno == EBADF);
    }
  }
  CHILD_CHECK(rings <= 1);
  for (size_t i = 0; i < f->before.count; i++) CHILD_CHECK(fcntl(f->before.ids[i], F_GETFD) != -1);
  return 0;
}

static int the_name_is_a_new_table(void *argument) {
  const struct forked *f = argument;
  liblock_context *context = NULL;
  liblock_lock lock = 0;
  CHILD_CHECK(liblock_open(f->url, NULL, &context, NULL) == LIBLOCK_OK);
  CHILD_CHECK(liblock_try_acquire(context, KEY("k"), NULL, &lock, NULL) == LIBLOCK_OK);
  CHILD_CHECK(liblock_release(context, lock, NULL) == LIBLOCK_OK);
  CHILD_CHECK(liblock_close(context) == LIBLOCK_OK);
  liblock_context_free(context);
  return 0;
}

static int a_new_context_works_with_callbacks(void *argument) {
  (void)argument;
  liblock_context *context = NULL;
  CHILD_CHECK(liblock_open("local:", NULL, &context, NULL) == LIBLOCK_OK);
  recorder *r = recorder_new(context, true);
  liblock_request request = 0;
  CHILD_CHECK(liblock_acquire_async(context, KEY("k"), NULL, recorder_callback, recorder_slot(r, 0),
                                    &request) == LIBLOCK_OK);
  CHILD_CHECK(recorder_await(r, 1));
  CHILD_CHECK(recorder_at(r, 0).completion.status == LIBLOCK_OK);
  CHILD_CHECK(liblock_close(context) == LIBLOCK_OK);
  liblock_context_free(context);
  return 0;
}

/* A parent in the middle of everything: runtime started, a lock held, an owner and a queue open, a request
 * waiting. */
static void fork_amid_everything(int (*check)(void *)) {
  static struct forked f;
  static int round;
  memset(&f, 0, sizeof f);
  snprintf(f.url, sizeof f.url, "local:forked %d", round++);
  f.before = *opened_by_others;
  f.context = open_local(f.url, NULL);
  f.owner = open_owner(f.context, "o");
  assert_ok(liblock_completions_open(f.context, 4, &f.queue, NULL));
  f.lock = take(f.context, "k");
  recorder *r = recorder_new(f.context, false);
  request_key(f.context, r, 0, "k", NULL);
  const id_list after = list_descriptors();
  for (size_t i = 0; i < after.count; i++) {
    if (!list_has(&f.before, after.ids[i])) f.ours.ids[f.ours.count++] = after.ids[i];
  }
  assert_true(f.ours.count > 0);
  assert_int_equal(run_in_child(check, &f), 0);
  assert_ok(liblock_is_held(f.context, f.lock));
  assert_int_equal(recorder_count(r), 0);
  assert_ok(liblock_release(f.context, f.lock, NULL));
  assert_true(recorder_await(r, 1));
  assert_ok(recorder_at(r, 0).completion.status);
  liblock_completions_free(f.queue);
  liblock_owner_free(f.owner);
  end_context(f.context);
  recorder_free(r);
}

static void in_the_child_every_call_on_a_copy_answers_forked(void **state) {
  (void)state;
  fork_amid_everything(copies_answer_forked);
}

static void in_the_child_copies_can_be_closed_and_freed(void **state) {
  (void)state;
  fork_amid_everything(copies_can_be_closed_and_freed);
}

static void in_the_child_our_descriptors_are_closed_and_nobody_elses(void **state) {
  (void)state;
  fork_amid_everything(our_descriptors_are_closed);
}

static void in_the_child_a_name_opens_a_new_table(void **state) {
  (void)state;
  fork_amid_everything(the_name_is_a_new_table);
}

static void in_the_child_a_new_context_has_a_runtime_of_its_own(void **state) {
  (void)state;
  fork_amid_everything(a_new_context_works_with_callbacks);
}

/* Whoever connects to it is not answered any more: those who have come are as many as it keeps. */
struct full_port {
  int fds[5];
  int port;
  id_list open; /* with these, and before the library connects */
};

static void fill_port(struct full_port *full) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  full->fds[0] = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(bind(full->fds[0], (struct sockaddr *)&address, size), 0);
  assert_int_equal(listen(full->fds[0], 0), 0);
  assert_int_equal(getsockname(full->fds[0], (struct sockaddr *)&address, &size), 0);
  for (size_t i = 1; i < COUNT_OF(full->fds); i++) {
    full->fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    (void)connect(full->fds[i], (struct sockaddr *)&address, size);
  }
  full->port = ntohs(address.sin_port);
  full->open = list_descriptors();
}

static bool is_being_connected(int fd) {
  struct tcp_info info;
  socklen_t size = sizeof info;
  return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_state == TCP_SYN_SENT;
}

struct connecting {
  const struct full_port *to;
  struct forked forked; /* .ours: the sockets */
};

static bool has_a_socket_that_is_being_connected(void *argument) {
  struct connecting *c = argument;
  const id_list now = list_descriptors();
  c->forked.ours.count = 0;
  for (size_t i = 0; i < now.count; i++) {
    if (!list_has(&c->to->open, now.ids[i]) && is_being_connected(now.ids[i]))
      c->forked.ours.ids[c->forked.ours.count++] = now.ids[i];
  }
  return c->forked.ours.count != 0;
}

static void in_the_child_a_socket_that_is_still_being_connected_is_closed(void **state) {
  (void)state;
  static struct full_port full;
  static struct connecting c = {.to = &full};
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.connect_timeout_ms = 600000;
  fill_port(&full);
  c.forked.before = *opened_by_others;
  const char *hosts[] = {"127.0.0.1", "localhost"}; /* a name is looked up first, on another thread */
  for (size_t i = 0; i < COUNT_OF(hosts); i++) {
    snprintf(c.forked.url, sizeof c.forked.url, "redis://%s:%d", hosts[i], full.port);
    assert_ok(liblock_open(c.forked.url, &options, &c.forked.context, NULL));
    recorder *r = recorder_new(c.forked.context, false);
    request_key(c.forked.context, r, 0, "k", NULL);
    assert_true(wait_until(has_a_socket_that_is_being_connected, &c, GENEROUS_MS));
    assert_int_equal(run_in_child(our_descriptors_are_closed, &c.forked), 0);
    end_context(c.forked.context);
    assert_true(recorder_await(r, 1));
    recorder_free(r);
  }
  for (size_t i = 0; i < COUNT_OF(full.fds); i++) close(full.fds[i]);
}

struct busy {
  const char *url;
  liblock_context *context;
  latch stop;
  int failures;
};

static void *keep_busy(void *argument) {
  struct busy *b = argument;
  while (latch_value(&b->stop) == 0) {
    for (int i = 0; i < 100; i++) {
      liblock_lock lock = 0;
      b->failures += liblock_acquire(b->context, KEY("k"), NULL, &lock, NULL) != LIBLOCK_OK;
      b->failures += liblock_release(b->context, lock, NULL) != LIBLOCK_OK;
    }
  }
  return NULL;
}

/* How often one of them failed. */
static int end_busy(struct busy *busy, const pthread_t *threads, size_t count) {
  int failures = 0;
  for (size_t i = 0; i < count; i++) {
    latch_add(&busy[i].stop, 1);
    pthread_join(threads[i], NULL);
    failures += busy[i].failures;
    latch_destroy(&busy[i].stop);
  }
  return failures;
}

static void a_fork_while_other_threads_lock_leaves_no_lock_taken_in_the_child(void **state) {
  (void)state;
  static struct busy busy[3];
  static struct forked f;
  pthread_t threads[3];
  snprintf(f.url, sizeof f.url, "local:forked busily");
  f.context = open_local(f.url, NULL);
  for (size_t i = 0; i < COUNT_OF(busy); i++) {
    busy[i].context = f.context;
    latch_init(&busy[i].stop);
    assert_int_equal(pthread_create(&threads[i], NULL, keep_busy, &busy[i]), 0);
  }
  int failures = 0;
  for (int i = 0; i < 50; i++) failures += run_in_child(the_name_is_a_new_table, &f) != 0;
  assert_int_equal(failures + end_busy(busy, threads, COUNT_OF(busy)), 0);
  end_context(f.context);
}

/* Sockets come and go with each of its contexts, which nobody accepts: over a quorum with an observer, too. No names:
 * while one is looked up the C library has a socket of its own. */
static void *connect_in_vain(void *argument) {
  static const char *const observer[] = {"redis://127.0.0.1:4"};
  struct busy *b = argument;
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.connect_timeout_ms = 1;
  if (strncmp(b->url, "quorum:", 7) == 0) {
    options.observers = observer;
    options.observer_count = COUNT_OF(observer);
  }
  while (latch_value(&b->stop) == 0) {
    liblock_context *context = NULL;
    b->failures += liblock_open(b->url, &options, &context, NULL) != LIBLOCK_OK;
    b->failures += liblock_ping(context, NULL) == LIBLOCK_OK;
    b->failures += liblock_close(context) != LIBLOCK_OK;
    liblock_context_free(context);
  }
  return NULL;
}

/* But what is another one's. libuv makes the pipe anew that it has for the whole process. */
static int no_socket_is_there(void *argument) {
  const int *others = argument;
  const id_list now = list_descriptors();
  CHILD_CHECK(fcntl(*others, F_GETFD) != -1);
  for (size_t i = 0; i < now.count; i++) {
    struct stat status;
    if (list_has(opened_by_others, now.ids[i]) || fstat(now.ids[i], &status) != 0) continue;
    CHILD_CHECK(!S_ISSOCK(status.st_mode));
  }
  return 0;
}

static void a_fork_while_sockets_come_and_go_leaves_none_in_the_child(void **state) {
  (void)state;
  struct busy busy[] = {{.url = "redis://127.0.0.1:1"},
                        {.url = "redis://127.0.0.2:1"},
                        {.url = "unix:///nobody.is.there"},
                        {.url = "quorum:redis://127.0.0.1:1,redis://127.0.0.1:2,redis://127.0.0.1:3"}};
  pthread_t threads[COUNT_OF(busy)];
  for (size_t i = 0; i < COUNT_OF(busy); i++) {
    latch_init(&busy[i].stop);
    assert_int_equal(pthread_create(&threads[i], NULL, connect_in_vain, &busy[i]), 0);
  }
  int failures = 0;
  for (int i = 0; i < 300; i++) {
    int others = open("/dev/null", O_RDONLY | O_CLOEXEC); /* has a number that a socket had just now */
    failures += run_in_child(no_socket_is_there, &others) != 0;
    close(others);
  }
  assert_int_equal(failures + end_busy(busy, threads, COUNT_OF(busy)), 0);
}

/* libuv keeps a pipe of its own for the whole process, and makes it anew in a child: it must not count as
 * ours. */
static void let_libuv_open_what_is_its_own(void) {
  static uv_loop_t loop;
  if (uv_loop_init(&loop) == 0) uv_loop_close(&loop);
}

int main(void) {
  static id_list before;
  let_libuv_open_what_is_its_own();
  before = list_descriptors();
  opened_by_others = &before;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(in_the_child_every_call_on_a_copy_answers_forked),
      cmocka_unit_test(in_the_child_copies_can_be_closed_and_freed),
      cmocka_unit_test(in_the_child_our_descriptors_are_closed_and_nobody_elses),
      cmocka_unit_test(in_the_child_a_socket_that_is_still_being_connected_is_closed),
      cmocka_unit_test(in_the_child_a_name_opens_a_new_table),
      cmocka_unit_test(in_the_child_a_new_context_has_a_runtime_of_its_own),
      cmocka_unit_test(a_fork_while_other_threads_lock_leaves_no_lock_taken_in_the_child),
      cmocka_unit_test(a_fork_while_sockets_come_and_go_leaves_none_in_the_child),
  };
  return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}
