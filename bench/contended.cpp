// SPDX-License-Identifier: MIT
// Threads that compete: two on keys of their own (L4), two and 64 on one key in strict order (L5, L7), 64 on
// one key in any order (L9), each with its floor in the same process. Two threads are pinned to two CPUs; 64
// are left to the scheduler. Every benchmark is one window of time (see contest.hpp); what it found is in its
// counters.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "peers/floors.hpp"
#include "support/contest.hpp"
#include "support/keys.hpp"
#include "support/peers.hpp"
#include "support/placement.hpp"
#include "support/table.hpp"

namespace liblock_bench {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr size_t crowd = 64;

void report(benchmark::State &state, const Tally &tally, bool pinned) {
  state.counters["per_second"] = tally.per_second();
  state.counters["share"] = tally.share();
  state.SetLabel(pinned ? "one thread per CPU" : "placed by the scheduler");
}

bool enough_cpus(benchmark::State &state) {
  if (allowed_cpus().size() >= 2) return true;
  state.SkipWithError("needs two CPUs");
  return false;
}

// Each thread walks over its own 1,024 keys.
template <class Once>
void on_own_keys(benchmark::State &state, Once once) {
  if (!enough_cpus(state)) return;
  struct alignas(128) Own {
    std::vector<Key16> keys;
    size_t at = 0;
  };
  std::vector<Own> own(2);
  own[0].keys = make_keys(hot_keys, 0);
  own[1].keys = make_keys(hot_keys, hot_keys);
  for (auto _ : state) {
    Contest contest({.threads = 2, .pinned = true});
    report(state, contest.run([&](size_t nth) {
      Own &mine = own[nth];
      once(mine.keys[mine.at++ % hot_keys]);
    }),
           true);
  }
}

void library_disjoint(benchmark::State &state) {
  Table table;
  const auto options = acquire_options();
  on_own_keys(state, [&](const Key16 &key) { pair(table, key, &options); });
}

template <class Peer>
void peer_disjoint(benchmark::State &state) {
  Peer peer;
  on_own_keys(state, [&](const Key16 &key) { peer.pair(view(key), [] {}); });
}

// All threads on one key. The library's own count of grants made directly to a waiter tells hand-offs from
// pairs that a thread made while nobody waited.
void library_one_key(benchmark::State &state, size_t threads, int32_t order, microseconds section) {
  const bool pinned = threads == 2;
  if (pinned && !enough_cpus(state)) return;
  Table table;
  const auto key = make_key<16>(7);
  auto options = acquire_options(LIBLOCK_DEFAULT);
  options.order = order;
  uint64_t handed_off[2] = {0, 0};
  for (auto _ : state) {
    ContestSetup setup{
        .threads = threads, .pinned = pinned, .window = milliseconds(section.count() ? 500 : 300)};
    setup.opened = [&] { handed_off[0] = table.stats().handed_off; };
    setup.closed = [&] { handed_off[1] = table.stats().handed_off; };
    const Tally tally = Contest(setup).run([&](size_t) {
      liblock_lock lock;
      must(liblock_acquire(table, key.data(), key.size(), &options, &lock, nullptr), "liblock_acquire");
      work_for(section);
      must(liblock_release(table, lock, nullptr), "liblock_release");
    });
    report(state, tally, pinned);
    state.counters["handed_off_per_second"] = double(handed_off[1] - handed_off[0]) / tally.seconds;
  }
}

template <class Peer>
void peer_one_key(benchmark::State &state, microseconds section) {
  Peer peer;
  const auto key = make_key<16>(7);
  for (auto _ : state) {
    Contest contest({.threads = crowd, .window = milliseconds(section.count() ? 500 : 300)});
    report(state, contest.run([&](size_t) { peer.pair(view(key), [&] { work_for(section); }); }), false);
  }
}

double median(std::vector<double> &values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// The floor is the faster of two ways to spin.
void spin_floor(benchmark::State &state) {
  if (!enough_cpus(state)) return;
  constexpr uint64_t rounds = 200'000;
  std::vector<double> bare;
  std::vector<double> paused;
  for (auto _ : state) {
    for (int burst = 0; burst < 5; ++burst) {
      bare.push_back(1e9 * spin_ping_pong<BareSpin>(rounds));
      paused.push_back(1e9 * spin_ping_pong<PausedSpin>(rounds));
    }
  }
  state.counters["bare_ns"] = median(bare);
  state.counters["paused_ns"] = median(paused);
  state.counters["ns"] = std::min(median(bare), median(paused));
  state.SetLabel("one thread per CPU");
}

void ring_floor(benchmark::State &state, size_t threads) {
  for (auto _ : state) state.counters["per_second"] = FutexRing(threads).run(milliseconds(300));
  state.SetLabel("placed by the scheduler");
}

template <class... Arguments>
void add(const std::string &name, Arguments &&...arguments) {
  benchmark::RegisterBenchmark(name.c_str(), std::forward<Arguments>(arguments)...)
      ->Iterations(1)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

struct AddPeer {
  template <class Peer>
  void operator()() const {
    add(std::string("disjoint/") + Peer::name, peer_disjoint<Peer>);
  }
};

// Floors stand next to what is compared with them, so that both meet the machine in the same state.
[[maybe_unused]] const bool registered = [] {
  add("disjoint/liblock", library_disjoint);
  for_each_keyed_peer(AddPeer{});
  AddPeer{}.operator()<StripedMutex>();
  add("spin_ping_pong", spin_floor);
  add("fifo/2_threads", library_one_key, 2, LIBLOCK_ORDER_FIFO, microseconds(0));
  add("fifo/2_threads_1us", library_one_key, 2, LIBLOCK_ORDER_FIFO, microseconds(1));
  add("futex_ring/2", ring_floor, 2);
  add("futex_ring/8", ring_floor, 8);
  add("futex_ring/64", ring_floor, crowd);
  add("fifo/64_threads", library_one_key, crowd, LIBLOCK_ORDER_FIFO, microseconds(0));
  add("futex_ring/64_again", ring_floor, crowd);
  add("fifo/64_threads_1us", library_one_key, crowd, LIBLOCK_ORDER_FIFO, microseconds(1));
  add("one_key/mutex", peer_one_key<PlainMutex>, microseconds(0));
  add("any/64_threads", library_one_key, crowd, LIBLOCK_ORDER_ANY, microseconds(0));
  add("one_key/mutex_1us", peer_one_key<PlainMutex>, microseconds(1));
  add("any/64_threads_1us", library_one_key, crowd, LIBLOCK_ORDER_ANY, microseconds(1));
  return true;
}();

}  // namespace
}  // namespace liblock_bench
