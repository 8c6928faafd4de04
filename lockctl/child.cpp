// SPDX-License-Identifier: MIT
// The command: forked, told to run, watched, ended.
#include "child.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "exit_code.hpp"

namespace lockctl {
namespace {

// SIGTTOU is among them so that the terminal can be taken back from the background.
constexpr std::array kTaken = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                               SIGUSR2, SIGCHLD, SIGCONT, SIGTSTP, SIGTTOU};

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
  for (const int number : kTaken) sigaddset(&taken, number);
  if (sigprocmask(SIG_BLOCK, &taken, &before_) != 0) fail("signals cannot be blocked");
  sigdelset(&taken, SIGTTOU);
  descriptor_ = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor_ < 0) fail("signals cannot be read");
}

Signals::~Signals() { close(descriptor_); }

int Signals::next() const {
  signalfd_siginfo info = {};
  return read(descriptor_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

Child::Child(const std::vector<std::string> &command, const Signals &signals) {
  int orders[2], report[2];
  if (pipe2(orders, O_CLOEXEC) != 0 || pipe2(report, O_CLOEXEC) != 0)
    fail("there is no pipe for the command");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  terminal_ = open("/dev/tty", O_RDWR | O_CLOEXEC);
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
  setpgid(pid_, pid_);  // both do it, so that neither has to wait for the other
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
  setpgid(0, 0);
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
    if (pid < 0 && errno == ECHILD) all_have_ended_ = true;
    if (pid <= 0) return;
    if (pid != pid_) continue;
    if (WIFSTOPPED(how)) {
      has_stopped_ = true;
    } else {
      has_ended_ = true;
      exit_code_ = WIFSIGNALED(how) ? kSignal + WTERMSIG(how) : WEXITSTATUS(how);
    }
  }
}

void Child::signal(int number) const { kill(-pid_, number); }

void Child::signal_all(int number) const {
  signal(number);
  std::vector<pid_t> below;
  add_descendants(getpid(), below);
  // Not twice to those in the group: a second SIGTERM means "at once" to many a program.
  for (const pid_t pid : below) {
    if (getpgid(pid) != pid_) kill(pid, number);
  }
}

void Child::give_terminal() const {
  if (terminal_ >= 0 && tcgetpgrp(terminal_) == getpgrp()) tcsetpgrp(terminal_, pid_);
}

void Child::take_terminal_back() const {
  if (terminal_ >= 0 && tcgetpgrp(terminal_) == pid_) tcsetpgrp(terminal_, getpgrp());
}

}  // namespace lockctl
