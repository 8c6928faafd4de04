// SPDX-License-Identifier: MIT
// When the next batch of renewals has its turn, where more are due than fit into one: a fifth faster than they come, so
// that a crowd that comes due at once is spread and none waits for long; faster where some would have waited too long
// before all have left. What leaves too late is made up for, but not at once for what stood still: no turn of a loop
// sends more than had their turn within kCatchUp, and one batch. Pure: it is told the time, by the runtime's clock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"

namespace liblock {

class RenewalPace {
 public:
  static constexpr Nanos kCatchUp = 20 * kMillisecond;
  static constexpr Nanos kPauseMost = 16 * kMillisecond;  // behind one renewal, however few there are

  // By how much the renewals of all leases have become more, in 1e-9 per second: whole numbers, so that what is added
  // and taken away leaves nothing.
  void add_rate(int64_t renewals_nhz) { rate_nhz_ += renewals_nhz; }
  void forget_rate() { rate_nhz_ = 0; }

  Nanos next_at() const { return next_at_; }

  // So many have left; of `waiting` that are due, none may wait for longer than `left`.
  void sent(size_t count, Nanos now, size_t waiting, Nanos left) {
    const Nanos pause = static_cast<Nanos>(static_cast<double>(count) * each(waiting, left));
    next_at_ = std::min(std::max(next_at_, now - kCatchUp) + pause, now + pause);
  }

 private:
  double each(size_t waiting, Nanos left) const {
    if (rate_nhz_ <= 0) return 0;
    const double at_rate =
        std::min(0.8e18 / static_cast<double>(rate_nhz_), static_cast<double>(kPauseMost));
    return waiting == 0 ? at_rate
                        : std::min(at_rate, static_cast<double>(std::max<Nanos>(0, left)) /
                                                static_cast<double>(waiting));
  }

  int64_t rate_nhz_ = 0;
  Nanos next_at_ = 0;
};

}  // namespace liblock
