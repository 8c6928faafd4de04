/* SPDX-License-Identifier: MIT
 * Ends of asynchronous calls on a loop of the main thread, which turns it until one has come.
 */
#ifndef ENDS_H
#define ENDS_H

#include <liblock/liblock.h>
#include <stdbool.h>
#include <uv.h>

typedef struct ended {
  bool came;
  liblock_completion completion;
} ended;

/* A callback; user_data is an ended. */
static inline void on_end(const liblock_completion *completion, void *user_data) {
  ended *end = user_data;
  end->completion = *completion;
  end->came = true;
}

/* The status of a call that was begun with this status, and whose end comes here. */
static inline liblock_status end_of(uv_loop_t *loop, ended *end, liblock_status begun) {
  while (begun == LIBLOCK_OK && !end->came) uv_run(loop, UV_RUN_ONCE);
  return begun == LIBLOCK_OK ? end->completion.status : begun;
}

#endif
