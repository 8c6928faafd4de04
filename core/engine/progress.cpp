// SPDX-License-Identifier: MIT
// See progress.hpp.
#include "engine/progress.hpp"

#include <utility>

namespace liblock {

void Progress::stands(int64_t position, int64_t length) {
  {
    const std::lock_guard lock(mutex_);
    seen_ = {position, length};
    if (seen_ == told_) return;
  }
  news();
}

bool Progress::has_news() const {
  const std::lock_guard lock(mutex_);
  return seen_ != told_;
}

void Progress::tell() {
  Place place;
  {
    const std::lock_guard lock(mutex_);
    if (seen_ == told_) return;
    place = told_ = seen_;
  }
  const NoBlockingScope scope;
  callback_(place.position, place.length, user_data_);
}

void ThreadProgress::news() {
  if (parking_ == nullptr) return tell();
  parking_->nudge();
}

void RequestProgress::news() {
  if (in_flight_.exchange(true)) return;
  kept_ = shared_from_this();
  runtime_->post(this);
}

void RequestProgress::deliver() {
  if (!is_over_) tell();
}

// What came while it was told has a turn behind other notices.
void RequestProgress::dispose() {
  const std::shared_ptr<RequestProgress> kept = std::move(kept_);
  in_flight_.store(false);
  if (!is_over_ && has_news()) news();
}

}  // namespace liblock
