// SPDX-License-Identifier: MIT
// Histogram and Pace: what all figures of latency go through.
#include <memory>

#include "histogram.hpp"
#include "pace.hpp"
#include "support/unit.hpp"

using liblock_bench::Arrivals;
using liblock_bench::Histogram;
using liblock_bench::Pace;

UNIT_TEST(an_empty_histogram_has_no_percentile) {
  const auto empty = std::make_unique<Histogram>();
  EXPECT(empty->at(0.5) == 0);
  EXPECT(empty->count() == 0);
}

UNIT_TEST(a_value_beyond_the_longest_counts_as_the_longest) {
  auto one = std::make_unique<Histogram>();
  one->record(UINT64_MAX);
  EXPECT(one->count() == 1);
  EXPECT(one->at(1) == Histogram::longest);
}

// Around every power of two, where a bucket that is off by one would show.
UNIT_TEST(a_percentile_is_never_below_what_was_recorded_and_at_most_a_128th_above) {
  for (int bit = 0; bit < 42; ++bit) {
    for (int64_t distance = -2; distance <= 2; ++distance) {
      const int64_t value = (int64_t{1} << bit) + distance;
      if (value < 0 || static_cast<uint64_t>(value) > Histogram::longest) continue;
      auto pair = std::make_unique<Histogram>();
      pair->record(static_cast<uint64_t>(value));
      pair->record(Histogram::longest);  // so that the greatest does not hide where the bucket ends
      const auto found = static_cast<int64_t>(pair->at(0.5));
      EXPECT(found >= value);
      EXPECT(found - value <= value / 128);
    }
  }
}

UNIT_TEST(percentiles_are_those_of_all_values) {
  auto low = std::make_unique<Histogram>();
  const auto high = std::make_unique<Histogram>();
  for (uint64_t value = 1; value <= 50; ++value) low->record(value);
  for (uint64_t value = 51; value <= 100; ++value) high->record(value);
  low->add(*high);
  EXPECT(low->count() == 100);
  EXPECT(low->at(0.5) == 50);
  EXPECT(low->at(0.99) == 99);
  EXPECT(low->at(0.001) == 1);
  EXPECT(low->greatest() == 100);
}

UNIT_TEST(fixed_arrivals_come_at_equal_distances_without_drift) {
  Pace pace(3'000, Arrivals::Fixed, 1);
  int64_t last = 0;
  for (int nth = 1; nth <= 3'000'000; ++nth) {
    const int64_t at = pace.next();
    EXPECT(at - last == 333'333 || at - last == 333'334);
    last = at;
  }
  EXPECT(last >= 999'999'999'000 && last <= 1'000'000'001'000);
}

// Of a Poisson process the mean distance is 1/rate, and e^-1 of the distances are longer than that.
UNIT_TEST(poisson_arrivals_keep_the_rate_and_come_in_bursts) {
  constexpr int count = 200'000;
  Pace pace(1'000, Arrivals::Poisson, 7);
  int64_t last = 0;
  int longer = 0;
  for (int nth = 0; nth < count; ++nth) {
    const int64_t at = pace.next();
    EXPECT(at >= last);
    longer += at - last > 1'000'000;
    last = at;
  }
  EXPECT(std::abs(double(last) / count - 1e6) < 1e4);
  EXPECT(std::abs(double(longer) / count - 0.3679) < 0.005);
}

UNIT_MAIN("leaves of the load driver", cmocka_unit_test(an_empty_histogram_has_no_percentile),
          cmocka_unit_test(a_value_beyond_the_longest_counts_as_the_longest),
          cmocka_unit_test(a_percentile_is_never_below_what_was_recorded_and_at_most_a_128th_above),
          cmocka_unit_test(percentiles_are_those_of_all_values),
          cmocka_unit_test(fixed_arrivals_come_at_equal_distances_without_drift),
          cmocka_unit_test(poisson_arrivals_keep_the_rate_and_come_in_bursts))
