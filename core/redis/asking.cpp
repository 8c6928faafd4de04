// SPDX-License-Identifier: MIT
// See asking.hpp.
#include "redis/asking.hpp"

#include <algorithm>

#include "redis/by_value.hpp"
#include "redis/clearing.hpp"
#include "redis/handing_over.hpp"
#include "redis/instance.hpp"
#include "redis/instance_list.hpp"
#include "redis/renaming.hpp"
#include "redis/scanning.hpp"

namespace liblock {

void Asking::finish(Ask &ask, Status status, const std::string &message) {
  ask.status = status;
  ask.message = message;
  ask.ended();
}

class Asking::PingCall final : public Command {
 public:
  PingCall(Link &link, AskDone done) : done_(std::move(done)) { link.send(*this); }
  void encode(std::string &wire) const override { encode_words(wire, {"PING"}); }
  void replied(const Reply &reply) override {
    const bool fine = reply.is(Reply::Kind::Status);
    const bool is_error = reply.is(Reply::Kind::Error);
    const Status status = fine ? Status::OK : is_error ? classify_error(reply.text).status : Status::PROTOCOL;
    end_call(this, done_, status, fine ? "" : is_error ? explained(reply.text) : "no answer to PING");
  }
  void failed(const Failure &failure) override { end_call(this, done_, failure.status, failure.text); }

 private:
  AskDone done_;
};

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
    const bool is_held = infos[0]->is_held;
    const uint64_t token = infos[0]->token;
    if (ask_.what == Ask::What::WaitHeld && is_held) return asking_.end(ask_, Status::OK);
    if (ask_.what == Ask::What::WaitReleased) {
      if (!is_held) return asking_.end(ask_, first_look_ ? Status::NOT_HELD : Status::OK);
      if (!first_look_ && token != token_) return asking_.end(ask_, Status::OK);
      token_ = token;
      first_look_ = false;
    }
    look_later(infos[0]->remaining_ms);
  }
  void failed(Status status, const std::string &why) override {
    is_looking_ = false;
    if (is_ended_) return void(delete this);
    if (status != Status::CONNECT && status != Status::SERVER) return asking_.end(ask_, status);
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
  void look() {
    Instance &instance = asking_.instance_;
    if (until_ != kNever && instance.runtime->now() >= until_ && has_looked_)
      return asking_.end(ask_, Status::TIMEOUT);
    has_looked_ = is_looking_ = true;
    if (until_ != kNever && until_ > instance.runtime->now()) instance.runtime->arm(*this, until_);
    inspect(instance, {instance.keyspace.lock_key(ask_.keys[0])}, *this);
  }
  void look_later(int64_t holder_ms) {
    Runtime &runtime = *asking_.instance_.runtime;
    const Nanos now = runtime.now();
    if (now >= until_) return asking_.end(ask_, Status::TIMEOUT);
    Nanos at = now + kLook;
    if (holder_ms >= 0) at = std::min(at, now + nanos_from_ms(holder_ms + 1));
    runtime.arm(*this, std::min(at, until_));
  }

  Asking &asking_;
  Ask &ask_;
  Nanos until_;
  uint64_t token_ = 0;
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
    end(ask_.what == Ask::What::Inspect && ask_.infos.empty() ? Status::NOT_HELD : Status::OK, "");
  }
  void failed(Status status, const std::string &why) override { end(status, why); }

 private:
  void end(Status status, const std::string &why) { end_call(this, done_, status, why); }
  Ask &ask_;
  AskDone done_;
};

void Asking::start(Ask &ask) {
  if (instance_.is_closing) return finish(ask, Status::CLOSED);
  Ask *const one = &ask;
  const AskDone done = [one](Status status, const std::string &why) { finish(*one, status, why); };
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
      new PingCall(instance_.link, done);
      return;
    case Ask::What::IsLocked:
    case Ask::What::IsQueued:
      return inspect(instance_, {instance_.keyspace.lock_key(ask.keys[0])}, *new InspectCall(ask, done));
    case Ask::What::Inspect:
      return inspect_in_detail(instance_, instance_.keyspace.lock_key(ask.keys[0]), ask.flag,
                               *new InspectCall(ask, done));
    case Ask::What::List:
      return list_step(instance_, ask, done);
    case Ask::What::ListInstances:
      return list_instances(instance_, ask, done);
    case Ask::What::Clear:
      return clear(instance_, ask, done);
    case Ask::What::ForceRelease:
      return force_release(instance_, ask, done);
    case Ask::What::ReleaseKey:
    case Ask::What::ExtendKey:
    case Ask::What::UpdateKey:
      return change_by_value(instance_, ask, done);
    case Ask::What::CloseOwner:
      return close_owner(ask);
    case Ask::What::WaitLost:
      if (held(ask) == nullptr) return;
      [[fallthrough]];
    case Ask::What::WaitHeld:
    case Ask::What::WaitReleased:
      return watch(ask);
    case Ask::What::Export:
      if (held(ask) != nullptr) finish(ask, export_lock(instance_, ask));
      return;
    case Ask::What::Adopt:
      return adopt_lock(instance_, ask, [this, one](Status s, const std::string &why) {
        if (s != Status::OK) return finish(*one, s, why);
        rename_records(instance_, one->lock,
                       [one](Status, const std::string &) { finish(*one, Status::OK); });
      });
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
    return instance_.extend(ask.lock, ask.ttl, ask.number != 0, ask.flag, done);
  const std::vector<LeaseRef> leases = Instance::leases_of(*lock);
  if (ask.what == Ask::What::Update) return instance_.keeper.update(leases, ask.text, done);
  instance_.keeper.verify(leases, done);
}

namespace {

// Ends an ask when all of several releases have ended; the worst status wins.
struct Several {
  explicit Several(Ask &a) : ask(a) {}
  void one_ended(Status status, const std::string &why) {
    if (status == Status::IN_DOUBT || (status == Status::LOST && worst == Status::OK)) {
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
  Ask &ask;
  size_t open = 1;  // its maker's
  Status worst = Status::OK;
  std::string text;
};

}  // namespace

// All or nothing: every key must be held by the owner before any is given back.
void Asking::release_keys(Ask &ask) {
  const auto &owner = static_cast<const RedisOwner &>(*ask.owner);
  std::vector<std::string> lock_keys;
  for (const std::string &key : ask.keys) {
    std::string lock_key = instance_.keyspace.lock_key(key);
    if (std::find(lock_keys.begin(), lock_keys.end(), lock_key) == lock_keys.end())
      lock_keys.push_back(std::move(lock_key));
  }
  bool lost = false;
  for (const std::string &lock_key : lock_keys) {
    const Reentry::Held *held = instance_.reentry.find(owner, lock_key);
    if (held == nullptr) return finish(ask, Status::NOT_HELD);
    lost = lost || held->part.lease->is_over(instance_.clock.now());
  }
  auto *several = new Several(ask);
  if (lost) several->worst = Status::LOST;
  for (const std::string &lock_key : lock_keys) {
    const Reentry::Held held = *instance_.reentry.find(owner, lock_key);
    HeldLock *lock = instance_.holds.find(held.handles.back());
    const auto part = std::find_if(lock->parts.begin(), lock->parts.end(), [&](const HeldLock::Part &p) {
      return p.lease == held.part.lease && p.key == held.part.key;
    });
    ++several->open;
    instance_.release_part(*lock, static_cast<size_t>(part - lock->parts.begin()),
                           [several](Status s, const std::string &why) { several->one_ended(s, why); });
  }
  several->one_ended(Status::OK, "");
}

void Asking::close_owner(Ask &ask) {
  const auto *owner = static_cast<const RedisOwner *>(ask.owner.get());
  instance_.waiting.end_all(owner, Status::CLOSED);
  auto *several = new Several(ask);
  for (const Handle handle : instance_.holds.all(owner)) {
    ++several->open;
    instance_.holds.find(handle)->loss_told = true;
    instance_.release(handle, [several](Status, const std::string &) { several->one_ended(Status::OK, ""); });
  }
  several->one_ended(Status::OK, "");
}

void Asking::watch(Ask &ask) {
  auto *watch = new Watch(*this, ask);
  watches_.insert(watch);
  watch->begin();
}

void Asking::end(Ask &ask, Status status) {
  const auto found =
      std::find_if(watches_.begin(), watches_.end(), [&](Watch *w) { return &w->ask() == &ask; });
  if (found == watches_.end()) return;  // not a wait, or over already
  Watch *watch = *found;
  watches_.erase(found);
  watch->let_go();
  finish(ask, status, ask.message);
}

void Asking::end_all(Status status) {
  while (!pauses.empty()) (*pauses.begin())->fire(0);
  while (!watches_.empty()) end((*watches_.begin())->ask(), status);
}

void Asking::lock_is_gone(Handle handle, Status how) {
  std::vector<Ask *> ending;
  for (Watch *watch : watches_) {
    if (watch->ask().what == Ask::What::WaitLost && watch->ask().lock == handle)
      ending.push_back(&watch->ask());
  }
  for (Ask *ask : ending) end(*ask, how);
}

}  // namespace liblock
