// SPDX-License-Identifier: MIT
// See waiting.hpp. Times are the runtime's; only leases, and what they are counted from, are by the suspend-aware
// clock.
#include "quorum/waiting.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/mutant.hpp"
#include "engine/progress.hpp"
#include "quorum/instance.hpp"
#include "quorum/node_list.hpp"

namespace liblock::quorum {

namespace {

// An attempt whose holder is younger than that may be undone yet: he is a rival, not a holder.
constexpr int64_t kRivalUs = 400'000;
constexpr Nanos kPromise = 2'000 * kMillisecond;
constexpr Nanos kLongPause = 100 * kMillisecond;
constexpr Nanos kTroublePause = 50 * kMillisecond;

}  // namespace

LockKeys Request::wanted_keys() const {
  LockKeys wanted;
  for (const Bytes key : keys_) {
    if (!reenters(key)) wanted.add(key);
  }
  return wanted;
}

Nanos Request::lease_asked(Nanos max_ttl) const {
  const Nanos first = std::min(terms_.first, max_ttl);
  return value_.empty() ? first : std::min(first, kPromise);
}

bool Request::asks_too_much(Nanos max_ttl) const { return terms_.ttl > max_ttl && !terms_.is_auto; }

Waiting::Waiting(Instance &instance) : RemoteWaiting(instance), instance_(instance) {}

void Waiting::send_attempt(RemoteRequest &remote) {
  auto &request = static_cast<Request &>(remote);
  LIBLOCK_ASSERT(request.attempt_ == nullptr);
  const bool is_new = request.attempts_ == 0 && request.place == FrontWaiter::Place::None;
  if (is_new && instance_.passing_on.stands(request)) return stand(request);
  request.state_ = Request::State::Asking;
  Membership &membership = instance_.membership;
  const AcquireParams &params = request.params_;
  if (!membership.is_known()) {
    if (!membership.is_settled()) return wait_for_nodes(request);
    return troubled(request, instance_.why_no_nodes());
  }
  if (params.nodes != nullptr && !membership.find(*params.nodes, request.subset_)) {
    note_unknown_nodes();
    return finish(request, Status::INVALID_ARGUMENT);
  }
  if (request.asks_too_much(membership.max_ttl())) {
    instance_.note_trouble(Status::INVALID_ARGUMENT, "ttl_ms is longer than the quorum's max_ttl_ms, " +
                                                         std::to_string(membership.max_ttl() / kMillisecond));
    return finish(request, Status::INVALID_ARGUMENT);
  }
  std::string message;
  const size_t all = membership.configuration().now.all.size();
  if (params.nodes == nullptr && check_votes(params.votes, all, message) != Status::OK) {
    instance_.note_trouble(Status::INVALID_ARGUMENT, message);
    return finish(request, Status::INVALID_ARGUMENT);
  }
  const QuorumRule rule = membership.rule(request.subset_, params.votes);
  const NodeSet ready = membership.ready() & rule.nodes();
  if (!rule.is_reached(ready)) {
    count_looks(request);
    if (!membership.is_settled()) return wait_for_nodes(request);
    // It may have other nodes by now.
    if (looks_anew(request)) return wait_for_nodes(request);
    return troubled(request, instance_.why_no_quorum(rule));
  }
  if (!membership.is_vouched_for()) {
    if (!membership.is_settled()) return wait_for_nodes(request);
    return troubled(request, membership.why_not_vouched_for());
  }
  membership.use();
  AttemptId id;
  if (!instance_.attempt_ids.next(id)) return finish(request, Status::INTERNAL);
  if (request.ticket_us_ == 0) request.ticket_us_ = instance_.next_ticket();
  const bool stands_in_line = !params.tries_once() && !request.barges() && request.keys_.size() == 1;
  if (stands_in_line && request.line_id_.empty()) {
    if (!instance_.attempt_ids.next(request.line_id_)) return finish(request, Status::INTERNAL);
    lines_.emplace(request.line_id_, &request);
  }
  request.waits_for_nodes_ = false;
  request.called_ = 0;
  PassingOn::forget_early_word(request);
  ++request.attempts_;
  tell_beginning(request);
  const NodeSet asked = instance_.keeping_up(rule, ready);
  request.seen_by_ |= request.line_id_.empty() ? 0 : asked;
  request.pause_ = Request::kShortPause;
  request.attempt_ = make_shared_of_spare<Attempt>(instance_, request, id, rule,
                                                   instance_.holds.bound_to(request.reentered_));
  arm(request);
  const std::shared_ptr<Attempt> attempt = request.attempt_;
  attempt->begin(asked);  // may end the request
}

// A look that another one asked for counts as its own: where many each waited for their own in turn, some would never
// come to their end.
void Waiting::count_looks(Request &request) {
  const uint64_t others = looks_ - std::exchange(request.looks_seen_, looks_);
  if (!std::exchange(request.counts_looks_, true)) return;  // those were before it
  request.looks_left_ -= static_cast<uint8_t>(std::min<uint64_t>(others, request.looks_left_));
}

// True: more will be known of the nodes soon.
bool Waiting::looks_anew(Request &request) {
  if (request.looks_left_ == 0 || instance_.membership.ready() == 0) return false;
  --request.looks_left_;
  request.looks_seen_ = ++looks_;
  for (const auto &node : instance_.nodes()) {
    if (node->is_ready()) node->ask_anew();
  }
  return true;
}

// With the place in the lines of nodes that it would have if it had asked at once.
void Waiting::stand(Request &request) {
  request.ticket_us_ = instance_.next_ticket();
  request.state_ = Request::State::Waiting;
  if (request.was_queued_ || begins_to_wait(request)) wait_until(request, kNever);
}

void Waiting::wait_for_nodes(Request &request) {
  request.waits_for_nodes_ = true;
  arm(request);
}

// The votes that an attempt has were given by the configuration that it counts by, and no others may be added to them.
void Waiting::configuration_changed() {
  std::vector<Request *> asking;
  for (RemoteRequest *r = all_.front(); r != nullptr; r = decltype(all_)::next(r)) {
    auto *request = static_cast<Request *>(r);
    if (request->attempt_ != nullptr && request->committing_ == nullptr) asking.push_back(request);
  }
  for (Request *request : asking) {
    drop_attempt(*request);
    request->state_ = Request::State::Asking;
    wait_for_nodes(*request);
  }
}

void Waiting::nodes_changed() {
  std::vector<Request *> asking;
  for (RemoteRequest *r = all_.front(); r != nullptr; r = decltype(all_)::next(r)) {
    auto *request = static_cast<Request *>(r);
    if (request->waits_for_nodes_) asking.push_back(request);
  }
  for (Request *request : asking) {
    request->waits_for_nodes_ = false;
    ask(*request);
  }
}

// Of all that the nodes saw: does nobody stand before it but those who came later and may give way?
bool Waiting::is_first(const Request &request, const Attempt &attempt) const {
  bool has_rival = false;
  for (const auto &node : instance_.nodes()) {
    if ((attempt.ballot().refused_by() & node->bit()) == 0) continue;
    const Refusal &refusal = attempt.refusal(node->index);
    if (!refusal.is_busy) continue;
    has_rival = true;
    const bool is_held = refusal.held_us >= 0;
    const bool by_rival = refusal.held_us < kRivalUs && refusal.holder_ticket_us > request.ticket_us_;
    if (is_held && (refusal.is_foreign || !by_rival)) return false;
    if (refusal.least_ticket_us != 0 && refusal.least_ticket_us < request.ticket_us_) return false;
  }
  return has_rival;
}

// What a lock that could not be had was in the way of: somebody, a silence, or too few nodes.
Failure Waiting::cause_of(const Request &, const Attempt &attempt) const {
  const Ballot &ballot = attempt.ballot();
  NodeSet busy = 0;
  const Failure *final_one = nullptr, *any = nullptr, *for_all = nullptr;
  size_t final_ones = 0;
  for (const auto &node : instance_.nodes()) {
    if ((attempt.asked() & node->bit()) == 0) continue;
    const Refusal &refusal = attempt.refusal(node->index);
    if (refusal.is_busy && (ballot.refused_by() & node->bit()) != 0) busy |= node->bit();
    if (refusal.failure.text.empty()) continue;
    any = &refusal.failure;
    // What one says of the whole quorum.
    if (any->status == Status::NODES_MISMATCH || any->status == Status::INVALID_ARGUMENT) for_all = any;
    if (refusal.failure.passes || refusal.failure.sent) continue;
    final_one = &refusal.failure;
    ++final_ones;
  }
  const QuorumRule &rule = ballot.rule();
  // Those that have not answered yet are no trouble: a few that are busy decide it where many are needed.
  const NodeSet able = busy | ballot.open();
  if (busy != 0 && rule.is_reached(ballot.counted() | able)) return {Status::BUSY, false, "", true};
  if (for_all != nullptr) return *for_all;
  if (final_one != nullptr && final_ones * 2 > static_cast<size_t>(std::popcount(attempt.asked())))
    return *final_one;
  if (rule.is_reached(ballot.counted()))
    return {Status::NO_QUORUM, false,
            "too few nodes could be brought to one token: what this adds to is missing on some of them until "
            "its next renewal, or is on others; try again",
            true};
  if (rule.is_reached(ballot.granted_by() | able)) return instance_.why_quarantined(rule);
  Failure failure = instance_.why_no_quorum(rule);
  if (any != nullptr) failure.text += "; " + any->text;
  failure.sent = ballot.touched() != 0 && any != nullptr && any->sent;
  return failure;
}

// Some votes went to attempts that may be undone in a moment, and the others have it as well.
bool Waiting::has_rivals(const Attempt &attempt) const {
  return std::any_of(instance_.nodes().begin(), instance_.nodes().end(), [&](const auto &node) {
    const Refusal &refusal = attempt.refusal(node->index);
    const bool refuses = (attempt.ballot().refused_by() & node->bit()) != 0;
    return refuses && refusal.is_busy && refusal.held_us >= 0 && refusal.held_us < kRivalUs;
  });
}

void Waiting::failed(Request &request, Attempt &attempt) {
  note_votes(request, attempt);
  if (has_come_to_hold(request, attempt.lock_keys())) {
    note_place(request, attempt);
    return ask_anew(request);
  }
  if (const NodeSet others = attempt.others_that_decide(); others != 0 && !has_rivals(attempt)) {
    request.seen_by_ |= request.line_id_.empty() ? 0 : others;
    return attempt.ask_also(others);
  }
  const Failure cause = cause_of(request, attempt);
  if (cause.status == Status::NODES_MISMATCH && request.looks_left_ > 0) {
    --request.looks_left_;
    drop_attempt(request);
    return instance_.membership.is_settled() ? ask(request) : wait_for_nodes(request);
  }
  note_place(request, attempt);
  if (cause.status != Status::BUSY) {
    drop_attempt(request);
    return troubled(request, cause);
  }
  request.trouble_ = Status::OK;
  PassingOn::note_trouble(request, Status::OK);
  tell_busy(request, attempt);
  const bool is_first_of_all = is_first(request, attempt);
  const bool gives_up = request.params_.tries_once() && !(is_first_of_all && request.tries_left_ > 0);
  if (gives_up) return finish(request, Status::BUSY);
  if (!request.params_.tries_once() && !request.was_queued_ && !begins_to_wait(request)) return;
  // Nodes do not tell an instance of its own: to those who stand here it is an outsider all the same.
  const bool is_beside_front = request.place == FrontWaiter::Place::None && !request.line_id_.empty();
  if (is_beside_front) instance_.passing_on.others_wait(request.keys_.front());
  if (request.requeue_at_ == kNever && request.params_.queue_ttl != kNever)
    request.requeue_at_ = instance_.runtime->now() + request.params_.queue_ttl;
  request.state_ = Request::State::Waiting;
  instance_.listen();
  const NodeSet called = std::exchange(request.called_, 0);
  const Nanos look_at = next_look(request, attempt);
  if (is_first_of_all) {
    // Those who gave way make room within a message delay; whoever does not wait is not called.
    if (request.params_.tries_once()) --request.tries_left_;
    const Nanos pause = request.pause_;
    request.pause_ = std::min(2 * pause, kLongPause);
    wait_until(request, std::min(look_at, instance_.runtime->now() + pause));
  } else {
    drop_attempt(request);
    if (called != 0) return ask(request);
    wait_until(request, look_at);
    return;
  }
  for (const auto &node : instance_.nodes()) {
    if ((called & node->bit()) != 0 && request.attempt_ != nullptr) request.attempt_->ask_again(*node);
  }
}

void Waiting::note_place(Request &request, const Attempt &attempt) {
  int64_t place = -1, length = -1;
  for (const auto &node : instance_.nodes()) {
    const Refusal &refusal = attempt.refusal(node->index);
    if ((attempt.ballot().refused_by() & node->bit()) == 0 || !refusal.is_busy) continue;
    place = std::max(place, refusal.place);
    length = std::max(length, refusal.length);
  }
  request.place_ = static_cast<int32_t>(std::min<int64_t>(place, INT32_MAX));
  request.length_ = static_cast<int32_t>(std::min<int64_t>(length, INT32_MAX));
  if (place >= 0 && request.params_.progress != nullptr) request.params_.progress->stands(place, length);
}

void Waiting::called(Node &node, Bytes message) {
  const auto found = lines_.find(message.substr(0, kAttemptIdSize));
  if (found == lines_.end()) return;
  Request &request = *found->second;
  if (request.state_ == Request::State::Over || request.committing_ != nullptr) return;
  request.was_called_ = true;
  if (request.attempt_ == nullptr) {
    if (request.state_ != Request::State::Waiting) return;
    if (request.trouble_ == Status::OK) return ask(request);
    // Where too few nodes vote, those who give up call each other: not as fast as the network goes.
    return wait_until(request, std::min(request.try_at_, instance_.runtime->now() + kTroublePause));
  }
  const bool is_open = (request.attempt_->ballot().open() & node.bit()) != 0;
  if (is_open) {
    request.called_ |= node.bit();
  } else {
    const std::shared_ptr<Attempt> attempt = request.attempt_;
    attempt->ask_again(node);
  }
}

void Waiting::troubled(Request &request, const Failure &failure) {
  tell_failed(request, failure);
  if (ends_by(request, failure)) return;
  if (request.params_.tries_once()) return finish(request, request.trouble_);
  if (!request.was_queued_ && !begins_to_wait(request)) return;
  request.state_ = Request::State::Waiting;
  const Nanos most = instance_.options.alive / 3;
  const int64_t interval_ms = request.params_.retry.next_interval_ms(0, instance_.random);
  wait_until(request,
             instance_.runtime->now() + std::clamp<Nanos>(nanos_from_ms(interval_ms), kMillisecond, most));
}

// Where the same will not succeed soon.
bool Waiting::ends_by(Request &request, const Failure &failure) {
  instance_.note_trouble(failure.status, failure.text);
  request.trouble_ = failure.sent ? Status::IN_DOUBT : failure.status;
  PassingOn::note_trouble(request, request.trouble_);
  if (failure.status != Status::CLOSED && failure.passes) return false;
  finish(request, failure.status);
  return true;
}

void Waiting::wait_until(Request &request, Nanos at) {
  request.try_at_ = LIBLOCK_MUTANT(no_poll_timer) ? kNever : at;
  arm(request);
}

void Waiting::arm(RemoteRequest &remote) {
  auto &request = static_cast<Request &>(remote);
  Nanos at = request.next_bound();
  if (request.state_ == Request::State::Waiting) at = std::min({at, request.try_at_, request.requeue_at_});
  instance_.runtime->cancel(request);
  if (at != kNever) instance_.runtime->arm(request, at);
}

void Waiting::on_timer(RemoteRequest &remote, Nanos) {
  auto &request = static_cast<Request &>(remote);
  const Nanos now = instance_.runtime->now();
  PassingOn::borrow_trouble(request);
  if (ends_by_time(request, now)) return;
  if (request.state_ != Request::State::Waiting) return arm(request);
  if (now >= request.requeue_at_) {
    request.requeue_at_ = now + request.params_.queue_ttl;
    drop_attempt(request);
    leave_lines(request, request.seen_by_);
    request.ticket_us_ = instance_.next_ticket();
    tell_requeued(request);
    return ask(request);
  }
  if (now < request.try_at_) return arm(request);
  request.may_look();
  const std::shared_ptr<Attempt> attempt = request.attempt_;
  const bool is_fresh =
      attempt != nullptr && instance_.clock.now() < attempt->began_at() + attempt->lease() / 4;
  if (!is_fresh) {
    drop_attempt(request);
    return ask(request);
  }
  // It is the first, and keeps what it has.
  request.state_ = Request::State::Asking;
  arm(request);
  attempt->ask_refused();
}

Status Waiting::ending_of(Status usual) const { return usual; }

void Waiting::drop_attempt(Request &request) {
  if (const std::shared_ptr<Attempt> attempt = std::exchange(request.attempt_, nullptr)) attempt->give_up();
}

void Waiting::leave_lines(Request &request, NodeSet nodes) {
  if (request.line_id_.empty()) return;
  for (const auto &node : instance_.nodes()) {
    if ((nodes & node->bit()) != 0) instance_.cleaner.leave(*node, request.keys_, request.line_id_);
  }
}

void Waiting::let_go(RemoteRequest &remote) {
  auto &request = static_cast<Request &>(remote);
  request.waits_for_nodes_ = false;
  if (request.committing_ != nullptr) *std::exchange(request.committing_, nullptr) = nullptr;
  const bool has_won = request.grant.handle != 0 && (request.grant.flags & LIBLOCK_RESULT_REENTERED) == 0;
  if (has_won) request.seen_by_ = 0;  // its attempt sees to those
  withdraw(request);
  if (request.was_queued_) {
    request.grant.queue_position = request.place_;
    request.grant.queue_length = request.length_;
  }
}

void Waiting::withdraw(RemoteRequest &remote) {
  auto &request = static_cast<Request &>(remote);
  if (request.stands()) {
    request.place_ = static_cast<int32_t>(Front::position(request));
    request.length_ = static_cast<int32_t>(request.line->standing.size());
  }
  instance_.passing_on.let_go(request);
  drop_attempt(request);
  if (request.line_id_.empty()) return;
  leave_lines(request, std::exchange(request.seen_by_, 0));
  lines_.erase(request.line_id_);
  request.line_id_.clear();
}

void Waiting::ask_anew(RemoteRequest &remote) {
  auto &request = static_cast<Request &>(remote);
  if (request.stands()) withdraw(request);
  drop_attempt(request);
  ask(request);
}

// Those who heard nothing for a while.
void Waiting::look_at_all() {
  for (RemoteRequest *r = all_.front(); r != nullptr; r = decltype(all_)::next(r)) {
    auto *request = static_cast<Request *>(r);
    if (request->state_ == Request::State::Waiting && !request->stands())
      wait_until(*request, instance_.runtime->now() + instance_.random.up_to(5 * kMillisecond));
  }
}

void Waiting::sent_away(Bytes ids) {
  for (; ids.size() >= kAttemptIdSize; ids.remove_prefix(kAttemptIdSize)) {
    const auto found = lines_.find(ids.substr(0, kAttemptIdSize));
    if (found != lines_.end()) finish(*found->second, Status::DEQUEUED);
  }
}

void Waiting::standing_sent_away(Bytes message) {
  Bytes owner;
  if (!next_field(message, owner)) return;
  const std::string id = unescape_field(owner);
  instance_.passing_on.send_away(
      message, [&](const FrontRequest &request) { return id.empty() || request.owner_id() == id; });
}

}  // namespace liblock::quorum
