// SPDX-License-Identifier: MIT
// What the requests of waiting.hpp tell instrumentation of their attempts: what the server saw, as it answered. Loop
// thread, where no lock is held.
#include "engine/trace.hpp"
#include "redis/attempt.hpp"
#include "redis/instance.hpp"

namespace liblock {

bool Waiting::tells_attempts(const AcquireRequest &request) {
  return request.params_.trace != nullptr && request.params_.trace->logs_attempts();
}

void Waiting::tell_beginning(const AcquireRequest &request) const {
  if (!tells_attempts(request)) return;
  Sight sight;
  sight.count = request.number_;
  Trace::tell_attempt(request.params_.trace, LIBLOCK_ENTRY_ATTEMPT_STARTED, sight);
}

// The entries of one attempt, in the order in which the script goes.
void Waiting::tell_busy(const AcquireRequest &request, Bytes lock_key, const Reply &reply) const {
  if (!tells_attempts(request)) return;
  Trace *const trace = request.params_.trace;
  Sight sight;
  Bytes key;
  if (instance_.keyspace.key_of(lock_key, key)) sight.key = key;
  sight.position = reply.at(5).integer;
  sight.length = reply.at(7).integer;
  if (sight.position >= 0) Trace::tell_attempt(trace, LIBLOCK_ENTRY_ATTEMPT_QUEUED, sight);
  if (const int64_t buried = reply.at(9).integer; buried > 0) {
    sight.count = static_cast<uint64_t>(buried);
    Trace::tell_attempt(trace, LIBLOCK_ENTRY_ATTEMPT_OVERDUE_REMOVED, sight);
  }
  ServerRecord holder, first;
  const Bytes record = reply.at(10).text;
  if (parse_record(record, holder)) {
    sight.held_by = holder.owner;
    sight.instance = holder.instance;
    sight.token = holder.token;
    sight.hold_count = 1;
  }
  sight.remaining_ms = reply.at(3).integer >= 0 ? reply.at(3).integer : -1;
  const std::string first_owner = unescape_field(reply.at(11).text);
  sight.first = first_owner;
  Trace::tell_attempt(trace, LIBLOCK_ENTRY_ATTEMPT_FIRST_IN_QUEUE, sight);
  const bool is_free = reply.at(3).integer == -2;
  Trace::tell_attempt(trace, is_free ? LIBLOCK_ENTRY_ATTEMPT_NOT_FIRST : LIBLOCK_ENTRY_ATTEMPT_STILL_HELD,
                      sight);
}

void Waiting::tell_failed(const AcquireRequest &request, const Failure &failure) const {
  if (!tells_attempts(request)) return;
  Sight sight;
  sight.status = failure.status;
  Trace::tell_attempt(request.params_.trace, LIBLOCK_ENTRY_ATTEMPT_FAILED, sight);
}

void Waiting::tell_requeued(const AcquireRequest &request, const Reply &reply) const {
  if (request.params_.trace == nullptr) return;
  Sight sight;
  sight.position = reply.at(5).integer;
  sight.length = reply.at(7).integer;
  Trace::tell_requeued(request.params_.trace, sight);
}

void Waiting::tell_granted(const AcquireRequest &request, uint64_t token, bool is_handed) const {
  if (request.params_.trace == nullptr) return;
  Sight sight;
  Bytes key;
  if (instance_.keyspace.key_of(request.keys_.front(), key)) sight.key = key;
  sight.token = token;
  sight.position = 0;
  if (is_handed) {
    sight.length = request.length_ > 0 ? request.length_ - 1 : 0;
    Trace::tell_handed_off(request.params_.trace, sight);
  } else if (tells_attempts(request)) {
    Trace::tell_attempt(request.params_.trace, LIBLOCK_ENTRY_ATTEMPT_FREE, sight);
  }
}

}  // namespace liblock
