// SPDX-License-Identifier: MIT
// Which renewals go together, which first, and that no lease is looked at more often because there are many.
#include "remote/due_renewals.hpp"

#include <algorithm>
#include <random>

// After the standard headers, whose names cmocka redefines.
#include "support/unit.hpp"

using liblock::DueRenewals;
using liblock::kMillisecond;
using liblock::Lease;
using liblock::LeaseRef;
using liblock::Nanos;

namespace {

struct Nobody final : liblock::LeaseKeeper {
  void on_timer(Lease &, Nanos) override {}
} nobody;

constexpr Nanos kMinute = 60'000 * kMillisecond;

// With a minute to live, of which so much is left.
LeaseRef lease_of(Nanos left, size_t keys = 1) {
  auto lease = std::make_shared<Lease>(nobody);
  lease->ttl = kMinute;
  lease->ends_at.store(left);
  for (size_t i = 0; i < keys; ++i) lease->keys.push_back({"key"});
  return lease;
}

struct Due {
  DueRenewals renewals;
  Nanos now = 0;
  LeaseRef add(const LeaseRef &lease) {
    renewals.add(lease, now);
    return lease;
  }
  std::vector<LeaseRef> take(size_t keys_max = 32) { return renewals.take(keys_max, now); }
};

}  // namespace

UNIT_TEST(nothing_is_taken_where_nothing_is_due) {
  Due due;
  EXPECT(due.take().empty() && due.renewals.urgent_at() == liblock::kNever);
}

UNIT_TEST(what_left_is_not_taken_and_what_came_back_is_taken_once) {
  Due due;
  const LeaseRef first = due.add(lease_of(1)), second = due.add(lease_of(2));
  due.renewals.leave(*first);
  due.renewals.leave(*first);
  EXPECT(due.renewals.size() == 1 && due.renewals.urgent_at() == DueRenewals::urgent_at(*second));
  first->ends_at.store(3);
  due.add(first);
  EXPECT(due.take() == (std::vector<LeaseRef>{second, first}));
  EXPECT(due.renewals.empty() && due.take().empty() && !first->is_collected);
}

UNIT_TEST(the_most_urgent_goes_first_whenever_it_came) {
  Due due;
  const LeaseRef later = due.add(lease_of(2 * kMinute)), sooner = due.add(lease_of(kMinute));
  EXPECT(due.renewals.urgent_at() == kMinute / 2);
  EXPECT(due.take(1) == std::vector<LeaseRef>{sooner});
  EXPECT(due.take(1) == std::vector<LeaseRef>{later});
}

UNIT_TEST(a_short_lease_never_waits) {
  Due due;
  due.add(lease_of(kMinute));
  const LeaseRef brief = lease_of(2 * kMinute);
  brief->ttl = 499 * kMillisecond;
  due.add(brief);
  EXPECT(due.renewals.urgent_at() == 0 && due.take() == std::vector<LeaseRef>{brief});
}

UNIT_TEST(those_that_differ_in_what_a_call_says_once_go_in_different_calls) {
  Due due;
  const LeaseRef plain = due.add(lease_of(1)), other_ttl = lease_of(2), described = lease_of(3),
                 changed = lease_of(4);
  other_ttl->ttl = kMinute - kMillisecond;
  described->has_metadata = true;
  changed->change = 1;
  for (const LeaseRef &lease : {changed, described, other_ttl}) due.add(lease);
  const LeaseRef like_plain = due.add(lease_of(5));
  std::vector<std::vector<LeaseRef>> calls;
  while (!due.renewals.empty()) calls.push_back(due.take());
  EXPECT(calls.size() == 4);
  EXPECT(std::count(calls.begin(), calls.end(), std::vector<LeaseRef>{plain, like_plain}) == 1);
}

UNIT_TEST(those_that_may_be_held_until_the_same_time_go_together_whenever_that_is_asked) {
  Due due;
  const LeaseRef one = lease_of(1), same = lease_of(2), longer = lease_of(3);
  one->hold_until = same->hold_until = kMinute / 2;
  longer->hold_until = kMinute / 2 + kMillisecond;
  for (const LeaseRef &lease : {longer, same, one}) due.add(lease);
  due.now = 7 * kMillisecond;
  EXPECT(due.take() == (std::vector<LeaseRef>{one, same}));
  EXPECT(due.take() == std::vector<LeaseRef>{longer});
}

UNIT_TEST(one_that_has_changed_goes_with_those_that_it_is_like_now) {
  Due due;
  const LeaseRef first = due.add(lease_of(1)), changed = due.add(lease_of(2));
  const LeaseRef alike = lease_of(3);
  changed->change = alike->change = 1;
  due.add(alike);
  EXPECT(due.take() == std::vector<LeaseRef>{first});
  EXPECT(due.take() == (std::vector<LeaseRef>{changed, alike}));
}

UNIT_TEST(no_more_keys_go_together_than_a_call_may_have_but_one_lease_always_goes) {
  Due due;
  const LeaseRef large = due.add(lease_of(1, 5)), two = due.add(lease_of(2, 2)),
                 three = due.add(lease_of(3, 3));
  EXPECT(due.take(4) == std::vector<LeaseRef>{large});
  EXPECT(due.take(4) == std::vector<LeaseRef>{two});
  due.add(two);
  EXPECT(due.take(5) == (std::vector<LeaseRef>{two, three}));
}

// As an outage leaves them: all due at once, in no order, and of several kinds.
UNIT_TEST(no_lease_is_moved_more_often_because_many_are_due) {
  for (const size_t count : {1'000U, 100'000U}) {
    Due due;
    std::mt19937 random(1);
    for (size_t i = 0; i < count; ++i) {
      const LeaseRef lease = lease_of(static_cast<Nanos>(random() % 1'000) * kMillisecond);
      lease->ttl -= static_cast<Nanos>(i % 7) * kMillisecond;
      due.add(lease);
    }
    size_t taken = 0, calls = 0;
    for (; !due.renewals.empty(); ++calls) taken += due.take().size();
    EXPECT(taken == count && calls <= count / 32 + 7);
    EXPECT(due.renewals.steps() <= 4 * count);  // into both heaps, and out of them
  }
}

// Whatever came, left, came back and changed: the most urgent is in the next call, with what it is like, and all are
// taken at last.
UNIT_TEST(after_whatever_happened_the_most_urgent_goes_first_and_none_is_forgotten) {
  for (uint32_t seed = 0; seed < unit::scaled(200, 2'000, 20'000); ++seed) {
    Due due;
    std::mt19937 random(seed);
    std::vector<LeaseRef> all;
    for (int i = 0; i < 20; ++i) all.push_back(lease_of(0));
    const auto is_due = [](const LeaseRef &lease) { return lease->is_collected; };
    for (int step = 0; step < 200; ++step) {
      const LeaseRef &one = all[random() % all.size()];
      const uint32_t what = random() % 5;
      if (what <= 1 && !one->is_collected) {
        one->ends_at.store(kMinute + static_cast<Nanos>(random() % 50));
        due.add(one);
      } else if (what == 2) {
        due.renewals.leave(*one);
      } else if (what == 3) {
        one->change = random() % 3;
      } else if (what == 4) {
        const Nanos urgent_at = due.renewals.urgent_at();
        const std::vector<LeaseRef> taken = due.take(1 + random() % 4);
        EXPECT(taken.empty() == (urgent_at == liblock::kNever));
        for (const LeaseRef &lease : taken)
          EXPECT(!lease->is_collected && lease->change == taken.front()->change);
        if (!taken.empty()) EXPECT(DueRenewals::urgent_at(*taken.front()) >= urgent_at);
      }
      EXPECT(due.renewals.size() == static_cast<size_t>(std::count_if(all.begin(), all.end(), is_due)));
    }
    while (!due.take().empty()) {}
    EXPECT(due.renewals.empty() && std::none_of(all.begin(), all.end(), is_due));
  }
}

UNIT_MAIN("due renewals", cmocka_unit_test(nothing_is_taken_where_nothing_is_due),
          cmocka_unit_test(what_left_is_not_taken_and_what_came_back_is_taken_once),
          cmocka_unit_test(the_most_urgent_goes_first_whenever_it_came),
          cmocka_unit_test(a_short_lease_never_waits),
          cmocka_unit_test(those_that_differ_in_what_a_call_says_once_go_in_different_calls),
          cmocka_unit_test(those_that_may_be_held_until_the_same_time_go_together_whenever_that_is_asked),
          cmocka_unit_test(one_that_has_changed_goes_with_those_that_it_is_like_now),
          cmocka_unit_test(no_more_keys_go_together_than_a_call_may_have_but_one_lease_always_goes),
          cmocka_unit_test(no_lease_is_moved_more_often_because_many_are_due),
          cmocka_unit_test(after_whatever_happened_the_most_urgent_goes_first_and_none_is_forgotten))
