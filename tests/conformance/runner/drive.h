/* SPDX-License-Identifier: MIT
 *
 * What drives time and threads of a scenario: reading ends of requests from completion queues, and named
 * threads that perform one call at a time.
 */
#ifndef CONFORMANCE_DRIVE_H
#define CONFORMANCE_DRIVE_H

#include "call.h"

/* Reads one end or notice; NULL when none came within wait_ms. The caller owns the object. Binds what was
 * granted. */
json_t *end_read(struct world *world, struct context_slot *slot, int64_t wait_ms, struct fault *fault);
/* Blames the world when any context has an end that no step has read. */
void ends_none(struct world *world, struct fault *fault);
/* After the contexts were closed: every request still pending must end as CLOSED, once. */
void ends_closed(struct world *world);

/* Runs the call on the named thread, which begins with its first call; waits for it unless the step is in the
 * background. True when the call is over and can be settled. */
bool actor_run(struct world *world, const char *name, struct call *call);
/* Waits until the thread's background call is over; NULL and a fault when it does not end, or there is none.
 */
struct call *actor_finish(struct world *world, const char *name, struct fault *fault);
/* Ends the thread and joins it. */
bool actor_end(struct world *world, const char *name, struct fault *fault);
void actors_end(struct world *world);

#endif
