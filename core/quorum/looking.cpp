// SPDX-License-Identifier: MIT
// When who waits looks again by himself: the safety net, the sign of life, and all that there is where the holder calls
// nobody. Loop thread.
#include <algorithm>

#include "quorum/instance.hpp"

namespace liblock::quorum {

// When a quorum could have become free by itself; or the next sign of life.
Nanos Waiting::next_look(Request &request, const Attempt &attempt) const {
  const Nanos now = instance_.runtime->now();
  std::vector<int64_t> ends;
  int64_t foreign_left_ms = -1;
  for (const auto &node : instance_.nodes()) {
    const Refusal &refusal = attempt.refusal(node->index);
    if ((attempt.ballot().refused_by() & node->bit()) == 0 || !refusal.is_busy) continue;
    if (refusal.left_ms >= 0) ends.push_back(refusal.left_ms);
    if (refusal.is_foreign && refusal.place == 0)
      foreign_left_ms = std::max(foreign_left_ms, refusal.left_ms);
  }
  std::sort(ends.begin(), ends.end());
  const auto had = static_cast<size_t>(std::popcount(attempt.ballot().counted()));
  const size_t wanted = attempt.ballot().rule().votes() > had ? attempt.ballot().rule().votes() - had : 1;
  const RetryPolicy &policy = request.params_.retry;
  const Nanos most = instance_.options.alive / 3;
  Nanos look =
      std::clamp<Nanos>(nanos_from_ms(policy.next_interval_ms(0, instance_.random)), kMillisecond, most);
  if (policy.counts()) look = std::clamp<Nanos>(request.retries_.next_at() - now, kMillisecond, most);
  if (ends.size() >= wanted)
    look = std::min(
        look, nanos_from_ms(ends[wanted - 1]) + kMillisecond + instance_.random.up_to(2 * kMillisecond));
  if (foreign_left_ms >= 0) look = std::min(look, foreign_look(request, foreign_left_ms));
  return now + look;
}

// A foreign client wakes nobody: who is first looks soon, and then less and less often; often again when another one
// has it, which its lease tells.
Nanos Waiting::foreign_look(Request &request, int64_t left_ms) const {
  constexpr int64_t kFirstMs = 2, kMostMs = 100;
  if (left_ms > request.foreign_left_ms_) request.foreign_looks_ = 0;
  request.foreign_left_ms_ = left_ms;
  const int64_t most = std::min(kMostMs, kFirstMs << std::min<uint32_t>(request.foreign_looks_++, 8));
  return kMillisecond + instance_.random.up_to(nanos_from_ms(most) - kMillisecond);
}

}  // namespace liblock::quorum
