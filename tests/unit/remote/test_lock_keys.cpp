// SPDX-License-Identifier: MIT
// Lock keys in one piece of memory: whatever their number and size, and however they came there, they read the same.
#include "remote/lock_keys.hpp"

#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <string>
#include <utility>

#include "remote/attempt_ids.hpp"

// After the standard headers, whose names cmocka redefines.
#include "support/unit.hpp"

using liblock::AttemptId;
using liblock::AttemptIds;
using liblock::Bytes;
using liblock::LockKeys;

namespace {

bool has_random_numbers = true;

using Strings = std::vector<std::string>;

LockKeys keys_of(const Strings &strings) {
  LockKeys keys;
  for (const std::string &string : strings) keys.add(string);
  return keys;
}

// Of sizes that lie within the object, just do not, and by far not.
const Strings kShort{"a", "", "ccc"}, kMany(500, "a key of some length"),
    kLong{std::string(96, 'x'), std::string(104, 'y'), std::string(1'024, 'z')};

}  // namespace

// Goes before that of the C library.
extern "C" __attribute__((visibility("default"))) ssize_t getrandom(void *bytes, size_t size,
                                                                    unsigned flags) {
  if (has_random_numbers) return syscall(SYS_getrandom, bytes, size, flags);
  errno = ENOSYS;
  return -1;
}

UNIT_TEST(none_are_none) {
  const LockKeys none{};
  EXPECT(none.empty() && none.strings().empty() && !none.contains("") && none == LockKeys());
}

UNIT_TEST(keys_are_what_was_added_in_that_order) {
  for (const Strings &strings : {kShort, kMany, kLong}) {
    const LockKeys keys = keys_of(strings);
    EXPECT(keys.size() == strings.size() && keys.strings() == strings);
    EXPECT(keys.front() == strings.front() && keys[strings.size() - 1] == strings.back());
  }
}

UNIT_TEST(one_key_of_every_size_is_whole_and_so_is_what_follows_it) {
  for (size_t size = 0; size < 300; ++size) {
    const std::string key(size, 'k');
    LockKeys keys{key};
    EXPECT(keys.strings() == Strings{key});
    keys.add("next");
    EXPECT(keys.strings() == (Strings{key, "next"}));
  }
}

UNIT_TEST(room_that_was_made_changes_nothing) {
  for (const size_t count : {1, 3, 26, 27, 100}) {
    LockKeys keys;
    keys.reserve(count, 50);
    keys.add("head-", "tail");
    keys.reserve(2 * count, 5'000);
    keys.add("two");
    EXPECT(keys.strings() == (Strings{"head-tail", "two"}));
  }
}

UNIT_TEST(a_copy_is_apart_from_what_it_was_copied_from) {
  for (const Strings &strings : {kShort, kMany, kLong}) {
    LockKeys keys = keys_of(strings), copy = keys, other = keys_of(kLong);
    other = keys;
    keys.add("more");
    EXPECT(copy.strings() == strings && other == copy && !(copy == keys));
    const LockKeys &itself = other;
    other = itself;
    EXPECT(other.strings() == strings);
  }
}

UNIT_TEST(what_was_moved_is_whole_and_what_it_left_can_be_used) {
  for (const Strings &strings : {kShort, kMany, kLong}) {
    LockKeys keys = keys_of(strings), moved = std::move(keys);
    EXPECT(moved.strings() == strings);
    keys = LockKeys{"anew"};
    keys.add("and more");
    EXPECT(keys.strings() == (Strings{"anew", "and more"}));
    moved = std::move(keys);
    EXPECT(moved.strings() == (Strings{"anew", "and more"}));
  }
}

UNIT_TEST(a_key_is_found_where_it_is_and_no_other_one) {
  const LockKeys keys{"one", "two", "three"};
  EXPECT(keys.find("one") == 0 && keys.find("three") == 2 && keys.find("thre") == 3 && !keys.contains(""));
  EXPECT(!(keys == LockKeys{"one", "two"}) && !(keys == LockKeys{"one", "two", "thrEe"}));
}

UNIT_TEST(an_identity_is_32_digits_and_none_is_like_another) {
  AttemptIds ids;
  AttemptId none, one, other;
  EXPECT(none.empty() && Bytes(none).empty());
  for (int i = 0; i < 100; ++i) {
    EXPECT(ids.next(other) && other.text().size() == 32 && !(other == one));
    EXPECT(other.text().find_first_not_of("0123456789abcdef") == Bytes::npos);
    one = other;
  }
  EXPECT(AttemptId(one.text()) == one && one == one.text());
  one.clear();
  EXPECT(one.empty() && one == none);
}

UNIT_TEST(where_no_random_numbers_can_be_had_there_is_no_identity) {
  AttemptIds ids;
  AttemptId id;
  has_random_numbers = false;
  EXPECT(!ids.next(id) && id.empty() && !ids.next(id));
  has_random_numbers = true;
  EXPECT(ids.next(id));
  has_random_numbers = false;
  std::set<std::string> seen;  // what was got before lasts for a while, and nothing of it comes again
  for (bool is_one = true; is_one; is_one = ids.next(id)) EXPECT(seen.emplace(id.text()).second);
  EXPECT(seen.size() == 16 && !ids.next(id));
  has_random_numbers = true;
}

UNIT_MAIN("lock_keys", cmocka_unit_test(none_are_none),
          cmocka_unit_test(keys_are_what_was_added_in_that_order),
          cmocka_unit_test(one_key_of_every_size_is_whole_and_so_is_what_follows_it),
          cmocka_unit_test(room_that_was_made_changes_nothing),
          cmocka_unit_test(a_copy_is_apart_from_what_it_was_copied_from),
          cmocka_unit_test(what_was_moved_is_whole_and_what_it_left_can_be_used),
          cmocka_unit_test(a_key_is_found_where_it_is_and_no_other_one),
          cmocka_unit_test(an_identity_is_32_digits_and_none_is_like_another),
          cmocka_unit_test(where_no_random_numbers_can_be_had_there_is_no_identity))
