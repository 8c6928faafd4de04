// SPDX-License-Identifier: MIT
// See attempt.hpp. Its arguments are written when it is sent: what holds of time and of the local queue holds
// of that moment.
#include "redis/attempt.hpp"

#include <algorithm>
#include <utility>

#include "engine/trace.hpp"
#include "redis/instance.hpp"
#include "redis/key_names.hpp"
#include "redis/packed_word.hpp"

namespace liblock {

namespace {
constexpr Bytes kAny = "any";
}  // namespace

Attempt::Attempt(Instance &instance, AcquireRequest &request)
    : instance_(instance),
      request_(&request),
      id_(request.id_),
      terms_(request.terms_),
      takes_turn_(request.takes_turn()),
      had_place_(request.has_place_) {
  for (const Bytes key : request.keys_) {
    if (!request.reenters(key)) lock_keys_.add(key);
  }
  if (lock_keys_.size() != request.keys_.size()) all_keys_ = request.keys_;
  const AcquireParams &params = request.params_;
  replicas_ = params.replicas;
  replicas_timeout_ = std::max(kMillisecond, std::min(params.replicas_timeout, terms_.first / 2));
  if (takes_turn_) instance_.waiting.attempt_begins();
}

// An answer that may wait for replicas would hold up everything behind it: it has a connection for itself.
void Attempt::send() {
  if (replicas_ == 0) return instance_.link.send(*this);
  instance_.replica_turns.start(*this);
}

bool Attempt::may_be_passed() const {
  const bool keeps_a_place = request_ != nullptr && request_->asks_before_release();
  return !was_sent_ && !had_place_ && all_keys_.empty() && !keeps_a_place;
}

bool Attempt::may_have_missed_word() const { return instance_.link.hears_anew_since(heard_by_); }

bool Attempt::fits(const Reply &reply) const {
  if (reply.is(Reply::Kind::Integer)) return reply.integer > 0 && is_plain_;
  const Bytes what = reply.at(0).text;
  if (what == "LATE") return reply.has_integers(1, 1);
  if (what == "BUSY")
    return reply.has_integers(1, 9) && reply.at(2).integer >= 1 &&
           static_cast<size_t>(reply.at(2).integer) <= lock_keys_.size() && reply.at(4).is_time() &&
           reply.at(8).is_time();
  return what == "OK" && reply.has_integers(1, 3) && reply.at(2).integer > 0;
}

bool Attempt::wants_as(const Attempt &other) const {
  return replicas_ == other.replicas_ && replicas_timeout_ == other.replicas_timeout_;
}

Attempt::~Attempt() {
  if (takes_turn_) instance_.waiting.attempt_ends();
  if (!was_sent_) return;
  --instance_.attempts_open;
  instance_.closing_goes_on();
}

void Attempt::sent_away(Bytes lock_key, int64_t since_us_most) {
  const size_t at = lock_keys_.find(lock_key);
  if (at == lock_keys_.size()) return;
  sent_away_at_ = at;
  sent_away_us_ = since_us_most;
}

bool Attempt::was_sent_away(Bytes lock_key, int64_t since_us) const {
  return since_us <= sent_away_us_ && lock_keys_[sent_away_at_] == lock_key;
}

void Attempt::forget_request() {
  request_ = nullptr;  // where it was not sent yet, it goes with a time that is over
  const bool is_ahead = was_sent_ && replicas_ == 0;
  const bool leaves_place = !was_sent_ && had_place_;
  if (!is_granted_ && !is_ahead && !leaves_place) return;
  // It has been carried out, or will be before what undoes it, which is behind it on the same connection. Or it never
  // is; what its identity stands for on the server must not wait for the turns of others.
  is_undone_ = true;
  undo(0);
}

void Attempt::sending(Nanos now) {
  if (has_body()) is_undone_ = false;  // behind what undid it
  if (has_body()) return;              // the same again, with its script
  if (!std::exchange(was_sent_, true)) ++instance_.attempts_open;
  sent_at_ = now;
  if (request_ != nullptr && Waiting::tells_attempts(*request_))
    Trace::tell_attempt(request_->params_.trace, LIBLOCK_ENTRY_ATTEMPT_READY);
  not_after_us_ = request_ == nullptr ? 1
                                      : instance_.link.server_clock().not_after(
                                            now, 2 * instance_.options.connection.command_timeout);
  encode_arguments();
}

Bytes Attempt::mode() const {
  if (request_ == nullptr) return "try";
  if (request_->params_.tries_once()) return request_->barges() ? "barge" : "try";
  if (request_->barges()) return kAny;
  return "queue";
}

// What the server needs for a key that is free stands in words of its own; what else there may be to know travels as
// one, and is left whole mostly: each word costs both sides as much as a command inside the script.
void Attempt::encode_arguments() {
  begin(scripts::acquire);
  for (const Bytes lock_key : lock_keys_) add_names(*this, lock_key);
  const size_t fences = encode_raised();
  const AcquireRequest *const r = request_;
  argument(id_);
  argument(r != nullptr ? Bytes(r->owner_->field) : Bytes(instance_.id), "|", instance_.id);
  argument(not_after_us_);
  argument(terms_.first == kNever ? int64_t{0} : terms_.first / kMillisecond);
  const bool goes_on = r != nullptr && r->place == FrontWaiter::Place::Sent;
  argument(goes_on ? static_cast<int64_t>(Front::kTokenBlock) : int64_t{1});
  argument(r != nullptr ? Bytes(r->value_) : Bytes());
  const size_t stands_at = place_among_keys();
  encode_rest(stands_at, fences);
  const bool has_metadata = r != nullptr && !r->metadata_.empty();
  is_plain_ = lock_keys_.size() == 1 && fences == 0 && stands_at == 0 && terms_.first != kNever && !has_metadata &&
              mode() != kAny;
  if (!is_plain_) argument(has_metadata ? Bytes(r->metadata_) : Bytes());
}

// In whose queue it stands, counted from 1; 0: in none.
size_t Attempt::place_among_keys() const {
  if (request_ == nullptr || !request_->has_place_) return 0;
  const size_t at = lock_keys_.find(request_->keys_[request_->queued_at_]);
  return at == lock_keys_.size() ? 0 : at + 1;
}

void Attempt::encode_rest(size_t stands_at, size_t fences) {
  const AcquireRequest *const r = request_;
  uint64_t token_least = 0;
  for (const auto &lease : raised_) token_least = std::max(token_least, lease->token + 1);
  PackedWord rest(mode());
  rest.add(instance_.options.alive / kMillisecond);
  rest.add(r != nullptr && instance_.waiting.others_barge(*r));
  rest.add(terms_.in_queue / kMillisecond);
  rest.add(r != nullptr ? r->params_.order : 0);
  rest.add(r != nullptr ? r->params_.sort_offset() : 0);
  rest.add(r != nullptr ? r->params_.priority : 0);
  rest.add(r != nullptr ? r->ticket_us_ : 0);
  rest.add(r != nullptr ? r->since_us_ : 0);
  rest.add(r != nullptr ? r->number_ : 0);
  rest.add(r != nullptr && r->goes_to_end_);
  rest.add(static_cast<int64_t>(stands_at));
  heard_by_ = instance_.link.hears_by();
  rest.add(heard_by_ != 0);
  rest.add(r != nullptr && Waiting::tells_attempts(*r));
  rest.add(static_cast<int64_t>(token_least));
  rest.add(static_cast<int64_t>(fences));
  argument(rest.text());
}

size_t Attempt::encode_raised() {
  raised_.clear();
  if (request_ != nullptr) raised_ = instance_.holds.bound_to(request_->reentered_);
  size_t fences = 0;
  for (const auto &lease : raised_) {
    for (const Bytes lock_key : lease->held_keys()) {
      key(Keyspace::side_key(Keyspace::Side::Fence, lock_key));
      ++fences;
    }
  }
  return fences;
}

std::shared_ptr<Lease> Attempt::lease(uint64_t token) const {
  if (lock_keys_.empty()) return nullptr;
  auto lease = make_shared_of_spare<Lease>(instance_.keeper, id_, lock_keys_, terms_);
  lease->token = token;
  if (terms_.first != kNever) lease->ends_at.store(sent_at_ + Lease::trusted(terms_.first));
  if (terms_.max_hold != kNever) lease->hold_until = sent_at_ + terms_.max_hold;
  return lease;
}

// Its place in a queue goes as well.
void Attempt::undo() const { undo(not_after_us_); }

void Attempt::undo(int64_t not_after_us) const {
  const Nanos slack = instance_.options.alive + 4 * instance_.options.connection.command_timeout;
  const Nanos ends_at = terms_.first == kNever ? kNever : instance_.clock.now() + terms_.first + slack;
  instance_.cleaner.undo(id_, all_keys_.empty() ? lock_keys_ : all_keys_, not_after_us, ends_at);
}

void Attempt::answered(const Reply &reply) {
  // Of a key that nobody waits for, one number is the time and the token.
  const bool is_alone = reply.is(Reply::Kind::Integer);
  instance_.link.server_clock().observe(is_alone ? reply.integer : reply.at(1).integer, instance_.clock.now());
  if (is_alone || reply.at(0).text == "OK") {
    others_wait_ = reply.at(3).integer > 0;
    const auto token = static_cast<uint64_t>(is_alone ? reply.integer : reply.at(2).integer);
    if (replicas_ != 0 && request_ != nullptr) {
      is_granted_ = true;
      return instance_.replica_turns.granted(*this, token);
    }
    if (replicas_ != 0) instance_.replica_turns.ended();
    return granted(token, 0);
  }
  if (replicas_ != 0) instance_.replica_turns.ended();
  if (request_ != nullptr) {
    instance_.waiting.answered(*request_, *this, reply);
  } else if (!is_undone_ && (had_place_ || reply.at(0).text == "BUSY")) {
    undo();
  }
  delete this;
}

void Attempt::granted(uint64_t token, uint32_t replicas) {
  if (request_ == nullptr) {
    is_granted_ = true;
    if (!is_undone_) forget_request();
  } else {
    request_->grant.replicas = replicas;
    if (replicas < static_cast<uint32_t>(replicas_)) request_->grant.flags |= LIBLOCK_RESULT_FEWER_REPLICAS;
    instance_.waiting.granted(*request_, *this, token, others_wait_);
  }
  delete this;
}

void Attempt::failed(const Failure &failure) {
  // An error may have stopped the script half-way: whatever it took is given back.
  const bool unsure =
      failure.sent || failure.status == Status::SERVER || failure.status == Status::WRONG_TYPE;
  const bool is_lost = was_sent_ && unsure;
  if (!failure.sent) not_after_us_ = 0;  // it was answered, or never was on its way
  if (!was_sent_ && !had_place_ && request_ != nullptr) instance_.waiting.forget_id(*request_);
  if (failure.status != Status::CLOSED && (is_lost || (had_place_ && request_ == nullptr))) {
    if (request_ != nullptr) {
      instance_.waiting.undo(*request_, *this);
    } else {
      undo();
    }
  }
  if (replicas_ != 0) instance_.replica_turns.ended();
  AcquireRequest *request = request_;
  if (request != nullptr) instance_.waiting.troubled(*request, failure);
  delete this;
}

void Attempt::dropped() {
  if (request_ != nullptr)
    instance_.waiting.troubled(*request_, {Status::CLOSED, false, "the context is closed"});
  delete this;
}

}  // namespace liblock
