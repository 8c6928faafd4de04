/* SPDX-License-Identifier: MIT
 *
 * Version and statuses: the text and the numbers agree with the header, and unknown numbers are survived.
 */
#include "api.h"

#include <stdio.h>

static void the_loaded_library_is_the_version_of_the_header(void **state) {
  (void)state;
  char text[32];
  snprintf(text, sizeof text, "%d.%d.%d", LIBLOCK_VERSION_MAJOR, LIBLOCK_VERSION_MINOR,
           LIBLOCK_VERSION_PATCH);
  assert_string_equal(liblock_version_string(), text);
  assert_int_equal(liblock_version_number(), LIBLOCK_VERSION_NUMBER);
}

struct known {
  const char *name;
  liblock_status number;
  int32_t predicates;
  const char *text;
};

static const struct known known[] = {
#define KNOWN(name, number, predicates, text) {#name, number, predicates, text},
    LIBLOCK_STATUS_MAP(KNOWN)
#undef KNOWN
};

static void an_unknown_status_is_called_unknown(void **state) {
  (void)state;
  const liblock_status strange[] = {-1, 9, 19, 70, 1000, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < COUNT_OF(strange); i++) {
    assert_string_equal(liblock_status_name(strange[i]), "UNKNOWN");
    assert_non_null(liblock_status_text(strange[i]));
    assert_int_equal(liblock_status_is(strange[i], LIBLOCK_RETRYABLE), 0);
  }
}

static void every_status_has_its_name_and_one_line_of_text(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(known); i++) {
    assert_string_equal(liblock_status_name(known[i].number), known[i].name);
    assert_string_equal(liblock_status_text(known[i].number), known[i].text);
    assert_null(strchr(known[i].text, '\n'));
  }
}

static void no_two_statuses_share_a_number(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(known); i++) {
    for (size_t j = i + 1; j < COUNT_OF(known); j++) assert_true(known[i].number != known[j].number);
  }
}

static void a_status_has_just_the_predicates_of_the_header(void **state) {
  (void)state;
  const int32_t single[] = {LIBLOCK_RETRYABLE, LIBLOCK_MAYBE_HELD, LIBLOCK_LOST_LOCK};
  for (size_t i = 0; i < COUNT_OF(known); i++) {
    for (size_t p = 0; p < COUNT_OF(single); p++) {
      const int32_t expected = (known[i].predicates & single[p]) != 0;
      assert_int_equal(liblock_status_is(known[i].number, single[p]), expected);
    }
  }
}

static void several_predicates_must_all_hold(void **state) {
  (void)state;
  assert_int_equal(liblock_status_is(LIBLOCK_BUSY, LIBLOCK_RETRYABLE | LIBLOCK_MAYBE_HELD), 0);
  assert_int_equal(liblock_status_is(LIBLOCK_IN_DOUBT, LIBLOCK_RETRYABLE | LIBLOCK_MAYBE_HELD), 1);
}

static void version_and_names_need_no_context_and_never_move(void **state) {
  (void)state;
  assert_ptr_equal(liblock_version_string(), liblock_version_string());
  assert_ptr_equal(liblock_status_name(LIBLOCK_BUSY), liblock_status_name(LIBLOCK_BUSY));
  assert_ptr_equal(liblock_status_text(LIBLOCK_BUSY), liblock_status_text(LIBLOCK_BUSY));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_loaded_library_is_the_version_of_the_header),
      cmocka_unit_test(an_unknown_status_is_called_unknown),
      cmocka_unit_test(every_status_has_its_name_and_one_line_of_text),
      cmocka_unit_test(no_two_statuses_share_a_number),
      cmocka_unit_test(a_status_has_just_the_predicates_of_the_header),
      cmocka_unit_test(several_predicates_must_all_hold),
      cmocka_unit_test(version_and_names_need_no_context_and_never_move),
  };
  return cmocka_run_group_tests_name("version and status", tests, NULL, NULL);
}
