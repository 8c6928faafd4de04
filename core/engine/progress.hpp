// SPDX-License-Identifier: MIT
// Where a waiting acquire stands in its queue, on the way from the engine that sees it to the caller's on_queued. Only
// the newest place counts: one that was not told yet is replaced.
//
//   who waits        told by                 on
//   a thread         that thread, nudged     its own stack, so never after the call has returned
//   a request        a notice, one at once   where callbacks run, and never once its end is told there
#pragma once

#include <memory>
#include <mutex>

#include "base/parking.hpp"
#include "base/status.hpp"
#include "runtime/runtime.hpp"

namespace liblock {

class Progress {
 public:
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  // On any thread, with no lock of an engine.
  void stands(int64_t position, int64_t length);

 protected:
  Progress(liblock_queued_callback callback, void *user_data) : callback_(callback), user_data_(user_data) {}
  ~Progress() = default;
  // There is something to tell.
  virtual void news() = 0;
  bool has_news() const;
  // Calls on_queued if there is; on one thread at a time.
  void tell();

 private:
  struct Place {
    int64_t position = -1;
    int64_t length = -1;
    bool operator==(const Place &) const = default;
  };
  const liblock_queued_callback callback_;
  void *const user_data_;
  mutable std::mutex mutex_;  // guards both; a leaf
  Place seen_, told_;
};

// Of a thread that waits.
class ThreadProgress final : public Progress {
 public:
  ThreadProgress(liblock_queued_callback callback, void *user_data) : Progress(callback, user_data) {}
  // Others see its place and nudge it there; without that it looks itself, and is told at once.
  void nudge_in(Parking &parking) { parking_ = &parking; }
  using Progress::tell;

 private:
  void news() override;
  Parking *parking_ = nullptr;
};

// Of a request. Keeps itself while a notice of it is under way.
class RequestProgress final : public Progress,
                              public Notice,
                              public std::enable_shared_from_this<RequestProgress> {
 public:
  RequestProgress(liblock_queued_callback callback, void *user_data, std::shared_ptr<Runtime> runtime)
      : Progress(callback, user_data), runtime_(std::move(runtime)) {}
  // On the thread that delivers: nothing is told any more.
  void end() { is_over_ = true; }
  void deliver() override;
  void dispose() override;

 private:
  void news() override;
  const std::shared_ptr<Runtime> runtime_;
  bool is_over_ = false;  // of the thread that delivers
  std::atomic<bool> in_flight_{false};
  std::shared_ptr<RequestProgress> kept_;  // while in flight; of who set that
};

}  // namespace liblock
