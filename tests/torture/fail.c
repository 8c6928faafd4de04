/* SPDX-License-Identifier: MIT
 *
 * Preloaded: counts the calls of one kind that the process makes while it is armed, and lets the nth of them fail as
 * the system would. Not armed, everything is passed on. Also counts the blocks of memory that are out, so that a test
 * sees what a failure left behind. Needs glibc, whose allocator has names of its own to pass on to.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fail.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

static atomic_int armed_for = FAIL_NOTHING;
static atomic_ulong seen, fails_at;
static atomic_long blocks;
static int *told_whose;
static int (*is_lent_now)(void);
static pthread_t watcher;

void fail_arm(int kind, unsigned long nth) {
  atomic_store(&seen, 0);
  atomic_store(&fails_at, nth);
  atomic_store(&armed_for, kind);
}

unsigned long fail_seen(void) { return atomic_load(&seen); }

unsigned long fail_disarm(void) {
  atomic_store(&armed_for, FAIL_NOTHING);
  return fail_seen();
}

void fail_watch(int *whose, int (*is_lent)(void)) {
  told_whose = whose;
  is_lent_now = is_lent;
  watcher = pthread_self();
}

long fail_blocks(void) { return atomic_load(&blocks); }

static int fails(int kind) {
  if (atomic_load_explicit(&armed_for, memory_order_relaxed) != kind) return 0;
  if (atomic_fetch_add(&seen, 1) + 1 != atomic_load(&fails_at)) return 0;
  if (told_whose != NULL) *told_whose = pthread_equal(watcher, pthread_self()) && !is_lent_now() ? 1 : 2;
  return 1;
}

/* ------------------------------------------------------------------------------------------------ memory --- */

static void *counted(void *block) {
  if (block != NULL) atomic_fetch_add_explicit(&blocks, 1, memory_order_relaxed);
  return block;
}

static void *no_memory(void) {
  errno = ENOMEM;
  return NULL;
}

void *malloc(size_t size) { return fails(FAIL_MEMORY) ? no_memory() : counted(__libc_malloc(size)); }
void *calloc(size_t count, size_t size) {
  return fails(FAIL_MEMORY) ? no_memory() : counted(__libc_calloc(count, size));
}
void *realloc(void *block, size_t size) {
  if (fails(FAIL_MEMORY)) return no_memory();
  void *moved = __libc_realloc(block, size);
  return block == NULL ? counted(moved) : moved;
}
void *memalign(size_t alignment, size_t size) {
  return fails(FAIL_MEMORY) ? no_memory() : counted(__libc_memalign(alignment, size));
}
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **block, size_t alignment, size_t size) {
  void *made = memalign(alignment, size);
  if (made == NULL) return ENOMEM;
  *block = made;
  return 0;
}
void free(void *block) {
  if (block != NULL) atomic_fetch_sub_explicit(&blocks, 1, memory_order_relaxed);
  __libc_free(block);
}

/* ------------------------------------------------------------------------------------------ system calls --- */

/* The next definition of the calling function, looked up once. */
#define PASS_ON(type, name, arguments)                             \
  do {                                                             \
    static type(*_Atomic next);                                    \
    type(*to) = atomic_load_explicit(&next, memory_order_relaxed); \
    if (to == NULL) {                                              \
      to = (type(*))dlsym(RTLD_NEXT, name);                        \
      atomic_store(&next, to);                                     \
    }                                                              \
    return to arguments;                                           \
  } while (0)

#define REFUSE(kind, number) \
  if (fails(kind)) {         \
    errno = number;          \
    return -1;               \
  }

typedef int thread_create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *data) {
  if (fails(FAIL_THREAD)) return EAGAIN;
  PASS_ON(thread_create_function, "pthread_create", (thread, attributes, run, data));
}

typedef int eventfd_function(unsigned, int);
int eventfd(unsigned value, int flags) {
  REFUSE(FAIL_EVENTFD, EMFILE)
  PASS_ON(eventfd_function, "eventfd", (value, flags));
}

typedef int epoll_create_function(int);
int epoll_create1(int flags) {
  REFUSE(FAIL_EPOLL_CREATE, EMFILE)
  PASS_ON(epoll_create_function, "epoll_create1", (flags));
}

typedef int epoll_control_function(int, int, int, struct epoll_event *);
int epoll_ctl(int fd, int operation, int of, struct epoll_event *event) {
  REFUSE(FAIL_EPOLL_CTL, ENOMEM)
  PASS_ON(epoll_control_function, "epoll_ctl", (fd, operation, of, event));
}

typedef int epoll_wait_function(int, struct epoll_event *, int, int);
int epoll_wait(int fd, struct epoll_event *events, int count, int wait_ms) {
  REFUSE(FAIL_EPOLL_WAIT, EINTR)
  PASS_ON(epoll_wait_function, "epoll_wait", (fd, events, count, wait_ms));
}

typedef int epoll_masked_wait_function(int, struct epoll_event *, int, int, const sigset_t *);
int epoll_pwait(int fd, struct epoll_event *events, int count, int wait_ms, const sigset_t *mask) {
  REFUSE(FAIL_EPOLL_WAIT, EINTR)
  PASS_ON(epoll_masked_wait_function, "epoll_pwait", (fd, events, count, wait_ms, mask));
}

typedef int socket_function(int, int, int);
int socket(int domain, int type, int protocol) {
  REFUSE(FAIL_SOCKET, EMFILE)
  PASS_ON(socket_function, "socket", (domain, type, protocol));
}

typedef int connect_function(int, const struct sockaddr *, socklen_t);
int connect(int fd, const struct sockaddr *address, socklen_t size) {
  REFUSE(FAIL_CONNECT, ECONNREFUSED)
  PASS_ON(connect_function, "connect", (fd, address, size));
}

/* What a loop wakes itself by cannot fail: libuv would rather end the process. */
static int is_socket(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}

#define REFUSE_SOCKET(kind, number)   \
  if (is_socket(fd) && fails(kind)) { \
    errno = number;                   \
    return -1;                        \
  }

typedef ssize_t write_function(int, const void *, size_t);
ssize_t write(int fd, const void *data, size_t size) {
  REFUSE_SOCKET(FAIL_WRITE, EPIPE)
  PASS_ON(write_function, "write", (fd, data, size));
}

typedef ssize_t writev_function(int, const struct iovec *, int);
ssize_t writev(int fd, const struct iovec *parts, int count) {
  REFUSE_SOCKET(FAIL_WRITE, EPIPE)
  PASS_ON(writev_function, "writev", (fd, parts, count));
}

typedef ssize_t send_function(int, const void *, size_t, int);
ssize_t send(int fd, const void *data, size_t size, int flags) {
  REFUSE_SOCKET(FAIL_WRITE, EPIPE)
  PASS_ON(send_function, "send", (fd, data, size, flags));
}

typedef ssize_t sendmsg_function(int, const struct msghdr *, int);
ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  REFUSE_SOCKET(FAIL_WRITE, EPIPE)
  PASS_ON(sendmsg_function, "sendmsg", (fd, message, flags));
}

typedef ssize_t read_function(int, void *, size_t);
ssize_t read(int fd, void *data, size_t size) {
  REFUSE_SOCKET(FAIL_READ, ECONNRESET)
  PASS_ON(read_function, "read", (fd, data, size));
}

typedef ssize_t getrandom_function(void *, size_t, unsigned);
ssize_t getrandom(void *data, size_t size, unsigned flags) {
  REFUSE(FAIL_RANDOM, ENOSYS)
  PASS_ON(getrandom_function, "getrandom", (data, size, flags));
}
