// SPDX-License-Identifier: MIT
// See trace.hpp; the log's side is in trace_log.cpp.
#include "engine/trace.hpp"

#include <algorithm>
#include <utility>

#include "engine/busy_key.hpp"
#include "engine/instruments.hpp"
#include "engine/log_entries.hpp"

namespace liblock {

namespace {

// Instrumentation that finds no memory is incomplete, and nothing else.
template <typename Tell>
void quietly(Tell tell) noexcept {
  try {
    tell();
  } catch (...) {
    // One event or entry less.
  }
}

}  // namespace

Trace::Trace(std::shared_ptr<Instruments> instruments, const Beginning &beginning, const Wants &wants)
    : instruments_(std::move(instruments)),
      wants_(wants),
      clock_(*beginning.clock),
      began_at_(clock_.now()),
      owner_(beginning.owner),
      owner_id_(beginning.owner != nullptr ? beginning.owner->id() : std::string()),
      tag_(beginning.tag),
      ttl_(beginning.params->ttl),
      queue_ttl_(beginning.params->queue_ttl),
      extends_(beginning.params->on_conflict == LIBLOCK_ON_CONFLICT_REENTER_EXTEND),
      losses_(beginning.params->losses) {
  size_t size = 0;
  for (const Bytes key : beginning.keys) size += key.size();
  key_bytes_.reserve(size);
  keys_.reserve(beginning.keys.size());
  for (const Bytes key : beginning.keys) {
    keys_.push_back({key_bytes_.data() + key_bytes_.size(), key.size()});
    key_bytes_ += key;
  }
}

std::unique_ptr<Told> Trace::told(int32_t kind, Status status) {
  if (!wants_.events || !instruments_->events().wants(kind)) return nullptr;
  auto told = std::make_unique<Told>(kind);
  told->kept = shared_from_this();
  liblock_event &event = told->event;
  event.status = static_cast<liblock_status>(status);
  event.message = status_text(event.status);
  event.tag = tag_;
  event.keys = keys_.empty() ? nullptr : keys_.data();
  event.key_count = keys_.size();
  if (!keys_.empty()) event.key = keys_.front();
  event.owner = bytes_of(owner_id_);
  event.instance = bytes_of(instruments_->instance_id());
  event.ttl_ms = shown_ms(ttl_);
  event.lock = lock_;
  event.token = token_;
  event.hold_count = hold_count_;
  if (lock_ == 0) return told;
  event.obtained_at_us = obtained_at_us_;
  event.acquire_us = us_of(acquire_);
  return told;
}

void Trace::emit(std::unique_ptr<Told> told) {
  if (told != nullptr) instruments_->events().push(std::move(told));
}

void Trace::attempt(int32_t entry, const Sight &sight) noexcept {
  quietly([&] { log(entry, sight); });
}

void Trace::requeued(const Sight &sight) noexcept {
  quietly([&] {
    log(LIBLOCK_ENTRY_ATTEMPT_QUEUE_TTL_REACHED, sight);
    log(LIBLOCK_ENTRY_REQUEUED, sight);
    auto one = told(LIBLOCK_EVENT_REQUEUED);
    if (one == nullptr) return;
    one->event.queue_position = sight.position;
    one->event.queue_length = sight.length;
    emit(std::move(one));
  });
}

void Trace::handed_off(const Sight &sight) noexcept {
  quietly([&] {
    log(LIBLOCK_ENTRY_HANDED_OFF, sight);
    auto one = told(LIBLOCK_EVENT_HANDED_OFF);
    if (one == nullptr) return;
    one->event.queue_position = sight.position;
    one->event.queue_length = sight.length;
    one->event.token = sight.token;
    one->key = sight.key;
    if (!sight.key.empty()) one->event.key = bytes_of(one->key);
    emit(std::move(one));
  });
}

void Trace::deadlock_found(const Sight &sight) noexcept {
  quietly([&] {
    log(LIBLOCK_ENTRY_DEADLOCK_FOUND, sight);
    auto one = told(LIBLOCK_EVENT_DEADLOCK_FOUND, Status::DEADLOCK);
    if (one == nullptr) return;
    one->event.count = sight.count;
    emit(std::move(one));
  });
}

void Trace::tell_attempt(Trace *trace, int32_t entry, const Sight &sight) noexcept {
  if (trace == nullptr || !trace->logs_attempts()) return;
  trace->attempt(entry, sight);
  trace->flush();
}

void Trace::tell_requeued(Trace *trace, const Sight &sight) noexcept {
  if (trace == nullptr) return;
  trace->requeued(sight);
  trace->flush();
}

void Trace::tell_handed_off(Trace *trace, const Sight &sight) noexcept {
  if (trace == nullptr) return;
  trace->handed_off(sight);
  trace->flush();
}

void Trace::tell_deadlock(Trace *trace, const Sight &sight) noexcept {
  if (trace == nullptr) return;
  trace->deadlock_found(sight);
  trace->flush();
}

void Trace::begun() noexcept {
  quietly([&] {
    log(LIBLOCK_ENTRY_ACQUIRE_STARTED);
    log(LIBLOCK_ENTRY_CYCLE_STARTED);
  });
  flush();
}

void Trace::obtained(const Grant &grant) noexcept {
  const bool reentered = (grant.flags & LIBLOCK_RESULT_REENTERED) != 0;
  obtained_at_ = clock_.now();
  obtained_at_us_ = wall_clock_us();
  acquire_ = obtained_at_ - began_at_;
  lock_ = grant.handle;
  token_ = grant.token;
  hold_count_ = grant.hold_count;
  quietly([&] { instruments_->remember(lock_, shared_from_this()); });
  if (wants_.histograms) instruments_->acquire_times.record(acquire_);
  Sight sight;
  sight.position = grant.queue_position;
  sight.length = grant.queue_length;
  quietly([&] {
    const int32_t granted = keys_.size() > 1 ? LIBLOCK_EVENT_SERIES_OBTAINED : LIBLOCK_EVENT_OBTAINED;
    log(reentered ? LIBLOCK_ENTRY_REENTERED : LIBLOCK_ENTRY_OBTAINED, sight);
    if (auto one = told(reentered ? LIBLOCK_EVENT_REENTERED : granted); one != nullptr) {
      one->event.attempts = grant.attempts;
      one->event.queue_position = grant.queue_position;
      one->event.queue_length = grant.queue_length;
      emit(std::move(one));
    }
    if (reentered && extends_) {
      log(LIBLOCK_ENTRY_EXTENDED);
      emit(told(LIBLOCK_EVENT_EXTENDED));
    }
  });
  bool lost_by_now;
  {
    const std::lock_guard lock(mutex_);
    state_ = State::Held;
    lost_by_now = lost_early_;
  }
  if (lost_by_now) lost();
  flush();
}

void Trace::failed(Status status, const Grant &grant) noexcept {
  if (!end(State::Asking)) return;
  const bool on_limit =
      status == Status::BUSY || status == Status::TIMEOUT || status == Status::RETRIES_EXHAUSTED;
  Sight sight;
  sight.position = grant.queue_position;
  sight.length = grant.queue_length;
  sight.status = status;
  quietly([&] {
    std::vector<Bytes> keys;
    for (const liblock_bytes &k : keys_) keys.emplace_back(static_cast<const char *>(k.data), k.size);
    if (!keys.empty()) sight.key = busy_key(keys, grant.busy_key);
    log(on_limit ? LIBLOCK_ENTRY_DEQUEUED_ON_LIMIT : LIBLOCK_ENTRY_FAILED, sight);
    const int32_t other = status == Status::DEQUEUED ? LIBLOCK_EVENT_DEQUEUED : LIBLOCK_EVENT_FAILED;
    if (auto one = told(on_limit ? LIBLOCK_EVENT_DEQUEUED_ON_LIMIT : other, status); one != nullptr) {
      one->event.key = {sight.key.data(), sight.key.size()};
      one->event.elapsed_us = us_of(clock_.now() - began_at_);
      one->event.attempts = grant.attempts;
      one->event.queue_position = grant.queue_position;
      one->event.queue_length = grant.queue_length;
      emit(std::move(one));
    }
  });
  flush();
}

void Trace::tell_extended(Nanos ttl, Nanos elapsed) {
  Sight sight;
  sight.ttl = ttl;
  quietly([&] {
    log(LIBLOCK_ENTRY_EXTENDED, sight);
    auto one = told(LIBLOCK_EVENT_EXTENDED);
    if (one == nullptr) return;
    one->event.ttl_ms = shown_ms(ttl);
    one->event.elapsed_us = us_of(elapsed);
    one->event.hold_us = us_of(clock_.now() - obtained_at_);
    // A loss may come at any moment, and has the last word.
    const std::lock_guard lock(mutex_);
    if (state_ == State::Held) emit(std::move(one));
  });
}

void Trace::extended(Nanos ttl, Nanos elapsed) noexcept {
  tell_extended(ttl, elapsed);
  flush();
}

// Of several keys, or leases, the least counts. Told with the release that brings it about.
void Trace::given_back(Nanos left) noexcept {
  const std::lock_guard lock(mutex_);
  given_back_ = given_back_ < 0 ? left : std::min(given_back_, left);
}

// True: it is the caller who tells the end.
bool Trace::end(State from) {
  const std::lock_guard lock(mutex_);
  if (state_ != from) return false;
  state_ = State::Over;
  return true;
}

// elapsed: what the call that ended it took; -1: there was none.
void Trace::tell_end(int32_t entry, int32_t kind, Status status, Nanos elapsed) {
  Sight sight;
  sight.status = status;
  sight.hold = clock_.now() - obtained_at_ - std::max<Nanos>(0, elapsed);
  if (wants_.histograms) instruments_->hold_times.record(sight.hold);
  quietly([&] {
    log(entry, sight);
    auto one = told(kind, status);
    if (one == nullptr) return;
    one->event.hold_us = us_of(sight.hold);
    if (elapsed >= 0) one->event.elapsed_us = us_of(elapsed);
    emit(std::move(one));
  });
}

void Trace::released(Status status, Nanos elapsed) noexcept {
  if (status == Status::LOST) {
    lost();
    return flush();
  }
  Nanos left;
  {
    const std::lock_guard lock(mutex_);
    left = given_back_;
  }
  if (left >= 0) tell_extended(left, elapsed);
  if (!end(State::Held)) return;
  const bool series = keys_.size() > 1;
  tell_end(LIBLOCK_ENTRY_RELEASED,
           series ? LIBLOCK_EVENT_SERIES_HOLD_AND_RELEASE : LIBLOCK_EVENT_HOLD_AND_RELEASE, status, elapsed);
  flush();
}

void Trace::lost() noexcept {
  if (!end(State::Held)) return;
  const std::shared_ptr<Trace> forgotten = instruments_->take(lock_);
  tell_end(LIBLOCK_ENTRY_LOST, LIBLOCK_EVENT_LOST, Status::LOST, -1);
}

bool Trace::put_notice(const liblock_completion &completion) {
  const bool put = losses_ == nullptr || losses_->put_notice(completion);
  {
    const std::lock_guard lock(mutex_);
    lost_early_ = true;  // told when it is known to be held
    if (state_ != State::Held) return put;
  }
  lost();
  flush();
  return put;
}

}  // namespace liblock
