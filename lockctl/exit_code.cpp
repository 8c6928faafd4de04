// SPDX-License-Identifier: MIT
// Which status of the library ends with which exit code. Told apart is what a script would do differently: try again
// (75, 69), call for a person (77, 78), mend the call (64).
#include "exit_code.hpp"

namespace lockctl {

ExitCode exit_code_of(liblock_status status) {
  switch (status) {
    case LIBLOCK_OK:
      return kDone;
    case LIBLOCK_NOT_HELD:
    case LIBLOCK_NOT_OWNER:
      return kNothing;
    case LIBLOCK_BUSY:
    case LIBLOCK_TIMEOUT:
    case LIBLOCK_RETRIES_EXHAUSTED:
    case LIBLOCK_CANCELED:
    case LIBLOCK_DEADLOCK:
    case LIBLOCK_DEQUEUED:
    case LIBLOCK_TOO_LATE:
    case LIBLOCK_LIMIT:
      return kBusy;
    case LIBLOCK_LOST:
      return kLost;
    case LIBLOCK_IN_DOUBT:
    case LIBLOCK_PARTIAL:
    case LIBLOCK_NO_QUORUM:
    case LIBLOCK_QUARANTINED:
    case LIBLOCK_CONNECT:
    case LIBLOCK_SERVER:
    case LIBLOCK_READ_ONLY:
    case LIBLOCK_PROTOCOL:
      return kUnavailable;
    case LIBLOCK_AUTH:
      return kRefused;
    case LIBLOCK_NODES_MISMATCH:
    case LIBLOCK_WRONG_TYPE:
    case LIBLOCK_OPTIONS_MISMATCH:
    case LIBLOCK_UNSUPPORTED:
      return kUnsuitable;
    case LIBLOCK_INVALID_ARGUMENT:
      return kUsage;
    default:
      return kInternal;
  }
}

}  // namespace lockctl
