// SPDX-License-Identifier: MIT
// What the programs of this folder are made of. Each measures one point of a curve: so many of something, in a fresh
// process, on one context. What the servers saw is asked of them by whoever runs it (bench/scale.py): at each mark the
// program says its name and waits for a line. At the end it prints its figures as one line of JSON.
#pragma once

#include <liblock/liblock.h>

#include <atomic>
#include <chrono>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/keys.hpp"
#include "support/table.hpp"

namespace liblock_bench {

// So many of what `what` names; url: where the context is. Returns what it measured, by name.
using Figures = std::vector<std::pair<std::string, double>>;
Figures measure_waiters(const std::string &url, size_t count);
Figures measure_standing(const std::string &url, size_t count);
Figures measure_held(const std::string &url, size_t count);
Figures measure_renewed(const std::string &url, size_t count);
Figures measure_owners(const std::string &url, size_t count);
Figures measure_pairs(const std::string &url, size_t count);
// Nothing is measured: its nodes are made a quorum.
Figures found_quorum(const std::string &url, size_t);

void mark(const char *name);

inline bool is_local(const std::string &url) { return url.rfind("local:", 0) == 0; }

// From when it was made: what has passed, and what all threads of the process have used of their CPUs.
class Passed {
 public:
  double wall_ns() const { return std::chrono::duration<double, std::nano>(Wall::now() - wall_).count(); }
  double cpu_ns() const { return cpu_now_ns() - cpu_ns_; }

 private:
  using Wall = std::chrono::steady_clock;
  static double cpu_now_ns();
  Wall::time_point wall_ = Wall::now();
  double cpu_ns_ = cpu_now_ns();
};

constexpr int64_t long_lease_ms = 3'600'000;

class Context {
 public:
  // front_ms: as in liblock_context_options.
  explicit Context(const std::string &url, int64_t front_ms = 0);
  ~Context();
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;
  operator liblock_context *() const { return context_; }
  liblock_stats stats() const;

 private:
  liblock_context *context_ = nullptr;
};

// Asynchronous calls that end on the callback thread, which notes what went wrong; whoever waits for them looks at it.
class Calls {
 public:
  // A lock that a call is about: written by its end, and at rest in between.
  struct Slot {
    Calls *calls = nullptr;
    liblock_context *context = nullptr;
    liblock_lock lock = 0;
    bool releases_at_once = false;
  };
  void acquire(liblock_context *context, const Key16 &key, const liblock_acquire_options *options,
               Slot &slot);
  void release(liblock_context *context, Slot &slot);
  // Until so many have ended since the last time.
  void await(uint64_t count);

 private:
  static void ended(const liblock_completion *completion, void *user_data);
  std::atomic<uint64_t> ended_{0};
  std::atomic<liblock_status> failure_{LIBLOCK_OK};
};

// All of them, some thousand under way at a time. acquire_all: each slot another key.
void acquire_all(liblock_context *context, std::span<const Key16> keys,
                 const liblock_acquire_options &options, std::span<Calls::Slot> slots);
void release_all(liblock_context *context, std::vector<Calls::Slot> &slots);

}  // namespace liblock_bench
