// SPDX-License-Identifier: MIT
// What the requests of waiting.hpp tell instrumentation of their attempts: of those that found a key busy, what the
// node saw that has the longest line. Loop thread, where no lock is held.
#include <algorithm>

#include "quorum/instance.hpp"

namespace liblock::quorum {

void Waiting::tell_beginning(const Request &request) {
  if (!request.tells_attempts()) return;
  Sight sight;
  sight.count = request.attempts_;
  Trace::tell_attempt(request.params_.trace, LIBLOCK_ENTRY_ATTEMPT_STARTED, sight);
}

void Waiting::tell_busy(Request &request, const Attempt &attempt) const {
  const Refusal *seen = nullptr;
  for (const auto &node : instance_.nodes()) {
    const Refusal &refusal = attempt.refusal(node->index);
    const bool is_busy = (attempt.ballot().refused_by() & node->bit()) != 0 && refusal.is_busy;
    if (is_busy && (seen == nullptr || refusal.length > seen->length)) seen = &refusal;
  }
  if (seen == nullptr) return;
  const Bytes lock_key = attempt.lock_keys()[seen->key];
  request.grant.busy_key = static_cast<uint32_t>(request.keys_.find(lock_key));
  if (!request.tells_attempts()) return;
  Sight sight;
  Bytes key;
  if (instance_.keyspace.key_of(lock_key, key)) sight.key = key;
  sight.position = seen->place;
  sight.length = seen->length;
  sight.remaining_ms = seen->left_ms >= 0 ? seen->left_ms : -1;
  ServerRecord holder;
  if (parse_record(seen->holder, holder)) {
    sight.held_by = holder.owner;
    sight.instance = holder.instance;
    sight.token = holder.token;
    sight.hold_count = 1;
  }
  Trace *const trace = request.params_.trace;
  if (sight.position >= 0) Trace::tell_attempt(trace, LIBLOCK_ENTRY_ATTEMPT_QUEUED, sight);
  const bool is_kept = seen->held_us < 0;
  Trace::tell_attempt(trace, is_kept ? LIBLOCK_ENTRY_ATTEMPT_NOT_FIRST : LIBLOCK_ENTRY_ATTEMPT_STILL_HELD,
                      sight);
}

void Waiting::tell_failed(const Request &request, const Failure &failure) {
  if (!request.tells_attempts()) return;
  Sight sight;
  sight.status = failure.status;
  Trace::tell_attempt(request.params_.trace, LIBLOCK_ENTRY_ATTEMPT_FAILED, sight);
}

void Waiting::tell_requeued(const Request &request) {
  Sight sight;
  sight.position = request.place_;
  sight.length = request.length_;
  Trace::tell_requeued(request.params_.trace, sight);
}

void Waiting::tell_granted(const Request &request, uint64_t token) const {
  Trace *const trace = request.params_.trace;
  if (trace == nullptr) return;
  Sight sight;
  Bytes key;
  if (instance_.keyspace.key_of(request.keys_.front(), key)) sight.key = key;
  sight.token = token;
  sight.position = 0;
  if (request.was_called_) {
    sight.length = request.length_ > 0 ? request.length_ - 1 : 0;
    Trace::tell_handed_off(trace, sight);
  } else if (request.tells_attempts()) {
    Trace::tell_attempt(trace, LIBLOCK_ENTRY_ATTEMPT_FREE, sight);
  }
}

}  // namespace liblock::quorum
