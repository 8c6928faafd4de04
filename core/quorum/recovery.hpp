// SPDX-License-Identifier: MIT
// Ends the silence of nodes that may have forgotten tokens. When no lease can be left that such a node granted
// before, by our own clock since we first saw it so, the largest token of so many others is read that every quorum
// has one of them, and it is told to exceed that. Where too many have forgotten, their clocks stand in. And where nodes
// go that had tokens, those which stay are told as much. Loop thread.
#pragma once

#include <functional>
#include <memory>

#include "quorum/fan_out.hpp"

namespace liblock::quorum {

class Recovery final : private Timer {
 public:
  explicit Recovery(Instance &instance) : instance_(instance) {}
  // The state of a node has changed.
  void look();
  void stop();
  // Under a joint configuration that stands: no token that the old nodes gave out before exceeds what the nodes told of
  // have given out from now on. As if each had been granted by those: enough of them, and a quorum of the new nodes
  // knows it, whoever goes. They have forgotten nothing themselves.
  void carry_over(std::function<void(NodeSet told)> done);

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
