// SPDX-License-Identifier: MIT
// See platform.hpp. futex(2) with private addresses, eventfd(2), the boot-time clock and getrandom(2). By the kernel's
// contract a wake-up for an address whose owner has gone is harmless.
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/not_cancelled.hpp"
#include "base/platform.hpp"

namespace liblock {

const clockid_t kCoarseClock = CLOCK_MONOTONIC_COARSE;
const clockid_t kSuspendAwareClock = CLOCK_BOOTTIME;

namespace {

// On 32 bits there are two: the one that has the timespec of this C library is meant.
#if defined(SYS_futex_time64)
constexpr long kFutexCall = sizeof(time_t) > sizeof(long) ? SYS_futex_time64 : SYS_futex;
#else
constexpr long kFutexCall = SYS_futex;
static_assert(sizeof(time_t) == sizeof(long), "SYS_futex reads a timespec of two longs");
#endif

}  // namespace

void wait_on_word(std::atomic<uint32_t> &word, uint32_t expected, int64_t until) {
  static_assert(sizeof word == 4 && std::atomic<uint32_t>::is_always_lock_free,
                "the kernel reads these four bytes");
  timespec ts{};
  timespec *deadline = nullptr;
  if (until != INT64_MAX) {
    ts.tv_sec = static_cast<time_t>(until / 1'000'000'000);
    ts.tv_nsec = static_cast<long>(until % 1'000'000'000);
    deadline = &ts;
  }
  syscall(kFutexCall, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_BITSET_PRIVATE, expected, deadline,
          nullptr, FUTEX_BITSET_MATCH_ANY);
}

void wake_word(const void *word, int count) {
  syscall(kFutexCall, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

bool random_bytes(void *bytes, size_t size, WhenUnseeded when_unseeded) {
  const NotCancelled here;
  // Up to 256 bytes come whole, or not at all.
  const unsigned flags = when_unseeded == WhenUnseeded::Fail ? GRND_NONBLOCK : 0;
  return getrandom(bytes, size, flags) == static_cast<ssize_t>(size);
}

void name_thread(pthread_t thread, const char *name) { pthread_setname_np(thread, name); }

ReadableFlag::ReadableFlag() : read_end_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (read_end_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  write_end_ = read_end_;
}

void ReadableFlag::raise() {
  const NotCancelled here;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(write_end_, &one, sizeof one);
}

void ReadableFlag::lower() {
  const NotCancelled here;
  uint64_t count;
  [[maybe_unused]] const ssize_t emptied = read(read_end_, &count, sizeof count);
}

void ReadableFlag::close() {
  const NotCancelled here;
  if (read_end_ >= 0) ::close(read_end_);
  read_end_ = write_end_ = -1;
}

}  // namespace liblock
