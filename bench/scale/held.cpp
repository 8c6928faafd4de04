// SPDX-License-Identifier: MIT
// So many keys held at once by one process: what each takes of memory, here and on a server, what it costs to take and
// to give back all of them, and what a pair on a few other keys costs meanwhile.
#include "scale/scale.hpp"
#include "support/memory.hpp"

namespace liblock_bench {
namespace {

constexpr size_t pair_keys = 64, pairs_local = 200'000, pairs_remote = 6'400;

void pairs(const std::string &url, const Context &context, Figures &figures) {
  const auto keys = make_keys(pair_keys, size_t{1} << 40);
  const auto options = acquire_options();
  std::vector<Calls::Slot> slots(pair_keys);
  const size_t count = is_local(url) ? pairs_local : pairs_remote;
  mark("held");
  const Passed passed;
  for (size_t done = 0; done < count; done += pair_keys) {
    if (is_local(url)) {
      for (const Key16 &key : keys) pair(context, key, &options);
    } else {
      acquire_all(context, keys, options, slots);
      release_all(context, slots);
    }
  }
  figures.emplace_back("pair_ns", passed.wall_ns() / double(count));
  figures.emplace_back("pair_cpu_ns", passed.cpu_ns() / double(count));
  figures.emplace_back("pairs", double(count));
  mark("paired");
}

void take(const std::string &url, const Context &context, const std::vector<Key16> &keys,
          std::vector<Calls::Slot> &slots) {
  const auto options = acquire_options(long_lease_ms);
  if (!is_local(url)) return acquire_all(context, keys, options, slots);
  for (size_t i = 0; i < keys.size(); ++i) {
    must(liblock_acquire(context, keys[i].data(), keys[i].size(), &options, &slots[i].lock, nullptr),
         "liblock_acquire");
  }
}

void give_back(const std::string &url, const Context &context, std::vector<Calls::Slot> &slots) {
  if (!is_local(url)) return release_all(context, slots);
  for (const Calls::Slot &slot : slots) must(liblock_release(context, slot.lock, nullptr), "liblock_release");
}

}  // namespace

Figures measure_held(const std::string &url, size_t count) {
  const Context context(url);
  const auto keys = make_keys(count);
  std::vector<Calls::Slot> slots(count);
  mark("empty");
  const double before = resident_bytes();
  const Passed taking;
  take(url, context, keys, slots);
  Figures figures = {{"acquire_ns", taking.wall_ns() / double(count)},
                     {"acquire_cpu_ns", taking.cpu_ns() / double(count)},
                     {"client_bytes", (resident_bytes() - before) / double(count)}};
  pairs(url, context, figures);
  const Passed giving;
  give_back(url, context, slots);
  figures.emplace_back("release_ns", giving.wall_ns() / double(count));
  figures.emplace_back("release_cpu_ns", giving.cpu_ns() / double(count));
  mark("given_back");
  return figures;
}

}  // namespace liblock_bench
