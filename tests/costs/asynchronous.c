/* SPDX-License-Identifier: MIT
 *
 * Paths of the local context whose ends are told: in a completion queue that the same thread reads, or by a callback
 * of a loop that the same thread runs. A hand-over has a waiter that no thread waits for, so that its cost is the
 * library's own and not what a scheduler makes of two threads.
 */
#include <uv.h>

#include "costs.h"

enum { CAPACITY = 16 };

static void open_with_completions(struct costs *costs) {
  costs_open(costs);
  COSTS_MUST(liblock_completions_open(costs->context, CAPACITY, &costs->completions, NULL));
  costs->options.completions = costs->completions;
}

static void open_handed_over(struct costs *costs) {
  open_with_completions(costs);
  const liblock_bytes *key = costs_key(costs, 0);
  COSTS_MUST(liblock_acquire(costs->context, key->data, key->size, NULL, &costs->lock, NULL));
}

static void submit(struct costs *costs, unsigned long nth) {
  const liblock_bytes *key = costs_key(costs, nth);
  liblock_request request;
  COSTS_MUST(
      liblock_acquire_async(costs->context, key->data, key->size, &costs->options, NULL, NULL, &request));
}

static liblock_lock read_grant(struct costs *costs) {
  liblock_completion completion = {.struct_size = sizeof completion};
  COSTS_MUST(liblock_completions_next(costs->completions, 0, &completion));
  COSTS_MUST(completion.status);
  return completion.lock;
}

static void acquire_to_completions(struct costs *costs, unsigned long nth) {
  submit(costs, nth);
  COSTS_MUST(liblock_release(costs->context, read_grant(costs), NULL));
}

static void hand_over(struct costs *costs, unsigned long nth) {
  (void)nth;
  submit(costs, 0);
  COSTS_MUST(liblock_release(costs->context, costs->lock, NULL));
  costs->lock = read_grant(costs);
}

static uv_loop_t loop;
static int ended;

static void open_on_loop(struct costs *costs) {
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  costs_must(uv_loop_init(&loop), 0, "uv_loop_init");
  options.uv_loop = &loop;
  COSTS_MUST(liblock_open(costs->url, &options, &costs->context, NULL));
}

static void on_end(const liblock_completion *completion, void *user_data) {
  struct costs *costs = user_data;
  COSTS_MUST(completion->status);
  costs->lock = completion->lock;
  ended = 1;
}

static void turn_until_ended(void) {
  while (!ended) uv_run(&loop, UV_RUN_ONCE);
  ended = 0;
}

static void acquire_to_callback(struct costs *costs, unsigned long nth) {
  const liblock_bytes *key = costs_key(costs, nth);
  liblock_request request;
  COSTS_MUST(liblock_acquire_async(costs->context, key->data, key->size, NULL, on_end, costs, &request));
  turn_until_ended();
  COSTS_MUST(liblock_release(costs->context, costs->lock, NULL));
}

static void close_on_loop(struct costs *costs) {
  COSTS_MUST(liblock_close_async(costs->context, on_end, costs));
  turn_until_ended();
  liblock_context_free(costs->context);
  uv_run(&loop, UV_RUN_DEFAULT);
  costs_must(uv_loop_close(&loop), 0, "uv_loop_close");
}

const struct costs_path costs_asynchronous_paths[] = {
    {"acquire to a completion queue", open_with_completions, acquire_to_completions, costs_close, 1},
    {"acquire to a callback on a loop", open_on_loop, acquire_to_callback, close_on_loop, 1},
    {"hand over", open_handed_over, hand_over, costs_close, 1},
    {NULL, NULL, NULL, NULL, 0},
};
