// SPDX-License-Identifier: MIT
// See remote_passing_on.hpp.
#include "remote/remote_passing_on.hpp"

#include <algorithm>
#include <utility>

#include "remote/remote_instance.hpp"
#include "runtime/once.hpp"

namespace liblock {

namespace {

constexpr Nanos kTellPause = 5 * kMillisecond;
constexpr Nanos kTellCount = 50 * kMillisecond;
constexpr Nanos kTellAgain = 100 * kMillisecond;

}  // namespace

RemotePassingOn::RemotePassingOn(RemoteInstance &instance, const Front::Options &options)
    : remote_(instance), front_(options, *this) {}

RemotePassingOn::~RemotePassingOn() { stop(); }

bool RemotePassingOn::stands(FrontRequest &request) {
  if (!front_.is_on() || !Front::may_stand(request.params_, request.keys_.size())) return false;
  if (!request.reentered_.empty() || !may_stand(request)) return false;
  const Nanos now = remote_.runtime->now();
  const bool stands = front_.comes(request, request.keys_.front(), now);
  // Whether outsiders wait must be known before the lock can go on.
  if (request.line->may_have_missed && request.line->tells_open == 0) tell_again(*request.line);
  count_changed(*request.line);
  return stands;
}

// Others who ask see how many there are, if not at once.
void RemotePassingOn::count_changed(FrontLine &line) {
  const bool is_known = line.standing.size() == line.standing_told;
  if (line.lease == nullptr || !line.is_told || line.tells_open != 0 || is_known) return;
  line.is_told = false;
  tell_at(line, remote_.runtime->now() + kTellCount);
}

void RemotePassingOn::let_go(FrontRequest &request) {
  const bool stood = request.stands();
  FrontLine *to_ask = front_.leaves(request, remote_.runtime->now());
  if (to_ask != nullptr) ask_next_later(*to_ask);
  FrontLine *const left = stood ? front_.find(request.keys_.front()) : nullptr;
  if (left != nullptr) count_changed(*left);
}

// Somebody may be in the middle of ending many, of whom the next may be one.
void RemotePassingOn::ask_next_later(const FrontLine &line) {
  if (remote_.is_closing) return;
  run_once(*remote_.runtime, [self = kept(), lock_key = *line.lock_key] {
    FrontLine *there = self->front_.find(lock_key);
    if (there != nullptr) self->ask_next(*there);
  });
}

void RemotePassingOn::ask_next(FrontLine &line) {
  if (remote_.is_closing) return;
  front_.pin(line);
  while (FrontWaiter *next = front_.to_ask(line, remote_.runtime->now())) {
    front_.sends(*next);
    send(request_of(*next));  // may end it
  }
  count_changed(line);
  front_.unpin(line);
}

void RemotePassingOn::granted(FrontRequest &request, Lease &lease, bool others_wait) {
  if (request.place != FrontWaiter::Place::Sent) return;
  FrontLine &line = front_.granted(request, lease, others_wait, remote_.runtime->now());
  line.holder_is_named = request.owner_->named();
  line.may_have_missed = !hears() || request.may_be_taken_;
  count_changed(line);
  ask_next(line);
}

FrontLine *RemotePassingOn::begin_release(Lease &lease) {
  FrontLine *line = lease.line;
  if (line == nullptr) return nullptr;
  front_.pin(*line);
  front_.gone(lease, remote_.runtime->now());
  return line;
}

void RemotePassingOn::end_release(FrontLine *line) {
  if (line == nullptr) return;
  ask_next(*line);
  front_.unpin(*line);
}

bool RemotePassingOn::pass_on(const LeaseRef &lease) {
  // Nobody stands in most lines; over a quorum the rest costs as much as an answer.
  if (lease->line == nullptr || lease->line->standing.empty() || remote_.is_closing) return false;
  if (!can_tell() || !hears()) return false;
  FrontLine &line = *lease->line;
  front_.pin(line);
  const bool has_gone_on = try_to_pass_on(line, lease);
  front_.unpin(line);
  return has_gone_on;
}

bool RemotePassingOn::try_to_pass_on(FrontLine &line, const LeaseRef &lease) {
  while (true) {
    const Front::Turn turn = front_.turn(line, remote_.runtime->now(), remote_.clock.now());
    if (turn == Front::Turn::Release) return false;
    FrontRequest &next = request_of(*line.standing.front());
    if (turn == Front::Turn::ReleaseAfter) {
      front_.sends(next);
      send(next);
      return false;
    }
    if (next.owner_->closed.load()) {
      remote_.waits().end(next, Status::CLOSED);
      continue;
    }
    if (remote_.holds.is_full()) return false;  // nobody could have a handle of it
    const bool is_named = std::exchange(line.holder_is_named, next.owner_->named()) || line.holder_is_named;
    front_.pass_on(line);
    ++remote_.counts.passed_on;
    ++remote_.counts.handed_off;
    hand(next, lease);
    news(line, is_named);
    return true;
  }
}

void RemotePassingOn::gone(Lease &lease) {
  FrontLine *line = front_.gone(lease, remote_.runtime->now());
  if (line != nullptr) ask_next_later(*line);
}

void RemotePassingOn::others_wait(Bytes lock_key) {
  FrontLine *line = front_.find(lock_key);
  if (line == nullptr) return;
  front_.others_wait(*line, remote_.runtime->now());
  ask_next(*line);
}

void RemotePassingOn::others_may_wait() {
  front_.each([this](FrontLine &line) {
    if (line.lease != nullptr) ask_before_next(line);
  });
}

void RemotePassingOn::may_be_taken_away(Bytes lock_key) {
  FrontLine *line = front_.find(lock_key);
  if (line != nullptr && line->lease != nullptr) ask_before_next(*line);
}

// Answers to what was said before know nothing of it: one more is waited for.
void RemotePassingOn::ask_before_next(FrontLine &line) {
  line.may_have_missed = true;
  if (!line.standing.empty() || line.tells_open != 0) tell_again(line);
}

void RemotePassingOn::forget_early_word(const FrontRequest &request) {
  if (request.line != nullptr && request.line->lease == nullptr) request.line->others_at = kNever;
}

void RemotePassingOn::note_trouble(const FrontRequest &request, Status status) {
  if (request.line != nullptr) request.line->trouble = status;
}

void RemotePassingOn::borrow_trouble(FrontRequest &request) {
  if (request.stands()) request.trouble_ = request.line->trouble;
}

void RemotePassingOn::tell_now(Bytes lock_key) {
  if (FrontLine *line = front_.find(lock_key); line != nullptr) tell(*line);
}

void RemotePassingOn::news(FrontLine &line, bool is_named) {
  const Nanos now = remote_.runtime->now();
  if (is_named || (line.tells_open == 0 && now - line.told_at >= kTellPause)) return tell(line);
  // Else the answer that is awaited brings the next word.
  if (line.tells_open == 0) tell_at(line, line.told_at + kTellPause);
}

void RemotePassingOn::tell_at(FrontLine &line, Nanos at) {
  line.is_armed = true;
  remote_.runtime->arm(line, at);
}

void RemotePassingOn::stop_telling(FrontLine &line) {
  line.is_armed = false;
  remote_.runtime->cancel(line);
}

void RemotePassingOn::tell(FrontLine &line) {
  if (line.is_armed) stop_telling(line);
  if (line.is_told || line.lease == nullptr || line.lease->locks.empty()) return;
  if (!can_tell()) return tell_at(line, remote_.runtime->now() + kTellAgain);
  line.is_told = true;
  line.told_at = remote_.runtime->now();
  line.standing_told = line.standing.size();
  ++line.tells_open;
  send_word(line, front_.tokens_wanted(line));
}

void RemotePassingOn::tell_again(FrontLine &line) {
  line.is_told = false;
  tell(line);
}

void RemotePassingOn::told(Bytes lock_key, Bytes id, const Told &what) {
  FrontLine *line = front_.find(lock_key);
  if (line == nullptr || line->lease == nullptr || line->lease->id != id) return;
  --line->tells_open;
  const Nanos now = remote_.runtime->now();
  if (what.holds == Told::Holds::No) return lose(line->lease->self.lock());
  if (what.holds == Told::Holds::Unknown) {
    line->is_told = false;
    return tell_at(*line, now + kTellAgain);
  }
  Front::reserved(*line, what.token_first, what.tokens);
  // Of a time before any message that comes from now on.
  if (line->tells_open == 0 && hears()) line->may_have_missed = false;
  if (what.others_wait) others_wait(lock_key);
  if (!line->is_told) return tell_at(*line, std::max(now, line->told_at + kTellPause));
  count_changed(*line);
}

void RemotePassingOn::send_away(Bytes lock_key, const std::function<bool(const FrontRequest &)> &fits) {
  const FrontLine *line = front_.find(lock_key);
  if (line == nullptr) return;
  std::vector<FrontRequest *> ending;
  for (FrontWaiter *w = line->standing.front(); w != nullptr; w = FrontLine::Standing::next(w)) {
    if (fits(request_of(*w))) ending.push_back(&request_of(*w));
  }
  for (FrontRequest *request : ending) remote_.waits().end(*request, Status::DEQUEUED);
}

std::vector<WaiterInfo> RemotePassingOn::shown(Bytes lock_key) const {
  std::vector<WaiterInfo> all;
  const FrontLine *line = front_.find(lock_key);
  if (line == nullptr) return all;
  for (FrontWaiter *w = line->standing.front(); w != nullptr; w = FrontLine::Standing::next(w))
    all.push_back(request_of(*w).shown(remote_.runtime->now()));
  return all;
}

void RemotePassingOn::add_lines_alone(Bytes key_prefix, std::vector<std::string> &lock_keys) const {
  front_.each([&](const FrontLine &line) {
    const bool is_alone = line.lease != nullptr && line.sent == 0 && line.others_at == kNever;
    Bytes key;
    if (!is_alone || line.standing.empty() || !remote_.keyspace.key_of(*line.lock_key, key)) return;
    if (key.substr(0, key_prefix.size()) != key_prefix) return;
    if (std::find(lock_keys.begin(), lock_keys.end(), Bytes(*line.lock_key)) == lock_keys.end())
      lock_keys.emplace_back(*line.lock_key);
  });
}

bool RemotePassingOn::is_crowded(const FrontRequest &request) {
  return request.line != nullptr && !request.line->standing.empty();
}

size_t RemotePassingOn::count_standing(Bytes lock_key) const {
  const FrontLine *line = front_.find(lock_key);
  return line == nullptr ? 0 : line->standing.size();
}

void RemotePassingOn::tell_all() {
  front_.each([this](FrontLine &line) { tell(line); });
}

void RemotePassingOn::stop() {
  front_.each([this](FrontLine &line) { remote_.runtime->cancel(line); });
}

}  // namespace liblock
