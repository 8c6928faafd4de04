/* SPDX-License-Identifier: MIT
 *
 * Paths that ask servers: on one, or over a quorum, whichever the url names. All of a process is one thread that runs a
 * loop; the context gives no signs of life of its own and leaves no key free for others, so that nothing is sent but
 * what a round asks for.
 */
#include <stdlib.h>
#include <uv.h>

#include "costs.h"

enum { DEPTH = COSTS_KEYS, LEASES = 1000, LEASE_MS = 9000, FEW = 300, MANY = 10 * FEW };

static uv_loop_t loop;
static unsigned long ended;
static liblock_status failure; /* the last that an end told */

/* A second context on the same loop: to the server another client. */
static liblock_context *other;
static unsigned long queued;

static void on_end(const liblock_completion *completion, void *user_data) {
  if (completion->status != LIBLOCK_OK) failure = completion->status;
  if (user_data != NULL) *(liblock_lock *)user_data = completion->lock;
  ended++;
}

static void turn_until_ended(unsigned long count, const char *call) {
  while (ended < count) uv_run(&loop, UV_RUN_ONCE);
  ended = 0;
  costs_must(failure, LIBLOCK_OK, call);
}

/* A question waits until it is known of the servers how they are. */
static void await_servers(liblock_context *context) {
  COSTS_MUST(liblock_ping_async(context, NULL, on_end, NULL, NULL));
  turn_until_ended(1, "liblock_ping_async");
}

static liblock_context *open_one(const char *url) {
  liblock_context *context;
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.uv_loop = &loop;
  options.foreign_gap_ms = -1;
  options.zombie_interval_ms = -1;
  options.alive_ms = 60000;
  options.command_timeout_ms = 60000;
  COSTS_MUST(liblock_open(url, &options, &context, NULL));
  await_servers(context);
  return context;
}

static void open_on_loop(struct costs *costs) {
  costs_must(uv_loop_init(&loop), 0, "uv_loop_init");
  costs->context = open_one(costs->url);
}

static void close_one(liblock_context *context) {
  COSTS_MUST(liblock_close_async(context, on_end, NULL));
  turn_until_ended(1, "liblock_close_async");
  liblock_context_free(context);
}

static void close_on_loop(struct costs *costs) {
  close_one(costs->context);
  if (other != NULL) close_one(other);
  uv_run(&loop, UV_RUN_DEFAULT);
  costs_must(uv_loop_close(&loop), 0, "uv_loop_close");
}

static void submit(liblock_context *context, const liblock_bytes *key, const liblock_acquire_options *options,
                   liblock_lock *lock) {
  liblock_request request;
  COSTS_MUST(liblock_acquire_async(context, key->data, key->size, options, on_end, lock, &request));
}

static void give_back(liblock_context *context, liblock_lock lock) {
  COSTS_MUST(liblock_release_async(context, lock, NULL, on_end, NULL, NULL));
}

static void pairs(struct costs *costs, unsigned long first, unsigned long count) {
  liblock_lock locks[DEPTH];
  for (unsigned long i = 0; i < count; ++i)
    submit(costs->context, costs_key(costs, first + i), NULL, &locks[i]);
  turn_until_ended(count, "liblock_acquire_async");
  for (unsigned long i = 0; i < count; ++i) give_back(costs->context, locks[i]);
  turn_until_ended(count, "liblock_release_async");
}

static void one_pair(struct costs *costs, unsigned long nth) { pairs(costs, nth, 1); }

static void many_pairs(struct costs *costs, unsigned long nth) {
  (void)nth;
  pairs(costs, 0, DEPTH);
}

static void open_leased(struct costs *costs) {
  static liblock_lock locks[LEASES];
  open_on_loop(costs);
  costs->options.ttl_ms = LEASE_MS;
  costs->options.renew = 1;
  for (uint32_t i = 0; i < LEASES; ++i)
    submit(costs->context, &(liblock_bytes){&i, sizeof i}, &costs->options, &locks[i]);
  turn_until_ended(LEASES, "liblock_acquire_async");
}

static uint64_t renewals(struct costs *costs) {
  liblock_stats stats;
  liblock_stats_init(&stats, sizeof stats);
  COSTS_MUST(liblock_stats_get(costs->context, &stats));
  if (stats.locks_held == LEASES) return stats.renewals;
  costs_must(LIBLOCK_LOST, LIBLOCK_OK, "a renewal came too late");
  return 0;
}

/* As many renewals as there are leases, at the pace at which the library makes them. */
static void renew(struct costs *costs, unsigned long nth) {
  static uint64_t before;
  if (nth == 0) before = renewals(costs);
  while (renewals(costs) < before + LEASES) uv_run(&loop, UV_RUN_ONCE);
  before += LEASES;
}

/* Everything that was sent has been answered: what is asked for last is. */
static void await_answers(struct costs *costs) {
  COSTS_MUST(liblock_ping_async(costs->context, NULL, on_end, NULL, NULL));
  turn_until_ended(1, "liblock_ping_async");
}

/* One lock of an owner's, from the opening of him to his closing, beside many of others whose losses are waited for. */
static void on_loss(const liblock_completion *completion, void *user_data) {
  (void)completion;
  (void)user_data;
}

static void on_inspected(const liblock_completion *completion, void *user_data) {
  liblock_info_free(completion->info);
  on_end(completion, user_data);
}

static void open_beside(struct costs *costs, uint32_t count) {
  static liblock_lock locks[MANY];
  open_on_loop(costs);
  costs->options.ttl_ms = 3600000;
  for (uint32_t i = 0; i < count; ++i)
    submit(costs->context, &(liblock_bytes){&i, sizeof i}, &costs->options, &locks[i]);
  turn_until_ended(count, "liblock_acquire_async");
  for (uint32_t i = 0; i < count; ++i) {
    liblock_request request;
    COSTS_MUST(liblock_wait_lost_async(costs->context, locks[i], -1, NULL, on_loss, NULL, &request));
  }
}

static void open_beside_few(struct costs *costs) { open_beside(costs, FEW); }
static void open_beside_many(struct costs *costs) { open_beside(costs, MANY); }

static void life_of_an_owner(struct costs *costs, unsigned long nth) {
  const liblock_bytes *key = costs_key(costs, nth);
  liblock_lock lock;
  COSTS_MUST(liblock_owner_open(costs->context, "one", 3, &costs->options.owner, NULL));
  submit(costs->context, key, &costs->options, &lock);
  turn_until_ended(1, "liblock_acquire_async");
  COSTS_MUST(liblock_inspect_async(costs->context, key->data, key->size, NULL, on_inspected, NULL, NULL));
  turn_until_ended(1, "liblock_inspect_async");
  liblock_owner_free(costs->options.owner);
  costs->options.owner = NULL;
  await_answers(costs);
}

static void on_queued(int64_t position, int64_t length, void *user_data) {
  (void)position;
  (void)length;
  (void)user_data;
  queued = 1;
}

static void open_two(struct costs *costs) {
  open_on_loop(costs);
  other = open_one(costs->url);
  costs->options.on_queued = on_queued;
  submit(costs->context, costs_key(costs, 0), NULL, &costs->lock);
  turn_until_ended(1, "liblock_acquire_async");
}

/* From the one context to the other, which is known to wait. */
static void hand_over(struct costs *costs, unsigned long nth) {
  liblock_context *holder = nth % 2 == 0 ? costs->context : other;
  liblock_context *waiter = nth % 2 == 0 ? other : costs->context;
  const liblock_lock held = costs->lock;
  queued = 0;
  submit(waiter, costs_key(costs, 0), &costs->options, &costs->lock);
  while (!queued) uv_run(&loop, UV_RUN_ONCE);
  give_back(holder, held);
  turn_until_ended(2, "liblock_acquire_async");
}

static void open_holding(struct costs *costs) {
  open_on_loop(costs);
  submit(costs->context, costs_key(costs, 0), NULL, &costs->lock);
  turn_until_ended(1, "liblock_acquire_async");
}

/* From one request of the context to the next. */
static void hand_over_within(struct costs *costs, unsigned long nth) {
  const liblock_lock held = costs->lock;
  (void)nth;
  submit(costs->context, costs_key(costs, 0), NULL, &costs->lock);
  give_back(costs->context, held);
  turn_until_ended(2, "liblock_acquire_async");
}

const struct costs_path costs_remote_paths[] = {
    {"acquire on servers", open_on_loop, one_pair, close_on_loop, 1},
    {"64 acquires at once", open_on_loop, many_pairs, close_on_loop, DEPTH},
    {"renew 1,000 leases", open_leased, renew, close_on_loop, LEASES},
    {"life of an owner beside 300 locks", open_beside_few, life_of_an_owner, close_on_loop, 1},
    {"life of an owner beside 3,000 locks", open_beside_many, life_of_an_owner, close_on_loop, 1},
    {"hand over to another client", open_two, hand_over, close_on_loop, 1},
    {"hand over within the process", open_holding, hand_over_within, close_on_loop, 1},
    {NULL, NULL, NULL, NULL, 0},
};
