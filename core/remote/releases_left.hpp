// SPDX-License-Identifier: MIT
// What a closing waits for: locks that servers are still to give back. It is worth going on for as long as they do so;
// a server that has answered none of them within a command's time-out may never do. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace liblock {

class ReleasesLeft {
 public:
  void begin() { ++open_; }
  // The servers have said that it is given back, or that nothing of it was there any more; or nothing more will come.
  void end(bool is_answered) {
    --open_;
    answered_ += is_answered ? 1 : 0;
  }
  size_t open() const { return open_; }
  // Some were answered since this was asked last, and others are left.
  bool go_on() { return std::exchange(answered_before_, answered_) != answered_ && open_ != 0; }

 private:
  size_t open_ = 0;
  uint64_t answered_ = 0, answered_before_ = 0;
};

}  // namespace liblock
