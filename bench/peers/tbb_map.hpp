// SPDX-License-Identifier: MIT
// oneTBB's concurrent_hash_map: an accessor is a lock on one element. Measured in two forms. TbbMap takes its
// elements out again, so that memory follows use as in every other peer here and in liblock; it is what rows
// compare with. TbbMapKept leaves each element in the map for ever, which saves an allocation per pair and
// suits a program that has few keys; it is printed beside.
#pragma once

#include <tbb/concurrent_hash_map.h>

#include <string>
#include <string_view>

namespace liblock_bench {

template <bool Keep>
class TbbAccessorMap {
 public:
  static constexpr const char *name = Keep ? "tbb_kept" : "tbb";
  template <class Section>
  void pair(std::string_view key, Section &&section) {
    Map::accessor accessor;
    map_.insert(accessor, std::string(key));
    section();
    if constexpr (!Keep) map_.erase(accessor);
  }

 private:
  using Map = tbb::concurrent_hash_map<std::string, char>;
  Map map_;
};
using TbbMap = TbbAccessorMap<false>;
using TbbMapKept = TbbAccessorMap<true>;

}  // namespace liblock_bench
