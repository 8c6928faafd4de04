// SPDX-License-Identifier: MIT
// See waiting.hpp; grants are taken in granting.cpp, who is woken is in waking.cpp. Times are the runtime's; only
// leases, and what they are counted from, are by the suspend-aware clock.
#include "redis/waiting.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "engine/progress.hpp"
#include "redis/attempt.hpp"
#include "redis/instance.hpp"
#include "redis/key_names.hpp"

namespace liblock {

namespace {

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

}  // namespace

LockKeys AcquireRequest::kept_keys() const {
  LockKeys kept;
  for (size_t i = 0; has_place_ && i < queued_at_; ++i) {
    if (!reenters(keys_[i])) kept.add(keys_[i]);
  }
  return kept;
}

Waiting::Waiting(Instance &instance) : RemoteWaiting(instance), instance_(instance) {}
Waiting::~Waiting() { instance_.runtime->cancel(pass_words_); }

AcquireRequest *Waiting::find(Bytes id) const {
  const auto found = ids_.find(id);
  return found == ids_.end() ? nullptr : found->second;
}

void Waiting::send_attempt(RemoteRequest &asking) {
  auto &request = static_cast<AcquireRequest &>(asking);
  LIBLOCK_ASSERT(request.attempt_ == nullptr);
  if (request.number_ == 0 && request.place == FrontWaiter::Place::None &&
      instance_.passing_on.stands(request))
    return stand(request);
  // Nothing of it may stay in the queue of a key that its owner has come to hold: the attempt does not name that one.
  if (request.has_place_ && request.reenters(request.keys_[request.queued_at_])) give_up(request);
  if (request.id_.empty()) {
    if (!instance_.attempt_ids.next(request.id_)) return finish(request, Status::INTERNAL);
    remember_id(request);
  }
  request.state_ = AcquireRequest::State::Asking;
  request.told_ = false;
  if (request.has_words_) {
    for (Word &word : words_) word.is_news = word.is_news && word.request != &request;
  }
  request.handed_ = {};
  PassingOn::forget_early_word(request);
  ++request.number_;
  tell_beginning(request);
  request.attempt_ = new Attempt(instance_, request);
  arm(request);
  request.attempt_->send();  // may end the request
}

Nanos Waiting::search_delay(const AcquireRequest &request) const {
  return request.owner_->named() ? instance_.options.deadlock_delay : kNever;
}

void Waiting::stand(AcquireRequest &request) {
  request.state_ = AcquireRequest::State::Waiting;
  request.grant.busy_key = 0;
  if (const Nanos delay = search_delay(request); delay != kNever)
    request.search_at_ = instance_.runtime->now() + delay;
  if (request.was_queued_ || begins_to_wait(request)) wait(request, kNever);
}

// With the place in the queue that it would have if it had asked at once.
void Waiting::send_from_front(AcquireRequest &request) {
  const int64_t now_us = instance_.link.server_clock().at(instance_.clock.now());
  const int64_t waited_us = (instance_.runtime->now() - request.began_at_) / 1'000;
  if (now_us > waited_us)
    request.ticket_us_ = request.since_us_ = Front::ticket_us(request, request.began_at_, now_us - waited_us);
  ask(request);
}

void Waiting::answered(AcquireRequest &request, Attempt &attempt, const Reply &reply) {
  request.attempt_ = nullptr;
  request.trouble_ = Status::OK;
  if (reply.at(0).text == "LATE") return late(request);
  request.late_once_ = false;
  busy(request, attempt, reply);
}

void Waiting::busy(AcquireRequest &request, const Attempt &attempt, const Reply &reply) {
  const Bytes key = attempt.lock_keys()[static_cast<size_t>(reply.at(2).integer - 1)];
  const size_t at = request.keys_.find(key);
  request.grant.busy_key = static_cast<uint32_t>(at);
  if (std::exchange(request.goes_to_end_, false)) tell_requeued(request, reply);
  tell_busy(request, key, reply);
  request.since_us_ = reply.at(4).integer;
  request.ticket_us_ = reply.at(8).integer;
  if (request.params_.tries_once()) forget_id(request);  // nothing of it is there
  if (has_come_to_hold(request, attempt.lock_keys())) {
    request.place_ = reply.at(5).integer;
    request.length_ = reply.at(7).integer;
    give_up(request);
    return ask(request);
  }
  if (request.params_.tries_once()) return finish(request, Status::BUSY);
  if (!request.was_queued_ && !begins_to_wait(request)) return;
  const bool is_new = !request.has_place_ || request.queued_at_ != at;
  request.has_place_ = !request.barges();
  if (request.requeue_at_ == kNever && request.params_.queue_ttl != kNever)
    request.requeue_at_ = instance_.runtime->now() + request.params_.queue_ttl;
  const Nanos delay = search_delay(request);
  if (is_new && request.has_place_ && delay != kNever)
    request.search_at_ = std::min(request.search_at_, instance_.runtime->now() + delay);
  has_place(request, reply.at(5).integer, reply.at(7).integer, attempt.sent_at());
  instance_.places.join(request, at);
  if (leave_words(request, at)) request.told_ = true;
  if (attempt.was_sent_away(key, request.since_us_)) return finish(request, Status::DEQUEUED);
  instance_.places.seen(key, {reply.at(3).integer, reply.at(6).integer == 1, request.place_});
  if (!instance_.link.is_listening()) instance_.link.listen();
  instance_.link.connect();  // places are kept there, whichever connection the attempt went over
  request.state_ = AcquireRequest::State::Waiting;
  if (request.handed_.token != 0) return accept(request, request.handed_);
  // When messages came again all lines were looked at, and it was in none, or its answer was not here yet.
  const bool looks_again = attempt.may_have_missed_word();
  if (request.told_ || (looks_again && request.barges())) return ask(request);
  if (looks_again) instance_.places.look_at(key);
  wait(request, request.barges() ? next_poll(request, instance_.runtime->now()) : kNever);
}

void Waiting::has_place(AcquireRequest &request, int64_t place, int64_t length, Nanos heard_at) {
  request.place_ = place;
  request.length_ = length;
  request.heard_at_ = std::max(request.heard_at_, heard_at);
  request.trouble_ = Status::OK;
  instance_.passing_on.note_trouble(request, Status::OK);
  Progress *const progress = request.params_.progress;
  if (progress != nullptr && request.has_place_) progress->stands(place, length);
}

void Waiting::lost_place(AcquireRequest &request) {
  if (request.state_ == AcquireRequest::State::Waiting) ask(request);
}

void Waiting::handed(Bytes message) {
  // id, number of the attempt | token | lease in ms | how many more wait | lock key
  AcquireRequest *request = find(message.substr(0, kAttemptIdSize));
  if (request == nullptr) return;
  uint64_t fields[4] = {0, 0, 0, 0};
  Bytes rest = message.substr(kAttemptIdSize);
  for (uint64_t &field : fields) {
    if (!take_number(rest, field)) return;
  }
  // One that an attempt sent since then has overtaken is void: what holds now is what that one answers.
  if (fields[0] != request->number_ || fields[1] == 0 || fields[2] > INT32_MAX) return;
  PassingOn::forget_early_word(*request);
  const Nanos left = nanos_from_ms(static_cast<int64_t>(fields[2]));
  const AcquireRequest::Handed handed{fields[1], instance_.clock.now() + Lease::trusted(left),
                                      fields[3] != 0};
  if (request->state_ == AcquireRequest::State::Waiting) return accept(*request, handed);
  request->handed_ = handed;
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

void Waiting::remember_id(AcquireRequest &request) { ids_.emplace(request.id_, &request); }

void Waiting::forget_id(AcquireRequest &request) {
  ids_.erase(request.id_.text());
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
  instance_.note_trouble(failure.status, is_about_key
                                             ? liblock::shown(request.keys_.front()) + more + failure.text
                                             : failure.text);
  const bool never_there = failure.status == Status::CONNECT && !instance_.link.was_ever_connected();
  request.trouble_ = failure.sent ? Status::IN_DOUBT : failure.status;
  instance_.passing_on.note_trouble(request, request.trouble_);
  if (failure.status != Status::CLOSED && failure.passes && !never_there) return false;
  finish(request, failure.status);
  return true;
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

void Waiting::arm(RemoteRequest &waiting) {
  auto &request = static_cast<AcquireRequest &>(waiting);
  Nanos at = request.next_bound();
  if (request.state_ == AcquireRequest::State::Waiting) {
    at = std::min(at, request.try_at_);
    if (request.has_place_) at = std::min(at, request.requeue_at_);
    if (request.has_place_ || request.stands()) at = std::min(at, request.search_at_);
  }
  instance_.runtime->cancel(request);
  if (at != kNever) instance_.runtime->arm(request, at);
}

void Waiting::on_timer(RemoteRequest &waiting, Nanos) {
  auto &request = static_cast<AcquireRequest &>(waiting);
  if (request.attempt_ != nullptr && request.attempt_->is_granted()) return;
  const Nanos now = instance_.runtime->now();
  instance_.passing_on.borrow_trouble(request);
  if (ends_by_time(request, now)) return;
  if (request.state_ != AcquireRequest::State::Waiting) return arm(request);
  if (request.stands() && now >= request.search_at_) return instance_.passing_on.send_until(request);
  if (request.has_place_ && now >= request.search_at_) search_deadlock(request);
  if (request.has_place_ && now >= request.requeue_at_) {
    request.requeue_at_ = now + request.params_.queue_ttl;
    request.goes_to_end_ = true;
    return ask(request);
  }
  if (now >= request.try_at_) return ask(request);
  arm(request);
}

Status Waiting::ending_of(Status usual) const {
  if (instance_.link.is_connected()) return usual;
  if (instance_.last_trouble(Status::CONNECT).empty()) {
    const std::string place = instance_.options.connection.address.redacted();
    instance_.note_trouble(Status::CONNECT, place + ": it has not answered yet; see that a server answers there, or "
                                                    "wait for longer (wait_ms)");
  }
  return Status::CONNECT;
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
  is_woken_no_more(request);
  forget_id(request);
  leave_words(request);
}

void Waiting::let_go(RemoteRequest &ending) {
  auto &request = static_cast<AcquireRequest &>(ending);
  withdraw(request);
  if (!request.was_queued_) return;
  request.grant.queue_position = request.place_;
  request.grant.queue_length = request.length_;
}

void Waiting::withdraw(RemoteRequest &waiting) {
  auto &request = static_cast<AcquireRequest &>(waiting);
  if (request.stands()) {
    request.place_ = Front::position(request);
    request.length_ = static_cast<int64_t>(request.line->standing.size());
  }
  instance_.passing_on.let_go(request);
  give_up(request);
}

void Waiting::ask_anew(RemoteRequest &waiting) {
  if (static_cast<AcquireRequest &>(waiting).stands()) withdraw(waiting);
  ask(waiting);
}

void Waiting::sent_away(Bytes message) {
  uint64_t at_us = 0;
  if (take_number(message, at_us) && at_us <= INT64_MAX) dequeue(message, static_cast<int64_t>(at_us));
}

// at | owner as records have it | lock key
void Waiting::owner_sent_away(Bytes message) {
  uint64_t at_us = 0;
  Bytes owner;
  if (!take_number(message, at_us) || at_us > INT64_MAX || !next_field(message, owner)) return;
  const std::string id = unescape_field(owner);
  dequeue(message, static_cast<int64_t>(at_us), &id);
}

void Waiting::sent_away_alone(Bytes message) {
  AcquireRequest *request = find(message.substr(0, kAttemptIdSize));
  if (request != nullptr) finish(*request, Status::DEQUEUED);
}

void Waiting::dequeue(Bytes lock_key, int64_t since_us_most, const std::string *owner_id) {
  const auto is_meant = [owner_id](const FrontRequest &request) {
    return owner_id == nullptr || request.owner_id() == *owner_id;
  };
  for (AcquireRequest *request : instance_.places.all_of(lock_key)) {
    if (request->since_us_ <= since_us_most && is_meant(*request)) finish(*request, Status::DEQUEUED);
  }
  const int64_t now_us = instance_.link.server_clock().at(instance_.clock.now());
  instance_.passing_on.send_away(lock_key, [&](const FrontRequest &request) {
    const int64_t waited_us = (instance_.runtime->now() - request.began_at()) / 1'000;
    return now_us - waited_us <= since_us_most && is_meant(request);
  });
  // Since when the others wait is in an answer that this word has overtaken.
  for (RemoteRequest *one = all_.front(); one != nullptr; one = All::next(one)) {
    const auto &request = static_cast<const AcquireRequest &>(*one);
    if (request.attempt_ != nullptr && is_meant(request)) request.attempt_->sent_away(lock_key, since_us_most);
  }
}

void Waiting::look_at_all() {
  instance_.places.look_at_all();
  std::vector<AcquireRequest *> asking;
  for (RemoteRequest *one = all_.front(); one != nullptr; one = All::next(one)) {
    auto *request = static_cast<AcquireRequest *>(one);
    const bool has_no_place = !request->has_place_ && !request->stands();
    if (request->state_ == AcquireRequest::State::Waiting && has_no_place) asking.push_back(request);
  }
  for (AcquireRequest *request : asking) {
    if (request->state_ == AcquireRequest::State::Waiting) ask(*request);
  }
}

std::vector<WaiterInfo> Waiting::shown(Bytes lock_key) const {
  std::vector<AcquireRequest *> waiting = instance_.places.all_of(lock_key);
  std::stable_sort(waiting.begin(), waiting.end(),
                   [](const auto *a, const auto *b) { return a->sort_key() < b->sort_key(); });
  std::vector<WaiterInfo> infos;
  for (const AcquireRequest *request : waiting) infos.push_back(request->shown(instance_.runtime->now()));
  for (WaiterInfo &standing : instance_.passing_on.shown(lock_key)) infos.push_back(std::move(standing));
  return infos;
}

}  // namespace liblock
