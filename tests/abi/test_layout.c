/* SPDX-License-Identifier: MIT
 *
 * What a binding or an older program relies on without asking: sizes and offsets of the public structs,
 * numbers of the statuses and constants. The numbers stand in layout.def and below a second time, so that a
 * change of the header that would break a program built yesterday fails here and cannot pass unseen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <liblock/liblock.h>

typedef struct Place {
  const char *name; /* "struct.field", or "struct" for its size */
  size_t offset, size;
  size_t offset_published, size_published;
} Place;

#define SIZE(type, bytes) {#type, 0, sizeof(type), 0, bytes},
#define FIELD(type, field, where, bytes) \
  {#type "." #field, offsetof(type, field), sizeof(((type *)0)->field), where, bytes},
static const Place places[] = {
#include "layout.def"
};
#undef SIZE
#undef FIELD

static void every_field_is_where_it_was_published(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
    const Place *place = &places[i];
    if (place->offset != place->offset_published || place->size != place->size_published) {
      fail_msg("%s: offset %zu, size %zu; published: %zu, %zu", place->name, place->offset, place->size,
               place->offset_published, place->size_published);
    }
  }
}

/* A gap would carry bytes that nobody initialises; a field missing from layout.def would leave one as well.
 */
static void the_fields_of_a_struct_lie_without_gaps(void **state) {
  (void)state;
  size_t end = 0, size = 0;
  for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
    const Place *place = &places[i];
    if (strchr(place->name, '.') == NULL) {
      assert_int_equal(end, size);
      end = 0;
      size = place->size;
      continue;
    }
    if (place->offset != end)
      fail_msg("%s: at %zu, but what stands before ends at %zu", place->name, place->offset, end);
    end += place->size;
  }
  assert_int_equal(end, size);
}

static void struct_size_comes_first_in_every_struct_that_may_grow(void **state) {
  (void)state;
  assert_int_equal(offsetof(liblock_result, struct_size), 0);
  assert_int_equal(offsetof(liblock_completion, struct_size), 0);
  assert_int_equal(offsetof(liblock_context_options, struct_size), 0);
  assert_int_equal(offsetof(liblock_acquire_options, struct_size), 0);
  assert_int_equal(offsetof(liblock_list_options, struct_size), 0);
  assert_int_equal(offsetof(liblock_clear_options, struct_size), 0);
  assert_int_equal(offsetof(liblock_report, struct_size), 0);
  assert_int_equal(offsetof(liblock_stats, struct_size), 0);
  assert_int_equal(offsetof(liblock_instance, struct_size), 0);
  assert_int_equal(offsetof(liblock_instance_list_options, struct_size), 0);
  assert_int_equal(offsetof(liblock_zombies_status, struct_size), 0);
  assert_int_equal(offsetof(liblock_event, struct_size), 0);
  assert_int_equal(offsetof(liblock_log_entry, struct_size), 0);
  assert_int_equal(offsetof(liblock_instrument_options, struct_size), 0);
  assert_int_equal(offsetof(liblock_histogram, struct_size), 0);
  assert_int_equal(offsetof(liblock_node, struct_size), 0);
  assert_int_equal(offsetof(liblock_quorum_state, struct_size), 0);
}

static void handles_and_statuses_have_a_fixed_width(void **state) {
  (void)state;
  assert_int_equal(sizeof(liblock_status), 4);
  assert_int_equal(sizeof(liblock_lock), 8);
  assert_int_equal(sizeof(liblock_request), 8);
  assert_true((liblock_status)-1 < 0);
  assert_true((liblock_lock)-1 > 0);
  assert_true((liblock_request)-1 > 0);
}

typedef struct Number {
  const char *name;
  int64_t value, published;
} Number;

#define STATUS(name, number) \
  { #name, LIBLOCK_##name, number }
static const Number statuses[] = {
    STATUS(OK, 0),         STATUS(BUSY, 1),       STATUS(TIMEOUT, 2),         STATUS(RETRIES_EXHAUSTED, 3),
    STATUS(CANCELED, 4),   STATUS(DEADLOCK, 5),   STATUS(ALREADY_HELD, 6),    STATUS(DEQUEUED, 7),
    STATUS(TOO_LATE, 8),   STATUS(NOT_HELD, 20),  STATUS(LOST, 21),           STATUS(NOT_OWNER, 22),
    STATUS(IN_DOUBT, 30),  STATUS(PARTIAL, 31),   STATUS(NO_QUORUM, 32),      STATUS(QUARANTINED, 33),
    STATUS(CONNECT, 40),   STATUS(AUTH, 41),      STATUS(SERVER, 42),         STATUS(WRONG_TYPE, 43),
    STATUS(READ_ONLY, 44), STATUS(PROTOCOL, 45),  STATUS(NODES_MISMATCH, 34), STATUS(INVALID_ARGUMENT, 60),
    STATUS(LIMIT, 64),     STATUS(FORKED, 67),    STATUS(INVALID_HANDLE, 61), STATUS(OPTIONS_MISMATCH, 62),
    STATUS(CLOSED, 66),    STATUS(NO_MEMORY, 68), STATUS(UNSUPPORTED, 63),    STATUS(WOULD_DEADLOCK, 65),
    STATUS(INTERNAL, 69),
};

static void the_number_of_a_status_never_changes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof statuses / sizeof *statuses; ++i) {
    if (statuses[i].value != statuses[i].published) {
      fail_msg("LIBLOCK_%s is %d, published as %d", statuses[i].name, (int)statuses[i].value,
               (int)statuses[i].published);
    }
    assert_string_equal(liblock_status_name((liblock_status)statuses[i].published), statuses[i].name);
  }
}

static void every_status_is_published_here_once(void **state) {
  (void)state;
#define COUNT(name, number, predicates, text) +1
  assert_int_equal(sizeof statuses / sizeof *statuses, 0 LIBLOCK_STATUS_MAP(COUNT));
  for (int32_t number = -10; number < 1000; ++number) {
    size_t found = 0;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; ++i) found += statuses[i].published == number;
    assert_int_equal(found, strcmp(liblock_status_name(number), "UNKNOWN") != 0);
  }
}

#define CONSTANT(name, number) \
  { #name, LIBLOCK_##name, number }
static const Number constants[] = {
    CONSTANT(RETRYABLE, 1),
    CONSTANT(MAYBE_HELD, 2),
    CONSTANT(LOST_LOCK, 4),
    CONSTANT(RESULT_REENTERED, 1),
    CONSTANT(RESULT_WAITED, 2),
    CONSTANT(RESULT_TOOK_OVER, 4),
    CONSTANT(KIND_ACQUIRE, 1),
    CONSTANT(KIND_RELEASE, 2),
    CONSTANT(KIND_LOST, 3),
    CONSTANT(KIND_WATCH, 4),
    CONSTANT(KIND_CLOSE, 5),
    CONSTANT(KIND_READ, 12),
    CONSTANT(KIND_QUORUM_INIT, 13),
    CONSTANT(KIND_SET_NODES, 14),
    CONSTANT(VOTES_ALL, -1),
    CONSTANT(RESTART_QUARANTINE, 0),
    CONSTANT(RESTART_TRUST_FSYNC, 1),
    CONSTANT(NODES_MISMATCH_FAIL_IF_DISJOINT, 0),
    CONSTANT(NODES_MISMATCH_IGNORE, 1),
    CONSTANT(NODES_MISMATCH_FAIL, 2),
    CONSTANT(NODES_MISMATCH_FAIL_IF_MINORITY_OVERLAP, 3),
    CONSTANT(READ_NEAREST, 0),
    CONSTANT(READ_MASTER, 1),
    CONSTANT(READ_QUORUM, 2),
    CONSTANT(QUORUM_INIT_FORCE, 1),
    CONSTANT(NODE_UP, 1),
    CONSTANT(NODE_DOWN, 2),
    CONSTANT(NODE_QUARANTINED, 3),
    CONSTANT(NODE_NEEDS_FLOOR, 4),
    CONSTANT(NODE_STEPPED, 5),
    CONSTANT(NODE_REFUSED, 6),
    CONSTANT(DEFAULT, INT64_MIN),
    CONSTANT(ON_CLOSE_RELEASE, 0),
    CONSTANT(ON_CLOSE_LEAVE, 1),
    CONSTANT(TTL_AUTO, -1),
    CONSTANT(TTL_NONE, -2),
    CONSTANT(ORDER_FIFO, 0),
    CONSTANT(ORDER_LIFO, 1),
    CONSTANT(ORDER_PRIORITY, 2),
    CONSTANT(ORDER_ANY, 3),
    CONSTANT(MODE_EXCLUSIVE, 0),
    CONSTANT(BACKOFF_FIXED, 0),
    CONSTANT(BACKOFF_LINEAR, 1),
    CONSTANT(BACKOFF_EXPONENTIAL, 2),
    CONSTANT(ON_CONFLICT_REENTER, 0),
    CONSTANT(ON_CONFLICT_REENTER_EXTEND, 1),
    CONSTANT(ON_CONFLICT_WAIT, 2),
    CONSTANT(ON_CONFLICT_FAIL, 3),
    CONSTANT(ON_DEADLOCK_FAIL_SELF, 0),
    CONSTANT(ON_DEADLOCK_FAIL_YOUNGEST, 1),
    CONSTANT(ON_DEADLOCK_REPORT_ONLY, 2),
    CONSTANT(EXTEND_SET, 0),
    CONSTANT(EXTEND_ADD, 1),
    CONSTANT(DROP_QUEUE, 1),
    CONSTANT(EVENT_CONNECTED, 1),
    CONSTANT(EVENT_DISCONNECTED, 2),
    CONSTANT(EVENT_SERVER_CHANGED, 3),
    CONSTANT(EVENT_DOUBT_ENDED, 4),
    CONSTANT(EVENT_MAY_EVICT, 5),
    CONSTANT(EVENT_OBTAINED, 6),
    CONSTANT(EVENT_REENTERED, 7),
    CONSTANT(EVENT_EXTENDED, 8),
    CONSTANT(EVENT_HOLD_AND_RELEASE, 9),
    CONSTANT(EVENT_SERIES_OBTAINED, 10),
    CONSTANT(EVENT_SERIES_HOLD_AND_RELEASE, 11),
    CONSTANT(EVENT_LOST, 12),
    CONSTANT(EVENT_REQUEUED, 13),
    CONSTANT(EVENT_HANDED_OFF, 14),
    CONSTANT(EVENT_DEADLOCK_FOUND, 15),
    CONSTANT(EVENT_DEQUEUED, 16),
    CONSTANT(EVENT_DEQUEUED_ON_LIMIT, 17),
    CONSTANT(EVENT_FAILED, 18),
    CONSTANT(EVENT_FORCE_RELEASED, 19),
    CONSTANT(EVENT_CLEARED, 20),
    CONSTANT(EVENT_OWNER_CLEARED, 21),
    CONSTANT(EVENT_INSTANCE_CLEARED, 22),
    CONSTANT(EVENT_DEAD_CLEARED, 23),
    CONSTANT(EVENT_OWNER_CLOSED, 24),
    CONSTANT(EVENT_NODE_UP, 25),
    CONSTANT(EVENT_NODE_DOWN, 26),
    CONSTANT(EVENT_NODE_QUARANTINED, 27),
    CONSTANT(EVENT_NODE_REJOINED, 28),
    CONSTANT(EVENT_NODE_STEPPED, 29),
    CONSTANT(EVENT_CLOCK_DERIVED, 30),
    CONSTANT(EVENT_CONFIGURED, 31),
    CONSTANT(EVENT_CLEARTEXT_PASSWORD, 32),
    CONSTANT(ENTRY_ACQUIRE_STARTED, 1),
    CONSTANT(ENTRY_CYCLE_STARTED, 2),
    CONSTANT(ENTRY_REQUEUED, 3),
    CONSTANT(ENTRY_OBTAINED, 4),
    CONSTANT(ENTRY_DEQUEUED_ON_LIMIT, 5),
    CONSTANT(ENTRY_RELEASED, 6),
    CONSTANT(ENTRY_ATTEMPT_STARTED, 7),
    CONSTANT(ENTRY_ATTEMPT_READY, 8),
    CONSTANT(ENTRY_ATTEMPT_QUEUED, 9),
    CONSTANT(ENTRY_ATTEMPT_OVERDUE_REMOVED, 10),
    CONSTANT(ENTRY_ATTEMPT_FIRST_IN_QUEUE, 11),
    CONSTANT(ENTRY_ATTEMPT_QUEUE_TTL_REACHED, 12),
    CONSTANT(ENTRY_ATTEMPT_NOT_FIRST, 13),
    CONSTANT(ENTRY_ATTEMPT_STILL_HELD, 14),
    CONSTANT(ENTRY_ATTEMPT_FREE, 15),
    CONSTANT(ENTRY_ATTEMPT_FAILED, 16),
    CONSTANT(ENTRY_REENTERED, 17),
    CONSTANT(ENTRY_EXTENDED, 18),
    CONSTANT(ENTRY_LOST, 19),
    CONSTANT(ENTRY_HANDED_OFF, 20),
    CONSTANT(ENTRY_DEADLOCK_FOUND, 21),
    CONSTANT(ENTRY_FAILED, 22),
    CONSTANT(ENTRY_SERVER, 23),
    CONSTANT(LOG_OFF, 0),
    CONSTANT(LOG_ERROR, 1),
    CONSTANT(LOG_WARNING, 2),
    CONSTANT(LOG_INFO, 3),
    CONSTANT(LOG_DEBUG, 4),
    CONSTANT(FIELD_NUMBER, 1),
    CONSTANT(FIELD_TEXT, 2),
    CONSTANT(INSTRUMENT_EVENTS, 1),
    CONSTANT(INSTRUMENT_LOG, 2),
    CONSTANT(INSTRUMENT_ATTEMPTS, 4),
    CONSTANT(HISTOGRAM_ACQUIRE, 1),
    CONSTANT(HISTOGRAM_HOLD, 2),
    CONSTANT(HISTOGRAM_BUCKETS, 40),
};

static void the_value_of_a_constant_never_changes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof constants / sizeof *constants; ++i) {
    if (constants[i].value != constants[i].published) fail_msg("LIBLOCK_%s has changed", constants[i].name);
  }
  assert_int_equal((uintptr_t)LIBLOCK_OWNER_THREAD, 1);
}

static void the_loaded_library_is_the_version_of_the_header(void **state) {
  (void)state;
  assert_int_equal(liblock_version_number(), LIBLOCK_VERSION_NUMBER);
  assert_string_equal(liblock_version_string(), LIBLOCK_TEST_VERSION);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_field_is_where_it_was_published),
      cmocka_unit_test(the_fields_of_a_struct_lie_without_gaps),
      cmocka_unit_test(struct_size_comes_first_in_every_struct_that_may_grow),
      cmocka_unit_test(handles_and_statuses_have_a_fixed_width),
      cmocka_unit_test(the_number_of_a_status_never_changes),
      cmocka_unit_test(every_status_is_published_here_once),
      cmocka_unit_test(the_value_of_a_constant_never_changes),
      cmocka_unit_test(the_loaded_library_is_the_version_of_the_header),
  };
  return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
