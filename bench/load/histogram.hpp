// SPDX-License-Identifier: MIT
// How often which duration was seen, for percentiles of millions of them in little memory. Buckets are as wide as the
// value needs: up to 255 ns each value has its own, above that each power of two is divided into 128, so that a
// percentile is at most 1/128 above what was recorded, from nanoseconds to an hour. Knows no clock and no thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace liblock_bench {

class Histogram {
 public:
  static constexpr uint64_t longest = (uint64_t{1} << 42) - 1;  // what is longer counts as this long

  void record(uint64_t value) {
    value = std::min(value, longest);
    ++buckets_[bucket_of(value)];
    ++count_;
    greatest_ = std::max(greatest_, value);
  }

  void add(const Histogram &other) {
    for (size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    greatest_ = std::max(greatest_, other.greatest_);
  }

  uint64_t count() const { return count_; }
  uint64_t greatest() const { return greatest_; }

  // What this share of the values (0 to 1) does not exceed; 0 where there are none.
  uint64_t at(double share) const {
    const auto wanted =
        std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(share * static_cast<double>(count_))));
    uint64_t seen = 0;
    for (size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      if (seen >= wanted) return std::min(last_of(i), greatest_);
    }
    return greatest_;
  }

 private:
  static constexpr int fine_bits = 7;
  static constexpr size_t fine = size_t{1} << fine_bits;

  static size_t bucket_of(uint64_t value) {
    const int shift = std::max(0, static_cast<int>(std::bit_width(value)) - fine_bits - 1);
    return static_cast<size_t>(shift) * fine + static_cast<size_t>(value >> shift);
  }
  static uint64_t last_of(size_t bucket) {
    const size_t shift = bucket < 2 * fine ? 0 : bucket / fine - 1;
    return ((uint64_t{bucket - shift * fine} + 1) << shift) - 1;
  }

  std::array<uint64_t, (42 - fine_bits + 1) * fine> buckets_{};
  uint64_t count_ = 0;
  uint64_t greatest_ = 0;
};

}  // namespace liblock_bench
