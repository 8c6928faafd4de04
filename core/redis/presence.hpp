// SPDX-License-Identifier: MIT
// An instance says that it lives, once per interval by one small script call, and hears who does not any more. One of
// those who hear of dead ones gets the turn: he looks again alive_ms later, gives back what they left behind by one
// pass over all keys, and takes them off the list. An instance that says nothing is on no list, and flushed by nobody.
//
//   state     meaning                                      left by
//   Watching  nobody is dead, or it is not our turn        dead ones and the turn: Waiting
//   Waiting   the dead have alive_ms to come back          the timer, by a call that confirms: Flushing, or Watching
//   Flushing  a pass over all keys is under way            its end: Watching; the next call takes the dead off the
//                                                          list, or gives the turn back where the pass failed
//
// Loop thread, but for status().
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "redis/link.hpp"

namespace liblock {

class Instance;

class Presence final : private Timer {
 public:
  // Of its own intervals, after which an instance counts as silent; and for which who has just connected flushes
  // nobody. With the default of 10 s that is longer than a lease of TTL_AUTO lasts without its holder: that one ends
  // by time, never by a flush.
  static constexpr int64_t kSilentIntervals = 4;
  static constexpr int64_t kIntervalMostMs = 3'600'000;

  explicit Presence(Instance &instance);
  ~Presence() override;

  void on_connected();
  // The context closes: says so, where it was on the list.
  void leave();
  bool is_leaving() const { return is_leaving_; }
  // Any thread.
  void status(liblock_zombies_status &status) const;

 private:
  enum class State : uint8_t { Watching, Waiting, Flushing };
  class Call;
  class Farewell;
  class Flush;

  bool is_on() const;
  bool declines() const;
  Nanos turn() const;
  void fire(Nanos now) override;
  void schedule();
  void send(bool confirms);
  void answered(const Reply &reply, bool confirms);
  void failed(const Failure &failure, bool confirms);
  void flush(std::vector<std::string> dead);
  void flushed(Status status, const std::vector<std::string> &dead);
  void tell_flushed(uint64_t locks);
  void note_failure(Status status);

  Instance &instance_;
  const std::string member_;
  State state_ = State::Watching;
  Nanos next_at_ = kNever;        // the next sign of life; kNever: none was due yet
  Nanos look_again_at_ = kNever;  // in Waiting
  Nanos declines_until_ = 0;      // the turn: it has connected just now, or a flush has failed
  bool is_under_way_ = false;     // a call
  bool was_missed_ = false;       // a sign of life, for want of a connection
  bool is_listed_ = false;
  bool is_leaving_ = false;
  uint64_t pass_over_ = 0;  // so many silent ones are stopped, not dead
  std::set<std::string> suspects_;
  std::vector<std::string> over_;  // flushed, and still on the list
  bool tells_over_ = false;        // the call that is under way
  std::unique_ptr<Flush> flush_;
  Nanos flush_began_at_ = 0;

  struct {
    std::atomic<bool> is_flushing{false};
    std::atomic<int64_t> last_run_us{0}, last_failure_us{0};
    std::atomic<uint64_t> runs{0}, flushes{0}, instances{0}, locks{0}, waiters{0};
    std::atomic<Status> last_failure{Status::OK};
  } told_;
};

}  // namespace liblock
