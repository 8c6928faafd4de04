// SPDX-License-Identifier: MIT
// Grants that wait for replicas. WAIT holds its connection up, and counts the replicas that have everything which this
// connection wrote before: so attempts take turns on a connection of their own. All that have come in the meantime,
// and want the same, are sent together, and one WAIT is for all of them that were granted. Loop thread.
//
//   state     meaning                                     left by
//   Idle      nobody wants anything                       start()
//   Asking    the attempts of this turn are at the server the last of their answers
//   Waiting   WAIT is at the server                       its answer: those that were granted end; the next turn
#pragma once

#include <deque>
#include <vector>

#include "redis/attempt.hpp"

namespace liblock {

class ReplicaTurns {
 public:
  explicit ReplicaTurns(Instance &instance) : instance_(instance) {}
  ~ReplicaTurns();

  void start(Attempt &attempt);
  // Who comes now has his turn at once.
  bool is_idle() const { return !is_sending_ && !is_waiting_ && asking_ == 0 && coming_.empty(); }
  // An attempt of this turn was granted; it ends when the replicas have it, or time is up.
  void granted(Attempt &attempt, uint64_t token);
  // It came to another end.
  void ended();
  // The context closes: nothing is sent any more.
  void stop();

 private:
  class Wait;
  struct Granted {
    Attempt *attempt;
    uint64_t token;
  };
  void next_turn();
  void one_answered();
  void over(uint32_t replicas);

  Instance &instance_;
  std::deque<Attempt *> coming_;
  std::vector<Granted> granted_;
  size_t asking_ = 0;  // of this turn, without an answer
  bool is_sending_ = false;
  bool is_waiting_ = false;
};

}  // namespace liblock
