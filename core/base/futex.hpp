// SPDX-License-Identifier: MIT
// The one place where a thread sleeps on a 32-bit word and is woken. Linux only: futex(2) with private
// addresses. A wake-up for an address whose owner has gone is harmless by the kernel's contract: every
// sleeper rechecks.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

#include "base/clock.hpp"

namespace liblock {

// Sleeps while word == expected, until woken or until the monotonic time `until`; may return for no reason.
inline void futex_wait(std::atomic<uint32_t> &word, uint32_t expected, Nanos until) {
  timespec ts{};
  timespec *deadline = nullptr;
  if (until != kNever) {
    ts.tv_sec = static_cast<time_t>(until / 1'000'000'000);
    ts.tv_nsec = static_cast<long>(until % 1'000'000'000);
    deadline = &ts;
  }
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_BITSET_PRIVATE, expected, deadline,
          nullptr, FUTEX_BITSET_MATCH_ANY);
}

inline void futex_wake(const void *word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

}  // namespace liblock
