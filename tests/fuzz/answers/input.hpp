// SPDX-License-Identifier: MIT
// An input in two parts, so that one changes without the other. At its front: which engine, how many calls the program
// makes, and three bytes for each of them. Behind that, read from the end: what servers answer. Whatever is missing is
// 0, which means the usual: whoever answers by zeros is a server as it should be.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace answers {

class Input {
 public:
  static constexpr size_t kCallsMost = 48, kBytesOfCall = 3;

  Input(const uint8_t *data, size_t size) : next_(data), answers_(data + size), end_(data + size) {
    engine_ = next();
    calls_ = next() % (kCallsMost + 1);
    const auto left = static_cast<size_t>(end_ - next_);
    answers_ = next_ + std::min(left, calls_ * kBytesOfCall);
  }
  uint8_t engine() const { return engine_; }
  size_t calls() const { return calls_; }
  // Of the program's part, and of the servers'.
  uint8_t next() { return next_ < answers_ ? *next_++ : 0; }
  uint8_t draw() { return answers_ < end_ ? *--end_ : 0; }

 private:
  const uint8_t *next_;
  const uint8_t *answers_;  // where they begin
  const uint8_t *end_;      // of those that were not drawn yet
  uint8_t engine_ = 0;
  size_t calls_ = 0;
};

}  // namespace answers
