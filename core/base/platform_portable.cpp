// SPDX-License-Identifier: MIT
// See platform.hpp. POSIX alone: who sleeps on a word waits on the condition variable of its bucket, a flag is a pipe,
// and random bytes come from /dev/urandom. CLOCK_MONOTONIC stands in for both clocks: on Linux it stands still while
// the machine sleeps, so that a lease on a server looks valid for that much too long after waking up. Linux therefore
// has this file only where it is asked for.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>

#include "base/not_cancelled.hpp"
#include "base/platform.hpp"

namespace liblock {

const clockid_t kCoarseClock = CLOCK_MONOTONIC;
const clockid_t kSuspendAwareClock = CLOCK_MONOTONIC;

namespace {

// The words that share a bucket wake each other: every sleeper looks again.
struct Bucket {
  std::mutex mutex;
  std::condition_variable woken;
};
using Buckets = std::array<Bucket, 64>;

Buckets &buckets();

void before_fork() {
  for (Bucket &bucket : buckets()) bucket.mutex.lock();
}
void after_fork_in_parent() {
  for (Bucket &bucket : buckets()) bucket.mutex.unlock();
}
// Whoever slept is not there any more: a condition variable that still counts him could wait for him.
void after_fork_in_child() {
  for (Bucket &bucket : buckets()) {
    new (&bucket.woken) std::condition_variable;
    bucket.mutex.unlock();
  }
}

Buckets &buckets() {
  static Buckets *const the_buckets = [] {
    auto *const made = new Buckets;  // never destroyed: threads may sleep longer than static objects live
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return made;
  }();
  return *the_buckets;
}

Bucket &bucket_of(const void *word) {
  const auto address = reinterpret_cast<uintptr_t>(word);
  return buckets()[(address >> 4 ^ address >> 12) % std::tuple_size<Buckets>()];
}

}  // namespace

void wait_on_word(std::atomic<uint32_t> &word, uint32_t expected, int64_t until) {
  const NotCancelled here;
  Bucket &bucket = bucket_of(&word);
  std::unique_lock lock(bucket.mutex);
  // Whoever changes the word takes the mutex afterwards, to wake: either the change is seen here, or its wake-up comes.
  if (word.load() != expected) return;
  if (until == INT64_MAX) {
    bucket.woken.wait(lock);
  } else {
    const std::chrono::nanoseconds since_start(until);
    bucket.woken.wait_until(lock, std::chrono::steady_clock::time_point(since_start));
  }
}

void wake_word(const void *word, int) {
  Bucket &bucket = bucket_of(word);
  const std::lock_guard lock(bucket.mutex);
  bucket.woken.notify_all();
}

bool random_bytes(void *bytes, size_t size, WhenUnseeded) {
  const NotCancelled here;
  const int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t got = read(fd, bytes, size);
  close(fd);
  return got == static_cast<ssize_t>(size);
}

void name_thread(pthread_t, const char *) {}

ReadableFlag::ReadableFlag() {
  int ends[2];
  if (pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  for (const int end : ends) {
    fcntl(end, F_SETFD, FD_CLOEXEC);
    fcntl(end, F_SETFL, O_NONBLOCK);
  }
  read_end_ = ends[0];
  write_end_ = ends[1];
}

void ReadableFlag::raise() {
  const NotCancelled here;
  const char one = 1;
  [[maybe_unused]] const ssize_t written = write(write_end_, &one, 1);
}

void ReadableFlag::lower() {
  const NotCancelled here;
  char some[16];
  while (read(read_end_, some, sizeof some) > 0) {}
}

void ReadableFlag::close() {
  const NotCancelled here;
  for (int *const end : {&read_end_, &write_end_}) {
    if (*end >= 0) ::close(*end);
    *end = -1;
  }
}

}  // namespace liblock
