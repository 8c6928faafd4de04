// SPDX-License-Identifier: MIT
// See redis_engine.hpp.
#include "redis/redis_engine.hpp"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/parking.hpp"
#include "engine/progress.hpp"
#include "runtime/once.hpp"

namespace liblock {

namespace {

// An ask that nobody waits for.
class Forgotten final : public Ask {
 public:
  void ended() override { delete this; }
};

}  // namespace

// In the room of its call, which it lives and dies with.
class RedisEngine::Request final : public AcquireRequest, public PendingCall::EnginePart {
 public:
  Request(Instance &instance, PendingCall &call, RedisOwner &owner, std::span<const Bytes> keys,
          const AcquireParams &params)
      : AcquireRequest(instance, owner, keys, params), call_(call) {
    call.engine_part = this;
  }
  void finished() override { call_.ended(grant); }
  bool destroy_if_sole() override {
    this->~Request();
    return true;
  }
  void drop() override {
    PendingCall &call = call_;
    this->~Request();
    call.gone();
  }

 private:
  ~Request() = default;
  PendingCall &call_;
};

// On the stack of the thread that waits for it.
class RedisEngine::BlockingRequest final : public AcquireRequest {
 public:
  using AcquireRequest::AcquireRequest;
  void finished() override { parking.unpark(); }
  Parking parking;
};

RedisEngine::RedisEngine(std::shared_ptr<Runtime> runtime, const InstanceOptions &options,
                         const std::string &instance_id, const void *owner_id)
    : instance_(std::make_shared<Instance>(std::move(runtime), options, instance_id, Clock::suspend_aware(),
                                           Random().next())),
      owner_id_(owner_id),
      unnamed_(std::make_shared<RedisOwner>(owner_id, instance_id, 0, Bytes(), false)) {
  instance_->unnamed = unnamed_;
}

RedisEngine::~RedisEngine() = default;

Status RedisEngine::accepts(std::span<const Bytes> keys) const {
  if (keys.empty()) return Status::UNSUPPORTED;
  for (const Bytes key : keys) {
    if (instance_->keyspace.is_reserved(key)) return Status::INVALID_ARGUMENT;
  }
  return Status::OK;
}

std::shared_ptr<Owner> RedisEngine::make_owner(Bytes name) {
  return std::make_shared<RedisOwner>(owner_id_, unnamed_->instance_id(), owner_numbers_.fetch_add(1) + 1,
                                      name, true);
}

void RedisEngine::close_owner(const std::shared_ptr<Owner> &owner) {
  auto *ask = new Forgotten;
  ask->what = Ask::What::CloseOwner;
  ask->owner = owner;
  start(*ask);
}

Grant RedisEngine::acquire(Owner &owner, std::span<const Bytes> keys, const AcquireParams &params) {
  BlockingRequest request(*instance_, static_cast<RedisOwner &>(owner), keys, params);
  params.threads_waiting->fetch_add(1);
  auto *const progress = static_cast<ThreadProgress *>(params.progress);
  if (progress != nullptr) progress->nudge_in(request.parking);
  instance_->runtime->run_on_loop(request);
  while (!request.parking.park()) progress->tell();
  request.grant.counted_as_waiting = true;
  return request.grant;
}

void RedisEngine::submit(PendingCall &call, Owner &owner, std::span<const Bytes> keys,
                         const AcquireParams &params, const std::shared_ptr<Runtime> &) {
  static_assert(sizeof(Request) <= PendingCall::kEngineRoom);
  auto *request =
      new (call.engine_room()) Request(*instance_, call, static_cast<RedisOwner &>(owner), keys, params);
  instance_->runtime->run_on_loop(*request);
}

void RedisEngine::cancel(PendingCall &call) {
  call.pin();
  run_once(*instance_->runtime, [this, &call] {
    instance_->waiting.end(*static_cast<Request *>(call.engine_part), Status::CANCELED);
    call.unpin();
  });
}

Status RedisEngine::release(Handle h) {
  auto *ask = new Forgotten;
  ask->what = Ask::What::Release;
  ask->lock = h;
  start(*ask);
  return Status::OK;
}

void RedisEngine::start(Ask &ask) {
  const std::vector<Bytes> keys(ask.keys.begin(), ask.keys.end());
  if (!keys.empty() && accepts(keys) != Status::OK) {
    ask.status = Status::INVALID_ARGUMENT;
    return ask.ended();
  }
  // Before its holds and waits are ended, so that what is granted later sees it.
  if (ask.what == Ask::What::CloseOwner) ask.owner->closed.store(true);
  run_once(*instance_->runtime, [instance = instance_, &ask] { instance->asking.start(ask); });
}

void RedisEngine::stats(liblock_stats &stats) {
  const Instance::Counts &counts = instance_->counts;
  stats.locks_held = static_cast<uint64_t>(std::max<int64_t>(0, counts.keys_held.load()));
  stats.acquired = counts.acquired.load();
  stats.released = counts.released.load();
  stats.contended = counts.contended.load();
  stats.expired = counts.expired.load();
  stats.taken_away = counts.taken_away.load();
  stats.handed_off = counts.handed_off.load();
  stats.deadlocks = counts.deadlocks.load();
  stats.deadlock_searches = counts.deadlock_searches.load();
  stats.timeouts = counts.timeouts.load();
  stats.canceled = counts.canceled.load();
  stats.renewals = counts.renewals.load();
  stats.waiters = counts.waiters.load();
}

std::string RedisEngine::explain(Status status) const {
  switch (status) {
    case Status::CONNECT:
    case Status::AUTH:
    case Status::SERVER:
    case Status::READ_ONLY:
    case Status::WRONG_TYPE:
    case Status::PROTOCOL:
    case Status::IN_DOUBT:
    case Status::UNSUPPORTED:
      return instance_->last_trouble();
    default:
      return {};
  }
}

void RedisEngine::close(bool leave, std::function<void()> closed) {
  unnamed_->closed.store(true);
  run_once(*instance_->runtime, [instance = instance_, leave, closed = std::move(closed)]() mutable {
    instance->close(leave, std::move(closed));
  });
}

void RedisEngine::close_descriptors_after_fork() {
  instance_->link.descriptors([](int fd) { ::close(fd); });
}

}  // namespace liblock
