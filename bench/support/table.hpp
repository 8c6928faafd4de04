// SPDX-License-Identifier: MIT
// What the benchmarks need of liblock, through its C interface only: a context of its own, options prepared
// once, and a check that ends the program. A benchmark whose calls fail would measure the failing path and
// look fast.
#pragma once

#include <liblock/liblock.h>

#include <cstdio>
#include <cstdlib>

namespace liblock_bench {

inline constexpr int64_t lease_ms = 30'000;

inline void must(liblock_status status, const char *call) {
  if (status == LIBLOCK_OK) [[likely]]
    return;
  std::fprintf(stderr, "%s: %s (%s)\n", call, liblock_status_name(status), liblock_status_text(status));
  std::exit(2);
}

inline liblock_context_options context_options() {
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  return options;
}

inline liblock_acquire_options acquire_options(int64_t ttl_ms = lease_ms) {
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.ttl_ms = ttl_ms;
  return options;
}

class Table {
 public:
  Table() : Table(context_options()) {}
  explicit Table(const liblock_context_options &options) {
    must(liblock_open("local:", &options, &context_, nullptr), "liblock_open");
  }
  ~Table() {
    liblock_owner_free(owner_);
    liblock_close(context_);
    liblock_context_free(context_);
  }
  Table(const Table &) = delete;
  Table &operator=(const Table &) = delete;

  operator liblock_context *() const { return context_; }

  liblock_owner *owner() {
    if (owner_ == nullptr)
      must(liblock_owner_open(context_, "bench", 5, &owner_, nullptr), "liblock_owner_open");
    return owner_;
  }

  liblock_stats stats() const {
    liblock_stats stats;
    liblock_stats_init(&stats, sizeof stats);
    must(liblock_stats_get(context_, &stats), "liblock_stats_get");
    return stats;
  }

 private:
  liblock_context *context_ = nullptr;
  liblock_owner *owner_ = nullptr;
};

template <class AnyKey>
void pair(liblock_context *context, const AnyKey &key, const liblock_acquire_options *options) {
  liblock_lock lock;
  must(liblock_acquire(context, key.data(), key.size(), options, &lock, nullptr), "liblock_acquire");
  must(liblock_release(context, lock, nullptr), "liblock_release");
}

}  // namespace liblock_bench
