// SPDX-License-Identifier: MIT
// While a thread of the host's does something for us that must come to its end, pthread_cancel waits: what lies on its
// stack may be known to other threads. Costs no system call.
#pragma once

#include <pthread.h>

namespace liblock {

class NotCancelled {
 public:
  NotCancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NotCancelled() { pthread_setcancelstate(before_, &before_); }
  NotCancelled(const NotCancelled &) = delete;
  NotCancelled &operator=(const NotCancelled &) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace liblock
