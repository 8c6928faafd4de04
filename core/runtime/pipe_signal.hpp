// SPDX-License-Identifier: MIT
// Keeps SIGPIPE from a thread of the caller's while libuv writes for us there: that the other side is gone is told by
// the write's status, and is no reason for a host to end. Our own threads have all signals blocked, and need none of
// this. On the thread that writes; holds may overlap.
#pragma once

namespace liblock {

class PipeSignal {
 public:
  static void hold();
  // is_broken: a write found nobody there; what the system has sent for that is taken away.
  static void let_go(bool is_broken);
  // The same, told while it is held, or on a thread that holds nothing back.
  static void is_broken();
};

}  // namespace liblock
