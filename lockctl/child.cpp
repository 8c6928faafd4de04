// SPDX-License-Identifier: MIT
// The command: forked, told to run, watched, ended.
#include "child.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "exit_code.hpp"
#include "terminal.hpp"

namespace lockctl {
namespace {

// SIGTTOU is among them so that the terminal can be taken back from the background.
constexpr std::array kTaken = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                               SIGUSR2, SIGCHLD, SIGCONT, SIGTSTP, SIGTTOU};

bool is_ignored(int number) {
  struct sigaction now = {};
  return sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

// Whether others are, or may soon be, in this process' group: whoever did not found it was put into somebody's, and who
// did may be the first of a pipeline whose rest does not exist yet.
bool may_have_company() {
  if (getpgrp() != getpid()) return true;
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    struct stat what = {};
    if (fstat(descriptor, &what) == 0 && (S_ISFIFO(what.st_mode) || S_ISSOCK(what.st_mode))) return true;
  }
  return false;
}

[[noreturn]] void fail(const char *what) {
  throw Failure(kSystem, std::string(what) + ": " + strerror(errno));
}

bool read_exactly(int descriptor, void *into, size_t size) {
  auto *at = static_cast<char *>(into);
  while (size > 0) {
    const ssize_t got = read(descriptor, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool write_exactly(int descriptor, const void *from, size_t size) {
  const auto *at = static_cast<const char *>(from);
  while (size > 0) {
    const ssize_t done = write(descriptor, at, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += done;
    size -= static_cast<size_t>(done);
  }
  return true;
}

// Those below a process, children of children included; where the kernel does not tell, none. It tells them by the
// thread that they come from.
void add_descendants(pid_t pid, std::vector<pid_t> &into) {
  std::error_code unknown;  // it may end meanwhile
  const std::filesystem::path threads = "/proc/" + std::to_string(pid) + "/task";
  std::filesystem::directory_iterator at(threads, unknown);
  for (; !unknown && at != std::filesystem::directory_iterator(); at.increment(unknown)) {
    std::ifstream file(at->path() / "children");
    for (pid_t child = 0; file >> child;) {
      into.push_back(child);
      add_descendants(child, into);
    }
  }
}

}  // namespace

Signals::Signals() {
  sigset_t taken;
  sigemptyset(&taken);
  for (const int number : kTaken) {
    // An ignored signal that is blocked would be read all the same. Those two tell of the command, whatever is ignored.
    if (number == SIGCHLD || number == SIGCONT || !is_ignored(number)) sigaddset(&taken, number);
  }
  if (sigprocmask(SIG_BLOCK, &taken, &before_) != 0) fail("signals cannot be blocked");
  sigdelset(&taken, SIGTTOU);
  descriptor_ = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor_ < 0) fail("signals cannot be read");
}

Signals::~Signals() { close(descriptor_); }

int Signals::next(bool *is_of_terminal) const {
  signalfd_siginfo info = {};
  if (read(descriptor_, &info, sizeof info) != sizeof info) return 0;
  if (is_of_terminal != nullptr) *is_of_terminal = info.ssi_code == SI_KERNEL;
  return static_cast<int>(info.ssi_signo);
}

bool Signals::stop(int number) const {
  sigset_t one, before, pending;
  sigemptyset(&one);
  sigaddset(&one, number);
  raise(number);
  pthread_sigmask(SIG_UNBLOCK, &one, &before);  // here it stops, if it does
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  sigpending(&pending);
  return sigismember(&pending, SIGCONT) == 1;
}

Child::Child(const std::vector<std::string> &command, const Signals &signals) {
  int orders[2], report[2];
  if (pipe2(orders, O_CLOEXEC) != 0 || pipe2(report, O_CLOEXEC) != 0)
    fail("there is no pipe for the command");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // Whoever ignores the end of children, as some that start lockctl do, is told neither of it nor of an exit code.
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &usual, nullptr);
  terminal_ = open("/dev/tty", O_RDWR | O_CLOEXEC);
  shares_group_ = terminal_ >= 0 && may_have_company();
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) fail("there is no process for the command");
  if (pid_ == 0) {
    // From here on it ends with lockctl; who has ended already is not its parent any more.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kSystem);
    close(orders[1]);
    close(report[0]);
    wait_and_run(command, signals, orders[0], report[1]);
  }
  if (!shares_group_) setpgid(pid_, pid_);  // both do it, so that neither has to wait for the other
  close(orders[0]);
  close(report[1]);
  orders_ = orders[1];
  report_ = report[0];
}

Child::~Child() {
  if (!has_ended_) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
  }
  take_terminal_back();
  for (const int descriptor : {orders_, report_, terminal_}) {
    if (descriptor >= 0) close(descriptor);
  }
}

// In the new process. The order is the size of NAME=VALUE and the text, each; a size of 0 says: run.
void Child::wait_and_run(const std::vector<std::string> &command, const Signals &signals, int orders,
                         int report) const {
  if (!shares_group_) setpgid(0, 0);
  for (size_t size = 0;;) {
    if (!read_exactly(orders, &size, sizeof size)) _exit(kBusy);  // lockctl did not get the lock
    if (size == 0) break;
    std::string text(size, '\0');
    if (!read_exactly(orders, text.data(), size)) _exit(kBusy);
    const size_t equals = text.find('=');
    setenv(text.substr(0, equals).c_str(), text.substr(equals + 1).c_str(), 1);
  }
  std::vector<char *> arguments;
  for (const auto &word : command) arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  sigprocmask(SIG_SETMASK, &signals.before(), nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  write_exactly(report, &error, sizeof error);
  _exit(kNoCommand);
}

int Child::start(const Environment &environment) {
  give_terminal();
  const auto send = [this](const std::string &text) {
    const size_t size = text.size();
    return write_exactly(orders_, &size, sizeof size) && write_exactly(orders_, text.data(), size);
  };
  // Whoever has killed it meanwhile will be seen by its end.
  struct sigaction ignore = {}, old = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &old);
  for (const auto &[name, value] : environment) send(name + "=" + value);
  send("");
  sigaction(SIGPIPE, &old, nullptr);
  int error = 0;
  return read_exactly(report_, &error, sizeof error) ? error : 0;  // an exec closes the pipe
}

void Child::reap() {
  for (;;) {
    int how = 0;
    const pid_t pid = waitpid(-1, &how, WNOHANG | WUNTRACED);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0 && errno == ECHILD) {
      if (!has_ended_) exit_code_ = kSystem;  // somebody else was told of it
      has_ended_ = all_have_ended_ = true;
    }
    if (pid <= 0) return;
    if (pid != pid_) continue;
    if (WIFSTOPPED(how)) {
      // By the terminal, whose shell wakes both up again. Whoever has stopped the command alone wakes that up alone.
      const int number = WSTOPSIG(how);
      const bool is_of_terminal = number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
      if (terminal_ >= 0 && is_of_terminal) stopped_by_ = number;
    } else {
      has_ended_ = true;
      death_ = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
      exit_code_ = death_ != 0 ? kSignal + death_ : WEXITSTATUS(how);
    }
  }
}

void Child::signal(int number) {
  if (!shares_group_) return send(-pid_, number);
  std::vector<pid_t> below;
  add_descendants(getpid(), below);
  if (!has_ended_) send(pid_, number);
  for (const pid_t pid : below) {
    if (pid != pid_ && is_in_group(pid)) send(pid, number);
  }
}

void Child::signal_all(int number) {
  signal(number);
  std::vector<pid_t> below;
  add_descendants(getpid(), below);
  // Not twice to those in the group: a second SIGTERM means "at once" to many a program. They are asked whether they
  // can be sent any (0), which a group tells only where nobody in it can.
  for (const pid_t pid : below) {
    const bool has_it = is_in_group(pid) || (shares_group_ && pid == pid_);
    send(pid, has_it ? 0 : number);
  }
}

bool Child::is_in_group(pid_t pid) const { return getpgid(pid) == (shares_group_ ? getpgrp() : pid_); }

void Child::send(pid_t to, int number) {
  if (kill(to, number) == 0 || errno != EPERM || std::exchange(is_refusal_said_, true)) return;
  say("the command, or a part of it, runs as another user and takes no signal from lockctl, which cannot end it; "
      "`sudo lockctl run …` can");
}

void Child::give_terminal() const {
  if (terminal_ >= 0 && !shares_group_ && tcgetpgrp(terminal_) == getpgrp()) tcsetpgrp(terminal_, pid_);
}

void Child::take_terminal_back() const {
  if (terminal_ >= 0 && tcgetpgrp(terminal_) == pid_) tcsetpgrp(terminal_, getpgrp());
}

}  // namespace lockctl
