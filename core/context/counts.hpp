// SPDX-License-Identifier: MIT
// What a result and a completion tell alike of how a call went.
#pragma once

#include "engine/acquire_params.hpp"

namespace liblock {

// Told: liblock_result or liblock_completion.
template <typename Told>
inline void tell_counts(Told &told, bool ok, const Grant &grant) {
  told.attempts = grant.attempts;
  told.queue_position = grant.queue_position;
  told.queue_length = grant.queue_length;
  told.hold_count = ok ? grant.hold_count : 0;
  told.flags = grant.flags;
  told.votes = grant.nodes != 0 ? grant.votes : ok;
  told.nodes = grant.nodes != 0 ? grant.nodes : ok;
  told.replicas = ok ? grant.replicas : 0;
}

}  // namespace liblock
