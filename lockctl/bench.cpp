// SPDX-License-Identifier: MIT
// `lockctl bench`: what a lock costs at this url, measured in a few seconds: one thread alone, all threads on keys of
// their own, all threads on one key. The keys are named at random, so that nobody else's are touched; a lock that is
// left behind by an interrupt ends with its lease. bench/ measures the library; this measures a place.
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>

#include "commands.hpp"
#include "context.hpp"
#include "exit_code.hpp"
#include "text.hpp"

namespace lockctl {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kFrameMs = 100;
constexpr int64_t kWaitMs = 30000;  // longer than any pair takes where something still works
constexpr size_t kBarColumns = 30;

struct Worker {
  std::vector<int64_t> pairs_ns;
  liblock_status status = LIBLOCK_OK;
  std::string message;
};

struct Part {
  const char *name, *text;
  int64_t threads;
  bool one_key;
};

class Bench {
 public:
  explicit Bench(const Arguments &arguments)
      : arguments_(arguments), context_(open_context(arguments.settings, true, &notice_)) {
    std::random_device random;
    names_ = "lockctl-bench/" + std::to_string(random()) + "/";
  }

  int perform() {
    liblock_result result = LIBLOCK_RESULT_INIT;
    expect(liblock_ping(context_.get(), &result), result);
    if (!notice_.empty() && !arguments_.settings.json) say("waiting: " + notice_);
    const int64_t threads = arguments_.bench.threads;
    Table table({"PAIRS/S", "P50 US", "P99 US", "MAX US", "ACQUIRE AND RELEASE BY"});
    for (const Part &part : {Part{"alone", "one thread", 1, false},
                             Part{"spread", "all threads, each on its own key", threads, false},
                             Part{"contended", "all threads on one key", threads, true}}) {
      measure(part, table);
    }
    return kDone;
  }

 private:
  void measure(const Part &part, Table &table) {
    std::vector<Worker> workers(static_cast<size_t>(part.threads));
    std::vector<std::thread> threads;
    std::atomic<bool> ends = false;
    const auto began = Clock::now();
    for (size_t n = 0; n < workers.size(); n++) {
      threads.emplace_back([&, n] { work(workers[n], names_ + std::to_string(part.one_key ? 0 : n), ends); });
    }
    show_until(part, began + std::chrono::milliseconds(arguments_.bench.duration_ms));
    ends = true;
    for (auto &thread : threads) thread.join();
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    std::vector<int64_t> all;
    for (const Worker &worker : workers) {
      if (worker.status != LIBLOCK_OK)
        throw Failure(exit_code_of(worker.status), worker.message, worker.status);
      all.insert(all.end(), worker.pairs_ns.begin(), worker.pairs_ns.end());
    }
    if (all.empty()) throw Failure(kUnavailable, std::string(part.text) + ": not one pair came to its end");
    std::sort(all.begin(), all.end());
    report(part, all, seconds, table);
  }

  void work(Worker &worker, const std::string &key, const std::atomic<bool> &ends) const {
    liblock_acquire_options options;
    liblock_acquire_options_init(&options, sizeof options);
    options.wait_ms = kWaitMs;
    liblock_result result = LIBLOCK_RESULT_INIT;
    while (!ends && worker.status == LIBLOCK_OK) {
      liblock_lock lock = 0;
      const auto began = Clock::now();
      worker.status = liblock_acquire(context_.get(), key.data(), key.size(), &options, &lock, &result);
      if (worker.status == LIBLOCK_OK) worker.status = liblock_release(context_.get(), lock, &result);
      const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began);
      worker.pairs_ns.push_back(took.count());
    }
    worker.message = message_of(worker.status, result);
  }

  void show_until(const Part &part, Clock::time_point end) const {
    const auto whole = std::chrono::milliseconds(std::max<int64_t>(1, arguments_.bench.duration_ms));
    for (auto now = Clock::now(); now < end; now = Clock::now()) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - now);
      const auto done = static_cast<size_t>((whole - left) * kBarColumns / whole);
      show_progress("[" + std::string(done, '#') + std::string(kBarColumns - done, '.') + "] " + part.text);
      poll(nullptr, 0, static_cast<int>(std::min<int64_t>(kFrameMs, left.count() + 1)));
    }
    show_progress("");
  }

  void report(const Part &part, const std::vector<int64_t> &sorted, double seconds, Table &table) const {
    const auto us_at = [&](double q) {
      return double(sorted[static_cast<size_t>(q * double(sorted.size() - 1))]) / 1000;
    };
    const double rate = double(sorted.size()) / seconds;
    if (arguments_.settings.json) {
      std::puts(to_json(Record()
                            .set("part", std::string(part.name))
                            .set("threads", part.threads)
                            .set("pairs", uint64_t{sorted.size()})
                            .set("pairs_per_s", rate)
                            .set("p50_us", us_at(0.5))
                            .set("p99_us", us_at(0.99))
                            .set("max_us", us_at(1)))
                    .c_str());
    } else {
      const auto text = [](double value) {
        std::array<char, 32> out = {};
        std::snprintf(out.data(), out.size(), "%.1f", value);
        return std::string(out.data());
      };
      table.add({with_commas(static_cast<uint64_t>(rate)), text(us_at(0.5)), text(us_at(0.99)),
                 text(us_at(1)), part.text});
    }
  }

  const Arguments &arguments_;
  std::string notice_;
  const Context context_;
  std::string names_;
};

}  // namespace

int bench(const Arguments &arguments) { return Bench(arguments).perform(); }

}  // namespace lockctl
