// SPDX-License-Identifier: MIT
// How often durations of which length came, by powers of two of microseconds: a bucket is found by counting
// bits, and recording is two additions without a lock. A reader may see one of them before the other.
#pragma once

#include <liblock/liblock.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "base/clock.hpp"

namespace liblock {

class Histogram {
 public:
  static constexpr size_t kBuckets = LIBLOCK_HISTOGRAM_BUCKETS;

  // Bucket n has what is up to 2^n us, the last one everything longer than the one before it.
  static size_t bucket_of(uint64_t us) {
    return us <= 1 ? 0 : std::min<size_t>(static_cast<size_t>(std::bit_width(us - 1)), kBuckets - 1);
  }

  void record(Nanos duration) {
    const auto us = static_cast<uint64_t>((std::max<Nanos>(0, duration) + 999) / 1'000);
    buckets_[bucket_of(us)].fetch_add(1, std::memory_order_relaxed);
    sum_us_.fetch_add(us, std::memory_order_relaxed);
  }
  void read(liblock_histogram &out) const {
    out.count = 0;
    for (size_t i = 0; i < kBuckets; ++i) {
      out.buckets[i] = buckets_[i].load(std::memory_order_relaxed);
      out.count += out.buckets[i];
    }
    out.sum_us = sum_us_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<uint64_t> buckets_[kBuckets] = {};
  std::atomic<uint64_t> sum_us_{0};
};

}  // namespace liblock
