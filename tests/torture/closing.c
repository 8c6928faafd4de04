/* SPDX-License-Identifier: MIT
 *
 * Scenarios that close a local context: whatever is lacking, nothing is granted any more, and the next close goes on.
 */
#include <liblock/liblock.h>
#include <stdatomic.h>
#include <time.h>

#include "fail.h"
#include "torture.h"

void torture_hold_many_and_wait(struct torture *t) {
  torture_open(t);
  for (int n = 0; n < 10; ++n) torture_ask(t, "a", NULL);
}

static void end_context_behind(struct torture *t, liblock_status status) {
  fail_disarm();
  if (status == LIBLOCK_NO_MEMORY)
    torture_must(liblock_close(t->context) == LIBLOCK_OK, "the next close goes on", status);
  torture_must(liblock_try_acquire(t->context, "b", 1, NULL, &t->locks[0], NULL) == LIBLOCK_CLOSED,
               "what is closed grants nothing", status);
  t->granted = 0;
  liblock_owner_free(t->owner);
  liblock_completions_free(t->ends);
  liblock_context_free(t->context);
  *t = (struct torture){0};
}

void torture_close_context(struct torture *t) {
  torture_read(t, 0);
  const liblock_status status = liblock_close(t->context);
  fail_disarm();
  torture_must(liblock_try_acquire(t->context, "b", 1, NULL, &t->locks[0], NULL) == LIBLOCK_CLOSED,
               "what is to be closed is closed, whatever is left of it", status);
  end_context_behind(t, status);
}

static atomic_int closes; /* of the callback thread */

static void count_close(const liblock_completion *end, void *user_data) {
  (void)end;
  (void)user_data;
  atomic_fetch_add(&closes, 1);
}

/* Nothing of this process has had a callback before. */
void torture_close_first_of_all(struct torture *t) {
  torture_open(t);
  if (t->context == NULL) return;
  const int before = atomic_load(&closes);
  const liblock_status status = liblock_close_async(t->context, count_close, NULL);
  torture_ended(status);
  fail_disarm();
  if (status != LIBLOCK_OK) {
    const liblock_status again = liblock_close_async(t->context, count_close, NULL);
    torture_must(again == LIBLOCK_OK, "the next close goes on", again);
  }
  const struct timespec moment = {0, 1000000};
  for (int ms = 0; ms < TORTURE_END_MS && atomic_load(&closes) == before; ++ms) nanosleep(&moment, NULL);
  torture_must(atomic_load(&closes) == before + 1, "who got OK is called once", status);
  end_context_behind(t, LIBLOCK_OK);
}

void torture_close_context_and_be_called(struct torture *t) {
  torture_read(t, 0);
  end_context_behind(t, liblock_close_async(t->context, count_close, NULL));
}
