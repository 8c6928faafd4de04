// SPDX-License-Identifier: MIT
// See replica_turns.hpp.
#include "redis/replica_turns.hpp"

#include <algorithm>
#include <utility>

#include "redis/instance.hpp"

namespace liblock {

class ReplicaTurns::Wait final : public Command {
 public:
  Wait(ReplicaTurns &turns, int32_t replicas, Nanos timeout)
      : turns_(turns), replicas_(replicas), timeout_(timeout) {
    more_time_ = timeout;
  }
  void encode(std::string &wire) const override {
    encode_words(wire, {"WAIT", std::to_string(replicas_), std::to_string(timeout_ / kMillisecond)});
  }
  void replied(const Reply &reply) override {
    end(reply.is(Reply::Kind::Integer) ? static_cast<uint32_t>(std::clamp<int64_t>(reply.integer, 0, 1'000))
                                       : 0);
  }
  // The grants stand; of replicas nothing is known.
  void failed(const Failure &) override { end(0); }

 private:
  void end(uint32_t replicas) {
    ReplicaTurns &turns = turns_;
    delete this;
    turns.over(replicas);
  }
  ReplicaTurns &turns_;
  const int32_t replicas_;
  const Nanos timeout_;
};

ReplicaTurns::~ReplicaTurns() { stop(); }

void ReplicaTurns::start(Attempt &attempt) {
  coming_.push_back(&attempt);
  next_turn();
}

void ReplicaTurns::next_turn() {
  if (is_sending_ || is_waiting_ || asking_ != 0 || coming_.empty()) return;
  const auto wants_the_same = [first = coming_.front()](const Attempt *other) {
    return other->wants_as(*first);
  };
  const auto others = std::stable_partition(coming_.begin(), coming_.end(), wants_the_same);
  const std::vector<Attempt *> turn(coming_.begin(), others);
  coming_.erase(coming_.begin(), others);
  asking_ = turn.size();
  is_sending_ = true;  // one that cannot be sent ends at once
  for (Attempt *attempt : turn) instance_.link.send_on(instance_.link.durable(), *attempt);
  is_sending_ = false;
  if (asking_ == 0) one_answered();
}

void ReplicaTurns::granted(Attempt &attempt, uint64_t token) {
  granted_.push_back({&attempt, token});
  ended();
}

void ReplicaTurns::ended() {
  --asking_;
  if (!is_sending_) one_answered();
}

void ReplicaTurns::one_answered() {
  if (asking_ != 0) return;
  if (granted_.empty()) return next_turn();
  const Attempt &like = *granted_.front().attempt;
  is_waiting_ = true;
  instance_.link.durable().send(*new Wait(*this, like.replicas(), like.replicas_timeout()));
}

void ReplicaTurns::over(uint32_t replicas) {
  is_waiting_ = false;
  for (const Granted &one : std::exchange(granted_, {})) one.attempt->granted(one.token, replicas);
  next_turn();
}

void ReplicaTurns::stop() {
  // An empty deque takes memory too, and this ends what could not be opened for want of it.
  while (!coming_.empty()) {
    Attempt *attempt = coming_.front();
    coming_.pop_front();
    attempt->dropped();
  }
}

}  // namespace liblock
