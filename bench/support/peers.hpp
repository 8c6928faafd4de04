// SPDX-License-Identifier: MIT
// The peers that this build has. A peer whose library is not installed is missing from the list and named in
// the program's context, so that a report can say so instead of leaving a gap.
#pragma once

#include "../peers/mutexes.hpp"
#include "../peers/sharded_map.hpp"
#ifdef LIBLOCK_BENCH_TBB
#include "../peers/tbb_map.hpp"
#endif
#ifdef LIBLOCK_BENCH_ABSL
#include "../peers/absl_map.hpp"
#endif

namespace liblock_bench {

// Calls visit.template operator()<Peer>() for each exact keyed lock.
template <class Visit>
void for_each_keyed_peer(Visit visit) {
  visit.template operator()<ShardedMap>();
#ifdef LIBLOCK_BENCH_TBB
  visit.template operator()<TbbMap>();
  visit.template operator()<TbbMapKept>();
#endif
#ifdef LIBLOCK_BENCH_ABSL
  visit.template operator()<AbslMap>();
#endif
}

}  // namespace liblock_bench
