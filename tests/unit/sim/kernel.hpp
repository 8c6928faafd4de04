// SPDX-License-Identifier: MIT
// What the library asks of the kernel besides time and connections: randomness. While a world lives, its seed makes
// that too, in every piece of code of the program; else it is the kernel's.
#pragma once

#include <cstdint>

#include "base/random.hpp"

namespace liblock_test::sim {

// Those of one thread end in the opposite order of their beginning.
class KernelRandom {
 public:
  explicit KernelRandom(uint64_t seed);
  ~KernelRandom();
  KernelRandom(const KernelRandom &) = delete;
  KernelRandom &operator=(const KernelRandom &) = delete;
  void fill(void *bytes, size_t size);

 private:
  liblock::Random random_;
  KernelRandom *const before_;
};

}  // namespace liblock_test::sim
