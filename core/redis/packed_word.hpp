// SPDX-License-Identifier: MIT
// Several arguments of a script as one word of a command, with blanks between, which the script takes apart where it
// needs them.
#pragma once

#include <algorithm>
#include <charconv>

#include "base/assert.hpp"
#include "base/hash.hpp"

namespace liblock {

class PackedWord {
 public:
  explicit PackedWord(Bytes first) { put(first); }
  void add(int64_t number) {
    LIBLOCK_ASSERT(end_ + 1 + kDigitsMost <= text_ + sizeof text_);
    *end_++ = ' ';
    if (number >= 0 && number < 10) {
      *end_++ = static_cast<char>('0' + number);  // most are
    } else {
      end_ = std::to_chars(end_, text_ + sizeof text_, number).ptr;
    }
  }
  void add(Bytes text) {
    *end_++ = ' ';
    put(text);
  }
  Bytes text() const { return {text_, static_cast<size_t>(end_ - text_)}; }

 private:
  static constexpr size_t kDigitsMost = 20;
  void put(Bytes text) {
    LIBLOCK_ASSERT(text.size() + 1 <= static_cast<size_t>(text_ + sizeof text_ - end_));
    end_ = std::copy(text.begin(), text.end(), end_);
  }

  char text_[384];
  char *end_ = text_;
};

}  // namespace liblock
