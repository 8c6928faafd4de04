// SPDX-License-Identifier: MIT
// One random life of several processes with one server: what they do and what befalls them follows from a seed. At
// every grant it is asked whether anybody else believes that the key is his; tokens must rise; when the faults stop,
// everything must come to its end and every key be free again.
#pragma once

#include <map>
#include <set>

#include "intervals/intervals.hpp"
#include "stage.hpp"

namespace unit {

// What this seed lets happen (swarm testing: each run has some faults often and others never).
struct Swarm {
  explicit Swarm(liblock::Random &random);
  std::string to_text() const;

  int64_t delay_most_ms;
  bool pieces, breaks, deaf, silent, freezes, cuts, pauses, kills, restarts, forgets, rates, steps, foreign;
  bool half_cuts, hold_ups, lossy, suspends, front;
  bool orders, owners, many;
};

class RandomRun {
 public:
  explicit RandomRun(uint64_t seed);
  ~RandomRun();
  void run(int64_t ms);
  void finish();
  uint64_t grants() const { return grants_; }
  // Of those, by hands within a process.
  uint64_t passed_on() const;
  uint64_t trace() const { return world_.trace.value(); }
  std::string story() const { return swarm_.to_text(); }

 private:
  struct Hold {
    size_t process;
    Wanted *wanted;
    std::vector<std::string> keys;
    const liblock::RemoteOwner *owner;
  };
  struct Foreign {
    std::string key, value;
    Nanos until;
  };
  static constexpr size_t kProcesses = 4, kKeys = 3;

  void note(bool holds, const char *what, int line);
  int64_t roll(int64_t sides) { return world_.random.up_to(sides - 1); }
  void act();
  void act_on(Hold &hold, size_t index);
  void acquire();
  void foreign_acts();
  void befall();
  void befall_link(Host &host, Nanos time);
  void granted(size_t process, Wanted &wanted, const std::vector<std::string> &keys,
               const liblock::RemoteOwner *owner);
  bool believes(const Hold &hold) const;
  std::vector<std::string> draw_keys();
  size_t alive() const;

  World world_;
  Swarm swarm_;
  Node &node_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::shared_ptr<liblock::RemoteOwner>> owners_;  // two for each process
  std::vector<Hold> holds_;
  std::vector<std::pair<size_t, Wanted *>> asked_;
  std::vector<Foreign> foreign_;
  std::map<std::string, std::pair<uint64_t, const liblock::RemoteOwner *>> largest_;  // token of each key
  liblock_test::GuardedResource resource_;
  uint64_t grants_ = 0;
  std::string wrong_;  // the first thing that was
};

}  // namespace unit
