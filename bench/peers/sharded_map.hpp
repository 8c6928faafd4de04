// SPDX-License-Identifier: MIT
// The keyed lock that a C++ programmer writes when there is no library: 64 unordered_maps from the key to a
// mutex with a count of its users, each map under a mutex of its own. The entry is made by the first user and
// removed by the last, so memory follows use. It is written well: one hash per pair, no second look-up,
// nothing held while waiting.
#pragma once

#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace liblock_bench {

class ShardedMap {
 public:
  static constexpr const char *name = "unordered_map";

  template <class Section>
  void pair(std::string_view key, Section &&section) {
    const Hashed hashed{key, std::hash<std::string_view>{}(key)};
    Shard &shard = shards_[hashed.hash % shard_count];
    Map::iterator user = enter(shard, hashed);
    user->second.mutex.lock();
    section();
    user->second.mutex.unlock();
    leave(shard, user);
  }

 private:
  static constexpr size_t shard_count = 64;

  struct Hashed {
    std::string_view text;
    size_t hash;
  };
  // The stored key remembers its hash, so that neither growing nor erasing computes it again.
  struct StoredKey {
    explicit StoredKey(const Hashed &key) : text(key.text), hash(key.hash) {}
    std::string text;
    size_t hash;
  };
  struct HashOf {
    using is_transparent = void;
    size_t operator()(const Hashed &key) const noexcept { return key.hash; }
    size_t operator()(const StoredKey &key) const noexcept { return key.hash; }
  };
  struct Same {
    using is_transparent = void;
    bool operator()(const StoredKey &a, const StoredKey &b) const noexcept { return a.text == b.text; }
    bool operator()(const Hashed &a, const StoredKey &b) const noexcept { return a.text == b.text; }
    bool operator()(const StoredKey &a, const Hashed &b) const noexcept { return a.text == b.text; }
  };
  struct Entry {
    std::mutex mutex;
    size_t users = 0;
  };
  using Map = std::unordered_map<StoredKey, Entry, HashOf, Same>;
  struct alignas(64) Shard {
    std::mutex mutex;
    Map map;
  };

  static Map::iterator enter(Shard &shard, const Hashed &key) {
    std::lock_guard guard(shard.mutex);
    Map::iterator found = shard.map.find(key);
    if (found == shard.map.end()) found = shard.map.try_emplace(StoredKey(key)).first;
    ++found->second.users;
    return found;
  }
  static void leave(Shard &shard, Map::iterator user) {
    std::lock_guard guard(shard.mutex);
    if (--user->second.users == 0) shard.map.erase(user);
  }

  std::array<Shard, shard_count> shards_;
};

}  // namespace liblock_bench
