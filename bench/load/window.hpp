// SPDX-License-Identifier: MIT
// What one thread counts between two moments: the window opens when the warm-up is over and something ends, and closes
// with the first end after its length. Operations that began before it count when they end in it, as those that end
// after it do not.
#pragma once

#include <vector>

#include "clocks.hpp"
#include "figures.hpp"
#include "settings.hpp"

namespace liblock_bench {

class Window {
 public:
  explicit Window(const Settings &settings)
      : warm_up_ns_(static_cast<int64_t>(settings.number("warm-up-ms", 200) * 1e6)),
        length_ns_(static_cast<int64_t>(settings.number("window-ms", 700) * 1e6)),
        servers_(settings.servers()),
        began_at_(now_ns()) {}

  bool is_open() const { return is_open_; }
  bool is_over() const { return is_over_; }

  // An operation ended now; true when it counts.
  bool ended(int64_t now) {
    if (is_over_) return false;
    if (!is_open_) {
      if (now - began_at_ < warm_up_ns_) return false;
      is_open_ = true;
      opened_ = cpu_times(servers_);
      return false;
    }
    ++operations_;
    if (now - opened_.at >= length_ns_) {
      spent_ = cpu_times(servers_) - opened_;
      is_over_ = true;
    }
    return true;
  }

  void tell(Figures &figures) const { figures.set_rates(operations_, spent_); }

 private:
  const int64_t warm_up_ns_, length_ns_;
  const std::vector<pid_t> servers_;
  const int64_t began_at_;
  bool is_open_ = false;
  bool is_over_ = false;
  uint64_t operations_ = 0;
  CpuTimes opened_, spent_;
};

}  // namespace liblock_bench
