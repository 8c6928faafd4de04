// SPDX-License-Identifier: MIT
// Identities of attempts: 128 bits from the kernel, since two equal ones would be two holders. Where the kernel
// gives none there is none: next() answers false.
#pragma once

#include <array>
#include <string>

#include "base/platform.hpp"

namespace liblock {

class AttemptIds {
 public:
  bool next(std::string &id) {
    if (used_ == pool_.size() && !refill()) return false;
    constexpr char kDigits[] = "0123456789abcdef";
    id.resize(2 * kSize);
    for (size_t i = 0; i < kSize; ++i) {
      const unsigned char byte = pool_[used_++];
      id[2 * i] = kDigits[byte >> 4];
      id[2 * i + 1] = kDigits[byte & 15];
    }
    return true;
  }

 private:
  static constexpr size_t kSize = 16;
  bool refill() {
    if (!random_bytes(pool_.data(), pool_.size(), WhenUnseeded::Wait)) return false;
    used_ = 0;
    return true;
  }

  std::array<unsigned char, 256> pool_{};
  size_t used_ = 256;
};

}  // namespace liblock
