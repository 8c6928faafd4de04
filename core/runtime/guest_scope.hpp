// SPDX-License-Identifier: MIT
// While a thread of the host's runs the library's loop it is as one of ours: nothing that would wait may be called from
// it, it is not cancelled between two halves of something, and a write to a connection that is gone does not end the
// host. Its signals are its own.
#pragma once

#include <pthread.h>

#include "runtime/pipe_signal.hpp"
#include "runtime/runtime.hpp"

namespace liblock {

class GuestScope {
 public:
  GuestScope() {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);
    PipeSignal::hold();
  }
  ~GuestScope() {
    PipeSignal::let_go(false);
    pthread_setcancelstate(cancel_state_, &cancel_state_);
  }
  GuestScope(const GuestScope &) = delete;
  GuestScope &operator=(const GuestScope &) = delete;

 private:
  const NoBlockingScope no_blocking_;
  int cancel_state_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace liblock
