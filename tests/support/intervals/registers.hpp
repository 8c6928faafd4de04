// SPDX-License-Identifier: MIT
// Did values that several read and change at once behave as if each operation had been done at one moment between its
// beginning and its end? Every value is written once in a world, so that whoever saw it knows whose write it was: what
// wrote or saw one value must lie before all that wrote or saw another, or behind it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace liblock_test {

// What writes and reads at once has replaced what it read.
struct RegisterOp {
  static constexpr int64_t kNobodyKnows = INT64_MAX;
  enum class End : uint8_t { Done, Doubt, Nothing };  // Doubt: done at some time, or never

  std::string name;    // of the register
  std::string reads;   // empty: it did not look
  std::string writes;  // empty: it only looked
  int64_t from = 0;
  int64_t until = kNobodyKnows;  // of what is in doubt as well
  End end = End::Doubt;
  std::string to_text() const;
};

// One line for each thing that is wrong; empty: all is well.
std::vector<std::string> not_at_one_moment(const std::vector<RegisterOp> &ops);

}  // namespace liblock_test
