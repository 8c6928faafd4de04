// SPDX-License-Identifier: MIT
// Asks nodes whether they still have what is held here: of some locks when word comes that they were taken away, and of
// all when such a word may have been missed, which is each time messages begin to come: one batch after the other, so
// that many locks hold nobody up. What too few nodes can tell is asked again until it is known, or over. Loop thread.
#pragma once

#include <vector>

#include "quorum/keeper.hpp"

namespace liblock::quorum {

class VerifyingAll final : private Timer {
 public:
  explicit VerifyingAll(Instance &instance) : instance_(instance) {}
  // Of some node, from now on: what it sent before was missed.
  void messages_come();
  // At once, by word of them; and again, where too few nodes can tell.
  void ask_now(const std::vector<LeaseRef> &leases);
  void stop();

 private:
  void fire(Nanos now) override;
  void go_on();
  std::vector<GrantRef> next_batch();
  void ask(std::vector<GrantRef> batch);
  void keep_undecided(const std::vector<LeaseRef> &asked, Status status);

  Instance &instance_;
  std::vector<GrantRef> left_, undecided_;  // of this pass; for the next one
  bool has_missed_ = false;                 // more, since this pass began
  bool is_asking_ = false, is_going_on_ = false, is_stopped_ = false;
};

}  // namespace liblock::quorum
