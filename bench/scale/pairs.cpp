// SPDX-License-Identifier: MIT
// Pairs of acquire and release one after the other, each waited for: what grows with the number of nodes. The count is
// of nodes, and only says what point of the curve this is.
#include <algorithm>

#include "scale/scale.hpp"

namespace liblock_bench {

Figures measure_pairs(const std::string &url, size_t) {
  constexpr size_t pairs = 500, warm_up = 20;
  const Context context(url);
  const auto keys = make_keys(hot_keys);
  const auto options = acquire_options();
  for (size_t i = 0; i < warm_up; ++i) pair(context, keys[i], &options);
  std::vector<double> each_ns;
  mark("warm");
  const Passed passed;
  for (size_t i = 0; i < pairs; ++i) {
    const Passed one;
    pair(context, keys[i % hot_keys], &options);
    each_ns.push_back(one.wall_ns());
  }
  const double cpu_ns = passed.cpu_ns();
  mark("done");
  std::sort(each_ns.begin(), each_ns.end());
  return {{"pairs", double(pairs)},
          {"pair_cpu_ns", cpu_ns / double(pairs)},
          {"pair_p50_ns", each_ns[pairs / 2]},
          {"pair_p99_ns", each_ns[pairs * 99 / 100]}};
}

}  // namespace liblock_bench
