// SPDX-License-Identifier: MIT
// See local_engine.hpp.
#include "local/local_engine.hpp"

#include "base/grow.hpp"
#include "base/lack.hpp"
#include "local/fast_path.hpp"
#include "local/lease_timer.hpp"
#include "local/table_registry.hpp"

namespace liblock {

namespace {

Waiter::Kind watch_of(const Ask &ask) {
  return ask.what == Ask::What::WaitLost   ? Waiter::Kind::WatchLost
         : ask.what == Ask::What::WaitHeld ? Waiter::Kind::WatchHeld
                                           : Waiter::Kind::WatchReleased;
}
Bytes key_of(const Ask &ask) { return ask.keys.empty() ? Bytes() : Bytes(ask.keys.front()); }

}  // namespace

// Where a request comes from; a base of it, to lie with what a hand-off touches.
struct LocalEngine::Asked {
  LocalEngine &engine;  // outlives its pending calls: they keep the context
  PendingCall &call;    // kept by the context until ended()
  bool is_global;
};

// The table's side of a pending call, in the call's room. The call holds its first reference.
class LocalEngine::Request final : public PendingCall::EnginePart, private Asked, public LocalRequest {
 public:
  Request(const Asked &asked, const std::shared_ptr<Runtime> &runtime)
      : Asked(asked), LocalRequest(engine.table_, runtime) {
    call.engine_part = this;
  }
  void finished() override {
    if (waiter.grant.status == Status::OK) engine.watch_lease(waiter.grant, *waiter.params, is_global);
    call.ended(waiter.grant);  // may be the end of this object
  }
  bool destroy_if_sole() override {
    if (!is_sole()) return false;
    this->~Request();
    return true;
  }
  void drop() override { unpin(); }
  void last_reference_gone() override {
    PendingCall &whole = call;
    this->~Request();
    whole.gone();
  }

 private:
  ~Request() override = default;
};

// A wait for a key or a lock that keeps no thread: its end is that of the ask.
class LocalEngine::Watch final : public LocalRequest {
 public:
  Watch(LocalEngine &engine, Ask &ask)
      : LocalRequest(engine.table_, ask.runtime), engine_(engine), ask_(ask) {
    params.wait = ask.wait;
  }
  void finished() override {
    engine_.forget_watch(ask_);
    ask_.status = waiter.grant.status;
    try {
      engine_.show_holder(ask_);
    } catch (const std::bad_alloc &) {  // whoever gave the key away is no one to be told
      ask_.status = Status::NO_MEMORY;
    }
    ask_.ended();  // may be the end of the engine
    unpin();
  }

  AcquireParams params;

 private:
  ~Watch() override = default;

  LocalEngine &engine_;  // kept by the ask
  Ask &ask_;
};

LocalEngine::LocalEngine(std::shared_ptr<LockTable> table, std::string instance_id, const void *instance,
                         RuntimeSource runtime)
    : table_(std::move(table)),
      unnamed_(std::make_shared<LocalOwner>(instance, std::move(instance_id), 0, Bytes(), false)),
      runtime_(std::move(runtime)) {
  table_->add_instance(*unnamed_, *this);
}

LocalEngine::~LocalEngine() { leave_table_once(); }

void LocalEngine::leave_table_once() {
  if (!std::exchange(has_left_table_, true)) leave_table(*table_);
}

std::shared_ptr<Owner> LocalEngine::make_owner(Bytes name) {
  auto owner = std::make_shared<LocalOwner>(unnamed_->instance(), unnamed_->instance_id(),
                                            owner_numbers_.fetch_add(1) + 1, name, true);
  const std::lock_guard lock(owners_mutex_);
  if (owners_closed_) {
    owner->closed.store(true);  // nobody would give back what it gets
    return owner;
  }
  make_room(owners_, owners_.size() + 1);
  table_->add_owner(owner.get());
  owner->place_in_engine = owners_.size();
  owners_.push_back(owner);
  return owner;
}

std::shared_ptr<LocalOwner> LocalEngine::any_owner() {
  const std::lock_guard lock(owners_mutex_);
  return owners_.empty() ? nullptr : owners_.back();
}

void LocalEngine::forget_owner(const LocalOwner &owner) {
  const std::lock_guard lock(owners_mutex_);
  const size_t place = owner.place_in_engine;
  if (place >= owners_.size() || owners_[place].get() != &owner) return;
  owners_[place] = std::move(owners_.back());
  owners_[place]->place_in_engine = place;
  owners_.pop_back();
}

// The caller has a reference.
void LocalEngine::close_local_owner(LocalOwner &owner) {
  table_->close_owner(owner);
  table_->remove_owner(&owner);
  forget_owner(owner);
}

void LocalEngine::leave_owner(const std::shared_ptr<LocalOwner> &owner) {
  table_->keep_zombie(owner);
  owner->closed.store(true);
  {
    const std::lock_guard lock(owner->mutex);
    owner->zombie.store(true);
  }
  table_->remove_owner(owner.get());  // it waits for nobody any more
  forget_owner(*owner);
}

void LocalEngine::close_owner(const std::shared_ptr<Owner> &owner) {
  close_local_owner(static_cast<LocalOwner &>(*owner));
}

bool LocalEngine::try_fast(Bytes key, Nanos ttl, FastGrant &grant) {
  if (ttl != kNever && !sweeping_.load(std::memory_order_relaxed)) lease_used();
  return table_->try_thin(*unnamed_, key, ttl, grant);
}

bool LocalEngine::try_fast_many(std::span<const Bytes> keys, Nanos ttl, FastGrant &grant) {
  if (ttl != kNever && !sweeping_.load(std::memory_order_relaxed)) lease_used();
  return table_->try_compound(*unnamed_, keys, ttl, grant);
}

Status LocalEngine::release(Handle h) { return table_->release(*unnamed_, h); }

Grant LocalEngine::acquire(Owner &owner, std::span<const Bytes> keys, const AcquireParams &params) {
  Grant grant = table_->acquire(static_cast<LocalOwner &>(owner), keys, params);
  if (grant.status == Status::OK) watch_lease(grant, params, keys.empty());
  return grant;
}

void LocalEngine::submit(PendingCall &call, Owner &owner, std::span<const Bytes> keys,
                         const AcquireParams &params, const std::shared_ptr<Runtime> &runtime) {
  static_assert(sizeof(Request) <= PendingCall::kEngineRoom);
  auto *request = new (call.engine_room()) Request({*this, call, keys.empty()}, runtime);
  table_->submit(*request, static_cast<LocalOwner &>(owner), keys, params);
}

void LocalEngine::cancel(PendingCall &call) {
  table_->ask_to_end(static_cast<Request *>(call.engine_part)->waiter, Status::CANCELED);
}

void LocalEngine::start(Ask &ask) {
  try {
    if (ask.runtime != nullptr) return watch(ask);
    ask.status = answer(ask);
  } catch (const std::bad_alloc &) {
    ask.status = Status::NO_MEMORY;
  } catch (const std::system_error &error) {  // no thread can be had for the first lease
    ask.status = Status::INTERNAL;
    ask.message = liblock::explain(error);
  }
  ask.ended();
}

Status LocalEngine::answer(Ask &ask) {
  const Bytes key = key_of(ask);
  switch (ask.what) {
    case Ask::What::Release:
      return release(ask.lock);
    case Ask::What::ReleaseKeys: {
      const std::vector<Bytes> keys(ask.keys.begin(), ask.keys.end());
      return table_->release_keys(static_cast<LocalOwner &>(*ask.owner), keys);
    }
    case Ask::What::Extend:
      return extend(ask.lock, ask.ttl, ask.flag, ask.view);
    case Ask::What::Update:
      return table_->update(unnamed_->instance(), ask.lock, ask.text);
    case Ask::What::Verify:
      ask.view = view(ask.lock);
      return ask.view.status;
    case Ask::What::Ping:
      return Status::OK;
    case Ask::What::IsLocked:
      ask.count = table_->is_locked(key);
      return Status::OK;
    case Ask::What::IsQueued:
      ask.count = table_->is_queued(key);
      return Status::OK;
    case Ask::What::Inspect:
      return inspect(ask);
    case Ask::What::List:
      ++ask.tally.steps;
      table_->list_step(ask.which, ask.text, ask.batch, ask.position, ask.infos);
      // Who waits is open: a context that closes ends its waits.
      if (ask.flag) {
        std::erase_if(ask.infos, [&ask](const auto &info) {
          return ask.which == Ask::Which::Queues || !info->is_zombie;
        });
      }
      return Status::OK;
    case Ask::What::ListInstances:
      ++ask.tally.steps;
      table_->list_instances(*unnamed_, ask.flag, ask.instances);
      ask.position.at_end = true;
      return Status::OK;
    case Ask::What::ForceRelease:
      return table_->force_release(key, ask.flag, ask.tally);
    case Ask::What::Clear:
      clear(ask);
      return Status::OK;
    case Ask::What::CloseOwner:
      close_owner(ask.owner);
      return Status::OK;
    case Ask::What::WaitLost:
    case Ask::What::WaitReleased:
      return wait(ask);
    case Ask::What::WaitHeld:
      ask.status = wait(ask);
      show_holder(ask);
      return ask.status;
    case Ask::What::ReleaseKey:
      return table_->release_by_value(key, ask.text);
    case Ask::What::ExtendKey:
      if (ask.ttl != kNever) lease_used();
      return table_->extend_by_value(key, ask.text, ask.ttl, ask.flag, ask.view);
    case Ask::What::UpdateKey:
      return table_->update_by_value(key, ask.text, ask.value);
    default:  // what only servers, or a quorum of them, have
      return Status::UNSUPPORTED;
  }
}

Status LocalEngine::extend(Handle h, Nanos ttl, bool add, HoldView &after) {
  if (ttl != kNever) lease_used();
  // A lock that had no lease until now had no timer either. It is made and armed first: without memory nothing is to
  // change.
  LeaseTimerRef timer;
  std::shared_ptr<Runtime> runtime;
  if (ttl != kNever && handle::is_compound(h) && table_->wants_timer(h, runtime))
    timer = make_lease_timer(h, std::move(runtime));
  if (timer != nullptr) give_timer(h, *timer, clock().now() + ttl);
  return table_->extend(unnamed_->instance(), h, ttl, add, after);
}

Status LocalEngine::wait(const Ask &ask) {
  return table_->wait_watching(watch_of(ask), key_of(ask), ask.lock, *unnamed_, ask.wait);
}

void LocalEngine::watch(Ask &ask) {
  auto *watch = new Watch(*this, ask);
  try {
    const std::lock_guard lock(watches_mutex_);
    watches_.emplace(&ask, watch);
  } catch (...) {
    watch->unpin();
    throw;
  }
  table_->watch(*watch, watch_of(ask), key_of(ask), ask.lock, *unnamed_, watch->params);
}

void LocalEngine::forget_watch(Ask &ask) {
  const std::lock_guard lock(watches_mutex_);
  watches_.erase(&ask);
}

void LocalEngine::cancel_wait(PendingCall &, Ask &ask) {
  Watch *watch;
  {
    const std::lock_guard lock(watches_mutex_);
    const auto found = watches_.find(&ask);
    if (found == watches_.end()) return;
    watch = found->second;
    watch->pin();
  }
  table_->ask_to_end(watch->waiter, Status::CANCELED);
  watch->unpin();
}

// To who waited for it to be held, and wants to know by whom.
void LocalEngine::show_holder(Ask &ask) {
  if (ask.what != Ask::What::WaitHeld || ask.status != Status::OK || !ask.flag) return;
  if (auto seen = table_->inspect(ask.keys.front(), false); seen != nullptr && seen->is_held)
    ask.infos.push_back(std::move(seen));
}

Status LocalEngine::inspect(Ask &ask) {
  auto seen = table_->inspect(ask.keys.front(), ask.flag);
  if (seen == nullptr) return Status::NOT_HELD;
  ask.infos.push_back(std::move(seen));
  return Status::OK;
}

void LocalEngine::clear(Ask &ask) {
  const auto whom = static_cast<Whom>(ask.number);
  const LockTable::Whom fits = [&](const LocalOwner &owner) {
    switch (whom) {
      case Whom::Everybody:
        return true;
      case Whom::Owner:
        return owner.id() == ask.text;
      case Whom::Instance:
        return owner.instance_id() == ask.text;
      case Whom::Dead:
        return owner.zombie.load();
    }
    return false;
  };
  const Nanos now = clock().now();
  const auto waits = [&](const Waiter &w) {
    const Nanos began_at = w.first_wait_at != 0 ? w.first_wait_at : w.enqueued_at;
    return (whom == Whom::Dead && now - began_at > ask.dead_after) || fits(*w.owner);
  };
  ask.tally = table_->clear(fits, waits, ask.batch);
  if (whom == Whom::Dead) ask.tally.instances = table_->forget_zombies();
}

// The first lease makes sweeps worth while; until then no timer runs and no thread is started.
void LocalEngine::lease_used() {
  if (sweeping_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(sweeper_mutex_);
  if (sweeping_.load() || closed_) return;
  if (table_->options().cleanup_interval_ms > 0) {
    sweeper_ = new Sweeper(table_, runtime_());
    sweeper_->start();
  }
  sweeping_.store(true);
}

// Where no thread can be had for it, what was left stays until somebody asks for it, or for a sweep.
void LocalEngine::sweep_from_now_on() noexcept try {
  lease_used();
} catch (const std::bad_alloc &) {
} catch (const std::system_error &) {}

std::string LocalEngine::explain(Status status) const {
  if (status != Status::INTERNAL) return {};
  return std::string("no thread can be had that ends its lease; ") + kRaiseTheLimit;
}

// Only a lock that renews, that wants to be told of its loss, or that shuts out everybody has a timer of its
// own. A lease that nobody would end is not granted.
void LocalEngine::watch_granted_lease(Grant &grant, const AcquireParams &params, bool global) {
  // The lease may be that of an older handle: one that only rides on it is told nothing.
  const bool rides = (grant.flags & LIBLOCK_RESULT_REENTERED) != 0 &&
                     params.on_conflict != LIBLOCK_ON_CONFLICT_REENTER_EXTEND;
  if (params.ttl == kNever && rides) return;
  const bool watched = params.renew || params.on_lost != nullptr || params.losses != nullptr || global;
  Grant refused;
  try {
    lease_used();
    if (!watched || !handle::is_compound(grant.handle)) return;
    const LeaseTimerRef timer = make_lease_timer(grant.handle, params.runtime);
    const Nanos in = std::min(params.renew ? params.ttl / 3 : params.ttl, grant.remaining);
    return give_timer(grant.handle, *timer, clock().now() + in);
  } catch (const std::bad_alloc &) {
    refused.status = Status::NO_MEMORY;
  } catch (const std::system_error &) {
    refused.status = Status::INTERNAL;
  }
  const Status undone = table_->release(*unnamed_, grant.handle);
  static_cast<void>(undone);  // unless its lease has ended
  refused.waited = grant.waited;
  refused.counted_as_waiting = grant.counted_as_waiting;  // whoever called counts it off
  grant = refused;
}

void LocalEngine::Unpin::operator()(LeaseTimer *timer) const { timer->unpin(); }

LocalEngine::LeaseTimerRef LocalEngine::make_lease_timer(Handle h, std::shared_ptr<Runtime> runtime) {
  return LeaseTimerRef(new LeaseTimer(table_, runtime != nullptr ? std::move(runtime) : runtime_(), h));
}

void LocalEngine::give_timer(Handle h, LeaseTimer &timer, Nanos due) {
  timer.pin();  // the record's
  if (!table_->attach_timer(h, &timer, due)) timer.unpin();
}

void LocalEngine::close(bool leave, std::function<void()> closed) {
  {
    const std::lock_guard lock(sweeper_mutex_);
    closed_ = true;
    if (sweeper_ != nullptr) {
      sweeper_->disarm();
      std::exchange(sweeper_, nullptr)->unpin();
    }
  }
  {
    const std::lock_guard lock(owners_mutex_);
    owners_closed_ = true;
  }
  unnamed_->closed.store(true);
  while (const std::shared_ptr<LocalOwner> owner = any_owner()) {
    if (leave) {
      leave_owner(owner);
    } else {
      close_local_owner(*owner);
    }
  }
  if (leave) table_->keep_zombie(unnamed_);
  table_->close_instance(*unnamed_, leave);
  // What was left can be found by its name until those who have the table are freed.
  if (!table_->has_zombies()) leave_table_once();
  closed();
}

}  // namespace liblock
