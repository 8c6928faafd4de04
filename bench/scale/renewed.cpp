// SPDX-License-Identifier: MIT
// So many leases of 30 s, taken evenly over one period of renewal and kept alive by one process for the next one: the
// share of a core that takes here, and whether one was lost.
#include <cstdlib>
#include <thread>

#include "scale/scale.hpp"
#include "support/renewals.hpp"

namespace liblock_bench {

Figures measure_renewed(const std::string &url, size_t count) {
  const Context context(url);
  const auto keys = make_keys(count);
  std::vector<Calls::Slot> slots(count);
  auto options = acquire_options();
  options.renew = 1;
  const auto period = renewal_period(lease_ms);
  take_evenly(count, period, [&](size_t first, size_t end) {
    acquire_all(context, std::span(keys).subspan(first, end - first), options,
                std::span(slots).subspan(first, end - first));
  });
  // A first lease is short, and made long behind its grant.
  while (context.stats().renewals < count) std::this_thread::sleep_for(std::chrono::milliseconds(10));

  mark("settled");
  const uint64_t renewed = context.stats().renewals;
  const Passed keeping;
  std::this_thread::sleep_for(period);
  Figures figures = {{"cpu_share", keeping.cpu_ns() / keeping.wall_ns()},
                     {"seconds", keeping.wall_ns() / 1e9},
                     {"renewals", double(context.stats().renewals - renewed)},
                     {"lost", double(count) - double(context.stats().locks_held)}};
  mark("kept");
  return figures;  // closing gives back what is still held
}

}  // namespace liblock_bench
