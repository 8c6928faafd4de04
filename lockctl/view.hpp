// SPDX-License-Identifier: MIT
// What top knows of one moment, and how that reads: numbers and lines, without a terminal or a server in sight.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "record.hpp"
#include "snapshot.hpp"

namespace lockctl {

// Upper bounds of the buckets of waits that last now; one more bucket takes the longer ones.
constexpr std::array<int64_t, 5> kWaitsBelowMs = {10, 100, 1000, 10000, 60000};

struct View {
  std::string url, trouble;  // trouble: why what is shown is old; empty = it is not
  std::string missing;       // why there may be locks that are not shown; the same
  Snapshot keys;
  int64_t at_us = 0;
  uint64_t locks = 0, queues = 0, waiters = 0;
  double granted_per_s = 0, ended_per_s = 0;
  std::array<uint64_t, kWaitsBelowMs.size() + 1> waits = {};  // of the longest queues
};

enum class Sort { waiting, held, key };
Sort next_of(Sort sort);

size_t wait_bucket(int64_t waited_ms);
Record record_of(const View &view, size_t keys_max);
// The lines of the screen: title, sums, rates, waits, and the keys from `first` on as far as there is room.
std::vector<std::string> lines_of(const View &view, Sort sort, size_t first, size_t columns, size_t rows);
constexpr size_t kHeadingLine = 9;  // which of them heads the keys

}  // namespace lockctl
