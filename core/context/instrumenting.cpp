// SPDX-License-Identifier: MIT
// Instrumentation as the context does it for every kind of engine: an acquire gets its trace before the engine sees
// it, and the ends of all other calls are told here.
#include <algorithm>

#include "context/context.hpp"

namespace liblock {

// The engine's own, where it has something to tell of its server.
void Context::make_instruments() {
  Events *events = engine_->events();
  instruments_ = events != nullptr ? events->instruments() : std::make_shared<Instruments>(nullptr);
  instruments_->set_instance(instance_id_);
}

void Context::set_events(uint64_t mask, liblock_event_callback callback, void *user_data) {
  instruments_->events().listen(mask, callback, user_data, callback != nullptr ? runtime() : nullptr);
  listening_changed();
  instruments_->tell_listener();
}

void Context::set_log(int32_t level, liblock_log_callback callback, void *user_data) {
  instruments_->log().listen(level, callback, user_data);
  listening_changed();
  instruments_->tell_log();
}

void Context::set_instruments(const InstrumentOptions &options) {
  instruments_->set_options(options);
  listening_changed();
}

void Context::listening_changed() {
  const std::lock_guard lock(mutex_);
  instrumented_.store(instruments_->is_on(), std::memory_order_relaxed);
}

// An acquire for whose trace there is no memory, or no thread to tell on, goes on as if it were not sampled.
Trace *Context::make_trace(std::span<const Bytes> keys, const Owner &owner, AcquireParams &params) {
  std::shared_ptr<Trace> trace;
  try {
    trace =
        instruments_->begin({keys, &owner, &params, &engine_->clock(), params.event_tag, params.instrument});
    if (trace == nullptr) return nullptr;
    params.runtime = runtime();
  } catch (const std::exception &) {
    return nullptr;
  }
  traced_.store(true);
  params.trace = trace.get();
  params.losses = trace;
  trace->begun();
  return trace.get();
}

Status Context::release_traced(Handle lock) {
  const Nanos began_at = engine_->clock().now();
  const Status status = engine_->release(lock);
  tell_release(lock, status, engine_->clock().now() - began_at);
  return status;
}

void Context::tell_release(Handle lock, Status status, Nanos elapsed) {
  if (status != Status::OK && status != Status::LOST && status != Status::IN_DOUBT &&
      status != Status::PARTIAL)
    return;
  if (const auto trace = instruments_->take(lock); trace != nullptr) trace->released(status, elapsed);
}

// Of which locks the last key went, the call does not say.
void Context::tell_keys_released(const Owner &owner, Nanos elapsed) {
  for (const auto &[lock, trace] : instruments_->of_owner(&owner)) {
    if (engine_->view(lock).status == Status::NOT_HELD) tell_release(lock, Status::OK, elapsed);
  }
}

void Context::tell_owner_closed(const Owner &owner, Nanos elapsed) {
  const auto held = instruments_->of_owner(&owner);
  for (const auto &[lock, trace] : held) tell_release(lock, Status::OK, elapsed);
  if (owner.close_told.exchange(true)) return;
  auto told = std::make_unique<Told>(LIBLOCK_EVENT_OWNER_CLOSED);
  told->owner = owner.id();
  told->event.owner = bytes_of(told->owner);
  told->event.count = held.size();
  told->event.elapsed_us = us_of(elapsed);
  instruments_->administered(std::move(told));
}

namespace {

// An ask that nobody made.
class Forgotten final : public Ask {
 public:
  void ended() override {}
};

}  // namespace

void Context::close_owner(const std::shared_ptr<Owner> &owner) {
  engine_->close_owner(owner);
  Forgotten closed;
  closed.what = Ask::What::CloseOwner;
  closed.owner = owner;
  closed.status = Status::OK;
  tell(closed, 0, 0);
}

// All that is still held is given back, or left.
void Context::tell_closing() {
  for (const auto &[lock, trace] : instruments_->of_owner(nullptr)) {
    if (options_.leave_on_close) {
      static_cast<void>(instruments_->take(lock));
    } else {
      tell_release(lock, Status::OK, 0);
    }
  }
}

namespace {

int32_t clear_kind(Engine::Whom whom) {
  switch (whom) {
    case Engine::Whom::Owner:
      return LIBLOCK_EVENT_OWNER_CLEARED;
    case Engine::Whom::Instance:
      return LIBLOCK_EVENT_INSTANCE_CLEARED;
    case Engine::Whom::Dead:
      return LIBLOCK_EVENT_DEAD_CLEARED;
    default:
      return LIBLOCK_EVENT_CLEARED;
  }
}

void tell_cleared(Instruments &instruments, const Ask &ask, Engine::Whom whom, Nanos elapsed) {
  auto told = std::make_unique<Told>(clear_kind(whom));
  told->event.count = ask.tally.locks;
  told->event.elapsed_us = us_of(elapsed);
  if (told->event.kind == LIBLOCK_EVENT_OWNER_CLEARED) {
    told->owner = ask.text;
    told->event.owner = bytes_of(told->owner);
  } else if (told->event.kind == LIBLOCK_EVENT_INSTANCE_CLEARED) {
    told->instance = ask.text;
    told->event.instance = bytes_of(told->instance);
  }
  instruments.administered(std::move(told));
}

void tell_forced(Instruments &instruments, const Ask &ask, Nanos elapsed) {
  auto told = std::make_unique<Told>(LIBLOCK_EVENT_FORCE_RELEASED);
  told->key = ask.keys.front();
  told->event.key = bytes_of(told->key);
  told->event.elapsed_us = us_of(elapsed);
  told->event.count = 1;
  instruments.administered(std::move(told));
}

}  // namespace

void Context::tell(const Ask &ask, uint64_t number, Nanos elapsed) try {
  const bool is_told_about = instrumented_.load(std::memory_order_relaxed) || traced_.load();
  if (!is_told_about) return;
  if (ask.what == Ask::What::Release) return tell_release(ask.lock, ask.status, elapsed);
  if (ask.status != Status::OK) return;
  switch (ask.what) {
    case Ask::What::ReleaseKeys:
      return tell_keys_released(*ask.owner, elapsed);
    case Ask::What::Extend:
      if (const auto trace = instruments_->find(ask.lock); trace != nullptr)
        trace->extended(ask.ttl, elapsed);
      return;
    case Ask::What::Export:
      static_cast<void>(instruments_->take(ask.lock));  // another process gives it back
      return;
    case Ask::What::ForceRelease:
      return tell_forced(*instruments_, ask, elapsed);
    case Ask::What::Clear:
      return tell_cleared(*instruments_, ask, static_cast<Engine::Whom>(number), elapsed);
    case Ask::What::CloseOwner:
      return tell_owner_closed(*ask.owner, elapsed);
    default:
      return;
  }
} catch (const std::bad_alloc &) {
  // Instrumentation that finds no memory is incomplete, and nothing else.
}

}  // namespace liblock
