// SPDX-License-Identifier: MIT
// Identities of attempts: 128 bits from the kernel, since two equal ones would be two holders. Where the kernel
// gives none there is none: next() answers false.
#pragma once

#include <array>
#include <cstring>

#include "base/assert.hpp"
#include "base/platform.hpp"
#include "remote/keyspace.hpp"

namespace liblock {

// One of them as servers see it, in hexadecimal digits; or none.
class AttemptId {
 public:
  AttemptId() = default;
  // Of kAttemptIdSize characters.
  explicit AttemptId(Bytes text) {
    LIBLOCK_ASSERT(text.size() == kAttemptIdSize);
    std::memcpy(text_.data(), text.data(), kAttemptIdSize);
  }

  bool empty() const { return text_[0] == '\0'; }
  void clear() { text_[0] = '\0'; }
  Bytes text() const { return {text_.data(), empty() ? 0 : kAttemptIdSize}; }
  operator Bytes() const { return text(); }  // NOLINT(google-explicit-constructor): a text of fixed size
  friend bool operator==(const AttemptId &a, Bytes b) { return a.text() == b; }
  friend bool operator==(const AttemptId &a, const AttemptId &b) { return a.text() == b.text(); }

 private:
  friend class AttemptIds;
  std::array<char, kAttemptIdSize> text_{};
};

class AttemptIds {
 public:
  bool next(AttemptId &id) {
    if (used_ == pool_.size() && !refill()) return false;
    constexpr char kDigits[] = "0123456789abcdef";
    for (size_t i = 0; i < kAttemptIdSize; i += 2) {
      const unsigned char byte = pool_[used_++];
      id.text_[i] = kDigits[byte >> 4];
      id.text_[i + 1] = kDigits[byte & 15];
    }
    return true;
  }

 private:
  bool refill() {
    if (!random_bytes(pool_.data(), pool_.size(), WhenUnseeded::Wait)) return false;
    used_ = 0;
    return true;
  }

  std::array<unsigned char, 256> pool_{};
  static_assert(256 % (kAttemptIdSize / 2) == 0);
  size_t used_ = 256;
};

}  // namespace liblock
