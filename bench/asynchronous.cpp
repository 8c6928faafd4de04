// SPDX-License-Identifier: MIT
// Requests that wait without a thread (rows L10, L15): 10,000 of them stand behind one held key. Either the
// key is let go and each callback hands it on to the next, or all of them are cancelled in random order. The
// requests are made before the clock starts; the callbacks run on the library's own callback thread, placed
// by the scheduler. All rounds use one context, as a program does, and the first is not measured: with a context
// for each, the C library hands 8 MB back to the kernel after every round, and what is measured is page faults.
#include <benchmark/benchmark.h>

#include <atomic>
#include <thread>
#include <vector>

#include "support/contest.hpp"
#include "support/keys.hpp"
#include "support/peers.hpp"
#include "support/table.hpp"

namespace liblock_bench {
namespace {

constexpr size_t waiters = 10'000;

double nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// The waiters of one key, and who counts their ends. Callbacks may not end the program from the middle of the
// library's thread, so they note what went wrong and the benchmark looks at it afterwards.
class Queue {
 public:
  explicit Queue(Table &table) : table_(table), requests_(waiters) {
    const auto options = acquire_options(LIBLOCK_DEFAULT);
    must(liblock_acquire(table_, key_.data(), key_.size(), &options, &first_, nullptr), "liblock_acquire");
    for (auto &request : requests_) {
      must(liblock_acquire_async(table_, key_.data(), key_.size(), &options, ended, this, &request),
           "liblock_acquire_async");
    }
  }

  // Lets the key go and waits for the last in the queue.
  double hand_through() {
    const auto start = Clock::now();
    must(liblock_release(table_, first_, nullptr), "liblock_release");
    wait_for_the_last();
    return nanoseconds_since(start);
  }

  struct Cancelled {
    double calls = 0;
    double until_last_callback = 0;
  };
  Cancelled cancel_all(const std::vector<uint32_t> &order) {
    Cancelled taken;
    const auto start = Clock::now();
    for (uint32_t nth : order) must(liblock_cancel(table_, requests_[nth]), "liblock_cancel");
    taken.calls = nanoseconds_since(start);
    wait_for_the_last();
    taken.until_last_callback = nanoseconds_since(start);
    must(liblock_release(table_, first_, nullptr), "liblock_release");
    return taken;
  }

  size_t granted() const { return granted_; }
  size_t cancelled() const { return cancelled_; }

 private:
  // Only the callback thread writes the counts; the flag publishes them, and is the last thing touched.
  static void ended(const liblock_completion *completion, void *user_data) {
    Queue &queue = *static_cast<Queue *>(user_data);
    if (completion->status == LIBLOCK_OK) {
      if (liblock_release(queue.table_, completion->lock, nullptr) == LIBLOCK_OK) ++queue.granted_;
    } else if (completion->status == LIBLOCK_CANCELED) {
      ++queue.cancelled_;
    }
    if (++queue.ended_ == waiters) queue.all_ended_.store(true, std::memory_order_release);
  }

  // Awake, because being woken would add tens of microseconds to what is measured.
  void wait_for_the_last() const {
    while (!all_ended_.load(std::memory_order_acquire)) std::this_thread::yield();
  }

  Table &table_;
  const Key16 key_ = make_key<16>(3);
  liblock_lock first_ = 0;
  std::vector<liblock_request> requests_;
  alignas(128) std::atomic<bool> all_ended_{false};
  size_t ended_ = 0;
  size_t granted_ = 0;
  size_t cancelled_ = 0;
};

Table &warm_table() {
  static Table table;
  static const bool is_warm = (Queue(table).hand_through(), true);
  benchmark::DoNotOptimize(is_warm);
  return table;
}

void hand_offs(benchmark::State &state) {
  Table &table = warm_table();
  for (auto _ : state) {
    Queue queue(table);
    state.counters["ns"] = queue.hand_through() / waiters;
    if (queue.granted() != waiters) state.SkipWithError("not every waiter was granted the lock");
  }
  state.SetLabel("callback thread, placed by the scheduler");
}

void cancels(benchmark::State &state) {
  const auto order = random_order(waiters);
  Table &table = warm_table();
  for (auto _ : state) {
    Queue queue(table);
    const auto taken = queue.cancel_all(order);
    state.counters["ns"] = taken.calls / waiters;
    state.counters["until_last_callback_ns"] = taken.until_last_callback / waiters;
    if (queue.cancelled() != waiters) state.SkipWithError("not every waiter was cancelled");
  }
  state.SetLabel("callback thread, placed by the scheduler");
}

void mutex_floor(benchmark::State &state) {
  static PlainMutex mutex;
  const Pinned pinned;
  uint64_t guarded = 0;
  for (auto _ : state) mutex.pair({}, [&] { ++guarded; });
  benchmark::DoNotOptimize(guarded);
  state.SetLabel(Pinned::label());
}

BENCHMARK(mutex_floor)->Name("mutex_pair");
BENCHMARK(hand_offs)->Name("async/hand_off")->Iterations(1)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(cancels)->Name("async/cancel")->Iterations(1)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace liblock_bench
