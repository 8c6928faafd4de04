// SPDX-License-Identifier: MIT
// A sorted set as one sorted array: by score, then by bytes of the member. Ranks and ranges are then places in
// it; inserting moves what stands behind, which is cheap for the thousands that a wait queue has.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace liblock_test::lua_shim {

struct ScoreRange {
  double low = 0;
  double high = 0;
  bool low_open = false;
  bool high_open = false;
};

class SortedSet {
 public:
  struct Entry {
    double score = 0;
    std::string member;
    bool operator<(const Entry &other) const {
      return score != other.score ? score < other.score : member < other.member;
    }
  };
  struct Places {  // [first, last)
    size_t first = 0;
    size_t last = 0;
  };

  // nullptr when there is no such member.
  const double *score(std::string_view member) const;
  // Adds the member or moves it.
  void put(std::string_view member, double score);
  bool erase(std::string_view member);
  void erase(Places places);
  // Of a member that is there.
  size_t rank(std::string_view member) const;
  Places within(const ScoreRange &range) const;

  const Entry &at(size_t place) const { return entries_[place]; }
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  std::vector<Entry> entries_;
  std::unordered_map<std::string, double, Hash, std::equal_to<>> scores_;
};

}  // namespace liblock_test::lua_shim
