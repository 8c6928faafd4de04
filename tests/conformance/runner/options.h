/* SPDX-License-Identifier: MIT
 *
 * Options as scenarios write them. One table says which fields there are, how each is written and where it
 * lies in the struct; reading and checking both go by it.
 *
 * Invariant: an option that is not in the table is a fault, never ignored; one that the scenario leaves out
 * keeps what the library's init function filled in.
 */
#ifndef CONFORMANCE_OPTIONS_H
#define CONFORMANCE_OPTIONS_H

#include "base.h"

/* Where an on_lost notice of a lock goes. */
enum lost_notice { LOST_NOTICE_NONE, LOST_NOTICE_CALLBACK, LOST_NOTICE_COMPLETIONS };

bool acquire_options_read(const json_t *node, struct arena *arena, liblock_acquire_options *options,
                          enum lost_notice *notice, struct fault *fault);
bool context_options_read(const json_t *node, struct arena *arena, liblock_context_options *options,
                          struct fault *fault);

/* A ttl as a number of milliseconds, "AUTO" or "NONE". */
bool ttl_read(const json_t *node, int64_t *ttl_ms, struct fault *fault);

/* "FIFO" for LIBLOCK_ORDER_FIFO, as an info reports it. */
const char *order_name(int32_t order);

#endif
