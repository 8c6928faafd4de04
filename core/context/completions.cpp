// SPDX-License-Identifier: MIT
// See completions.hpp.
#include "context/completions.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "base/not_cancelled.hpp"

namespace liblock {

Completions::Completions(size_t capacity, std::shared_ptr<std::atomic<uint64_t>> dropped_notices)
    : capacity_(capacity), dropped_(std::move(dropped_notices)) {}

int Completions::fd() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(is_polled_, true) && count_ != 0) not_empty_.raise();
  return not_empty_.fd();
}

// With mutex_.
void Completions::make_room(size_t places) {
  if (places <= ring_.size()) return;
  std::vector<liblock_completion> larger(std::min(capacity_, std::max(kRingLeast, 2 * ring_.size())));
  for (size_t i = 0; i < count_; ++i) larger[i] = ring_[(first_ + i) % ring_.size()];
  ring_.swap(larger);
  first_ = 0;
}

Status Completions::reserve() {
  const std::lock_guard lock(mutex_);
  if (closed_) return Status::CLOSED;
  if (count_ + reserved_ >= capacity_) return Status::LIMIT;
  make_room(count_ + reserved_ + 1);
  ++reserved_;
  return Status::OK;
}

void Completions::unreserve() {
  const std::lock_guard lock(mutex_);
  --reserved_;
  if (closed_) changed_.notify_all();
}

void Completions::put_locked(const liblock_completion &completion) {
  ring_[(first_ + count_++) % ring_.size()] = completion;
  if (count_ == 1 && is_polled_) not_empty_.raise();
}

// Without mutex_: who is woken while it is held goes back to sleep for it. Whoever puts something in keeps the queue.
void Completions::wake(bool all) {
  if (all) {
    changed_.notify_all();
  } else {
    changed_.notify_one();
  }
}

bool Completions::put_reserved(const liblock_completion &completion) {
  bool closed;
  {
    const std::lock_guard lock(mutex_);
    --reserved_;
    if (abandoned_) return false;
    put_locked(completion);
    closed = closed_;
  }
  wake(closed);
  return true;
}

bool Completions::put_notice(const liblock_completion &completion) try {
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || count_ + reserved_ >= capacity_) {
      dropped_->fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    make_room(count_ + reserved_ + 1);
    put_locked(completion);
  }
  wake(false);
  return true;
} catch (const std::bad_alloc &) {
  dropped_->fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool Completions::wait_until_ready(std::unique_lock<std::mutex> &lock, Nanos wait) {
  const NotCancelled here;
  const auto ready = [this] { return is_ready(); };
  if (wait < kNever / 4) return changed_.wait_for(lock, std::chrono::nanoseconds(wait), ready);
  changed_.wait(lock, ready);
  return true;
}

Status Completions::next(Nanos wait, liblock_completion &completion) {
  std::unique_lock lock(mutex_);
  if (!is_ready() && (wait == 0 || !wait_until_ready(lock, wait))) return Status::TIMEOUT;
  if (count_ == 0) return Status::CLOSED;
  completion = ring_[first_];
  first_ = (first_ + 1) % ring_.size();
  if (--count_ != 0) return Status::OK;
  if (is_polled_) not_empty_.lower();
  if (reserved_ == 0 && ring_.size() > kRingKept) {
    ring_ = {};
    first_ = 0;
  }
  return Status::OK;
}

void Completions::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void Completions::abandon(const std::function<void(const liblock_completion &)> &unread) {
  std::vector<liblock_completion> left;
  size_t first, count;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    abandoned_ = true;
    left.swap(ring_);
    first = std::exchange(first_, 0);
    count = std::exchange(count_, 0);
    changed_.notify_all();
  }
  for (size_t i = 0; i < count; ++i) unread(left[(first + i) % left.size()]);
}

}  // namespace liblock
