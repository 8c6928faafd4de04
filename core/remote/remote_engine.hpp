// SPDX-License-Identifier: MIT
// The engine of a context on one server or several, as the callers' threads see it: every call is a task for the
// loop's thread, and a blocking one is the same with a wait for its end, in which the caller may be that thread.
#pragma once

#include "base/parking.hpp"
#include "engine/engine.hpp"
#include "engine/progress.hpp"
#include "remote/remote_instance.hpp"
#include "remote/remote_request.hpp"
#include "runtime/once.hpp"

namespace liblock {

class RemoteEngine : public Engine {
 public:
  const Clock &clock() const override { return instance_->clock; }
  bool talks_to_server() const override { return true; }
  Status accepts(std::span<const Bytes> keys) const override;
  std::shared_ptr<Owner> make_owner(Bytes name) override;
  void close_owner(const std::shared_ptr<Owner> &owner) override;
  Owner &unnamed_owner() override { return *unnamed_; }
  bool try_fast(Bytes, Nanos, FastGrant &) override { return false; }
  bool try_fast_many(std::span<const Bytes>, Nanos, FastGrant &) override { return false; }
  Status release(Handle h) override;
  HoldView view(Handle h) override { return instance_->holds.view(h); }
  void start(Ask &ask) override;
  void cancel_wait(PendingCall &call, Ask &ask) override;
  // Answers at once, on any thread: ask.quorum, and in ask.message what is wrong.
  virtual Status quorum_status(Ask &) { return Status::UNSUPPORTED; }
  uint64_t sweep() override { return 0; }
  void stats(liblock_stats &stats) override;
  void zombies(liblock_zombies_status &status) const override { instance_->zombies(status); }
  std::string explain(Status status) const override;
  Events *events() override { return &instance_->events; }
  void close(bool leave, std::function<void()> closed) override;

 protected:
  // owner_id: only compared.
  RemoteEngine(std::shared_ptr<RemoteInstance> instance, const void *owner_id);

  // On the loop's thread, and the call stays until then. Throws std::bad_alloc.
  template <typename Body>
  void run_with(PendingCall &call, Body body) {
    call.pin();
    try {
      run_once(*instance_->runtime, [body, &call] {
        body();
        call.unpin();
      });
    } catch (const std::bad_alloc &) {
      call.unpin();
      throw;
    }
  }

  const std::shared_ptr<RemoteInstance> instance_;

 private:
  const void *const owner_id_;
  const std::shared_ptr<RemoteOwner> unnamed_;
  std::atomic<uint64_t> owner_numbers_{0};
};

// Acquires, with the requests of an engine: Request derives from RemoteRequest, and is made as that one.
template <typename Request>
class EngineOf : public RemoteEngine {
 public:
  Grant acquire(Owner &owner, std::span<const Bytes> keys, const AcquireParams &params) override {
    Blocking request(*instance_, static_cast<RemoteOwner &>(owner), keys, params);
    params.threads_waiting->fetch_add(1);
    auto *const progress = static_cast<ThreadProgress *>(params.progress);
    if (progress != nullptr) progress->nudge_in(request.parking);
    instance_->runtime->attend(request, request.parking);
    while (!request.parking.park()) progress->tell();
    request.grant.counted_as_waiting = true;
    return request.grant;
  }
  void submit(PendingCall &call, Owner &owner, std::span<const Bytes> keys, const AcquireParams &params,
              const std::shared_ptr<Runtime> &) override {
    static_assert(sizeof(Pending) <= PendingCall::kEngineRoom);
    auto *request =
        new (call.engine_room()) Pending(*instance_, call, static_cast<RemoteOwner &>(owner), keys, params);
    instance_->runtime->attendance.arrive();
    instance_->runtime->run_on_loop(*request);
  }
  void cancel(PendingCall &call) override {
    run_with(call, [this, &call] {
      instance_->waits().end(*static_cast<Pending *>(call.engine_part), Status::CANCELED);
    });
  }

 protected:
  using RemoteEngine::RemoteEngine;

 private:
  // On the stack of the thread that waits for it.
  class Blocking final : public Request {
   public:
    using Request::Request;
    void finished() override { parking.unpark(); }
    Parking parking;
  };

  // In the room of its call, which it lives and dies with.
  class Pending final : public Request, public PendingCall::EnginePart {
   public:
    Pending(RemoteInstance &instance, PendingCall &call, RemoteOwner &owner, std::span<const Bytes> keys,
            const AcquireParams &params)
        : Request(instance, owner, keys, params), call_(call) {
      call.engine_part = this;
    }
    void finished() override {
      this->instance_.runtime->attendance.go();
      call_.ended(this->grant);
    }
    bool destroy_if_sole() override {
      this->~Pending();
      return true;
    }
    void drop() override {
      PendingCall &call = call_;
      this->~Pending();
      call.gone();
    }

   private:
    ~Pending() override = default;
    PendingCall &call_;
  };
};

}  // namespace liblock
