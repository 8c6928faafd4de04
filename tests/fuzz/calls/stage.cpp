// SPDX-License-Identifier: MIT
// See stage.hpp.
#include "stage.hpp"

#include <chrono>
#include <string>

#include "listeners.hpp"

namespace calls {

namespace {

// As a request of this kind may end.
void may_end_as(int32_t kind, liblock_status status) {
  if (status == LIBLOCK_OK || status == LIBLOCK_CLOSED) return;
  switch (kind) {
    case LIBLOCK_KIND_ACQUIRE:
      return is_one_of(status, {LIBLOCK_BUSY, LIBLOCK_TIMEOUT, LIBLOCK_RETRIES_EXHAUSTED, LIBLOCK_CANCELED,
                                LIBLOCK_DEADLOCK, LIBLOCK_ALREADY_HELD, LIBLOCK_DEQUEUED, LIBLOCK_TOO_LATE,
                                LIBLOCK_LIMIT});
    case LIBLOCK_KIND_WATCH:
      return is_one_of(status, {LIBLOCK_TIMEOUT, LIBLOCK_NOT_HELD, LIBLOCK_LOST, LIBLOCK_INVALID_HANDLE,
                                LIBLOCK_CANCELED, LIBLOCK_LIMIT});
    case LIBLOCK_KIND_RELEASE:
    case LIBLOCK_KIND_EXTEND:
    case LIBLOCK_KIND_UPDATE:
    case LIBLOCK_KIND_VERIFY:
      return is_one_of(status, {LIBLOCK_LOST, LIBLOCK_NOT_HELD, LIBLOCK_INVALID_HANDLE});
    case LIBLOCK_KIND_INSPECT:
    case LIBLOCK_KIND_FORCE_RELEASE:
      return is_one_of(status, {LIBLOCK_NOT_HELD});
    default:
      LIBLOCK_ASSERT(!"a ping that is not answered");
  }
}

uint64_t inputs = 0;  // until now

}  // namespace

Stage::Stage(uint8_t how) : how_(how) {
  ++inputs;
  for (Side &side : sides_) side.stage = this;
  open(sides_[0]);
  if (how % 2 == 1) open(sides_[1]);
}

void Stage::open(Side &side) {
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  options.requests_max = 24;
  options.locks_max = 24;
  options.waiters_max = 16;
  if (how_ / 2 % 2 == 1) options.deadlock_delay_ms = 0;
  if (is_quiet()) options.deadlock_detection = 0;
  if (how_ / 8 % 2 == 1) options.on_close = LIBLOCK_ON_CLOSE_LEAVE;
  // A table goes when its last thread has done with it, which may be behind the next input.
  const std::string url = how_ % 2 == 1 ? "local:calls-" + std::to_string(inputs) : "local:";
  LIBLOCK_ASSERT(liblock_open(url.c_str(), &options, &side.context, nullptr) == LIBLOCK_OK);
  LIBLOCK_ASSERT(liblock_completions_open(side.context, 64, &side.queue, nullptr) == LIBLOCK_OK);
  for (size_t n = 0; n < kOwners; ++n)
    LIBLOCK_ASSERT(liblock_owner_open(side.context, n == 0 ? "a" : "b", 1, &side.owners[n], nullptr) == LIBLOCK_OK);
  if (how_ / 16 % 2 == 0) return;
  liblock_instrument_options instruments;
  liblock_instrument_options_init(&instruments, sizeof instruments);
  instruments.events_percent = instruments.log_percent = 100;
  instruments.histograms = instruments.log_attempts = 1;
  is_one_of(liblock_set_instruments(side.context, &instruments), {LIBLOCK_OK});
  is_one_of(liblock_set_events(side.context, ~uint64_t{0}, hear_event, nullptr), {LIBLOCK_OK});
  is_one_of(liblock_set_log(side.context, LIBLOCK_LOG_DEBUG, hear_log, nullptr), {LIBLOCK_OK});
}

Stage::~Stage() {
  for (Side &side : sides_) {
    if (side.context != nullptr) end_requests(side);
  }
  for (const Grant &grant : grants.all())
    is_one_of(liblock_release(grant.context, grant.lock, nullptr),
              {LIBLOCK_OK, LIBLOCK_LOST, LIBLOCK_NOT_HELD, LIBLOCK_INVALID_HANDLE});
  for (Side &side : sides_) {
    if (side.context == nullptr) continue;
    is_one_of(liblock_clear_dead(side.context, nullptr, nullptr, nullptr), {LIBLOCK_OK});
    liblock_stats stats;
    liblock_stats_init(&stats, sizeof stats);
    is_one_of(liblock_stats_get(side.context, &stats), {LIBLOCK_OK});
    LIBLOCK_ASSERT(stats.locks_held == 0 && stats.waiters == 0);
  }
  for (Side &side : sides_) {
    if (side.context == nullptr) continue;
    close(side, 0);
    free(side);
  }
}

void Stage::hear(const liblock_completion *end, void *given) {
  const auto &side = *static_cast<Side *>(given);
  Stage &stage = *side.stage;
  if (end->kind != LIBLOCK_KIND_CLOSE) {
    is_one_of(liblock_wait_released(side.context, "a", 1, -1, nullptr), {LIBLOCK_WOULD_DEADLOCK, LIBLOCK_CLOSED});
    is_one_of(liblock_close(side.context), {LIBLOCK_WOULD_DEADLOCK});
  }
  const std::lock_guard lock(stage.mutex_);
  if (end->kind == LIBLOCK_KIND_CLOSE) {
    ++stage.closes_;
  } else {
    stage.called_back_.emplace_back(&side, *end);
  }
  stage.told_.notify_all();
}

void Stage::expect(liblock_status status, liblock_request request, const Asked &asked) {
  LIBLOCK_ASSERT((status == LIBLOCK_OK) == (request != 0));
  if (status != LIBLOCK_OK) return;
  const Side &at = side();
  LIBLOCK_ASSERT(asked_.emplace(Key{&at, request}, asked).second);
  open_calls_ += asked.queue == nullptr && asked.is_heard;
}

liblock_request Stage::request(uint8_t on) const {
  if (asked_.empty() || on >= 250) return 0x1234567890abcdef;
  auto at = asked_.begin();
  std::advance(at, on % asked_.size());
  return at->first.second;
}

void Stage::ended(const Side &side, const liblock_completion &end) {
  LIBLOCK_ASSERT(end.message != nullptr);
  if (end.request == 0) return hear_loss(&end, nullptr);
  const auto found = asked_.find({&side, end.request});
  LIBLOCK_ASSERT(found != asked_.end() && !found->second.has_ended);
  Asked &asked = found->second;
  asked.has_ended = true;
  open_calls_ -= asked.queue == nullptr;
  LIBLOCK_ASSERT(end.kind == asked.kind);
  may_end_as(end.kind, end.status);
  if (end.info != nullptr) read_info(end.info);
  liblock_info_free(end.info);
  if (end.kind != LIBLOCK_KIND_ACQUIRE) return;
  LIBLOCK_ASSERT((end.status == LIBLOCK_OK) == (end.lock != 0));
  asked.wanted.lock = end.lock;
  if (end.status == LIBLOCK_OK) grants.add(asked.wanted, end.token, true, false);
}

bool Stage::read_end(Side &side, liblock_completions *queue, int64_t wait_ms) {
  liblock_completion end{};
  end.struct_size = sizeof end;
  if (queue == nullptr || liblock_completions_next(queue, wait_ms, &end) != LIBLOCK_OK) return false;
  ended(side, end);
  return true;
}

void Stage::take_called_back() {
  std::vector<std::pair<const Side *, liblock_completion>> heard;
  {
    const std::lock_guard lock(mutex_);
    heard.swap(called_back_);
  }
  for (const auto &[side, end] : heard) ended(*side, end);
}

// What was called back before this returns was so before its own call is: where one can be made.
void Stage::settle(Side &side) {
  liblock_request request = 0;
  if (liblock_ping_async(side.context, nullptr, hear, &side, &request) != LIBLOCK_OK) return;
  asked_.emplace(Key{&side, request}, Asked{LIBLOCK_KIND_PING});
  ++open_calls_;
  {
    std::unique_lock lock(mutex_);
    LIBLOCK_ASSERT(told_.wait_for(lock, std::chrono::milliseconds(kPatienceMs), [&] {
      return std::any_of(called_back_.begin(), called_back_.end(),
                         [&](const auto &one) { return one.first == &side && one.second.request == request; });
    }));
  }
  take_called_back();
}

void Stage::read_ends() {
  for (Side &each : sides_) {
    while (read_end(each, each.queue, 0)) {}
  }
  if (open_calls_ != 0) settle(side());
}

void Stage::give_back(const liblock_owner *owner, const Keys &keys) {
  grants.give_back(owner, keys);
  for (auto &[request, asked] : asked_) {
    if (asked.wanted.owner != owner) continue;
    for (const std::string &key : keys) asked.wanted.keys.erase(key);
  }
}

// All that its requests have to say; a cycle that the library's thread has just found may have ended one.
void Stage::hear_all(Side &side) {
  const auto is_awaited = [&](const liblock_completions *queue) {
    return std::any_of(asked_.begin(), asked_.end(), [&](const auto &one) {
      const Asked &asked = one.second;
      return one.first.first == &side && asked.queue == queue && asked.is_heard && !asked.has_ended;
    });
  };
  while (is_awaited(side.queue)) LIBLOCK_ASSERT(read_end(side, side.queue, kPatienceMs));
  while (is_awaited(nullptr)) {
    {
      std::unique_lock lock(mutex_);
      LIBLOCK_ASSERT(
          told_.wait_for(lock, std::chrono::milliseconds(kPatienceMs), [&] { return !called_back_.empty(); }));
    }
    take_called_back();
  }
}

void Stage::end_requests(Side &side) {
  drop_extra(side);
  read_ends();
  for (const auto &[key, asked] : asked_) {
    if (key.first == &side && !asked.has_ended)
      is_one_of(liblock_cancel(side.context, key.second), {LIBLOCK_OK, LIBLOCK_INVALID_HANDLE});
  }
  hear_all(side);
  // Locks that nobody will read of are given back by the thread of the callbacks.
  settle(side);
}

void Stage::drop_extra(Side &side) {
  for (auto &[key, asked] : asked_) {
    if (side.extra != nullptr && asked.queue == side.extra) asked.is_heard = false;
  }
  liblock_completions_free(side.extra);
  side.extra = nullptr;
}

void Stage::close(Side &side, uint8_t how) {
  liblock_callback heard = how % 4 == 1 ? hear : nullptr;
  if (how % 4 != 0) is_one_of(liblock_close_async(side.context, heard, &side), {LIBLOCK_OK});
  if (heard != nullptr) {
    std::unique_lock lock(mutex_);
    LIBLOCK_ASSERT(
        told_.wait_for(lock, std::chrono::milliseconds(kPatienceMs), [&] { return closes_ != 0; }));
    closes_ = 0;
  }
  if (heard != nullptr) {
    // It came behind all others.
    take_called_back();
    for (const auto &[key, asked] : asked_)
      LIBLOCK_ASSERT(key.first != &side || asked.queue != nullptr || !asked.is_heard || asked.has_ended);
  }
  is_one_of(liblock_close(side.context), {LIBLOCK_OK});
  if (how % 4 == 3) is_one_of(liblock_close(side.context), {LIBLOCK_OK});
  is_one_of(liblock_ping(side.context, nullptr), {LIBLOCK_CLOSED});
  hear_all(side);
}

void Stage::free(Side &side) {
  drop_extra(side);
  for (liblock_owner *&owner : side.owners) liblock_owner_free(std::exchange(owner, nullptr));
  liblock_completions_free(std::exchange(side.queue, nullptr));
  grants.forget(side.context);
  liblock_context_free(std::exchange(side.context, nullptr));
  std::erase_if(asked_, [&](const auto &one) { return one.first.first == &side; });
}

}  // namespace calls
