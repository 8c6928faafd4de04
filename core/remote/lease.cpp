// SPDX-License-Identifier: MIT
// See lease.hpp.
#include "remote/lease.hpp"

#include "engine/acquire_params.hpp"

namespace liblock {

LeaseTerms::LeaseTerms(const AcquireParams &params, Nanos first_lease)
    : ttl(std::min(params.ttl, params.max_hold)),
      renews(params.renew),
      is_auto(params.ttl_is_auto),
      max_hold(params.max_hold),
      has_metadata(!params.metadata.empty()) {
  // Half of the first lease at most is spent on waiting for replicas.
  Nanos most = first_lease;
  if (params.replicas != 0) most = std::max(most, 2 * params.replicas_timeout);
  // What must be left, and what a round trip and the drift take of it.
  most = std::max(most, params.min_remaining + params.min_remaining / 20 + 1'000 * kMillisecond);
  in_queue = std::min(ttl, most);
  first = renews ? in_queue : ttl;
}

}  // namespace liblock
