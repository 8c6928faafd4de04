// SPDX-License-Identifier: MIT
// Many threads that do the same thing as often as they can for a window of time, and who did it how often.
// The window opens after a warm-up, when every thread runs, and closes while all of them still run, so that
// neither the start (one thread alone for whole time slices) nor the end belongs to the figure. Threads count
// on cache lines of their own; nothing is shared but what is being measured.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "placement.hpp"

namespace liblock_bench {

using Clock = std::chrono::steady_clock;

// Busy for that long; the clock is read only when there is something to wait for.
inline void work_for(std::chrono::nanoseconds length) {
  if (length.count() == 0) return;
  const auto end = Clock::now() + length;
  while (Clock::now() < end) {}
}

struct Tally {
  double seconds = 0;
  std::vector<uint64_t> counts;  // one per thread

  uint64_t total() const {
    uint64_t sum = 0;
    for (uint64_t count : counts) sum += count;
    return sum;
  }
  double per_second() const { return double(total()) / seconds; }
  // Most over least served thread; one that was never served counts as served once, so this is then a lower
  // bound.
  double share() const {
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    return double(*most) / double(std::max<uint64_t>(*least, 1));
  }
};

struct ContestSetup {
  size_t threads = 2;
  bool pinned = false;  // thread n on the n-th CPU
  std::chrono::milliseconds warm_up{60};
  std::chrono::milliseconds window{300};
  std::function<void()> opened = [] {
  };  // called as the window opens and closes, for counters of the thing measured
  std::function<void()> closed = [] {};
};

class Contest {
 public:
  explicit Contest(ContestSetup setup) : setup_(std::move(setup)), lanes_(setup_.threads) {}

  // `once(thread)` is what is counted.
  template <class Once>
  Tally run(Once once) {
    std::vector<std::thread> threads;
    for (size_t nth = 0; nth < setup_.threads; ++nth) {
      threads.emplace_back([this, nth, once] { work(nth, once); });
    }
    while (ready_.load() < setup_.threads) std::this_thread::yield();
    go_.store(true);
    go_.notify_all();
    std::this_thread::sleep_for(setup_.warm_up);
    Tally tally = measure();
    stop_.store(true, std::memory_order_relaxed);
    for (auto &thread : threads) thread.join();
    return tally;
  }

 private:
  struct alignas(128) Lane {
    std::atomic<uint64_t> count{0};
  };

  template <class Once>
  void work(size_t nth, Once once) {
    if (setup_.pinned) pin_to(nth);
    ready_.fetch_add(1);
    go_.wait(false);
    uint64_t count = 0;
    while (!stop_.load(std::memory_order_relaxed)) {
      once(nth);
      lanes_[nth].count.store(++count, std::memory_order_relaxed);
    }
  }

  Tally measure() {
    Tally tally;
    tally.counts.resize(setup_.threads);
    setup_.opened();
    const auto start = Clock::now();
    for (size_t nth = 0; nth < setup_.threads; ++nth) tally.counts[nth] = lanes_[nth].count.load();
    std::this_thread::sleep_for(setup_.window);
    for (size_t nth = 0; nth < setup_.threads; ++nth) {
      tally.counts[nth] = lanes_[nth].count.load() - tally.counts[nth];
    }
    tally.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    setup_.closed();
    return tally;
  }

  const ContestSetup setup_;
  std::vector<Lane> lanes_;
  std::atomic<size_t> ready_{0};
  std::atomic<bool> go_{false};
  alignas(128) std::atomic<bool> stop_{false};
};

}  // namespace liblock_bench
