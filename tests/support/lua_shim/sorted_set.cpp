// SPDX-License-Identifier: MIT
// The array and the map of scores change together; a member is looked up in the map, its place by its score.
#include "sorted_set.hpp"

#include <algorithm>
#include <cstddef>

namespace liblock_test::lua_shim {

const double *SortedSet::score(std::string_view member) const {
  const auto at = scores_.find(member);
  return at == scores_.end() ? nullptr : &at->second;
}

void SortedSet::put(std::string_view member, double score) {
  if (score == 0) score = 0;  // small sets of Redis know no negative zero
  if (const double *present = this->score(member)) {
    if (*present == score) return;
    erase(member);
  }
  Entry entry{score, std::string(member)};
  scores_.emplace(entry.member, score);
  entries_.insert(std::lower_bound(entries_.begin(), entries_.end(), entry), std::move(entry));
}

bool SortedSet::erase(std::string_view member) {
  const auto at = scores_.find(member);
  if (at == scores_.end()) return false;
  const size_t place = rank(member);
  scores_.erase(at);
  entries_.erase(entries_.begin() + static_cast<ptrdiff_t>(place));
  return true;
}

void SortedSet::erase(Places places) {
  for (size_t i = places.first; i < places.last; ++i) scores_.erase(entries_[i].member);
  entries_.erase(entries_.begin() + static_cast<ptrdiff_t>(places.first),
                 entries_.begin() + static_cast<ptrdiff_t>(places.last));
}

size_t SortedSet::rank(std::string_view member) const {
  const double score = *this->score(member);
  const auto at = std::partition_point(entries_.begin(), entries_.end(), [&](const Entry &entry) {
    return entry.score != score ? entry.score < score : entry.member < member;
  });
  return static_cast<size_t>(at - entries_.begin());
}

SortedSet::Places SortedSet::within(const ScoreRange &range) const {
  const auto first = std::partition_point(entries_.begin(), entries_.end(), [&](const Entry &entry) {
    return range.low_open ? entry.score <= range.low : entry.score < range.low;
  });
  const auto last = std::partition_point(first, entries_.end(), [&](const Entry &entry) {
    return range.high_open ? entry.score < range.high : entry.score <= range.high;
  });
  return {static_cast<size_t>(first - entries_.begin()), static_cast<size_t>(last - entries_.begin())};
}

}  // namespace liblock_test::lua_shim
