// SPDX-License-Identifier: MIT
// Asks nodes whether they still have what is held here, when their word that it was taken away may have been missed:
// each time messages begin to come. One batch after the other, so that many locks hold nobody up; what too few nodes
// can tell is asked again until it is known, or over. Loop thread.
#pragma once

#include <vector>

#include "quorum/keeper.hpp"

namespace liblock::quorum {

class VerifyingAll final : private Timer {
 public:
  explicit VerifyingAll(Instance &instance) : instance_(instance) {}
  // Of some node, from now on: what it sent before was missed.
  void messages_come();
  void stop();

 private:
  void fire(Nanos now) override;
  void go_on();
  std::vector<GrantRef> next_batch();
  void ask(std::vector<GrantRef> batch);

  Instance &instance_;
  std::vector<GrantRef> left_, undecided_;  // of this pass; for the next one
  bool has_missed_ = false;                 // more, since this pass began
  bool is_asking_ = false, is_going_on_ = false, is_stopped_ = false;
};

}  // namespace liblock::quorum
