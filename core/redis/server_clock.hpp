// SPDX-License-Identifier: MIT
// What a server's clock says now, as far as its answers tell: behind the truth by no more than the time an
// answer took, and never ahead of it while its clock runs as ours does. Pure; loop thread.
#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace liblock {

class ServerClock {
 public:
  static constexpr int64_t kLastUs = 9'000'000'000'000'000;  // the year 2255; tokens end a little earlier
  static bool is_time(int64_t server_us) { return server_us >= 0 && server_us <= kLastUs; }

  // An answer that carried the server's time has come.
  void observe(int64_t server_us, Nanos now) {
    if (server_us <= 0 || server_us > kLastUs) return;
    const int64_t offset = server_us - now / 1'000;
    // The quickest answer of late is the best; a clock that was set back is believed at once.
    const bool is_better =
        offset >= offset_us_ || now - observed_at_ > kForget || offset_us_ - offset > kStep;
    if (known_ && !is_better) return;
    known_ = true;
    offset_us_ = offset;
    observed_at_ = now;
  }
  // What it says at that time, or a moment before; 0: not known.
  int64_t at(Nanos now) const { return known_ ? now / 1'000 + offset_us_ : 0; }
  // For a request that is sent now: in the server's time, when it must not be carried out any more. 1 where
  // that is not known: it will be refused, and the refusal says what time it is.
  int64_t not_after(Nanos now, Nanos allowance) const {
    return known_ ? now / 1'000 + offset_us_ + allowance / 1'000 : 1;
  }

 private:
  static constexpr Nanos kForget = 10'000 * kMillisecond;
  static constexpr int64_t kStep = 2'000'000;

  bool known_ = false;
  int64_t offset_us_ = 0;
  Nanos observed_at_ = 0;
};

}  // namespace liblock
