// SPDX-License-Identifier: MIT
// The judges are judged: what is wrong is found, what is right is let pass.
#include "intervals.hpp"
#include "unit/support/unit.hpp"

using liblock_test::bad_tokens;
using liblock_test::GuardedResource;
using liblock_test::overlaps;
using liblock_test::Span;
using liblock_test::sweep;

UNIT_TEST(two_holders_at_once_are_found) {
  EXPECT(sweep({{"k", "a", 1, 0, 10}, {"k", "b", 2, 9, 20}}).size() == 1);
}

UNIT_TEST(a_short_hold_within_a_long_one_is_found_behind_another_short_one) {
  EXPECT(sweep({{"k", "a", 0, 0, 100}, {"k", "b", 0, 10, 20}, {"k", "c", 0, 50, 60}}).size() == 2);
}

UNIT_TEST(a_token_that_repeats_or_goes_back_is_found) {
  EXPECT(sweep({{"k", "a", 5, 0, 10}, {"k", "b", 5, 10, 20}}).size() == 1);
  EXPECT(sweep({{"k", "a", 5, 0, 10}, {"k", "x", 0, 10, 20}, {"k", "b", 4, 20, 30}}).size() == 1);
}

UNIT_TEST(whoever_asked_while_another_was_granted_the_key_may_have_a_smaller_token_but_not_the_same) {
  EXPECT(bad_tokens({{"k", "a", 7, 10, 20, 5}, {"k", "b", 6, 25, 30, 9}}).empty());
  EXPECT(bad_tokens({{"k", "a", 7, 10, 20, 5}, {"k", "b", 6, 25, 30, 10}}).size() == 1);
  EXPECT(bad_tokens({{"k", "a", 7, 10, 20, 5}, {"k", "b", 7, 25, 30, 9}}).size() == 1);
  EXPECT(bad_tokens({{"k", "a", 9, 0, 5}, {"k", "b", 10, 6, 8}, {"k", "c", 8, 20, 30, 5}}).size() == 1);
  EXPECT(bad_tokens({{"k", "a", 9, 0, 50}, {"k", "b", 10, 6, 8}}).empty());
  EXPECT(overlaps({{"k", "a", 9, 0, 50}, {"k", "b", 3, 6, 8}}).size() == 1);
}

UNIT_TEST(a_span_that_ends_before_it_begins_is_found) { EXPECT(sweep({{"k", "a", 1, 10, 5}}).size() == 1); }

UNIT_TEST(holders_one_after_the_other_and_on_other_keys_are_fine) {
  EXPECT(sweep({}).empty());
  EXPECT(sweep({{"k", "b", 2, 10, 20}, {"k", "a", 1, 0, 10}, {"l", "c", 1, 5, 15}, {"m", "x", 0, 0, 99}})
             .empty());
}

UNIT_TEST(a_guarded_resource_refuses_who_comes_too_late) {
  GuardedResource resource;
  EXPECT(resource.accept("k", 7) && resource.accept("k", 7) && resource.accept("l", 1));
  EXPECT(!resource.accept("k", 6));
  EXPECT(resource.accept("k", 8));
}

UNIT_MAIN("intervals", cmocka_unit_test(two_holders_at_once_are_found),
          cmocka_unit_test(a_short_hold_within_a_long_one_is_found_behind_another_short_one),
          cmocka_unit_test(a_token_that_repeats_or_goes_back_is_found),
          cmocka_unit_test(
              whoever_asked_while_another_was_granted_the_key_may_have_a_smaller_token_but_not_the_same),
          cmocka_unit_test(a_span_that_ends_before_it_begins_is_found),
          cmocka_unit_test(holders_one_after_the_other_and_on_other_keys_are_fine),
          cmocka_unit_test(a_guarded_resource_refuses_who_comes_too_late))
