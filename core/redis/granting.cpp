// SPDX-License-Identifier: MIT
// How a request of waiting.hpp comes to its lock: by an answer, or by a message that hands it over.
#include <algorithm>

#include "redis/attempt.hpp"
#include "redis/instance.hpp"

namespace liblock {

void Waiting::granted(AcquireRequest &request, Attempt &attempt, uint64_t token, bool others_wait) {
  request.attempt_ = nullptr;
  request.trouble_ = Status::OK;
  request.place_ = 0;
  const auto lease = attempt.lease(token);
  const bool is_over = lease != nullptr && instance_.clock.now() >= lease->ends_at.load();
  if (is_over) {
    undo(request, attempt);
    return came_too_late(request);
  }
  if (!unite_tokens(request, attempt, token)) {
    undo(request, attempt);
    return ask(request);
  }
  tell_granted(request, token, false);
  take(request, lease, attempt.sent_at(), others_wait);
}

// A message says that the lock is its own. The lease counts from when the server had last heard of the request; more
// than one key, and what must be confirmed first, is asked for again.
void Waiting::accept(AcquireRequest &request, const AcquireRequest::Handed &handed) {
  const Nanos now = instance_.clock.now();
  const LeaseTerms &terms = request.terms_;
  const Nanos ends_at = std::min(handed.ends_at, request.heard_at_ + Lease::trusted(terms.in_queue));
  const bool is_whole = request.keys_.size() == 1 && request.params_.replicas == 0;
  if (!is_whole || !request.has_place_ || ends_at - now <= request.params_.min_remaining) return ask(request);
  auto lease = make_shared_of_spare<Lease>(instance_.keeper, request.id_, request.keys_, terms);
  lease->token = handed.token;
  lease->first_ttl = ends_at - now;
  lease->ends_at.store(ends_at);
  lease->is_short = !terms.renews;
  if (terms.max_hold != kNever) lease->hold_until = now + terms.max_hold;
  request.place_ = 0;
  ++instance_.counts.handed_off;
  tell_granted(request, handed.token, true);
  take(request, lease, now, handed.others_wait);
}

// It is the server's word; and it is given back where the request cannot have it.
void Waiting::take(AcquireRequest &request, const std::shared_ptr<Lease> &lease, Nanos sent_at,
                   bool others_wait) {
  if (request.owner_->closed.load()) return finish(request, Status::CLOSED);
  if (instance_.holds.is_full()) return finish(request, Status::LIMIT);
  // Of keys that it holds already it cannot have used one.
  const bool used_all = lease != nullptr && lease->names.size() == request.keys_.size();
  if (used_all) {
    drop_words(request);
  } else {
    leave_words(request);
  }
  if (lease != nullptr) forget_id(request);
  if (lease != nullptr) instance_.passing_on.granted(request, *lease, others_wait);
  grant_handle(request, lease, sent_at);
}

// What the server knows of it is said behind it.
void Waiting::passed_on(AcquireRequest &request, const LeaseRef &lease) {
  request.place_ = 0;
  tell_granted(request, lease->token, true);
  grant_handle(request, lease, 0);
}

// What is reentered goes on under the new token, with all that shares its old one. False: some of it was given back
// or lost meanwhile, has come to share it only now, or has a larger one.
bool Waiting::unite_tokens(AcquireRequest &request, const Attempt &attempt, uint64_t token) {
  if (!still_reenters(request)) return false;
  const std::vector<std::shared_ptr<Lease>> bound = instance_.holds.bound_to(request.reentered_);
  const auto is_raised = [&](const std::shared_ptr<Lease> &l) {
    return std::find(attempt.raised().begin(), attempt.raised().end(), l) != attempt.raised().end();
  };
  if (!std::all_of(bound.begin(), bound.end(), is_raised)) return false;
  // Another of his attempts may have raised it meanwhile: this one has waited for replicas.
  const auto is_behind = [token](const std::shared_ptr<Lease> &l) { return l->token < token; };
  if (!std::all_of(bound.begin(), bound.end(), is_behind)) return false;
  for (const auto &l : bound) instance_.holds.set_token(*l, token);
  return true;
}

}  // namespace liblock
