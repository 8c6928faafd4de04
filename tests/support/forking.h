/* SPDX-License-Identifier: MIT
 *
 * What a child of a fork does, and how it ended. The allocator of AddressSanitizer (LLVM 14) may be locked by another
 * thread at a fork, and is then locked in the child for ever, whatever it does there: such a child is no finding, and
 * another one is forked. Everywhere else a child that hangs is killed, and told as such.
 */
#ifndef FORKING_H
#define FORKING_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define FORKS_UNDER_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FORKS_UNDER_ASAN
#endif
#endif
#ifdef FORKS_UNDER_ASAN
enum { FORKS_MAX = 3, CHILD_HANGS_AFTER_S = 25 }; /* what a child waits for in vain is told before (GENEROUS_MS) */
#else
enum { FORKS_MAX = 1, CHILD_HANGS_AFTER_S = 60 };
#endif
enum { DESCRIPTORS_LOOKED_AT = 1024 };

static inline bool has_sockets(void) {
  struct stat status;
  for (int fd = STDERR_FILENO + 1; fd < DESCRIPTORS_LOOKED_AT; fd++) {
    if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode)) return true;
  }
  return false;
}

static inline bool await_child(pid_t child, int *status) {
  pid_t ended;
  do {
    ended = waitpid(child, status, 0);
  } while (ended < 0 && errno == EINTR);
  return ended == child;
}

/* Returns what act() returned in the child, or -1: it was killed. */
static inline int in_a_child(int (*act)(void *), void *data) {
  int status = 0;
  for (int n = 0; n < FORKS_MAX; ++n) {
    if (n > 0) fputs("# a child of a fork hung, and is forked anew\n", stderr);
    const pid_t child = fork();
    if (child == 0) {
      alarm(CHILD_HANGS_AFTER_S);
      _exit(act(data));
    }
    if (child < 0 || !await_child(child, &status)) return -1;
    if (!(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)) break;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif
