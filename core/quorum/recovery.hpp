// SPDX-License-Identifier: MIT
// Ends the silence of nodes that may have forgotten tokens. When no lease can be left that such a node granted
// before, by our own clock since we first saw it so, the largest token of so many others is read that every quorum
// has one of them, and it is told to exceed that. Where too many have forgotten, their clocks stand in. Loop thread.
#pragma once

#include <memory>

#include "quorum/fan_out.hpp"

namespace liblock::quorum {

class Recovery final : private Timer {
 public:
  explicit Recovery(Instance &instance) : instance_(instance) {}
  // The state of a node has changed.
  void look();
  void stop();

 private:
  class Round;
  void fire(Nanos now) override;
  void round_done(bool has_told);

  Instance &instance_;
  Nanos not_before_ = 0;
  bool is_asking_ = false;
  bool is_stopped_ = false;
};

}  // namespace liblock::quorum
