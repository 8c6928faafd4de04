// SPDX-License-Identifier: MIT
// A completion queue: ends of requests and notices of losses, read in order by whoever polls the descriptor
// or waits. A request reserves its place when it is made, so that its end always finds room; notices may be
// dropped.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "base/platform.hpp"
#include "engine/acquire_params.hpp"

namespace liblock {

class Completions final : public CompletionSink {
 public:
  // Throws std::system_error when no descriptor can be had.
  Completions(size_t capacity, std::shared_ptr<std::atomic<uint64_t>> dropped_notices);
  int fd() const { return not_empty_.fd(); }

  Status reserve();
  void unreserve();
  // Fills a reserved place. False: the queue was freed, nobody will read it.
  bool put_reserved(const liblock_completion &completion);
  bool put_notice(const liblock_completion &completion) override;

  Status next(Nanos wait, liblock_completion &completion);
  void close();
  // After it nothing is read any more; what was not read goes to `unread`.
  void abandon(const std::function<void(const liblock_completion &)> &unread);
  void close_fd_after_fork() { not_empty_.close(); }

 private:
  void put_locked(const liblock_completion &completion);

  const size_t capacity_;
  ReadableFlag not_empty_;  // raised exactly while entries_ is not empty
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<liblock_completion> entries_;  // guarded by mutex_, as all below
  size_t reserved_ = 0;
  bool closed_ = false;
  bool abandoned_ = false;
  const std::shared_ptr<std::atomic<uint64_t>> dropped_;  // the context's count, over all its queues
};

}  // namespace liblock
