// SPDX-License-Identifier: MIT
// A completion queue: ends of requests and notices of losses, read in order by whoever polls the descriptor
// or waits. A request reserves its place when it is made, and the memory with it, so that its end always finds room;
// notices may be dropped. Once warm it allocates nothing; and while nobody has asked for the descriptor, it makes no
// system call but to wake who waits.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "base/platform.hpp"
#include "engine/acquire_params.hpp"

namespace liblock {

class Completions final : public CompletionSink {
 public:
  // Throws std::system_error when no descriptor can be had.
  Completions(size_t capacity, std::shared_ptr<std::atomic<uint64_t>> dropped_notices);
  int fd();

  Status reserve();  // throws std::bad_alloc
  void unreserve();
  // Fills a reserved place. False: the queue was freed, nobody will read it.
  bool put_reserved(const liblock_completion &completion);
  bool put_notice(const liblock_completion &completion) override;

  Status next(Nanos wait, liblock_completion &completion);
  void close();
  // Nobody will read what is not in it yet.
  bool is_abandoned() const { return abandoned_.load(std::memory_order_acquire); }
  // After it nothing is read any more; what was not read goes to `unread`.
  void abandon(const std::function<void(const liblock_completion &)> &unread);
  void close_fd_after_fork() { not_empty_.close(); }

 private:
  static constexpr size_t kRingLeast = 16;
  static constexpr size_t kRingKept = 4'096;  // a larger one goes when all was read

  // With the lock, as the next two.
  bool is_ready() const { return count_ != 0 || (closed_ && reserved_ == 0); }
  bool wait_until_ready(std::unique_lock<std::mutex> &lock, Nanos wait);
  void make_room(size_t places);
  void put_locked(const liblock_completion &completion);
  void wake(bool all);

  const size_t capacity_;
  ReadableFlag not_empty_;  // once is_polled_, raised exactly while count_ is not 0
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<liblock_completion> ring_;  // guarded by mutex_, as all below; has room for count_ + reserved_
  size_t first_ = 0;
  size_t count_ = 0;
  size_t reserved_ = 0;
  bool is_polled_ = false;  // somebody has the descriptor
  bool closed_ = false;
  std::atomic<bool> abandoned_{false};                    // read without mutex_, too
  const std::shared_ptr<std::atomic<uint64_t>> dropped_;  // the context's count, over all its queues
};

}  // namespace liblock
