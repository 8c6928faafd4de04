/* SPDX-License-Identifier: MIT
 *
 * What fail.c lets fail. A program that finds these functions weak and NULL runs without it.
 */
#ifndef FAIL_H
#define FAIL_H

enum {
  FAIL_NOTHING,
  FAIL_MEMORY,
  FAIL_THREAD,
  FAIL_RANDOM,
  FAIL_EVENTFD,
  FAIL_EPOLL_CREATE,
  FAIL_EPOLL_CTL,
  FAIL_EPOLL_WAIT, /* by a signal */
  FAIL_SOCKET,
  FAIL_CONNECT,
  FAIL_WRITE, /* of sockets, as the next */
  FAIL_READ,
  FAIL_KINDS
};

/* From now on the nth call of this kind fails, by whatever thread of the process; the others are passed on. */
__attribute__((weak)) void fail_arm(int kind, unsigned long nth);
/* How many there were since. Less than n: none failed. */
__attribute__((weak)) unsigned long fail_seen(void);
__attribute__((weak)) unsigned long fail_disarm(void);
/* *whose becomes 1 where the failure meets the thread that calls this while is_lent() is 0, else 2: what it does for
 * others meanwhile is not its own. Before fail_arm(). */
__attribute__((weak)) void fail_watch(int *whose, int (*is_lent)(void));
/* Blocks of memory that are out. */
__attribute__((weak)) long fail_blocks(void);

#endif
