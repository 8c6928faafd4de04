// SPDX-License-Identifier: MIT
// How a request of waiting.hpp comes to its lock: by the votes of a quorum, or from another one of its process.
#include <algorithm>

#include "base/mutant.hpp"
#include "quorum/instance.hpp"

namespace liblock::quorum {

// None of an attempt that names no key: its owner holds all of them, under tokens that it has made one.
std::shared_ptr<GrantLease> Waiting::lease_of(Request &request, const Attempt &attempt) const {
  if (attempt.lock_keys().empty()) return nullptr;
  auto lease =
      make_shared_of_spare<GrantLease>(instance_.keeper, attempt.id(), attempt.lock_keys(), request.terms_);
  lease->token = attempt.ballot().token();
  lease->first_ttl = attempt.lease();
  lease->ends_at.store(attempt.ballot().asked_at() + Lease::trusted(attempt.lease()));
  if (request.terms_.max_hold != kNever) lease->hold_until = attempt.began_at() + request.terms_.max_hold;
  lease->ttl = std::min(lease->ttl, instance_.membership.max_ttl());
  lease->subset = request.subset_;
  lease->votes = request.params_.votes;
  lease->votes_shown = attempt.votes_shown();
  lease->granted_over = attempt.ballot().rule().nodes();
  lease->asked = attempt.asked();
  lease->held_by = attempt.ballot().granted_by();
  lease->owner = request.owner_field();
  lease->metadata = request.metadata_;
  lease->value = request.value_;
  lease->ticket_us = request.ticket_us_;
  lease->doubt_until_us = attempt.doubts();
  return lease;
}

void Waiting::won(Request &request, Attempt &attempt) {
  const std::shared_ptr<Attempt> kept = std::exchange(request.attempt_, nullptr);
  request.trouble_ = Status::OK;
  request.may_look();
  request.place_ = 0;
  const auto lease = lease_of(request, attempt);
  if (lease != nullptr && is_too_late(request, *lease)) {
    attempt.give_up();
    return came_too_late(request);
  }
  if (!unite_tokens(request, attempt)) {
    attempt.give_up();
    return ask(request);
  }
  // Before it is anybody's: what comes of it later is undone.
  if (request.owner_->closed.load() || instance_.holds.is_full()) {
    attempt.give_up();
    return finish(request, request.owner_->closed.load() ? Status::CLOSED : Status::LIMIT);
  }
  attempt.belongs_to(lease, request.line_id_);
  // Nodes that have not answered yet take it out of their lines when they grant; the attempt sees to the others.
  leave_lines(request, request.seen_by_ & ~attempt.ballot().granted_by() & ~attempt.ballot().open());
  instance_.counts_quorum.won(attempt);
  if (request.was_called_) ++instance_.counts.handed_off;
  tell_granted(request, attempt.ballot().token());
  note_votes(request, attempt);
  if (lease == nullptr) return grant_handle(request, nullptr, 0);
  instance_.passing_on.granted(request, *lease, attempt.others_wait());
  if (request.value_.empty()) return grant_handle(request, lease, attempt.ballot().asked_at());
  commit(request, kept, lease);
}

// What nodes know of it is said behind it.
void Waiting::passed_on(Request &request, const std::shared_ptr<GrantLease> &lease) {
  request.place_ = 0;
  request.was_called_ = true;
  lease->owner = request.owner_field();
  lease->ticket_us = request.ticket_us_;
  tell_granted(request, lease->token);
  note_votes(request, lease->held_by, lease->granted_over);
  grant_handle(request, lease, 0);
}

// Second phase of a lock that carries a value: only what a quorum has written counts.
void Waiting::commit(Request &request, const std::shared_ptr<Attempt> &attempt,
                     const std::shared_ptr<GrantLease> &lease) {
  lease->version = 1;
  lease->self = lease;
  request.attempt_ = attempt;  // an end gives it up
  // A node that called may have made it win while it waited: its timer must not begin another attempt.
  request.state_ = Request::State::Asking;
  arm(request);
  auto asked_by = std::make_shared<Request *>(&request);
  request.committing_ = asked_by;
  instance_.keeper.commit(lease, std::min(request.terms_.first, instance_.membership.max_ttl()),
                          [this, asked_by, attempt, lease](Status status, const std::string &why) {
                            if (*asked_by == nullptr) return instance_.undo_lease(*lease);
                            Request &asking = **asked_by;
                            asking.committing_.reset();
                            asking.attempt_ = nullptr;
                            if (status == Status::OK && is_too_late(asking, *lease)) {
                              attempt->give_up();
                              instance_.undo_lease(*lease);
                              return came_too_late(asking);
                            }
                            if (status == Status::OK && instance_.holds.is_full()) {
                              attempt->give_up();
                              instance_.undo_lease(*lease);
                              return finish(asking, Status::LIMIT);
                            }
                            if (status == Status::OK) return grant_handle(asking, lease, lease->counts_from);
                            attempt->give_up();
                            instance_.undo_lease(*lease);
                            troubled(asking, {Status::IN_DOUBT, true, why, true});
                          });
}

// What a promise has left does not matter: the value that is written then has a lease of its own.
bool Waiting::is_too_late(const Request &request, const GrantLease &lease) const {
  const bool is_promise = !request.value_.empty() && lease.counts_from == 0;
  const Nanos least = is_promise ? 0 : request.params_.min_remaining;
  return instance_.clock.now() + least >= lease.ends_at.load() && !LIBLOCK_MUTANT(never_too_late);
}

void Waiting::came_too_late(Request &request) {
  ++instance_.counts_quorum.too_late;
  request.trouble_ = Status::TOO_LATE;
  if (request.params_.tries_once()) return finish(request, Status::TOO_LATE);
  if (!request.was_queued_ && !begins_to_wait(request)) return;
  request.state_ = Request::State::Waiting;
  wait_until(request, instance_.runtime->now() + nanos_from_ms(10 + instance_.random.up_to(40)));
}

// What is reentered goes on under the new token, with all that shares its old one. False: some of it was given back or
// lost meanwhile, or has come to share it only now.
bool Waiting::unite_tokens(const Request &request, const Attempt &attempt) {
  if (!still_reenters(request)) return false;
  const std::vector<LeaseRef> bound = instance_.holds.bound_to(request.reentered_);
  const auto is_raised = [&](const LeaseRef &l) {
    return std::find(attempt.bound().begin(), attempt.bound().end(), l) != attempt.bound().end();
  };
  if (!std::all_of(bound.begin(), bound.end(), is_raised)) return false;
  // Another of his attempts, which took fewer rounds, may have raised it meanwhile.
  const auto is_behind = [&](const LeaseRef &l) { return l->token < attempt.ballot().token(); };
  if (!std::all_of(bound.begin(), bound.end(), is_behind)) return false;
  for (const LeaseRef &l : bound) instance_.holds.set_token(*l, attempt.ballot().token());
  return true;
}

void Waiting::note_votes(Request &request, NodeSet granted_by, NodeSet nodes) {
  request.grant.votes = static_cast<uint8_t>(std::popcount(granted_by));
  request.grant.nodes = static_cast<uint8_t>(std::popcount(nodes));
}

}  // namespace liblock::quorum
