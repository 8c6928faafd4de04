// SPDX-License-Identifier: MIT
// All that the library asks of one kind of system and not of POSIX: sleeping on a word, a descriptor that polls
// readable, clocks, random bytes, names of threads. The build takes platform_linux.cpp, or platform_portable.cpp, which
// asks for POSIX alone (meson -Dplatform=…); every build tests both. Depends on nothing.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>

namespace liblock {

// Sleeps while word == expected, until woken or until `until`, nanoseconds of CLOCK_MONOTONIC (INT64_MAX = for ever);
// may return for no reason. The word must be changed before it is woken, else the wake-up may be missed.
void wait_on_word(std::atomic<uint32_t> &word, uint32_t expected, int64_t until);
// Wakes up to `count` sleepers, or more: each looks again. The word itself is not touched, and may be gone.
void wake_word(const void *word, int count);

// CLOCK_MONOTONIC to within two of its ticks, for less, where there is such a clock.
extern const clockid_t kCoarseClock;
// Goes on while the machine sleeps, as a server's clock does.
extern const clockid_t kSuspendAwareClock;

// Fills `bytes`, at most 256, from the system's source of secrets, whole or not at all. Where that has not been seeded
// yet, early at boot, it waits, or answers false.
enum class WhenUnseeded { Wait, Fail };
bool random_bytes(void *bytes, size_t size, WhenUnseeded when_unseeded);

// What debuggers and ps show; at most 15 characters.
void name_thread(pthread_t thread, const char *name);

// A descriptor that polls readable while it is raised. Its calls are made one at a time.
class ReadableFlag {
 public:
  ReadableFlag();  // throws std::system_error when no descriptor can be had
  ~ReadableFlag() { close(); }
  ReadableFlag(const ReadableFlag &) = delete;
  ReadableFlag &operator=(const ReadableFlag &) = delete;
  int fd() const { return read_end_; }
  void raise();
  void lower();
  void close();

 private:
  int read_end_ = -1;
  int write_end_ = -1;  // the same one where a descriptor has no ends
};

}  // namespace liblock
