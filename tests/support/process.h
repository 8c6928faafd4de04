/* SPDX-License-Identifier: MIT
 *
 * What /proc tells about the process under test: its threads, their blocked signals, its descriptors. And
 * running a check in a forked child, where a failure is a line on stderr and an exit code.
 */
#ifndef LIBLOCK_TESTS_PROCESS_H
#define LIBLOCK_TESTS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PROCESS_LIST_MAX = 1024 };

typedef struct id_list {
  size_t count;
  int ids[PROCESS_LIST_MAX];
} id_list;

id_list list_threads(void);
id_list list_descriptors(void);
bool list_has(const id_list *list, int id);
/* Bit n-1 set = signal n blocked; 0 when the thread is gone. */
uint64_t blocked_signals(int thread);
/* Also when the thread is gone. */
bool thread_name_begins(int thread, const char *begin);

/* Runs the check in a forked child, as forking.h does; its answer (0 = well) is the child's exit code. -1 when the
 * child was killed or did not end within the generous limit (it is killed then). */
int run_in_child(int (*check)(void *), void *argument);

/* For use in such a child: says what failed and ends it. */
#define CHILD_CHECK(condition) ((condition) ? (void)0 : child_failed(#condition, __FILE__, __LINE__))
_Noreturn void child_failed(const char *text, const char *file, int line);

#endif
