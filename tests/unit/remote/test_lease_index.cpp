// SPDX-License-Identifier: MIT
// Leases are found by the keys that they cover, however many there are.
#include "remote/lease_index.hpp"

#include <algorithm>

// After the standard headers, whose names cmocka redefines.
#include "support/unit.hpp"

using liblock::Lease;
using liblock::LeaseIndex;
using liblock::LeaseRef;

namespace {

struct Nobody final : liblock::LeaseKeeper {
  void on_timer(Lease &, liblock::Nanos) override {}
} nobody;

LeaseRef lease_of(const std::vector<std::string> &keys) {
  auto lease = std::make_shared<Lease>(nobody);
  lease->self = lease;
  liblock::LockKeys names;
  for (const std::string &key : keys) names.add(key);
  lease->name(std::move(names));
  for (Lease::Key &key : lease->keys) key.handles = 1;
  return lease;
}

}  // namespace

UNIT_TEST(nothing_is_found_where_there_is_nothing) {
  LeaseIndex index(1);
  EXPECT(index.find("k").empty() && index.longest_chain() == 0);
}

UNIT_TEST(a_lease_is_found_by_each_key_that_it_covers_and_by_no_other) {
  LeaseIndex index(1);
  const LeaseRef two = lease_of({"a", "b"}), one = lease_of({"c"});
  index.add(*two);
  index.add(*one);
  EXPECT(index.find("d").empty());
  for (const char *key : {"a", "b"}) EXPECT(index.find(key) == std::vector<LeaseRef>{two});
  EXPECT(index.find("c") == std::vector<LeaseRef>{one});
}

UNIT_TEST(a_key_that_was_given_back_is_not_covered) {
  LeaseIndex index(1);
  const LeaseRef lease = lease_of({"a", "b"});
  index.add(*lease);
  lease->keys[0].handles = 0;
  EXPECT(index.find("a").empty() && index.find("b").size() == 1);
}

// The one before may be on its way out while the next one is there already.
UNIT_TEST(several_leases_of_one_key_are_all_found_until_each_is_removed) {
  LeaseIndex index(1);
  const LeaseRef first = lease_of({"k"}), second = lease_of({"k"}), third = lease_of({"k"});
  for (const LeaseRef &lease : {first, second, third}) index.add(*lease);
  index.remove(*second);
  const std::vector<LeaseRef> found = index.find("k");
  EXPECT(found.size() == 2 && std::count(found.begin(), found.end(), second) == 0);
  index.remove(*first);
  index.remove(*third);
  EXPECT(index.find("k").empty());
  index.add(*second);
  EXPECT(index.find("k") == std::vector<LeaseRef>{second});
}

UNIT_TEST(a_key_is_found_after_a_few_links_however_many_there_are) {
  LeaseIndex index(1);
  std::vector<LeaseRef> all;
  for (int i = 0; i < 100'000; ++i) {
    all.push_back(lease_of({"key" + std::to_string(i)}));
    index.add(*all.back());
  }
  EXPECT(index.longest_chain() <= 16);
  for (size_t i = 0; i < all.size(); i += 2) index.remove(*all[i]);
  for (size_t i = 0; i < all.size(); ++i) EXPECT(index.find(all[i]->keys[0].lock_key).size() == i % 2);
}

UNIT_MAIN("lease index", cmocka_unit_test(nothing_is_found_where_there_is_nothing),
          cmocka_unit_test(a_lease_is_found_by_each_key_that_it_covers_and_by_no_other),
          cmocka_unit_test(a_key_that_was_given_back_is_not_covered),
          cmocka_unit_test(several_leases_of_one_key_are_all_found_until_each_is_removed),
          cmocka_unit_test(a_key_is_found_after_a_few_links_however_many_there_are))
