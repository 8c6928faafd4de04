// SPDX-License-Identifier: MIT
// See waiting.hpp; grants are taken in granting.cpp. Times are the runtime's; only leases, and what they are counted
// from, are by the suspend-aware clock.
#include "redis/waiting.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "engine/progress.hpp"
#include "redis/attempt.hpp"
#include "redis/instance.hpp"
#include "redis/key_names.hpp"

namespace liblock {

namespace {

void pack_word(std::string &packed, const liblock_bytes &word) {
  packed += std::to_string(word.size) + ":";
  packed.append(static_cast<const char *>(word.data), word.size);
}

// And the bar behind it.
bool take_number(Bytes &rest, uint64_t &number) {
  number = 0;
  size_t at = 0;
  for (; at < rest.size() && rest[at] >= '0' && rest[at] <= '9'; ++at)
    number = number * 10 + static_cast<uint64_t>(rest[at] - '0');
  if (at >= rest.size() || rest[at] != '|') return false;
  rest.remove_prefix(at + 1);
  return true;
}

// This instance wants a key no more that it may have been woken for: the next is woken instead. Nobody waits for the
// answer.
class PassOnCall final : public ServerCall {
 public:
  PassOnCall(const Instance &instance, const std::string &lock_key) {
    begin(scripts::release);
    add_names(*this, lock_key);
    argument(instance.options.foreign_gap_ms);
    argument(Bytes("1"));
    argument(instance.id);
    argument(Bytes("nobody"));
  }
  void answered(const Reply &) override { delete this; }
  void failed(const Failure &) override { delete this; }
};

}  // namespace

LeaseTerms::LeaseTerms(const AcquireParams &params, Nanos first_lease)
    : ttl(std::min(params.ttl, params.max_hold)),
      renews(params.renew),
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

AcquireRequest::AcquireRequest(Instance &instance, RedisOwner &owner, std::span<const Bytes> keys,
                               const AcquireParams &params)
    : instance_(instance),
      owner_(owner.shared_from_this()),
      params_(params),
      value_(params.value),
      terms_(params, instance.options.first_lease),
      began_at_(instance.runtime->now()) {
  for (const liblock_metadata &m : params.metadata) {
    pack_word(metadata_, m.name);
    pack_word(metadata_, m.value);
  }
  for (const Bytes key : keys) keys_.push_back(instance.keyspace.lock_key(key));
  std::sort(keys_.begin(), keys_.end(), [](const auto &a, const auto &b) { return compare_bytes(a, b) < 0; });
  keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
  // One attempt takes what it takes, within the time-outs of the connection.
  if (params.wait != kNever && !params.tries_once()) wait_until_ = began_at_ + params.wait;
}

bool AcquireRequest::reenters(const std::string &lock_key) const {
  return std::any_of(reentered_.begin(), reentered_.end(),
                     [&](const HeldLock::Part &part) { return part.lock_key() == lock_key; });
}

std::vector<std::string> AcquireRequest::kept_keys() const {
  std::vector<std::string> kept;
  for (size_t i = 0; has_place_ && i < queued_at_; ++i) {
    if (!reenters(keys_[i])) kept.push_back(keys_[i]);
  }
  return kept;
}

void AcquireRequest::run() { instance_.waiting.start(*this); }
void AcquireRequest::fire(Nanos now) { instance_.waiting.on_timer(*this, now); }

AcquireRequest *Waiting::find(const std::string &id) const {
  const auto found = ids_.find(id);
  return found == ids_.end() ? nullptr : found->second;
}

void Waiting::start(AcquireRequest &request) {
  all_.push_back(&request);
  if (instance_.is_closing || request.owner_->closed.load()) return finish(request, Status::CLOSED);
  ask(request);
}

void Waiting::ask(AcquireRequest &request) {
  LIBLOCK_ASSERT(request.attempt_ == nullptr);
  instance_.runtime->cancel(request);
  if (request.owner_->closed.load()) return finish(request, Status::CLOSED);
  if (reenter(request)) return;
  // Nothing of it may stay in the queue of a key that its owner has come to hold: the attempt does not name that one.
  if (request.has_place_ && request.reenters(request.keys_[request.queued_at_])) give_up(request);
  if (request.id_.empty()) {
    if (!instance_.attempt_ids.next(request.id_)) return finish(request, Status::INTERNAL);
    ids_.emplace(request.id_, &request);
  }
  request.state_ = AcquireRequest::State::Asking;
  request.told_ = false;
  request.handed_ = {};
  ++request.number_;
  tell_beginning(request);
  request.attempt_ = new Attempt(instance_, request, request.id_);
  arm(request);
  request.attempt_->send();  // may end the request
}

void Waiting::answered(AcquireRequest &request, Attempt &attempt, const Reply &reply) {
  request.attempt_ = nullptr;
  request.trouble_ = Status::OK;
  if (reply.at(0).text == "LATE") return late(request);
  request.late_once_ = false;
  busy(request, attempt, reply);
}

void Waiting::busy(AcquireRequest &request, const Attempt &attempt, const Reply &reply) {
  const std::string &key = attempt.lock_keys()[static_cast<size_t>(reply.at(2).integer - 1)];
  const auto at =
      static_cast<size_t>(std::find(request.keys_.begin(), request.keys_.end(), key) - request.keys_.begin());
  request.grant.busy_key = static_cast<uint32_t>(at);
  if (std::exchange(request.goes_to_end_, false)) tell_requeued(request, reply);
  tell_busy(request, key, reply);
  if (request.params_.tries_once()) {
    forget_id(request);  // nothing of it is there
    return finish(request, Status::BUSY);
  }
  if (!request.was_queued_ && !begins_to_wait(request)) return;
  const bool is_new = !request.has_place_ || request.queued_at_ != at;
  request.has_place_ = !request.barges();
  request.since_us_ = reply.at(4).integer;
  request.ticket_us_ = reply.at(8).integer;
  if (request.requeue_at_ == kNever && request.params_.queue_ttl != kNever)
    request.requeue_at_ = instance_.runtime->now() + request.params_.queue_ttl;
  if (is_new && request.has_place_ && request.owner_->named() && instance_.options.deadlock_delay != kNever)
    request.search_at_ =
        std::min(request.search_at_, instance_.runtime->now() + instance_.options.deadlock_delay);
  has_place(request, reply.at(5).integer, reply.at(7).integer, attempt.sent_at());
  instance_.places.join(request, at);
  instance_.places.seen(key, {reply.at(3).integer, reply.at(6).integer == 1, request.place_});
  if (!instance_.link.is_listening()) instance_.link.listen();
  instance_.link.connect();  // places are kept there, whichever connection the attempt went over
  request.state_ = AcquireRequest::State::Waiting;
  if (request.handed_.token != 0) return accept(request, request.handed_);
  if (request.told_) return ask(request);
  wait(request, request.barges() ? next_poll(request, instance_.runtime->now()) : kNever);
}

void Waiting::has_place(AcquireRequest &request, int64_t place, int64_t length, Nanos heard_at) {
  request.place_ = place;
  request.length_ = length;
  request.heard_at_ = std::max(request.heard_at_, heard_at);
  request.trouble_ = Status::OK;
  Progress *const progress = request.params_.progress;
  if (progress != nullptr && request.has_place_) progress->stands(place, length);
}

void Waiting::lost_place(AcquireRequest &request) {
  if (request.state_ == AcquireRequest::State::Waiting) ask(request);
}

void Waiting::handed(Bytes message) {
  // id, number of the attempt | token | lease in ms | lock key
  AcquireRequest *request = find(std::string(message.substr(0, kAttemptIdSize)));
  if (request == nullptr) return;
  uint64_t fields[3] = {0, 0, 0};
  Bytes rest = message.substr(kAttemptIdSize);
  for (uint64_t &field : fields) {
    if (!take_number(rest, field)) return;
  }
  // One that an attempt sent since then has overtaken is void: what holds now is what that one answers.
  if (fields[0] != request->number_ || fields[1] == 0 || fields[2] > INT32_MAX) return;
  const Nanos left = nanos_from_ms(static_cast<int64_t>(fields[2]));
  const AcquireRequest::Handed handed{fields[1], instance_.clock.now() + Lease::trusted(left)};
  if (request->state_ == AcquireRequest::State::Waiting) return accept(*request, handed);
  request->handed_ = handed;
}

// The key was left free for foreign clients, which look once a millisecond at best: they have a moment.
void Waiting::called(Bytes message) {
  constexpr Nanos kMoment = 2 * kMillisecond;
  AcquireRequest *request = find(std::string(message.substr(0, kAttemptIdSize)));
  if (request == nullptr) return;
  if (request->state_ == AcquireRequest::State::Waiting)
    return wait(*request, instance_.runtime->now() + kMoment);
  request->told_ = true;
}

void Waiting::may_barge(const std::string &lock_key) {
  for (AcquireRequest *request : instance_.places.all_of(lock_key)) {
    if (!request->barges()) continue;
    if (request->state_ == AcquireRequest::State::Waiting) return ask(*request);
    request->told_ = true;
    return;
  }
  if (!instance_.is_closing) instance_.link.send(*new PassOnCall(instance_, lock_key));
}

bool Waiting::others_barge(const AcquireRequest &request) const {
  if (!request.barges()) return false;
  for (const std::string &lock_key : request.keys_) {
    for (const AcquireRequest *other : instance_.places.all_of(lock_key)) {
      if (other != &request && other->barges()) return true;
    }
  }
  return false;
}

// Its lease was over when the answer came. The next one may be in time; not at once, since the network is as it is.
void Waiting::came_too_late(AcquireRequest &request) {
  request.trouble_ = Status::TOO_LATE;
  if (request.params_.tries_once()) return finish(request, Status::TOO_LATE);
  if (!request.was_queued_ && !begins_to_wait(request)) return;
  look_again(request);
}

void Waiting::look_again(AcquireRequest &request) {
  request.state_ = AcquireRequest::State::Waiting;
  wait(request, next_poll(request, instance_.runtime->now()));
}

void Waiting::late(AcquireRequest &request) {
  if (!request.has_place_) forget_id(request);
  if (!std::exchange(request.late_once_, true)) return ask(request);
  troubled(request, {Status::SERVER, false,
                     "requests reach the server too late: see its clock and the network", true});
}

// Nobody will know what became of that attempt.
void Waiting::undo(AcquireRequest &request, const Attempt &attempt) {
  attempt.undo();
  forget_id(request);
}

void Waiting::forget_id(AcquireRequest &request) {
  ids_.erase(request.id_);
  request.id_.clear();
  request.has_place_ = false;
  instance_.places.leave(request);
}

void Waiting::troubled(AcquireRequest &request, const Failure &failure) {
  request.attempt_ = nullptr;
  tell_failed(request, failure);
  if (ends_by(request, failure)) return;
  if (request.params_.tries_once()) return finish(request, request.trouble_);
  if (!request.was_queued_ && !begins_to_wait(request)) return;
  look_again(request);
}

void Waiting::no_answer(AcquireRequest &request, const Failure &failure) {
  if (request.state_ == AcquireRequest::State::Waiting) ends_by(request, failure);
}

// Where the same will not succeed soon.
bool Waiting::ends_by(AcquireRequest &request, const Failure &failure) {
  const bool is_about_key = failure.status == Status::WRONG_TYPE;
  const char *more = request.keys_.size() > 1 ? " or another key of this lock: " : ": ";
  instance_.note_trouble(is_about_key ? liblock::shown(request.keys_.front()) + more + failure.text
                                      : failure.text);
  const bool never_there = failure.status == Status::CONNECT && !instance_.link.was_ever_connected();
  request.trouble_ = failure.sent ? Status::IN_DOUBT : failure.status;
  if (failure.status != Status::CLOSED && failure.passes && !never_there) return false;
  finish(request, failure.status);
  return true;
}

// The first attempt has failed: bounds and the first retry interval.
bool Waiting::begins_to_wait(AcquireRequest &request) {
  if (instance_.counts.waiters.load() >= instance_.options.waiters_max) {
    finish(request, Status::LIMIT);
    return false;
  }
  ++instance_.counts.waiters;
  ++instance_.counts.contended;
  request.was_queued_ = true;
  const auto step = request.retries_.start(request.params_.retry, instance_.random, request.began_at_);
  if (step != RetryCount::Step::Refused) return true;
  finish(request, Status::INVALID_ARGUMENT);
  return false;
}

Nanos Waiting::next_poll(AcquireRequest &request, Nanos now) {
  const RetryPolicy &policy = request.params_.retry;
  const Nanos most = instance_.options.alive / 3;
  if (policy.counts()) return std::clamp(request.retries_.next_at(), now + kMillisecond, now + most);
  return now +
         std::clamp<Nanos>(nanos_from_ms(policy.next_interval_ms(0, instance_.random)), kMillisecond, most);
}

void Waiting::wait(AcquireRequest &request, Nanos try_at) {
  request.try_at_ = try_at;
  arm(request);
}

void Waiting::arm(AcquireRequest &request) {
  Nanos at = std::min(request.wait_until_, request.was_queued_ ? request.retries_.next_at() : kNever);
  if (request.state_ == AcquireRequest::State::Waiting)
    at = std::min({at, request.try_at_,
                   request.has_place_ ? std::min(request.requeue_at_, request.search_at_) : kNever});
  instance_.runtime->cancel(request);
  if (at != kNever) instance_.runtime->arm(request, at);
}

void Waiting::on_timer(AcquireRequest &request, Nanos) {
  if (request.attempt_ != nullptr && request.attempt_->is_granted()) return;
  const Nanos now = instance_.runtime->now();
  if (request.was_queued_) {
    const auto step = request.retries_.advance(request.params_.retry, instance_.random, now);
    if (step == RetryCount::Step::Refused) return finish(request, Status::INVALID_ARGUMENT);
    if (step == RetryCount::Step::Exhausted)
      return finish(request, ending_of(request, Status::RETRIES_EXHAUSTED));
  }
  if (now >= request.wait_until_) return finish(request, ending_of(request, Status::TIMEOUT));
  if (request.state_ != AcquireRequest::State::Waiting) return arm(request);
  if (request.has_place_ && now >= request.search_at_) search_deadlock(request);
  if (request.has_place_ && now >= request.requeue_at_) {
    request.requeue_at_ = now + request.params_.queue_ttl;
    request.goes_to_end_ = true;
    return ask(request);
  }
  if (now >= request.try_at_) return ask(request);
  arm(request);
}

Status Waiting::ending_of(const AcquireRequest &request, Status usual) const {
  if (request.trouble_ != Status::OK) return request.trouble_;
  const bool never_there = !instance_.link.is_connected() && !instance_.link.was_ever_connected();
  return never_there ? Status::CONNECT : usual;
}

void Waiting::end(AcquireRequest &request, Status status) {
  if (request.state_ != AcquireRequest::State::Over) finish(request, status);
}

// What an attempt under way brings is undone when it comes; where there is none, the place is given up.
void Waiting::give_up(AcquireRequest &request) {
  if (Attempt *const under_way = std::exchange(request.attempt_, nullptr)) {
    under_way->forget_request();
  } else if (!request.id_.empty()) {
    const Nanos slack = instance_.options.alive + 4 * instance_.options.connection.command_timeout;
    const Nanos first = request.terms_.first;
    instance_.cleaner.undo(request.id_, request.keys_, 0,
                           first == kNever ? kNever : instance_.clock.now() + first + slack);
  }
  const bool may_be_woken = request.number_ != 0 && request.barges() && !request.params_.tries_once();
  if (may_be_woken && !instance_.is_closing && !others_barge(request)) {
    for (const std::string &key : request.keys_) instance_.link.send(*new PassOnCall(instance_, key));
  }
  forget_id(request);
}

void Waiting::finish(AcquireRequest &request, Status status) {
  request.state_ = AcquireRequest::State::Over;
  instance_.runtime->cancel(request);
  give_up(request);
  if (request.extending_ != nullptr) *request.extending_ = nullptr;
  if (status != Status::OK && request.grant.handle != 0)
    instance_.release(std::exchange(request.grant.handle, 0), nullptr);
  all_.remove(&request);
  if (request.was_queued_) --instance_.counts.waiters;
  if (status == Status::TIMEOUT || status == Status::RETRIES_EXHAUSTED) ++instance_.counts.timeouts;
  if (status == Status::CANCELED) ++instance_.counts.canceled;
  Grant &grant = request.grant;
  grant.status = status;
  grant.attempts = request.retries_.attempts();
  grant.waited = instance_.runtime->now() - request.began_at_;
  if (request.was_queued_) {
    grant.queue_position = request.place_;
    grant.queue_length = request.length_;
  }
  request.finished();
}

void Waiting::sent_away(Bytes message) {
  uint64_t at_us = 0;
  if (take_number(message, at_us) && at_us <= INT64_MAX)
    dequeue(std::string(message), static_cast<int64_t>(at_us));
}

void Waiting::sent_away_alone(Bytes message) {
  AcquireRequest *request = find(std::string(message.substr(0, kAttemptIdSize)));
  if (request != nullptr) finish(*request, Status::DEQUEUED);
}

void Waiting::dequeue(const std::string &lock_key, int64_t since_us_most) {
  for (AcquireRequest *request : instance_.places.all_of(lock_key)) {
    if (request->since_us_ <= since_us_most) finish(*request, Status::DEQUEUED);
  }
}

void Waiting::look_at_all() {
  instance_.places.look_at_all();
  std::vector<AcquireRequest *> asking;
  for (AcquireRequest *request = all_.front(); request != nullptr; request = All::next(request)) {
    if (request->state_ == AcquireRequest::State::Waiting && !request->has_place_) asking.push_back(request);
  }
  for (AcquireRequest *request : asking) {
    if (request->state_ == AcquireRequest::State::Waiting) ask(*request);
  }
}

std::vector<WaiterInfo> Waiting::shown(const std::string &lock_key) const {
  std::vector<AcquireRequest *> waiting = instance_.places.all_of(lock_key);
  std::stable_sort(waiting.begin(), waiting.end(),
                   [](const auto *a, const auto *b) { return a->sort_key() < b->sort_key(); });
  std::vector<WaiterInfo> infos;
  const Nanos now = instance_.runtime->now();
  for (const AcquireRequest *r : waiting) {
    infos.push_back(
        {r->owner_->id(), (now - r->began_at_) / kMillisecond, r->params_.order, r->params_.priority});
  }
  return infos;
}

void Waiting::end_all(const RedisOwner *owner, Status status) {
  std::vector<AcquireRequest *> ending;
  for (AcquireRequest *request = all_.front(); request != nullptr; request = All::next(request)) {
    if (owner == nullptr || request->owner_.get() == owner) ending.push_back(request);
  }
  for (AcquireRequest *request : ending) finish(*request, status);
}

}  // namespace liblock
