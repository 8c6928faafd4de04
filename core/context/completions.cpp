// SPDX-License-Identifier: MIT
// See completions.hpp.
#include "context/completions.hpp"

#include <chrono>

namespace liblock {

Completions::Completions(size_t capacity, std::shared_ptr<std::atomic<uint64_t>> dropped_notices)
    : capacity_(capacity), dropped_(std::move(dropped_notices)) {}

Status Completions::reserve() {
  const std::lock_guard lock(mutex_);
  if (closed_) return Status::CLOSED;
  if (entries_.size() + reserved_ >= capacity_) return Status::LIMIT;
  ++reserved_;
  return Status::OK;
}

void Completions::unreserve() {
  const std::lock_guard lock(mutex_);
  --reserved_;
  if (closed_) changed_.notify_all();
}

void Completions::put_locked(const liblock_completion &completion) {
  entries_.push_back(completion);
  if (entries_.size() == 1) not_empty_.raise();
  changed_.notify_one();
}

bool Completions::put_reserved(const liblock_completion &completion) {
  const std::lock_guard lock(mutex_);
  --reserved_;
  if (abandoned_) return false;
  put_locked(completion);
  if (closed_) changed_.notify_all();
  return true;
}

bool Completions::put_notice(const liblock_completion &completion) {
  const std::lock_guard lock(mutex_);
  if (closed_ || entries_.size() + reserved_ >= capacity_) {
    dropped_->fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  put_locked(completion);
  return true;
}

Status Completions::next(Nanos wait, liblock_completion &completion) {
  std::unique_lock lock(mutex_);
  const auto ready = [this] { return !entries_.empty() || (closed_ && reserved_ == 0); };
  if (wait >= kNever / 4) {
    changed_.wait(lock, ready);
  } else if (!changed_.wait_for(lock, std::chrono::nanoseconds(wait), ready)) {
    return Status::TIMEOUT;
  }
  if (entries_.empty()) return Status::CLOSED;
  completion = entries_.front();
  entries_.pop_front();
  if (entries_.empty()) not_empty_.lower();
  return Status::OK;
}

void Completions::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void Completions::abandon(const std::function<void(const liblock_completion &)> &unread) {
  std::deque<liblock_completion> left;
  {
    const std::lock_guard lock(mutex_);
    closed_ = abandoned_ = true;
    left.swap(entries_);
    changed_.notify_all();
  }
  for (const liblock_completion &completion : left) unread(completion);
}

}  // namespace liblock
