// SPDX-License-Identifier: MIT
// Two floors. One std::mutex without any key is what a program pays that needs no keyed locks at all. An
// array of 4,096 mutexes chosen by the key's hash is what hashing and locking cost with no table; it is not
// exact (two keys can meet in one mutex, and two such threads then wait for each other), which is why it is a
// floor and not a peer.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string_view>

namespace liblock_bench {

class PlainMutex {
 public:
  static constexpr const char *name = "mutex";
  template <class Section>
  void pair(std::string_view, Section &&section) {
    std::lock_guard guard(mutex_);
    section();
  }

 private:
  std::mutex mutex_;
};

class StripedMutex {
 public:
  static constexpr const char *name = "striped";
  template <class Section>
  void pair(std::string_view key, Section &&section) {
    std::lock_guard guard(stripes_[std::hash<std::string_view>{}(key) % stripe_count].mutex);
    section();
  }

 private:
  static constexpr size_t stripe_count = 4096;
  struct alignas(64) Stripe {
    std::mutex mutex;
  };
  std::unique_ptr<Stripe[]> stripes_ = std::make_unique<Stripe[]>(stripe_count);
};

}  // namespace liblock_bench
