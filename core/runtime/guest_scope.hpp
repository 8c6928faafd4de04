// SPDX-License-Identifier: MIT
// While a thread of the host's runs the library's loop it is as one of ours: nothing that would wait may be called from
// it, it is not cancelled between two halves of something, and a write to a connection that is gone does not end the
// host. Its signals are its own.
#pragma once

#include "base/not_cancelled.hpp"
#include "runtime/pipe_signal.hpp"
#include "runtime/runtime.hpp"

namespace liblock {

class GuestScope {
 public:
  GuestScope() { PipeSignal::hold(); }
  ~GuestScope() { PipeSignal::let_go(leaves_writes_); }
  GuestScope(const GuestScope &) = delete;
  GuestScope &operator=(const GuestScope &) = delete;
  // A write that failed here may be told to whoever runs the loop next.
  void leaves_writes() { leaves_writes_ = true; }

 private:
  const NotCancelled not_cancelled_;
  const NoBlockingScope no_blocking_;
  bool leaves_writes_ = false;
};

}  // namespace liblock
