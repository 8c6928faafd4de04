// SPDX-License-Identifier: MIT
// So many leases of 30 s kept alive by one process for two periods of renewal: the share of a core that takes here, and
// whether one was lost.
#include <cstdlib>
#include <thread>

#include "scale/scale.hpp"

namespace liblock_bench {
namespace {

// Renewals come every third of a lease, a little earlier or later; those of leases taken together are spread over most
// of that.
constexpr auto window = std::chrono::milliseconds(2 * lease_ms / 3);

}  // namespace

Figures measure_renewed(const std::string &url, size_t count) {
  const Context context(url);
  const auto keys = make_keys(count);
  std::vector<Calls::Slot> slots(count);
  auto options = acquire_options();
  options.renew = 1;
  acquire_all(context, keys, options, slots);
  // A first lease is short, and made long behind its grant.
  while (context.stats().renewals < count) std::this_thread::sleep_for(std::chrono::milliseconds(10));

  const uint64_t renewed = context.stats().renewals;
  mark("settled");
  const Passed keeping;
  std::this_thread::sleep_for(window);
  Figures figures = {{"cpu_share", keeping.cpu_ns() / keeping.wall_ns()},
                     {"seconds", keeping.wall_ns() / 1e9},
                     {"renewals", double(context.stats().renewals - renewed)},
                     {"lost", double(count) - double(context.stats().locks_held)}};
  mark("kept");
  return figures;  // closing gives back what is still held
}

}  // namespace liblock_bench
