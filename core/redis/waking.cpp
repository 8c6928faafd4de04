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
  PassOnCall(const Instance &instance, Bytes lock_key) {
    begin(scripts::release);
    add_names(*this, lock_key);
    argument(instance.options.foreign_gap_ms);
    argument(Bytes("nobody"));
    argument(Bytes("1"));
    argument(instance.id);
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

void Waiting::may_barge(Bytes lock_key) {
  for (AcquireRequest *request : instance_.places.all_of(lock_key)) {
    if (request->is_woken()) return wake(*request, lock_key);
  }
  // It may have overtaken the answer that makes somebody wait for the key.
  AcquireRequest *first = nullptr;
  for_each_under_way([&](RemoteRequest &one) {
    auto &request = static_cast<AcquireRequest &>(one);
    if (first == nullptr && request.is_woken() && request.keys_.contains(lock_key)) first = &request;
  });
  if (first != nullptr) return wake(*first, lock_key);
  if (!instance_.is_closing) instance_.link.send(*new PassOnCall(instance_, lock_key));
}

void Waiting::wake(AcquireRequest &request, Bytes lock_key) {
  const size_t key = request.keys_.find(lock_key);
  std::erase_if(words_, [&](const Word &word) { return word.request == &request && word.key == key; });
  words_.push_back({&request, key, true});
  request.has_words_ = true;
  if (request.state_ == AcquireRequest::State::Waiting) ask(request);
}

// Not at once: whoever ends may be one of many that are being gone through. Words cannot go round for ever: who leaves
// one stands in the line of another key and asks no more before that one's word comes; and only who meets a key that is
// busy comes back into its line, here and at the server.
bool Waiting::leave_words(AcquireRequest &request, size_t lacks) {
  if (!request.has_words_) return false;
  bool may_use_one = false;
  for (const Word &word : words_) {
    if (word.request != &request) continue;
    if (word.key == lacks) {
      may_use_one = word.is_news;
    } else {
      words_left_.emplace_back(request.keys_[word.key]);
    }
  }
  drop_words(request);
  if (may_use_one) words_.push_back({&request, lacks, true});
  request.has_words_ = may_use_one;
  if (!words_left_.empty()) instance_.runtime->arm(pass_words_, instance_.runtime->now());
  return may_use_one;
}

void Waiting::drop_words(AcquireRequest &request) {
  if (!std::exchange(request.has_words_, false)) return;
  std::erase_if(words_, [&](const Word &word) { return word.request == &request; });
}

void Waiting::pass_words_on() {
  for (const SpareText &lock_key : std::exchange(words_left_, {})) may_barge(lock_key);
}

// The server need not be told of the others: it forgets the instance where nobody of it is left.
void Waiting::is_woken_no_more(AcquireRequest &request) {
  const bool may_be_woken = request.number_ != 0 && request.is_woken();
  if (!may_be_woken || instance_.is_closing || others_barge(request)) return;
  for (const Bytes key : request.keys_) instance_.link.send(*new PassOnCall(instance_, key));
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
