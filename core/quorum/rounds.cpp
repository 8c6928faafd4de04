// SPDX-License-Identifier: MIT
// See rounds.hpp.
#include "quorum/rounds.hpp"

#include <utility>

#include "quorum/instance.hpp"

namespace liblock::quorum {

namespace {

constexpr Nanos kPauseLeast = 3 * kMillisecond;
constexpr Nanos kPauseMost = 25 * kMillisecond;

}  // namespace

Rounds::Rounds(Instance &instance)
    : FanOut(instance), until_(instance.runtime->now() + instance.options.nodes.front().command_timeout) {}

Rounds::~Rounds() = default;

void Rounds::ask_round(NodeSet nodes) {
  const std::shared_ptr<FanOut> kept = shared_from_this();
  open_ = nodes;
  is_over_ = false;
  ++round_;
  if (nodes == 0) return undecided();
  ask_all(nodes);
}

void Rounds::answered(Call &call, const Reply &reply) {
  if (is_of_now(call)) heard(call, reply);
  one_ended(call);
}

void Rounds::failed(Call &call, const Failure &failure) {
  if (is_of_now(call)) not_heard(call, failure);
  one_ended(call);
}

void Rounds::one_ended(const Call &call) {
  if (call.round != round_) return;
  open_ &= ~call.node.bit();
  if (open_ == 0 && !is_over_) undecided();
}

bool Rounds::pause() {
  Runtime &runtime = *instance_.runtime;
  if (instance_.is_closing || runtime.now() >= until_) return false;
  // Two who are in each other's way do not come back at the same moment.
  const Nanos time = kPauseLeast + instance_.random.up_to(kPauseMost - kPauseLeast);
  kept_ = shared_from_this();
  instance_.asking.pauses.insert(this);
  runtime.arm(*this, runtime.now() + time);
  return true;
}

void Rounds::fire(Nanos) {
  const std::shared_ptr<FanOut> kept = std::exchange(kept_, nullptr);
  instance_.asking.pauses.erase(this);
  instance_.runtime->cancel(*this);
  if (instance_.is_closing) return closed();
  round();
}

}  // namespace liblock::quorum
