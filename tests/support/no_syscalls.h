/* SPDX-License-Identifier: MIT
 *
 * Proves that code makes no system call: in a forked child, a seccomp filter traps every call of the thread.
 */
#ifndef LIBLOCK_TESTS_NO_SYSCALLS_H
#define LIBLOCK_TESTS_NO_SYSCALLS_H

enum {
  NO_SYSCALLS_CLEAN = 0,
  NO_SYSCALLS_CAUGHT = 70,     /* a system call was made; its number went to stderr */
  NO_SYSCALLS_UNAVAILABLE = 71 /* the kernel refused the filter: the test must fail, it has proved nothing */
};

/* For a forked child: from here on any system call of this thread but exit_group ends the process as CAUGHT.
 */
int no_syscalls_begin(void);

#endif
