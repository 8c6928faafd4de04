// SPDX-License-Identifier: MIT
// See pipe_signal.hpp. Only SIGPIPE is touched: what the host does to its mask meanwhile stays.
#include "runtime/pipe_signal.hpp"

#include <pthread.h>
#include <signal.h>

#include "base/assert.hpp"

namespace liblock {

namespace {

struct Held {
  int times = 0;
  bool was_open = false;   // before the first
  bool is_broken = false;  // since then
};
thread_local constinit Held held;

sigset_t pipe_alone() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  return signals;
}

// One that is ignored is never pending.
void take_pending(const sigset_t &pipe) {
  sigset_t pending;
  int taken;
  if (sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1) sigwait(&pipe, &taken);
}

}  // namespace

void PipeSignal::hold() {
  if (held.times++ > 0) return;
  const sigset_t pipe = pipe_alone();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  held.was_open = sigismember(&before, SIGPIPE) == 0;
  held.is_broken = false;
}

void PipeSignal::is_broken() { held.is_broken = held.times > 0; }

void PipeSignal::let_go(bool is_broken) {
  LIBLOCK_ASSERT(held.times > 0);
  held.is_broken |= is_broken;
  if (--held.times > 0 || !held.was_open) return;
  const sigset_t pipe = pipe_alone();
  if (held.is_broken) take_pending(pipe);
  pthread_sigmask(SIG_UNBLOCK, &pipe, nullptr);
}

}  // namespace liblock
