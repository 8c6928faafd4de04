// SPDX-License-Identifier: MIT
// An instance of a context on a host of a simulated world, as its engine drives it, with the ends of everything it is
// asked written down. The same for every kind of context with servers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "remote/remote_instance.hpp"
#include "remote/remote_request.hpp"
#include "runtime/once.hpp"
#include "sim/host.hpp"
#include "sim/node.hpp"
#include "sim/world.hpp"
#include "support/unit.hpp"

namespace unit {

using liblock::AcquireParams;
using liblock::Ask;
using liblock::Handle;
using liblock::kMillisecond;
using liblock::Nanos;
using liblock::Status;
using liblock_test::sim::Host;
using liblock_test::sim::Node;
using liblock_test::sim::World;

// A server's defaults: no lease is taken without renewal, and the safety net of a waiter is a second.
constexpr int64_t kAutoMs = 30'000;  // what LIBLOCK_TTL_AUTO is, and LIBLOCK_DEFAULT, where there are servers
inline AcquireParams waiting_ms(int64_t wait_ms, int64_t ttl_ms = kAutoMs, bool renew = true) {
  AcquireParams params;
  params.wait = liblock::nanos_from_ms(wait_ms);
  params.ttl = liblock::nanos_from_ms(ttl_ms);
  params.renew = renew;
  params.ttl_is_auto = renew && ttl_ms == kAutoMs;
  params.retry.interval_ms = 1'000;
  params.retry.jitter_ms = 100;
  return params;
}
inline AcquireParams setting_anew(int64_t wait_ms, int64_t ttl_ms, bool renew = true) {
  AcquireParams params = waiting_ms(wait_ms, ttl_ms, renew);
  params.on_conflict = LIBLOCK_ON_CONFLICT_REENTER_EXTEND;
  return params;
}
inline AcquireParams without_waiting(int64_t ttl_ms = kAutoMs, bool renew = true) {
  return waiting_ms(0, ttl_ms, renew);
}

// One acquire. It stays until its process goes.
template <typename EngineRequest>
class WantedOf {
 public:
  WantedOf(liblock::RemoteInstance &instance, liblock::RemoteOwner &owner,
           const std::vector<std::string> &keys, AcquireParams how, std::shared_ptr<Host> host)
      : params_(std::move(how)), host_(std::move(host)) {
    params_.runtime = host_;
    params_.on_lost = [](const liblock_completion *, void *self) { ++static_cast<WantedOf *>(self)->losses; };
    params_.on_lost_user_data = this;
    const std::vector<liblock::Bytes> views(keys.begin(), keys.end());
    request_ = std::make_unique<Request>(*this, instance, owner, views);
    host_->run_on_loop(*request_);
  }
  bool ended() const { return ends_ != 0; }
  bool is(Status status) const { return ends_ == 1 && request_->grant.status == status; }
  const liblock::Grant &grant() const { return request_->grant; }
  EngineRequest &request() { return *request_; }
  std::function<void(WantedOf &)> on_end;
  int losses = 0;

 private:
  class Request final : public EngineRequest {
   public:
    Request(WantedOf &wanted, liblock::RemoteInstance &instance, liblock::RemoteOwner &owner,
            const std::vector<liblock::Bytes> &keys)
        : EngineRequest(instance, owner, keys, wanted.params_), wanted_(wanted) {}
    void finished() override {
      ++wanted_.ends_;
      if (wanted_.on_end) wanted_.on_end(wanted_);
    }

   private:
    WantedOf &wanted_;
  };
  AcquireParams params_;
  const std::shared_ptr<Host> host_;
  std::unique_ptr<Request> request_;
  int ends_ = 0;
};

// How a call ended that has a status and nothing else.
struct Answered {
  int times = 0;
  Status status = Status::INTERNAL;
  std::string why;
  bool is(Status expected) const { return times == 1 && status == expected; }
};

// Anything but an acquire that is asked of an instance, and how it ended.
struct Question final : public Ask {
  void ended() override {
    ++ends;
    if (on_end) on_end(*this);
  }
  bool is(Status expected) const { return ends == 1 && status == expected; }
  int ends = 0;
  std::function<void(Question &)> on_end;
};

// made: gives the instance, on its host, under its name.
template <typename Instance, typename EngineRequest>
class ProcessOf {
 public:
  using Wanted = WantedOf<EngineRequest>;
  template <typename Make>
  ProcessOf(World &world, const std::string &name, Make make)
      : world_(world), host_(world.add_host(name).shared()) {
    host_->turn();  // its clock shows its time
    instance_ = make(host_, name);
    nobody_ = std::make_shared<liblock::RemoteOwner>(this, name, 0, "", false);
    instance_->unnamed = nobody_;
  }
  ~ProcessOf() { end(); }

  Host &host() { return *host_; }
  Instance &instance() { return *instance_; }
  std::shared_ptr<liblock::RemoteOwner> owner(const std::string &name) {
    return std::make_shared<liblock::RemoteOwner>(this, instance_->id, ++owners_, name, true);
  }

  Wanted &acquire(const std::vector<std::string> &keys, const AcquireParams &params,
                  const std::shared_ptr<liblock::RemoteOwner> &owner = nullptr) {
    wanted_.push_back(
        std::make_unique<Wanted>(*instance_, owner == nullptr ? *nobody_ : *owner, keys, params, host_));
    return *wanted_.back();
  }
  // Waits in the world's time for the grant, which must come.
  Wanted &take(const std::string &key, const AcquireParams &params = waiting_ms(10'000)) {
    Wanted &wanted = acquire({key}, params);
    EXPECT(world_.run_until([&] { return wanted.ended(); }, 20'000));
    EXPECT(wanted.is(Status::OK));
    return wanted;
  }
  void cancel(Wanted &wanted, Status status = Status::CANCELED) {
    run_once(*host_, [this, &wanted, status] { instance_->waiting.end(wanted.request(), status); });
  }
  std::shared_ptr<Answered> release(Handle handle) {
    return ask([this, handle](auto done) { instance_->release(handle, done); });
  }
  std::shared_ptr<Answered> extend(Handle handle, int64_t ttl_ms, bool renews = true, bool add = false) {
    return extend_for(handle, liblock::nanos_from_ms(ttl_ms), renews, add);
  }
  std::shared_ptr<Answered> extend_for(Handle handle, Nanos ttl, bool renews, bool add) {
    const bool is_auto = renews && ttl == liblock::nanos_from_ms(kAutoMs);
    return ask([=, this](auto done) { instance_->extend(handle, {ttl, add, renews, is_auto}, done); });
  }
  std::shared_ptr<Answered> update(Handle handle, const std::string &value) {
    return ask([=, this](auto done) {
      instance_->update_leases(Instance::leases_of(*instance_->holds.find(handle)), value, done);
    });
  }
  Question &question(Ask::What what, const std::function<void(Ask &)> &fill,
                     const std::function<void(Question &)> &on_end = nullptr) {
    questions_.push_back(std::make_unique<Question>());
    Question &asked = *questions_.back();
    asked.what = what;
    asked.on_end = on_end;
    if (fill) fill(asked);
    run_once(*host_, [instance = instance_.get(), &asked] { instance->asking.start(asked); });
    return asked;
  }
  // About one key.
  Question &about(const std::string &key, Ask::What what, const std::function<void(Ask &)> &fill = nullptr) {
    return question(what, [&](Ask &ask) {
      ask.keys = {key};
      if (fill) fill(ask);
    });
  }
  // What the lock says of itself here and now.
  bool holds(Handle handle) const { return instance_->holds.view(handle).status == Status::OK; }
  Status state_of(Handle handle) const { return instance_->holds.view(handle).status; }

  // Ends it as a program that leaves main().
  void end() {
    if (instance_ == nullptr) return;
    bool closed = instance_->is_closing;  // the test has done it
    host_->mend_if_alive();
    if (!closed) run_once(*host_, [&] { instance_->close(host_->is_killed(), [&] { closed = true; }); });
    EXPECT(world_.run_until([&] { return closed; }, 10'000));
    world_.run_ms(1);
    instance_.reset();
    wanted_.clear();
  }

 protected:
  template <typename Body>
  std::shared_ptr<Answered> ask(Body body) {
    auto answered = std::make_shared<Answered>();
    run_once(*host_, [answered, body] {
      body([answered](Status status, const std::string &why) {
        ++answered->times;
        answered->status = status;
        answered->why = why;
      });
    });
    return answered;
  }

 private:
  World &world_;
  const std::shared_ptr<Host> host_;
  std::shared_ptr<liblock::RemoteOwner> nobody_;
  uint64_t owners_ = 0;
  std::vector<std::unique_ptr<Wanted>> wanted_;
  std::vector<std::unique_ptr<Question>> questions_;
  std::shared_ptr<Instance> instance_;
};

}  // namespace unit
