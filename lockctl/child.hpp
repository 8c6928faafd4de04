// SPDX-License-Identifier: MIT
// The command that runs under the lock. It is forked first of all, while this process has one thread, and waits on a
// pipe for its environment: fork and exec then owe nothing to what the library's threads do. It is killed with
// lockctl; what leaves its group (daemons) stays below lockctl all the same, who is made their reaper.
//
// Its process group is its own, so that all of it gets a signal, and it has the terminal while it is in the foreground.
// But a terminal has one group in the foreground: where lockctl is part of a pipeline or of a script that has one, the
// others would be in the background then, and be stopped when they read from it. There the command stays in the group
// that they all share, as it would be without lockctl, and the terminal's signals come to each of them.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace lockctl {

// Signals that lockctl takes from a descriptor: those it forwards, and what it must know of children and stops. What
// was ignored when it began (nohup, a shell's &) stays ignored, by the command as well.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals &) = delete;
  Signals &operator=(const Signals &) = delete;
  int descriptor() const { return descriptor_; }
  const sigset_t &before() const { return before_; }
  // 0 = none is there. Those of the kernel come from the terminal, to each process of the group.
  int next(bool *is_of_terminal = nullptr) const;
  // Stops this process as the terminal would, by one of its signals. False: it goes on, since that is not done to whom
  // no shell could wake up.
  bool stop(int number) const;

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
  int take_stop() { return std::exchange(stopped_by_, 0); }  // the terminal's signal that stopped it, or 0
  int death() const { return death_; }                       // the signal that ended it, or 0

  void signal(int number);      // to its process group, or to what came from it in the one that it shares
  void signal_all(int number);  // to all that came from it, wherever it went
  bool shares_group() const { return shares_group_; }

  void take_terminal_back() const;
  void give_terminal() const;  // where lockctl is in the foreground

 private:
  [[noreturn]] void wait_and_run(const std::vector<std::string> &command, const Signals &signals, int orders,
                                 int report) const;
  bool is_in_group(pid_t pid) const;
  void send(pid_t to, int number);

  pid_t pid_ = -1;
  int orders_ = -1, report_ = -1;  // pipes: environment to the command; errno of its exec from it
  int terminal_ = -1;              // the controlling one, or none
  bool shares_group_ = false;
  int exit_code_ = 0, death_ = 0, stopped_by_ = 0;
  bool has_ended_ = false, all_have_ended_ = false;
  bool is_refusal_said_ = false;  // that it runs as somebody else
};

}  // namespace lockctl
