// SPDX-License-Identifier: MIT
// See places.hpp. Times are the runtime's; only what a place was heard of at is by the suspend-aware clock.
#include "redis/places.hpp"

#include <algorithm>
#include <utility>

#include "redis/instance.hpp"
#include "redis/key_names.hpp"

namespace liblock {

namespace {

constexpr size_t kLinesPerCall = 32, kWaitersPerCall = 64, kKeptPerCall = 1'024;
// What is due so soon is asked for in the same call.
constexpr Nanos kTogether = 5 * kMillisecond;
constexpr Nanos kShortest = 5 * kMillisecond;

}  // namespace

struct Places::Line {
  SpareText lock_key;
  List<AcquireRequest, &AcquireRequest::links_> waiters;
  Nanos beat_at = kNever;  // those who have a place must be heard of
  Nanos due_at = kNever;   // as it stands in due_
  bool is_asked = false;   // a call is under way
  int64_t foreign_pttl = INT64_MIN;
  uint32_t foreign_polls = 0;  // that met the same foreign client
};

bool Places::Sooner::operator()(const std::pair<Nanos, Line *> &a, const std::pair<Nanos, Line *> &b) const {
  return a.first != b.first ? a.first < b.first : a.second->lock_key < b.second->lock_key;
}

// Of some lines and waiters; they may be gone when the answer comes.
class Places::StayCall final : public ServerCall {
 public:
  struct Part {
    std::string lock_key;
    std::vector<AttemptId> ids;
  };
  struct Kept {
    std::string lock_key;
    AttemptId id;
    int64_t lease_ms;
  };
  explicit StayCall(Places &places) : places_(places), instance_(places.instance_) {}
  void add(Line &line, const AcquireRequest &request) {
    if (parts_.empty() || parts_.back().lock_key != Bytes(line.lock_key))
      parts_.push_back({std::string(line.lock_key), {}});
    parts_.back().ids.push_back(request.id_);
    ++waiters_;
    for (const Bytes key : request.kept_keys())
      kept_.push_back({std::string(key), request.id_, request.terms_.in_queue / kMillisecond});
  }
  bool is_full() const {
    return parts_.size() >= kLinesPerCall || waiters_ >= kWaitersPerCall || kept_.size() >= kKeptPerCall;
  }

  void sending(Nanos now) override {
    if (has_body()) return;
    sent_at_ = now;
    begin(scripts::stay);
    for (const Part &part : parts_) add_names(*this, part.lock_key);
    for (const Kept &kept : kept_) key(kept.lock_key);
    argument(instance_.link.server_clock().not_after(now, 2 * instance_.options.connection.command_timeout));
    argument(instance_.id);
    argument(instance_.options.alive / kMillisecond);
    argument(static_cast<int64_t>(parts_.size()));
    heard_by_ = instance_.link.hears_by();
    argument(heard_by_ != 0 ? Bytes("1") : Bytes("0"));
    for (const Part &part : parts_) {
      argument(static_cast<int64_t>(part.ids.size()));
      for (const AttemptId &id : part.ids) argument(id);
    }
    for (const Kept &kept : kept_) {
      argument(kept.id);
      argument(kept.lease_ms);
    }
  }
  bool fits(const Reply &reply) const override {
    if (reply.at(0).text == "LATE") return reply.has_integers(1, 1);
    bool fits = reply.at(0).text == "OK" && reply.has_integers(1, 1) &&
                reply.has_integers(2 + parts_.size(), kept_.size());
    for (size_t i = 0; i < parts_.size(); ++i)
      fits = fits && reply.at(2 + i).has_integers(0, 3 + parts_[i].ids.size());
    return fits;
  }
  ReplyLimits limits() const override { return {64 * 1'024, 4'096, 4}; }
  void answered(const Reply &reply) override {
    instance_.link.server_clock().observe(reply.at(1).integer, instance_.clock.now());
    const bool is_late = reply.at(0).text == "LATE";
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (is_late) {
        places_.asked(parts_[i].lock_key, nullptr);
      } else {
        seen(parts_[i], reply.at(2 + i));
      }
    }
    for (size_t i = 0; !is_late && i < kept_.size(); ++i) {
      AcquireRequest *request = instance_.waiting.find(kept_[i].id);
      const bool is_lost = reply.at(2 + parts_.size() + i).integer == 0;
      if (request != nullptr && is_lost) instance_.waiting.lost_place(*request);
    }
    delete this;
  }
  void failed(const Failure &failure) override {
    const bool may_be_of_one = !failure.passes && !failure.sent && failure.status != Status::CLOSED;
    if (may_be_of_one && parts_.size() > 1) ask_apart();
    for (const Part &part : parts_) {
      places_.asked(part.lock_key, nullptr);
      for (const AttemptId &id : part.ids) {
        AcquireRequest *request = instance_.waiting.find(id);
        if (request != nullptr) instance_.waiting.no_answer(*request, failure);
      }
    }
    delete this;
  }

 private:
  ~StayCall() override = default;
  // What is wrong with one key must not end the waits for others.
  void ask_apart() {
    for (Part &part : std::exchange(parts_, {})) {
      auto *alone = new StayCall(places_);
      alone->parts_.push_back(std::move(part));
      alone->kept_ = std::exchange(kept_, {});
      instance_.link.send(*alone);
    }
  }
  void seen(const Part &part, const Reply &seen) {
    Seen line{seen.at(0).integer, seen.at(1).integer == 1, -1};
    for (size_t i = 0; i < part.ids.size(); ++i) {
      const int64_t place = seen.at(3 + i).integer;
      if (place >= 0 && (line.place < 0 || place < line.place)) line.place = place;
    }
    places_.asked(part.lock_key, &line);
    // Who was to look at it when messages came again found this call under way.
    if (instance_.link.hears_anew_since(heard_by_)) places_.look_at(part.lock_key);
    for (size_t i = 0; i < part.ids.size(); ++i) {
      AcquireRequest *request = instance_.waiting.find(part.ids[i]);
      if (request == nullptr) continue;
      const int64_t place = seen.at(3 + i).integer;
      if (place >= 0) {
        instance_.waiting.has_place(*request, place, seen.at(2).integer, sent_at_);
      } else {
        instance_.waiting.lost_place(*request);
      }
    }
  }

  Places &places_;
  Instance &instance_;
  std::vector<Part> parts_;
  std::vector<Kept> kept_;
  size_t waiters_ = 0;
  uint64_t heard_by_ = 0;
  Nanos sent_at_ = 0;
};

Places::Places(Instance &instance) : instance_(instance) {}
Places::~Places() { instance_.runtime->cancel(*this); }

void Places::join(AcquireRequest &request, size_t key) {
  const bool stays = request.in_line_ && request.queued_at_ == key;
  if (!stays) leave(request);
  request.queued_at_ = key;
  request.in_line_ = true;
  Line &line = lines_[SpareText(request.keys_[key])];
  if (line.lock_key.empty()) line.lock_key = request.keys_[key];
  if (!stays) line.waiters.push_back(&request);
  if (!request.barges())
    line.beat_at = std::min(line.beat_at, instance_.runtime->now() + interval_of(request));
}

void Places::leave(AcquireRequest &request) {
  if (!std::exchange(request.in_line_, false)) return;
  const auto found = lines_.find(request.keys_[request.queued_at_]);
  Line &line = found->second;
  line.waiters.remove(&request);
  if (!line.waiters.empty()) return;
  due_.erase({line.due_at, &line});
  lines_.erase(found);
  arm();
}

// Three times before it counts as dead, or before its lease would be too short to be granted.
Nanos Places::interval_of(const AcquireRequest &request) const {
  const Nanos most = std::min(instance_.options.alive, request.terms_.in_queue) / 3;
  const int64_t interval_ms = request.params_.retry.interval_ms;
  return std::clamp(nanos_from_ms(interval_ms), std::min(kShortest, most), most);
}

void Places::seen(Bytes lock_key, const Seen &seen) {
  constexpr int64_t kPttlMax = int64_t{1} << 53;
  const auto found = lines_.find(lock_key);
  if (found == lines_.end()) return;
  Line &line = found->second;
  const Nanos now = instance_.runtime->now();
  const int64_t pttl = std::min(seen.holder_pttl, kPttlMax);
  // What is told of a newcomer is no news of the first who waits here.
  int64_t place = seen.place;
  if (const AcquireRequest *first = line.waiters.front(); first->has_place_ && first->place_ >= 0)
    place = place < 0 ? first->place_ : std::min(place, first->place_);
  // The first in line looks first.
  const Nanos turn = std::clamp<int64_t>(place, 0, 100) * 5 * kMillisecond;
  Nanos at = line.beat_at;
  if (pttl >= 0) at = std::min(at, now + nanos_from_ms(pttl + 1) + turn);
  if (pttl == -2) at = std::min(at, now + 21 * kMillisecond + turn);  // somebody was told to come for it
  if (seen.is_foreign && place == 0) at = std::min(at, now + foreign_poll(line, pttl));
  set_due(line, at);
}

// A foreign client wakes nobody: its lock is looked at soon, and then less and less often; often again when another
// one has it, which its lease tells.
Nanos Places::foreign_poll(Line &line, int64_t pttl) {
  constexpr int64_t kFirstMs = 2, kMostMs = 100;
  if (pttl > line.foreign_pttl) line.foreign_polls = 0;
  line.foreign_pttl = pttl;
  const int64_t most = std::min(kMostMs, kFirstMs << std::min<uint32_t>(line.foreign_polls++, 8));
  return kMillisecond + instance_.random.up_to(nanos_from_ms(most) - kMillisecond);
}

void Places::set_due(Line &line, Nanos at) {
  due_.erase({line.due_at, &line});
  line.due_at = at;
  if (at != kNever) due_.emplace(at, &line);
  arm();
}

void Places::arm() {
  instance_.runtime->cancel(*this);
  if (!due_.empty()) instance_.runtime->arm(*this, due_.begin()->first);
}

std::vector<AcquireRequest *> Places::all_of(Bytes lock_key) const {
  std::vector<AcquireRequest *> all;
  const auto found = lines_.find(lock_key);
  if (found == lines_.end()) return all;
  for (AcquireRequest *r = found->second.waiters.front(); r != nullptr; r = found->second.waiters.next(r))
    all.push_back(r);
  return all;
}

void Places::look_at_all() {
  for (auto &[lock_key, line] : lines_) {
    line.foreign_polls = 0;
    set_due(line, instance_.runtime->now());
  }
}

void Places::look_at(Bytes lock_key) {
  const auto found = lines_.find(lock_key);
  if (found != lines_.end()) set_due(found->second, instance_.runtime->now());
}

// seen nullptr: there was no answer.
void Places::asked(Bytes lock_key, const Seen *seen) {
  const auto found = lines_.find(lock_key);
  if (found == lines_.end()) return;
  found->second.is_asked = false;
  if (seen != nullptr) return this->seen(lock_key, *seen);
  set_due(found->second, std::min(found->second.beat_at, instance_.runtime->now() + 100 * kMillisecond));
}

void Places::fire(Nanos) {
  const Nanos now = instance_.runtime->now();
  std::vector<Line *> lines;
  for (const auto &[at, line] : due_) {
    if (at > now + kTogether) break;
    lines.push_back(line);
  }
  StayCall *call = nullptr;
  for (Line *line : lines) {
    line->beat_at = kNever;
    const bool asks = instance_.link.is_connected() && !line->is_asked;
    for (AcquireRequest *r = line->waiters.front(); r != nullptr; r = line->waiters.next(r)) {
      if (!r->has_place_) continue;
      line->beat_at = std::min(line->beat_at, now + interval_of(*r));
      if (!asks) continue;
      line->is_asked = true;
      if (call == nullptr) call = new StayCall(*this);
      call->add(*line, *r);
      if (call->is_full()) instance_.link.send(*std::exchange(call, nullptr));
    }
    set_due(*line, line->beat_at);
  }
  if (call != nullptr) instance_.link.send(*call);
}

}  // namespace liblock
