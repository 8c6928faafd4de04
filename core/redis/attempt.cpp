// SPDX-License-Identifier: MIT
// See attempt.hpp. Its arguments are written when it is sent: what holds of time and of the local queue holds
// of that moment.
#include "redis/attempt.hpp"

#include <algorithm>
#include <utility>

#include "redis/instance.hpp"

namespace liblock {

Attempt::Attempt(Instance &instance, AcquireRequest &request, std::string id)
    : instance_(instance), request_(&request), id_(std::move(id)) {
  const AcquireParams &params = request.params_;
  for (const std::string &key : request.keys_) {
    if (!request.reenters(key)) lock_keys_.push_back(key);
  }
  renews_ = params.renew;
  max_hold_ = params.max_hold;
  ttl_ = std::min(params.ttl, params.max_hold);
  has_metadata_ = !params.metadata.empty();
  replicas_ = params.replicas;
  // Half of the first lease at most is spent on waiting for replicas.
  Nanos first_most = instance.options.first_lease;
  if (replicas_ != 0) first_most = std::max(first_most, 2 * params.replicas_timeout);
  // What must be left, and what a round trip and the drift take of it.
  first_most = std::max(first_most, params.min_remaining + params.min_remaining / 20 + 1'000 * kMillisecond);
  first_ttl_ = renews_ ? std::min(ttl_, first_most) : ttl_;
  replicas_timeout_ = std::max(kMillisecond, std::min(params.replicas_timeout, first_ttl_ / 2));
}

// An answer that may wait for replicas would hold up everything behind it: it has a connection for itself.
void Attempt::send() {
  if (replicas_ == 0) return instance_.link.send(*this);
  instance_.replica_turns.start(*this);
}

bool Attempt::fits(const Reply &reply) const {
  const Bytes what = reply.at(0).text;
  if (what == "LATE") return reply.has_integers(1, 1);
  if (what == "BUSY")
    return reply.has_integers(1, 6) && reply.at(2).integer >= 1 &&
           static_cast<size_t>(reply.at(2).integer) <= lock_keys_.size();
  return what == "OK" && reply.has_integers(1, 2) && reply.at(2).integer > 0;
}

bool Attempt::wants_as(const Attempt &other) const {
  return replicas_ == other.replicas_ && replicas_timeout_ == other.replicas_timeout_;
}

Attempt::~Attempt() {
  if (!was_sent_) return;
  --instance_.attempts_open;
  instance_.closing_goes_on();
}

void Attempt::forget_request() {
  request_ = nullptr;  // where it was not sent yet, it goes with a time that is over
  if (!is_granted_) return;
  not_after_us_ = 0;  // it has been carried out: it will not be again
  undo();
}

void Attempt::sending(Nanos now) {
  if (has_body()) return;  // the same again, with its script
  if (!std::exchange(was_sent_, true)) ++instance_.attempts_open;
  sent_at_ = now;
  not_after_us_ = request_ == nullptr ? 1
                                      : instance_.link.server_clock().not_after(
                                            now, 2 * instance_.options.connection.command_timeout);
  int64_t since_us = 0;
  if (request_ != nullptr && instance_.waiting.wants_registration(*request_)) {
    registers = true;
    since_us = std::max<int64_t>(1, request_->since_us_);
  }
  encode_arguments(since_us);
}

void Attempt::encode_arguments(int64_t since_us) {
  begin(scripts::acquire);
  for (const std::string &lock_key : lock_keys_) {
    key(lock_key);
    key(Keyspace::side_key(Keyspace::Side::Fence, lock_key));
    key(Keyspace::side_key(Keyspace::Side::Waiters, lock_key));
    key(Keyspace::side_key(Keyspace::Side::Metadata, lock_key));
  }
  const size_t fences = encode_raised();
  uint64_t token_least = 0;
  Bytes after_grant = "none";
  std::string owner = instance_.id;
  if (request_ != nullptr) {
    for (const auto &lease : raised_) token_least = std::max(token_least, lease->token + 1);
    stays_registered = instance_.link.is_listening() && instance_.waiting.others_wait(*request_, lock_keys_);
    const KeyQueue *queue = instance_.waiting.queue_of(*request_);
    after_grant = stays_registered ? "stay" : queue != nullptr && queue->is_registered ? "leave" : "none";
    owner = escape_field(request_->owner_->id());
  }
  argument(id_);
  argument(owner);
  argument(instance_.id);
  argument(first_ttl_ == kNever ? int64_t{0} : first_ttl_ / kMillisecond);
  argument(not_after_us_);
  argument(static_cast<int64_t>(token_least));
  argument(int64_t{1});
  argument(since_us);
  argument(instance_.options.alive / kMillisecond);
  argument(after_grant);
  argument(request_ != nullptr ? Bytes(request_->value_) : Bytes());
  argument(static_cast<int64_t>(fences));
  if (request_ == nullptr) return;
  for (const auto &[name, value] : request_->metadata_) {
    argument(name);
    argument(value);
  }
}

size_t Attempt::encode_raised() {
  raised_.clear();
  if (request_ != nullptr) raised_ = instance_.holds.bound_to(request_->reentered_);
  size_t fences = 0;
  for (const auto &lease : raised_) {
    for (const std::string &lock_key : lease->held_keys()) {
      key(Keyspace::side_key(Keyspace::Side::Fence, lock_key));
      ++fences;
    }
  }
  return fences;
}

std::shared_ptr<Lease> Attempt::lease(uint64_t token) const {
  if (lock_keys_.empty()) return nullptr;
  auto lease = std::make_shared<Lease>(instance_.keeper);
  lease->id = id_;
  for (const std::string &key : lock_keys_) lease->keys.push_back({key});
  lease->token = token;
  lease->first_ttl = first_ttl_;
  lease->ttl = ttl_;
  lease->renews = renews_;
  lease->has_metadata = has_metadata_;
  if (first_ttl_ != kNever) lease->ends_at.store(sent_at_ + Lease::trusted(first_ttl_));
  if (max_hold_ != kNever) lease->hold_until = sent_at_ + max_hold_;
  return lease;
}

void Attempt::undo() const {
  if (lock_keys_.empty()) return;
  const Nanos ends_at = first_ttl_ == kNever
                            ? kNever
                            : sent_at_ + first_ttl_ + 4 * instance_.options.connection.command_timeout;
  instance_.cleaner.undo(id_, lock_keys_, not_after_us_, ends_at);
}

void Attempt::answered(const Reply &reply) {
  instance_.link.server_clock().observe(reply.at(1).integer, instance_.clock.now());
  if (reply.at(0).text == "OK") {
    const auto token = static_cast<uint64_t>(reply.at(2).integer);
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
  } else if (registers && reply.at(0).text == "BUSY") {
    const auto index = static_cast<size_t>(reply.at(2).integer - 1);
    if (index < lock_keys_.size()) instance_.waiting.registered_for_nobody(lock_keys_[index]);
  }
  delete this;
}

void Attempt::granted(uint64_t token, uint32_t replicas) {
  if (request_ == nullptr) {
    instance_.waiting.registration_after_grant(lock_keys_, stays_registered);
    if (!std::exchange(is_granted_, true)) forget_request();
  } else {
    request_->grant.replicas = replicas;
    if (replicas < static_cast<uint32_t>(replicas_)) request_->grant.flags |= LIBLOCK_RESULT_FEWER_REPLICAS;
    instance_.waiting.granted(*request_, *this, token);
  }
  delete this;
}

void Attempt::failed(const Failure &failure) {
  // An error may have stopped the script half-way: whatever it took is given back.
  const bool unsure =
      failure.sent || failure.status == Status::SERVER || failure.status == Status::WRONG_TYPE;
  if (was_sent_ && unsure && failure.status != Status::CLOSED) undo();
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
