// SPDX-License-Identifier: MIT
// Who of waiting.hpp is woken when the server says that a key was left free, and what becomes of that word. There is
// one for each time that a key is left free, and the server forgets whom it told: one of this instance uses it, or it
// goes on, to the next of them or back to the server.
#include <algorithm>

#include "redis/attempt.hpp"
#include "redis/instance.hpp"
#include "redis/key_names.hpp"

namespace liblock {

namespace {

// This instance wants a key no more that it may have been woken for: the next is woken instead. Nobody waits for the
// answer.
class PassOnCall final : public ServerCall {
 public:
  // forgotten: this instance is not to be woken for it any more.
  PassOnCall(const Instance &instance, Bytes lock_key, bool forgotten) {
    begin(scripts::release);
    add_names(*this, lock_key);
    argument(instance.options.foreign_gap_ms);
    argument(Bytes("nobody"));
    argument(Bytes("1"));
    argument(forgotten ? Bytes(instance.id) : Bytes());
  }
  void answered(const Reply &) override { delete this; }
  void failed(const Failure &) override { delete this; }
};

}  // namespace

// The key was left free for foreign clients, which look once a millisecond at best: they have a moment. Most look ten
// times a second: where a crowd passes it on as fast as it can, that is all they have of it, and the moment is longer.
// In either case it is over while the server still promises the key to this one.
void Waiting::called(Bytes message) {
  constexpr Nanos kMoment = 2 * kMillisecond, kMomentOfCrowd = 8 * kMillisecond;
  AcquireRequest *request = find(message.substr(0, kAttemptIdSize));
  if (request == nullptr) return;
  if (request->state_ == AcquireRequest::State::Waiting)
    return wait(*request, instance_.runtime->now() +
                              (instance_.passing_on.is_crowded(*request) ? kMomentOfCrowd : kMoment));
  request->told_ = true;
}

// One who waits can use it at once. One whose attempt was sent before it came may be about to wait for the key: it may
// have overtaken the answer. Nobody else needs it: attempts that are sent behind it find the key as it is. So it comes
// to an end however often they ask; and where somebody would ask in a later turn only, others do not wait for that. By
// the time of the call the server may know this instance again, of an attempt that it has met before: it forgets
// nothing.
void Waiting::may_barge(Bytes lock_key, Nanos came_at) {
  AcquireRequest *in_turn = nullptr, *under_way = nullptr;
  for (AcquireRequest *request : instance_.places.all_of(lock_key)) {
    const bool knows = request->heard_at_ > came_at;  // that somebody had it behind that
    if (!request->is_woken() || request->state_ != AcquireRequest::State::Waiting || knows) continue;
    if (asks_at_once(*request)) return wake(*request, lock_key, came_at);
    if (in_turn == nullptr) in_turn = request;
  }
  for_each_under_way([&](RemoteRequest &one) {
    auto &request = static_cast<AcquireRequest &>(one);
    const bool may_need_it = request.is_woken() && request.attempt_->may_have_met(came_at);
    if (under_way == nullptr && may_need_it && request.keys_.contains(lock_key)) under_way = &request;
  });
  if (under_way != nullptr) return wake(*under_way, lock_key, came_at);
  if (!instance_.is_closing) instance_.link.send(*new PassOnCall(instance_, lock_key, false));
  if (in_turn != nullptr) wake(*in_turn, lock_key, came_at);
}

bool Waiting::asks_at_once(const AcquireRequest &request) const {
  return request.params_.replicas == 0 || instance_.replica_turns.is_idle();
}

void Waiting::wake(AcquireRequest &request, Bytes lock_key, Nanos came_at) {
  const size_t key = request.keys_.find(lock_key);
  std::erase_if(words_, [&](const Word &word) {
    const bool is_same = word.request == &request && word.key == key;
    if (is_same) came_at = std::max(came_at, word.came_at);
    return is_same;
  });
  words_.push_back({&request, key, came_at, true});
  request.has_words_ = true;
  if (request.state_ == AcquireRequest::State::Waiting) ask(request);
}

// Not at once: whoever ends may be one of many that are being gone through.
bool Waiting::leave_words(AcquireRequest &request, size_t lacks) {
  if (!request.has_words_) return false;
  bool may_use_one = false;
  std::erase_if(words_, [&](const Word &word) {
    if (word.request != &request) return false;
    const bool is_used_up = word.key == lacks && !word.is_news;
    const bool stays = word.key == lacks && word.is_news && asks_at_once(request);
    may_use_one = may_use_one || stays;
    if (!stays && !is_used_up) words_left_.push_back({SpareText(request.keys_[word.key]), word.came_at});
    return !stays;
  });
  request.has_words_ = may_use_one;
  if (!words_left_.empty()) instance_.runtime->arm(pass_words_, instance_.runtime->now());
  return may_use_one;
}

void Waiting::drop_words(AcquireRequest &request) {
  if (!std::exchange(request.has_words_, false)) return;
  std::erase_if(words_, [&](const Word &word) { return word.request == &request; });
}

void Waiting::pass_words_on() {
  for (const WordLeft &word : std::exchange(words_left_, {})) may_barge(word.lock_key, word.came_at);
}

// The server need not be told of the others: it forgets the instance where nobody of it is left.
void Waiting::is_woken_no_more(AcquireRequest &request) {
  const bool may_be_woken = request.number_ != 0 && request.is_woken();
  if (!may_be_woken || instance_.is_closing || others_barge(request)) return;
  for (const Bytes key : request.keys_) instance_.link.send(*new PassOnCall(instance_, key, true));
  drop_words(request);
}

// Those under way count: the server may know of them already, and forgets the instance where nobody of it is left.
bool Waiting::others_barge(const AcquireRequest &request) {
  if (!request.barges()) return false;
  for (const Bytes lock_key : request.keys_) {
    for (const AcquireRequest *other : instance_.places.all_of(lock_key)) {
      if (other != &request && other->barges()) return true;
    }
  }
  bool is_any_under_way = false;
  for_each_under_way([&](const RemoteRequest &one) {
    const auto &other = static_cast<const AcquireRequest &>(one);
    if (is_any_under_way || &other == &request || !other.is_woken()) return;
    for (const Bytes lock_key : request.keys_) is_any_under_way = is_any_under_way || other.keys_.contains(lock_key);
  });
  return is_any_under_way;
}

}  // namespace liblock
