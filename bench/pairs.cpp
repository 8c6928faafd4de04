// SPDX-License-Identifier: MIT
// The uncontended pair: acquire and release by one thread, nobody else in sight (rows L1, L2, L3, L13, L14).
// "hot" walks over 1,024 keys that stay in the cache, "random" over 1,000,000 keys in an order prepared
// beforehand. Options structs are prepared once, outside the loop, as a caller would. Everything is pinned to
// one CPU.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>

#include "support/contest.hpp"
#include "support/keys.hpp"
#include "support/peers.hpp"
#include "support/placement.hpp"
#include "support/table.hpp"

namespace liblock_bench {
namespace {

// Walks over the keys in the given order, for ever; both sizes are made once, because a benchmark is called
// many times.
template <size_t Size>
class Walk {
 public:
  Walk(const std::vector<Key<Size>> &keys, const std::vector<uint32_t> *order) : keys_(keys), order_(order) {}
  const Key<Size> &next() {
    const size_t at = place_;
    place_ = at + 1 == keys_.size() ? 0 : at + 1;
    return keys_[order_ == nullptr ? at : (*order_)[at]];
  }

 private:
  const std::vector<Key<Size>> &keys_;
  const std::vector<uint32_t> *order_;
  size_t place_ = 0;
};

template <size_t Size = 16>
Walk<Size> hot_walk() {
  static const auto keys = make_keys<Size>(hot_keys);
  return {keys, nullptr};
}
Walk<16> one_key_walk() {
  static const auto keys = make_keys(1);
  return {keys, nullptr};
}
Walk<16> random_walk() {
  static const auto keys = make_keys(many_keys);
  static const auto order = random_order(many_keys);
  return {keys, &order};
}

template <class Walk, class Once>
void walk_pairs(benchmark::State &state, Walk walk, Once once) {
  const Pinned pinned;
  for (size_t i = 0; i < 4 * hot_keys; ++i) once(walk.next());
  for (auto _ : state) once(walk.next());
  state.SetLabel(Pinned::label());
}

template <class Peer>
void peer_pairs(benchmark::State &state, Walk<16> walk) {
  static Peer peer;
  uint64_t guarded = 0;
  walk_pairs(state, walk, [&](const Key16 &key) { peer.pair(view(key), [&] { ++guarded; }); });
  benchmark::DoNotOptimize(guarded);
}

template <class Walk>
void library_pairs(benchmark::State &state, Table &table, Walk walk, const liblock_acquire_options *options) {
  uint64_t guarded = 0;
  walk_pairs(state, walk, [&](const auto &key) {
    liblock_lock lock;
    must(liblock_acquire(table, key.data(), key.size(), options, &lock, nullptr), "liblock_acquire");
    ++guarded;
    must(liblock_release(table, lock, nullptr), "liblock_release");
  });
  benchmark::DoNotOptimize(guarded);
}

void pair_with_lease(benchmark::State &state, Walk<16> walk) {
  Table table;
  const auto options = acquire_options();
  library_pairs(state, table, walk, &options);
}
void pair_with_null_options(benchmark::State &state) {
  Table table;
  library_pairs(state, table, hot_walk(), nullptr);
}
void pair_with_named_owner(benchmark::State &state) {
  Table table;
  auto options = acquire_options();
  options.owner = table.owner();
  library_pairs(state, table, hot_walk(), &options);
}
void pair_with_long_key(benchmark::State &state) {
  Table table;
  const auto options = acquire_options();
  library_pairs(state, table, hot_walk<64>(), &options);
}

// Distinct keys, three at a time, in the order in which they happen to come.
void three_keys(benchmark::State &state) {
  const Pinned pinned;
  Table table;
  const auto keys = make_keys(hot_keys);
  std::vector<liblock_bytes> names;
  for (const Key16 &key : keys) names.push_back({key.data(), key.size()});
  const auto options = acquire_options();
  const size_t last = names.size() - names.size() % 3;
  size_t at = 0;
  const auto once = [&] {
    liblock_lock lock;
    must(liblock_acquire_many(table, &names[at], 3, &options, &lock, nullptr), "liblock_acquire_many");
    must(liblock_release(table, lock, nullptr), "liblock_release");
    at = at + 3 == last ? 0 : at + 3;
  };
  for (size_t i = 0; i < 4 * hot_keys; ++i) once();
  for (auto _ : state) once();
  state.SetLabel(Pinned::label());
}

// Two tables, one with and one without deadlock detection, used in turn for short stretches: a difference of
// one percent is less than what a processor's clock moves between two separate measurements. Medians, because
// an interrupt costs more than a whole stretch.
void detection(benchmark::State &state, bool named) {
  constexpr size_t stretch = 8 * hot_keys;
  constexpr size_t turns = 101;
  const Pinned pinned;
  auto without = context_options();
  without.deadlock_detection = 0;
  Table tables[2] = {Table(), Table(without)};
  auto walk = hot_walk();
  std::vector<double> times[2];
  for (auto _ : state) {
    for (size_t turn = 0; turn < 2 * turns; ++turn) {
      const size_t which = turn % 2;
      auto options = acquire_options();
      if (named) options.owner = tables[which].owner();
      const auto start = Clock::now();
      for (size_t i = 0; i < stretch; ++i) pair(tables[which], walk.next(), &options);
      const std::chrono::duration<double, std::nano> taken = Clock::now() - start;
      if (turn >= 2) times[which].push_back(taken.count() / stretch);
    }
  }
  for (auto &time : times) std::nth_element(time.begin(), time.begin() + time.size() / 2, time.end());
  state.counters["on_ns"] = times[0][times[0].size() / 2];
  state.counters["off_ns"] = times[1][times[1].size() / 2];
  state.SetLabel(Pinned::label());
}

struct RegisterPeer {
  template <class Peer>
  void operator()() const {
    const std::string name = Peer::name;
    benchmark::RegisterBenchmark((name + "_pair/hot").c_str(), peer_pairs<Peer>, hot_walk());
    benchmark::RegisterBenchmark((name + "_pair/random").c_str(), peer_pairs<Peer>, random_walk());
  }
};

[[maybe_unused]] const bool registered = [] {
  benchmark::RegisterBenchmark("mutex_pair", peer_pairs<PlainMutex>, one_key_walk());
  benchmark::RegisterBenchmark("liblock_pair/lease", [](auto &state) { pair_with_lease(state, hot_walk()); });
  benchmark::RegisterBenchmark("liblock_pair/one_key",
                               [](auto &state) { pair_with_lease(state, one_key_walk()); });
  benchmark::RegisterBenchmark("liblock_pair/null_options", pair_with_null_options);
  benchmark::RegisterBenchmark("liblock_pair/named_owner", pair_with_named_owner);
  benchmark::RegisterBenchmark("liblock_pair/key64", pair_with_long_key);
  benchmark::RegisterBenchmark("liblock_three_keys", three_keys);
  RegisterPeer{}.operator()<StripedMutex>();
  benchmark::RegisterBenchmark("liblock_pair/random",
                               [](auto &state) { pair_with_lease(state, random_walk()); });
  for_each_keyed_peer(RegisterPeer{});
  benchmark::RegisterBenchmark("liblock_detection/anonymous", detection, false)->Iterations(1);
  benchmark::RegisterBenchmark("liblock_detection/named_owner", detection, true)->Iterations(1);
  return true;
}();

}  // namespace
}  // namespace liblock_bench
