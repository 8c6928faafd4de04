// SPDX-License-Identifier: MIT
// What an acquire that found its key busy brings on request (busy_info): one more look at the key in whose way somebody
// was, after the end: the caller has left the queue by then.
#pragma once

#include "engine/ask.hpp"

namespace liblock {

inline bool ended_as_busy(Status status) {
  return status == Status::BUSY || status == Status::TIMEOUT || status == Status::RETRIES_EXHAUSTED;
}

// One line for a person; empty: nothing is in the way any more.
std::string busy_message(const KeyInfo &info);

}  // namespace liblock
