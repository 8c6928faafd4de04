// SPDX-License-Identifier: MIT
// The command that runs under the lock. It is forked first of all, while this process has one thread, and waits on a
// pipe for its environment: fork and exec then owe nothing to what the library's threads do. Its process group is its
// own, so that all of it gets a signal, and it has the terminal while it is in the foreground. It is killed with
// lockctl; what leaves its group (daemons) stays below lockctl all the same, who is made their reaper.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace lockctl {

// Signals that lockctl takes from a descriptor: those it forwards, and what it must know of children and stops.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals &) = delete;
  Signals &operator=(const Signals &) = delete;
  int descriptor() const { return descriptor_; }
  const sigset_t &before() const { return before_; }
  int next() const;  // 0 = none is there

 private:
  sigset_t before_ = {};  // the mask that the command gets
  int descriptor_ = -1;
};

class Child {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  Child(const std::vector<std::string> &command, const Signals &signals);
  ~Child();
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;

  // Lets the command run; 0, or the errno with which it could not.
  int start(const Environment &environment);

  // Takes note of what has ended or stopped. Afterwards:
  void reap();
  bool has_ended() const { return has_ended_; }
  bool all_have_ended() const { return all_have_ended_; }  // also what the command left behind
  int exit_code() const { return exit_code_; }             // its own, or 128 + signal
  bool take_stop() { return std::exchange(has_stopped_, false); }

  void signal(int number) const;      // to its process group
  void signal_all(int number) const;  // to all that came from it, wherever it went

  void take_terminal_back() const;
  void give_terminal() const;  // where lockctl is in the foreground

 private:
  [[noreturn]] void wait_and_run(const std::vector<std::string> &command, const Signals &signals, int orders,
                                 int report) const;

  pid_t pid_ = -1;
  int orders_ = -1, report_ = -1;  // pipes: environment to the command; errno of its exec from it
  int terminal_ = -1;              // the controlling one, or none
  int exit_code_ = 0;
  bool has_ended_ = false, all_have_ended_ = false, has_stopped_ = false;
};

}  // namespace lockctl
