// SPDX-License-Identifier: MIT
// The same design as sharded_map.hpp out of Abseil's parts: 64 flat_hash_maps from the key to a counted
// absl::Mutex, each under an absl::Mutex. Entries are allocated singly because a flat map moves its elements
// when it grows.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/synchronization/mutex.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

namespace liblock_bench {

class AbslMap {
 public:
  static constexpr const char *name = "absl";

  template <class Section>
  void pair(std::string_view text, Section &&section) {
    const absl::string_view key(text.data(), text.size());
    Shard &shard = shards_[absl::Hash<absl::string_view>{}(key) % shard_count];
    Entry *entry = enter(shard, key);
    entry->mutex.Lock();
    section();
    entry->mutex.Unlock();
    leave(shard, key, entry);
  }

 private:
  static constexpr size_t shard_count = 64;
  struct Entry {
    absl::Mutex mutex;
    size_t users = 0;
  };
  struct alignas(64) Shard {
    absl::Mutex mutex;
    absl::flat_hash_map<std::string, std::unique_ptr<Entry>> map;
  };

  static Entry *enter(Shard &shard, absl::string_view key) {
    absl::MutexLock guard(&shard.mutex);
    std::unique_ptr<Entry> &entry = shard.map[key];
    if (!entry) entry = std::make_unique<Entry>();
    ++entry->users;
    return entry.get();
  }
  static void leave(Shard &shard, absl::string_view key, Entry *entry) {
    absl::MutexLock guard(&shard.mutex);
    if (--entry->users == 0) shard.map.erase(key);
  }

  std::array<Shard, shard_count> shards_;
};

}  // namespace liblock_bench
