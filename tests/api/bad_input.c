/* SPDX-License-Identifier: MIT
 *
 * The bad-input table: each row of the three row files is a test of its own, which makes one bad call in a
 * context where a lock is held and a request waits, asserts the exact status, and then that nothing whatever
 * has changed.
 */
#include "bad_input.h"

#include <stdlib.h>

#define ROW(name, expected, ...)                     \
  static liblock_status row_##name(environment *e) { \
    (void)e;                                         \
    return __VA_ARGS__;                              \
  }
#include "bad_input_more_rows.h"
#include "bad_input_quorum_rows.h"
#include "bad_input_rows.h"
#undef ROW

struct row {
  const char *name;
  liblock_status expected;
  liblock_status (*call)(environment *e);
};

static struct row rows[] = {
#define ROW(name, expected, ...) {#name, LIBLOCK_##expected, row_##name},
#include "bad_input_more_rows.h"
#include "bad_input_quorum_rows.h"
#include "bad_input_rows.h"
#undef ROW
};

static environment *set_up(void) {
  environment *e = calloc(1, sizeof *e);
  assert_non_null(e);
  e->context = open_local("local:", NULL);
  e->closed = open_local("local:", NULL);
  assert_ok(liblock_close(e->closed));
  e->owner = open_owner(e->context, "owner");
  e->closed_owner = open_owner(e->context, "closed");
  assert_ok(liblock_owner_close(e->closed_owner));
  assert_ok(liblock_completions_open(e->context, 4, &e->queue, NULL));
  assert_ok(liblock_completions_open(e->context, 4, &e->closed_queue, NULL));
  assert_ok(liblock_completions_close(e->closed_queue));
  e->stranger = open_local("local:", NULL);
  e->strangers_owner = open_owner(e->stranger, "stranger");
  assert_ok(liblock_completions_open(e->stranger, 4, &e->strangers_queue, NULL));
  e->ends = recorder_new(e->context, false);
  e->released = take(e->context, "released");
  assert_ok(liblock_release(e->context, e->released, NULL));
  const liblock_acquire_options mine = owned_by(e->owner);
  e->held = take_with(e->context, "held", &mine);
  e->pending = request_key(e->context, e->ends, 1, "held", NULL);
  assert_ok(liblock_inspect(e->context, KEY("held"), &e->held_info, NULL));
  assert_ok(liblock_list_locks(e->context, NULL, &e->open_cursor, NULL));
  e->lock = UNTOUCHED;
  e->request = UNTOUCHED;
  e->completion.struct_size = sizeof e->completion;
  liblock_stats_init(&e->stats, sizeof e->stats);
  for (size_t i = 0; i < COUNT_OF(e->keys); i++) e->keys[i] = (liblock_bytes){e->large + i, 2};
  for (size_t i = 0; i < sizeof e->large; i++) e->large[i] = (char)(i * 31 >> 3);
  for (size_t i = 0; i < COUNT_OF(e->pairs); i++) e->pairs[i] = (liblock_metadata){BYTES("n"), BYTES("v")};
  return e;
}

static void assert_nothing_was_made(const environment *e) {
  assert_null(e->new_context);
  assert_null(e->new_owner);
  assert_null(e->new_queue);
  assert_null(e->info);
  assert_null(e->cursor);
  assert_true(e->lock == 0 || e->lock == UNTOUCHED);
  assert_true(e->request == 0 || e->request == UNTOUCHED);
}

/* The held lock is held, the pending request waits, and goes on when the key is released. */
static void assert_everything_still_works(environment *e) {
  assert_ok(liblock_is_held(e->context, e->held));
  assert_int_equal(recorder_count(e->ends), 0);
  assert_ok(probe(e->context, "k"));
  assert_ok(liblock_release(e->context, e->held, NULL));
  assert_true(recorder_await(e->ends, 1));
  assert_ok(recorder_at(e->ends, 0).completion.status);
  assert_int_equal(recorder_count(e->ends), 1);
}

static void tear_down(environment *e) {
  liblock_info_free(e->held_info);
  liblock_cursor_free(e->open_cursor);
  liblock_completions_free(e->queue);
  liblock_completions_free(e->closed_queue);
  liblock_owner_free(e->owner);
  liblock_owner_free(e->closed_owner);
  liblock_completions_free(e->strangers_queue);
  liblock_owner_free(e->strangers_owner);
  end_context(e->stranger);
  end_context(e->context);
  liblock_context_free(e->closed);
  recorder_free(e->ends);
  free(e);
}

static void check_row(void **state) {
  const struct row *row = *state;
  environment *e = set_up();
  const liblock_stats before = stats_of(e->context);
  expect_status(row->expected, row->call(e), row->name, __FILE__, __LINE__);
  const liblock_stats after = stats_of(e->context);
  assert_memory_equal(&before, &after, sizeof before);
  assert_nothing_was_made(e);
  assert_everything_still_works(e);
  tear_down(e);
}

int main(void) {
  static struct CMUnitTest tests[COUNT_OF(rows)];
  for (size_t i = 0; i < COUNT_OF(rows); i++)
    tests[i] = (struct CMUnitTest){rows[i].name, check_row, NULL, NULL, &rows[i]};
  return cmocka_run_group_tests_name("bad input", tests, NULL, NULL);
}
