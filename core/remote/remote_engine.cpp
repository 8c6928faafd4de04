// SPDX-License-Identifier: MIT
// See remote_engine.hpp.
#include "remote/remote_engine.hpp"

#include <algorithm>

namespace liblock {

namespace {

// An ask that nobody waits for.
class Forgotten final : public Ask {
 public:
  Forgotten() { is_awaited = false; }
  void ended() override { delete this; }
};

}  // namespace

RemoteEngine::RemoteEngine(std::shared_ptr<RemoteInstance> instance, const void *owner_id)
    : instance_(std::move(instance)),
      owner_id_(owner_id),
      unnamed_(std::make_shared<RemoteOwner>(owner_id, instance_->id, 0, Bytes(), false)) {
  instance_->unnamed = unnamed_;
}

Status RemoteEngine::accepts(std::span<const Bytes> keys) const {
  if (keys.empty()) return Status::UNSUPPORTED;
  for (const Bytes key : keys) {
    if (instance_->keyspace.is_reserved(key)) return Status::INVALID_ARGUMENT;
  }
  return Status::OK;
}

std::shared_ptr<Owner> RemoteEngine::make_owner(Bytes name) {
  return std::make_shared<RemoteOwner>(owner_id_, unnamed_->instance_id(), owner_numbers_.fetch_add(1) + 1,
                                       name, true);
}

// Never on the calling thread, which may be at its end.
void RemoteEngine::close_owner(const std::shared_ptr<Owner> &owner) {
  auto *ask = new Forgotten;
  ask->what = Ask::What::CloseOwner;
  ask->owner = owner;
  owner->closed.store(true);  // before its holds and waits are ended, so that what is granted later sees it
  ask->place = instance_;
  instance_->runtime->run_on_loop(*ask);
}

Status RemoteEngine::release(Handle h) {
  auto *ask = new Forgotten;
  ask->what = Ask::What::Release;
  ask->lock = h;
  start(*ask);
  return Status::OK;
}

void RemoteEngine::start(Ask &ask) {
  if (ask.what == Ask::What::QuorumStatus) {  // on the loop's own thread, too
    ask.status = quorum_status(ask);
    return ask.ended();
  }
  const bool is_refused = std::any_of(ask.keys.begin(), ask.keys.end(), [this](const std::string &key) {
    return instance_->keyspace.is_reserved(key);
  });
  if (is_refused) {
    ask.status = Status::INVALID_ARGUMENT;
    ask.message = Keyspace::kWhyReserved;
    return ask.ended();
  }
  // As in close_owner().
  if (ask.what == Ask::What::CloseOwner) ask.owner->closed.store(true);
  ask.place = instance_;
  Runtime &runtime = *instance_->runtime;
  if (ask.waits_at != nullptr) return runtime.attend(ask, *ask.waits_at);
  if (!ask.is_awaited) return runtime.run_unattended(ask);
  ask.counted_in = &runtime.attendance;
  ask.counted_in->arrive();
  runtime.run_on_loop(ask);
}

void RemoteEngine::cancel_wait(PendingCall &call, Ask &ask) {
  run_with(call, [instance = instance_, &ask] { instance->asking.end(ask, Status::CANCELED); });
}

void RemoteEngine::stats(liblock_stats &stats) {
  const RemoteInstance::Counts &counts = instance_->counts;
  stats.locks_held = static_cast<uint64_t>(std::max<int64_t>(0, counts.keys_held.load()));
  stats.acquired = counts.acquired.load();
  stats.released = counts.released.load();
  stats.contended = counts.contended.load();
  stats.expired = counts.expired.load();
  stats.taken_away = counts.taken_away.load();
  stats.handed_off = counts.handed_off.load();
  stats.passed_on = counts.passed_on.load();
  stats.deadlocks = counts.deadlocks.load();
  stats.deadlock_searches = counts.deadlock_searches.load();
  stats.timeouts = counts.timeouts.load();
  stats.canceled = counts.canceled.load();
  stats.renewals = counts.renewals.load();
  stats.waiters = counts.waiters.load();
}

std::string RemoteEngine::explain(Status status) const {
  switch (status) {
    case Status::CONNECT:
    case Status::AUTH:
    case Status::SERVER:
    case Status::READ_ONLY:
    case Status::WRONG_TYPE:
    case Status::PROTOCOL:
    case Status::IN_DOUBT:
    case Status::PARTIAL:
    case Status::NO_QUORUM:
    case Status::QUARANTINED:
    case Status::UNSUPPORTED:
    case Status::INVALID_ARGUMENT:
    case Status::NODES_MISMATCH:
      return instance_->last_trouble(status);
    default:
      return {};
  }
}

void RemoteEngine::close(bool leave, std::function<void()> closed) {
  unnamed_->closed.store(true);
  run_once(*instance_->runtime, [instance = instance_, leave, closed = std::move(closed)]() mutable {
    instance->close(leave, std::move(closed));
  });
}

}  // namespace liblock
