// SPDX-License-Identifier: MIT
// See kernel.hpp. A program's own getrandom goes before that of the C library.
#include "kernel.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace liblock_test::sim {

namespace {
thread_local KernelRandom *current = nullptr;
}

KernelRandom::KernelRandom(uint64_t seed) : random_(seed ^ 0x6b65726e656cu), before_(current) {
  current = this;
}

KernelRandom::~KernelRandom() { current = before_; }

void KernelRandom::fill(void *bytes, size_t size) {
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    const uint64_t number = random_.next();
    std::memcpy(static_cast<char *>(bytes) + at, &number, std::min(sizeof number, size - at));
  }
}

}  // namespace liblock_test::sim

extern "C" __attribute__((visibility("default"))) ssize_t getrandom(void *bytes, size_t size,
                                                                    unsigned flags) {
  using liblock_test::sim::current;
  if (current == nullptr) return syscall(SYS_getrandom, bytes, size, flags);
  current->fill(bytes, size);
  return static_cast<ssize_t>(size);
}
