// SPDX-License-Identifier: MIT
// One million keys held at once: what they take of memory (L11), and what a sweep over them costs, while all
// leases still run and after all have ended (L12). Keys and handles lie in arrays that are touched before the
// first reading, so that the growth of the resident set is the library's alone. A process measures memory
// once: a second table would be built from what the first gave back to the allocator, so run one benchmark
// per process.
#include <benchmark/benchmark.h>

#include <thread>
#include <vector>

#include "support/contest.hpp"
#include "support/keys.hpp"
#include "support/memory.hpp"
#include "support/placement.hpp"
#include "support/table.hpp"

namespace liblock_bench {
namespace {

liblock_context_options without_periodic_sweep() {
  auto options = context_options();
  options.cleanup_interval_ms = -1;
  return options;
}

class Million {
 public:
  Million() : keys_(make_keys(many_keys)), locks_(many_keys, 1) {}

  // Seconds per acquire.
  double acquire(const liblock_acquire_options *options) {
    const auto start = Clock::now();
    for (size_t i = 0; i < many_keys; ++i) {
      must(liblock_acquire(table_, keys_[i].data(), keys_[i].size(), options, &locks_[i], nullptr),
           "liblock_acquire");
    }
    return std::chrono::duration<double>(Clock::now() - start).count() / many_keys;
  }
  double release() {
    const auto start = Clock::now();
    for (liblock_lock lock : locks_) must(liblock_release(table_, lock, nullptr), "liblock_release");
    return std::chrono::duration<double>(Clock::now() - start).count() / many_keys;
  }
  struct Sweep {
    double nanoseconds_each = 0;
    uint64_t ended = 0;
  };
  Sweep sweep() {
    Sweep sweep;
    const auto start = Clock::now();
    must(liblock_sweep(table_, &sweep.ended, nullptr), "liblock_sweep");
    sweep.nanoseconds_each = 1e9 * std::chrono::duration<double>(Clock::now() - start).count() / many_keys;
    return sweep;
  }
  const Table &table() const { return table_; }

 private:
  std::vector<Key16> keys_;
  std::vector<liblock_lock> locks_;
  Table table_{without_periodic_sweep()};
};

void memory(benchmark::State &state, bool lease) {
  for (auto _ : state) {
    Million million;
    const auto options = acquire_options();
    const double before = resident_bytes();
    const double acquire = million.acquire(lease ? &options : nullptr);
    const double after = resident_bytes();
    if (before < 0 || after < 0) state.SkipWithError("cannot read /proc/self/statm");
    state.counters["bytes"] = (after - before) / many_keys;
    state.counters["acquire_ns"] = 1e9 * acquire;
    state.counters["release_ns"] = 1e9 * million.release();
  }
}

// The first sweep of a process also pays for faulting pages in, so one goes unmeasured ahead of the measured
// one.
void sweep_held(benchmark::State &state) {
  const Pinned pinned;
  for (auto _ : state) {
    Million million;
    const auto options = acquire_options(3'600'000);
    million.acquire(&options);
    million.sweep();
    const auto sweep = million.sweep();
    if (sweep.ended != 0) state.SkipWithError("a sweep ended locks whose lease still ran");
    state.counters["ns"] = sweep.nanoseconds_each;
    state.counters["entries_per_hold"] = double(million.table().stats().sweep_entries_per_hold_max);
    million.release();
  }
  state.SetLabel(Pinned::label());
}

void sweep_expired(benchmark::State &state) {
  const Pinned pinned;
  for (auto _ : state) {
    Million million;
    const auto options = acquire_options(1);
    million.acquire(&options);
    // Longer than one step of the coarsest clock that a lease may be measured with.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const auto sweep = million.sweep();
    if (sweep.ended != many_keys) state.SkipWithError("a sweep left overdue locks behind");
    state.counters["ns"] = sweep.nanoseconds_each;
    state.counters["entries_per_hold"] = double(million.table().stats().sweep_entries_per_hold_max);
  }
  state.SetLabel(Pinned::label());
}

[[maybe_unused]] const bool registered = [] {
  const auto once = [](auto *benchmark) {
    benchmark->Iterations(1)->UseRealTime()->Unit(benchmark::kMillisecond);
  };
  once(benchmark::RegisterBenchmark("memory/no_lease", memory, false));
  once(benchmark::RegisterBenchmark("memory/lease", memory, true));
  once(benchmark::RegisterBenchmark("sweep/held", sweep_held));
  once(benchmark::RegisterBenchmark("sweep/expired", sweep_expired));
  return true;
}();

}  // namespace
}  // namespace liblock_bench
