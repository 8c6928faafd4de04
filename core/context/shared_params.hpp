// SPDX-License-Identifier: MIT
// Parameters that pending requests share instead of carrying a copy each: programs ask thousands of times
// with one set of options, and every line that a request does not have need not be fetched when its turn
// comes. A few sets per context, kept until it goes; reading takes no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>

#include "engine/acquire_params.hpp"

namespace liblock {

class SharedParams {
 public:
  // The parameters of these options, which were checked, when they can be shared and there is room; else
  // nullptr: keep a copy. Throws std::bad_alloc.
  const AcquireParams *of(const liblock_acquire_options &options, const AcquireParams &params) {
    if (!can_be_shared(options)) return nullptr;
    const size_t known = count_.load(std::memory_order_acquire);
    if (const AcquireParams *found = find(options, 0, known); found != nullptr) return found;
    if (known == kSetsMax) return nullptr;
    const std::lock_guard lock(mutex_);
    const size_t count = count_.load(std::memory_order_relaxed);
    if (const AcquireParams *found = find(options, known, count); found != nullptr) return found;
    if (count == kSetsMax) return nullptr;
    sets_[count] = std::make_unique<Set>(Set{options, params});
    count_.store(count + 1, std::memory_order_release);
    return &sets_[count]->params;
  }

 private:
  struct Set {
    liblock_acquire_options options;
    AcquireParams params;
  };
  static constexpr size_t kSetsMax = 8;

  // What points at memory of the caller is of one request only.
  static bool can_be_shared(const liblock_acquire_options &o) {
    return o.struct_size == sizeof o && o.value == nullptr && o.metadata == nullptr && o.on_lost == nullptr &&
           o.completions == nullptr && o.on_queued == nullptr && o.busy_info == 0 && o.nodes == nullptr;
  }
  const AcquireParams *find(const liblock_acquire_options &options, size_t from, size_t to) const {
    // Not the owner: it is no parameter.
    constexpr size_t kFrom = offsetof(liblock_acquire_options, ttl_ms);
    for (size_t i = from; i < to; ++i) {
      const auto *known = reinterpret_cast<const char *>(&sets_[i]->options);
      if (std::memcmp(known + kFrom, reinterpret_cast<const char *>(&options) + kFrom,
                      sizeof options - kFrom) == 0)
        return &sets_[i]->params;
    }
    return nullptr;
  }

  std::array<std::unique_ptr<Set>, kSetsMax> sets_;  // constant once counted
  std::atomic<size_t> count_{0};
  std::mutex mutex_;  // of who adds one
};

}  // namespace liblock
