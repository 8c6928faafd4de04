// SPDX-License-Identifier: MIT
// See asking.hpp.
#include "remote/asking.hpp"

#include <algorithm>

#include "remote/inspection.hpp"
#include "remote/remote_instance.hpp"
#include "remote/remote_request.hpp"

namespace liblock {

void Asking::finish(Ask &ask, Status status, const std::string &message, Confirmed confirmed) {
  if (confirmed.nodes != 0) {
    ask.votes = confirmed.votes;
    ask.nodes = confirmed.nodes;
  }
  ask.status = status;
  ask.message = message;
  ask.ended();
}

// Waits for a change: of a lock that this instance holds, or of a key, which is looked at again and again.
class Asking::Watch final : public Timer, public Inspection {
 public:
  Watch(Asking &asking, Ask &ask) : asking_(asking), ask_(ask) {
    Runtime &runtime = *asking_.instance_.runtime;
    until_ = ask.wait == kNever ? kNever : runtime.now() + ask.wait;
  }
  ~Watch() override { asking_.instance_.runtime->cancel(*this); }
  Ask &ask() { return ask_; }
  void begin() {
    if (ask_.what == Ask::What::WaitLost) {
      if (until_ != kNever) asking_.instance_.runtime->arm(*this, until_);
    } else {
      look();
    }
  }
  void fire(Nanos) override {
    const bool is_late = until_ != kNever && asking_.instance_.runtime->now() >= until_;
    if (ask_.what == Ask::What::WaitLost || (is_looking_ && is_late))
      return asking_.end(ask_, Status::TIMEOUT);
    if (!is_looking_) look();
  }
  void seen(std::vector<std::unique_ptr<KeyInfo>> infos) override {
    is_looking_ = false;
    if (is_ended_) return void(delete this);
    ask_.message.clear();  // what was in the way before is no more
    const bool is_held = infos[0]->is_held;
    const std::string grant = infos[0]->attempt_id + "@" + std::to_string(infos[0]->hand_us);
    if (ask_.what == Ask::What::WaitHeld && is_held) {
      if (ask_.flag) ask_.infos = std::move(infos);
      return asking_.end(ask_, Status::OK);
    }
    if (ask_.what == Ask::What::WaitReleased) {
      if (!is_held) return asking_.end(ask_, first_look_ ? Status::NOT_HELD : Status::OK);
      if (!first_look_ && grant != grant_) return asking_.end(ask_, Status::OK);
      grant_ = grant;
      first_look_ = false;
    }
    look_later(infos[0]->remaining_ms);
  }
  void failed(Status status, const std::string &why) override {
    is_looking_ = false;
    if (is_ended_) return void(delete this);
    if (!passes(status)) return asking_.end(ask_, status);
    ask_.message = why;
    look_later(-1);
  }
  // Where a question is under way, its answer is the end of this object.
  void let_go() {
    is_ended_ = true;
    if (!is_looking_) delete this;
  }

 private:
  static constexpr Nanos kLook = 50 * kMillisecond;
  static bool passes(Status status) {
    return status == Status::CONNECT || status == Status::SERVER || status == Status::NO_QUORUM ||
           status == Status::QUARANTINED;
  }
  void look() {
    RemoteInstance &instance = asking_.instance_;
    if (until_ != kNever && instance.runtime->now() >= until_ && has_looked_)
      return asking_.end(ask_, Status::TIMEOUT);
    has_looked_ = is_looking_ = true;
    if (until_ != kNever && until_ > instance.runtime->now()) instance.runtime->arm(*this, until_);
    const std::string lock_key = instance.keyspace.lock_key(ask_.keys[0]);
    if (!ask_.node.empty()) return instance.read(ask_, *this);
    // Whoever wants to see the lock wants its value.
    if (ask_.flag) return instance.inspect_in_detail(lock_key, false, *this);
    instance.inspect(lock_key, *this);
  }
  void look_later(int64_t holder_ms) {
    Runtime &runtime = *asking_.instance_.runtime;
    const Nanos now = runtime.now();
    if (now >= until_) return asking_.end(ask_, Status::TIMEOUT);
    Nanos at = now + kLook;
    if (holder_ms >= 0) at = std::min(at, now + nanos_from_ms(holder_ms) + kMillisecond);
    runtime.arm(*this, std::min(at, until_));
  }

  Asking &asking_;
  Ask &ask_;
  Nanos until_;
  std::string grant_;  // of whose hands; a lock's token may rise while it is held
  bool first_look_ = true;
  bool has_looked_ = false;
  bool is_looking_ = false;
  bool is_ended_ = false;
};

class Asking::InspectCall final : public Inspection {
 public:
  InspectCall(Ask &ask, AskDone done) : ask_(ask), done_(std::move(done)) {}
  void seen(std::vector<std::unique_ptr<KeyInfo>> infos) override {
    const KeyInfo &info = *infos[0];
    const bool is_queued = info.waiter_count() != 0;
    ask_.count = ask_.what == Ask::What::IsLocked ? info.is_held : is_queued;
    if (info.is_held || (ask_.flag && is_queued)) ask_.infos = std::move(infos);
    const bool wants_info = ask_.what == Ask::What::Inspect || ask_.what == Ask::What::Read;
    end(wants_info && ask_.infos.empty() ? Status::NOT_HELD : Status::OK, "");
  }
  void failed(Status status, const std::string &why) override { end(status, why); }

 private:
  void end(Status status, const std::string &why) { end_call(this, done_, status, why); }
  Ask &ask_;
  AskDone done_;
};

// Questions alone. Whoever changes something hears at once that it was not done, so that nothing of it happens behind
// what was asked for later.
bool Asking::may_wait(const Ask &ask) {
  if (!ask.waits_for_servers) return false;
  switch (ask.what) {
    case Ask::What::Ping:
    case Ask::What::IsLocked:
    case Ask::What::IsQueued:
    case Ask::What::Inspect:
    case Ask::What::List:
      return true;
    case Ask::What::Read:
      return ask.from == Ask::From::Quorum || !ask.node.empty();
    default:
      return false;
  }
}

void Asking::servers_are_known() {
  for (Ask *ask : std::exchange(early_, {})) start(*ask);
}

void Asking::start(Ask &ask) {
  if (instance_.is_closing) return finish(ask, Status::CLOSED);
  if (may_wait(ask) && !instance_.knows_servers()) return early_.push_back(&ask);
  Ask *const one = &ask;
  const AskDone done = [one](Status status, const std::string &why, Confirmed confirmed) {
    finish(*one, status, why, confirmed);
  };
  switch (ask.what) {
    case Ask::What::Release:
      return instance_.release(ask.lock, done);
    case Ask::What::ReleaseKeys:
      return release_keys(ask);
    case Ask::What::Extend:
    case Ask::What::Update:
    case Ask::What::Verify:
      return change(ask);
    case Ask::What::Ping:
      return instance_.ping(done);
    case Ask::What::IsLocked:
    case Ask::What::IsQueued:
      return instance_.inspect(instance_.keyspace.lock_key(ask.keys[0]), *new InspectCall(ask, done));
    case Ask::What::Inspect:
      return instance_.inspect_in_detail(instance_.keyspace.lock_key(ask.keys[0]), ask.flag,
                                         *new InspectCall(ask, done));
    case Ask::What::Read:
      return instance_.read(ask, *new InspectCall(ask, done));
    case Ask::What::CloseOwner:
      return close_owner(ask);
    case Ask::What::WaitLost:
      if (held(ask) == nullptr) return;
      [[fallthrough]];
    case Ask::What::WaitHeld:
    case Ask::What::WaitReleased:
      return watch(ask);
    case Ask::What::Export:
      if (held(ask) == nullptr) return;
      [[fallthrough]];
    case Ask::What::Adopt:
    case Ask::What::List:
    case Ask::What::ListInstances:
    case Ask::What::Clear:
    case Ask::What::ForceRelease:
    case Ask::What::ReleaseKey:
    case Ask::What::ExtendKey:
    case Ask::What::UpdateKey:
    case Ask::What::QuorumInit:
    case Ask::What::SetNodes:
    case Ask::What::QuorumStatus:
      return instance_.start_other(ask, done);
  }
}

HeldLock *Asking::held(Ask &ask) {
  const HoldView seen = instance_.holds.view(ask.lock);
  if (seen.status == Status::OK) return instance_.holds.find(ask.lock);
  finish(ask, seen.status);
  return nullptr;
}

// Extend, update, verify.
void Asking::change(Ask &ask) {
  HeldLock *lock = held(ask);
  if (lock == nullptr) return;
  Ask *const one = &ask;
  const auto done = [this, one](Status status, const std::string &why) {
    if (status == Status::OK) {
      one->view = instance_.holds.view(one->lock);
      status = one->view.status;
    }
    finish(*one, status, why);
  };
  if (ask.what == Ask::What::Extend)
    return instance_.extend(ask.lock, {ask.ttl, ask.flag, ask.number != 0, ask.number != 0}, done);
  const std::vector<LeaseRef> leases = RemoteInstance::leases_of(*lock);
  if (ask.what == Ask::What::Update) return instance_.update_leases(leases, ask.text, done);
  instance_.verify_leases(leases, done);
}

namespace {

// Ends an ask when all of several releases have ended; the worst status and the fewest votes win.
struct Several {
  explicit Several(Ask &a) : ask(a) {}
  void one_ended(Status status, const std::string &why, Confirmed confirmed = {}) {
    if (confirmed.nodes != 0 && (ask.nodes == 0 || confirmed.votes < ask.votes)) {
      ask.votes = confirmed.votes;
      ask.nodes = confirmed.nodes;
    }
    if (badness(status) > badness(worst)) {
      worst = status;
      text = why;
    }
    if (--open > 0) return;
    ask.status = worst;
    ask.message = text;
    Ask &ended = ask;
    delete this;
    ended.ended();
  }
  // What may still be held is worse than what is gone.
  static int badness(Status status) {
    switch (status) {
      case Status::OK:
        return 0;
      case Status::LOST:
        return 1;
      case Status::PARTIAL:
        return 3;
      case Status::IN_DOUBT:
        return 4;
      default:
        return 2;
    }
  }
  Ask &ask;
  size_t open = 1;  // its maker's
  Status worst = Status::OK;
  std::string text;
};

// Of the locks on a key. Not one that is being reentered only: nobody has its handle yet. nullptr: none.
HeldLock *youngest_of(RemoteInstance &instance, const Reentry::Held &held) {
  for (auto handle = held.handles.rbegin(); handle != held.handles.rend(); ++handle) {
    HeldLock *lock = instance.holds.find(*handle);
    if (lock != nullptr && !lock->is_pending) return lock;
  }
  return nullptr;
}

}  // namespace

// All or nothing: every key must be held by the owner before any is given back. What an owner holds who was closed
// meanwhile is still his: this was asked for before the close, which forgets all that he holds.
void Asking::release_keys(Ask &ask) {
  const auto &owner = static_cast<const RemoteOwner &>(*ask.owner);
  std::vector<std::string> lock_keys;
  for (const std::string &key : ask.keys) {
    std::string lock_key = instance_.keyspace.lock_key(key);
    if (std::find(lock_keys.begin(), lock_keys.end(), lock_key) == lock_keys.end())
      lock_keys.push_back(std::move(lock_key));
  }
  bool lost = false;
  for (const Bytes lock_key : lock_keys) {
    const Reentry::Held *held = instance_.reentry.find(owner, lock_key);
    if (held == nullptr || youngest_of(instance_, *held) == nullptr)
      return finish(ask, owner.closed.load() ? Status::CLOSED : Status::NOT_HELD);
    lost = lost || held->part.lease->is_over(instance_.clock.now());
  }
  auto *several = new Several(ask);
  if (lost) several->worst = Status::LOST;
  for (const Bytes lock_key : lock_keys) {
    const Reentry::Held held = *instance_.reentry.find(owner, lock_key);
    HeldLock *lock = youngest_of(instance_, held);
    const auto part = std::find_if(lock->parts.begin(), lock->parts.end(), [&](const HeldLock::Part &p) {
      return p.lease == held.part.lease && p.key == held.part.key;
    });
    ++several->open;
    instance_.release_part(*lock, static_cast<size_t>(part - lock->parts.begin()),
                           [several](Status s, const std::string &why, Confirmed confirmed) {
                             several->one_ended(s, why, confirmed);
                           });
  }
  several->one_ended(Status::OK, "");
}

void Asking::close_owner(Ask &ask) {
  const auto *owner = static_cast<const RemoteOwner *>(ask.owner.get());
  instance_.waits().end_all(owner, Status::CLOSED);
  auto *several = new Several(ask);
  for (const Handle handle : instance_.holds.all_of(*owner)) {
    ++several->open;
    instance_.holds.find(handle)->loss_told = true;
    instance_.release(handle, [several](Status, const std::string &) { several->one_ended(Status::OK, ""); });
  }
  several->one_ended(Status::OK, "");
}

void Asking::watch(Ask &ask) {
  auto *watch = new Watch(*this, ask);
  watches_.emplace(&ask, watch);
  if (ask.what == Ask::What::WaitLost) waits_lost_.insert({ask.lock, &ask});
  watch->begin();
}

void Asking::end(Ask &ask, Status status) {
  const auto found = watches_.find(&ask);
  if (found == watches_.end()) return;  // not a wait, or over already
  Watch *watch = found->second;
  watches_.erase(found);
  waits_lost_.erase({ask.lock, &ask});
  watch->let_go();
  finish(ask, status, ask.message);
}

void Asking::end_all(Status status) {
  while (!pauses.empty()) (*pauses.begin())->fire(0);
  for (Ask *ask : std::exchange(early_, {})) finish(*ask, status);
  while (!watches_.empty()) end(watches_.begin()->second->ask(), status);
}

void Asking::lock_is_gone(Handle handle, Status how) {
  std::vector<Ask *> ending;
  for (auto wait = waits_lost_.lower_bound({handle, nullptr}); wait != waits_lost_.end(); ++wait) {
    if (wait->first != handle) break;
    ending.push_back(wait->second);
  }
  for (Ask *ask : ending) end(*ask, how);
}

}  // namespace liblock
