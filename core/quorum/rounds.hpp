// SPDX-License-Identifier: MIT
// One question to nodes, asked again after a moment where the answers do not decide, within the time-out of a command.
// A round is over when all its calls have ended, or when its answer is known. Loop thread.
#pragma once

#include "quorum/fan_out.hpp"

namespace liblock::quorum {

class Rounds : public FanOut, private Timer {
 public:
  void begin() { round(); }

 protected:
  explicit Rounds(Instance &instance);
  ~Rounds() override;

  // Asks, by ask_round(), or ends.
  virtual void round() = 0;
  virtual void heard(Call &call, const Reply &reply) = 0;
  virtual void not_heard(Call &call, const Failure &failure) = 0;
  // All calls have ended, and is_over() was not said.
  virtual void undecided() = 0;
  // The context has closed during a pause.
  virtual void closed() = 0;

  void ask_round(NodeSet nodes);
  // The answer is known: nothing of it matters any more.
  void set_over() { is_over_ = true; }
  bool is_over() const { return is_over_; }
  NodeSet open() const { return open_; }
  // Whatever the others answer will decide nothing.
  void end_round() {
    ++round_;
    undecided();
  }
  // Another round in a moment; false: time is up.
  bool pause();

 private:
  void answered(Call &call, const Reply &reply) final;
  void failed(Call &call, const Failure &failure) final;
  bool is_of_now(const Call &call) const { return !is_over_ && call.round == round_; }
  void one_ended(const Call &call);
  void fire(Nanos now) override;

  const Nanos until_;
  NodeSet open_ = 0;
  bool is_over_ = false;
  std::shared_ptr<FanOut> kept_;  // during a pause
};

}  // namespace liblock::quorum
