// SPDX-License-Identifier: MIT
// The judge of values is judged: what no order explains is found, and what one explains is let pass.
#include "registers.hpp"
#include "unit/support/unit.hpp"

using liblock_test::not_at_one_moment;
using liblock_test::RegisterOp;
using End = RegisterOp::End;

namespace {

RegisterOp write(const char *value, int64_t from, int64_t until) {
  return {"r", "", value, from, until, End::Done};
}
RegisterOp read(const char *value, int64_t from, int64_t until) {
  return {"r", value, "", from, until, End::Done};
}
RegisterOp replace(const char *expected, const char *value, int64_t from, int64_t until) {
  return {"r", expected, value, from, until, End::Done};
}
RegisterOp doubtful(RegisterOp op) {
  op.end = End::Doubt;
  op.until = RegisterOp::kNobodyKnows;
  return op;
}
RegisterOp refused(RegisterOp op) {
  op.end = End::Nothing;
  return op;
}
size_t found(const std::vector<RegisterOp> &ops) { return not_at_one_moment(ops).size(); }

}  // namespace

UNIT_TEST(an_old_value_that_is_read_after_a_new_one_was_written_is_found) {
  EXPECT(found({write("a", 0, 1), write("b", 2, 3), read("a", 4, 5)}) == 1);
}

UNIT_TEST(an_old_value_that_is_read_after_somebody_has_seen_the_new_one_is_found) {
  EXPECT(found({write("a", 0, 1), write("b", 2, 90), read("b", 10, 20), read("a", 30, 40)}) == 1);
}

UNIT_TEST(two_who_replace_the_same_value_are_found) {
  EXPECT(found({write("a", 0, 1), replace("a", "b", 2, 9), replace("a", "c", 2, 9)}) == 1);
}

UNIT_TEST(two_who_replace_the_same_value_are_found_where_one_of_them_was_in_doubt_and_seen) {
  EXPECT(found({write("a", 0, 1), doubtful(replace("a", "b", 2, 9)), replace("a", "c", 2, 9),
                read("b", 3, 8)}) >= 1);
}

UNIT_TEST(what_is_replaced_although_another_value_was_there_is_found) {
  EXPECT(found({write("a", 0, 1), write("b", 2, 3), replace("a", "c", 4, 5)}) >= 1);
}

UNIT_TEST(what_failed_and_is_seen_nevertheless_is_found) {
  EXPECT(found({write("a", 0, 1), refused(write("b", 2, 3)), read("b", 4, 5)}) == 1);
}

UNIT_TEST(what_nobody_wrote_is_found) { EXPECT(found({write("a", 0, 1), read("b", 4, 5)}) == 1); }

UNIT_TEST(what_is_read_before_it_is_written_is_found) {
  EXPECT(found({read("a", 0, 1), write("a", 2, 3)}) == 1);
}

UNIT_TEST(operations_at_the_same_time_may_come_in_any_order) {
  EXPECT(found({}) == 0);
  EXPECT(found({write("a", 0, 1), write("b", 2, 9), read("a", 3, 8), read("b", 3, 8)}) == 0);
  EXPECT(found({write("a", 0, 1), write("b", 2, 9), write("c", 2, 9), read("c", 10, 11)}) == 0);
  EXPECT(found({write("a", 0, 1), replace("a", "b", 2, 3), replace("b", "c", 4, 5), read("c", 6, 7)}) == 0);
  EXPECT(found({write("a", 0, 1), replace("a", "b", 2, 9), refused(replace("a", "c", 2, 9))}) == 0);
}

UNIT_TEST(what_is_in_doubt_may_have_happened_late_or_never) {
  EXPECT(found({write("a", 0, 1), doubtful(write("b", 2, 3)), read("a", 4, 5), read("b", 6, 7)}) == 0);
  EXPECT(found({write("a", 0, 1), doubtful(replace("a", "b", 2, 3)), replace("a", "c", 4, 5)}) == 0);
  EXPECT(found({write("a", 0, 1), doubtful(write("b", 2, 3)), read("b", 4, 5), read("a", 6, 7)}) == 1);
}

UNIT_TEST(registers_have_nothing_to_do_with_each_other) {
  RegisterOp other = read("b", 4, 5);
  other.name = "s";
  RegisterOp first = write("b", 0, 1);
  first.name = "s";
  EXPECT(found({write("a", 2, 3), first, other, read("a", 6, 7)}) == 0);
}

UNIT_MAIN("registers", cmocka_unit_test(an_old_value_that_is_read_after_a_new_one_was_written_is_found),
          cmocka_unit_test(an_old_value_that_is_read_after_somebody_has_seen_the_new_one_is_found),
          cmocka_unit_test(two_who_replace_the_same_value_are_found),
          cmocka_unit_test(two_who_replace_the_same_value_are_found_where_one_of_them_was_in_doubt_and_seen),
          cmocka_unit_test(what_is_replaced_although_another_value_was_there_is_found),
          cmocka_unit_test(what_failed_and_is_seen_nevertheless_is_found),
          cmocka_unit_test(what_nobody_wrote_is_found),
          cmocka_unit_test(what_is_read_before_it_is_written_is_found),
          cmocka_unit_test(operations_at_the_same_time_may_come_in_any_order),
          cmocka_unit_test(what_is_in_doubt_may_have_happened_late_or_never),
          cmocka_unit_test(registers_have_nothing_to_do_with_each_other))
