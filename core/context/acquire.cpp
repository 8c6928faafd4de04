// SPDX-License-Identifier: MIT
// From a public acquire to the engine and back: options are checked, the owner is found, and the end is
// reported.
#include <algorithm>

#include "context/context.hpp"
#include "context/struct_size.hpp"
#include "context/thread_owners.hpp"

namespace liblock {

namespace {

// The options as this version knows them; `own` is used where the caller's struct has another size.
Status known_options(const liblock_acquire_options *given, liblock_acquire_options &own,
                     const liblock_acquire_options *&known) {
  if (given == nullptr) {
    known = &kAcquireDefaults;
    return Status::OK;
  }
  if (given->struct_size == sizeof *given) {
    known = given;
    return Status::OK;
  }
  own = kAcquireDefaults;
  known = &own;
  return read_struct(given, own);
}

Status undo_if_late(Engine &engine, const Grant &grant, Nanos min_remaining) {
  if (min_remaining == 0 || grant.remaining == kNever) return Status::OK;
  const HoldView seen = engine.view(grant.handle);
  const Nanos now = engine.clock().coarse() + engine.clock().resolution();
  if (seen.status == Status::OK && seen.deadline - now >= min_remaining) return Status::OK;
  const Status released = engine.release(grant.handle);
  static_cast<void>(released);
  return Status::TOO_LATE;
}

void single_attempt(AcquireParams &params) {
  params.wait = 0;
  params.retry.retries_max = 0;
}

}  // namespace

// The call's own reference goes when its end was delivered; until then it also keeps the context.
class ContextRequest final : public PendingCall, public Notice {
 public:
  ContextRequest(std::shared_ptr<Context> context, std::shared_ptr<Owner> owner, liblock_callback callback,
                 void *user_data, std::shared_ptr<Completions> completions, const AcquireParams &params,
                 std::shared_ptr<Runtime> runtime)
      : context_(std::move(context)),
        owner_(std::move(owner)),
        runtime_(std::move(runtime)),
        completions_(std::move(completions)),
        callback_(callback),
        min_remaining_(params.min_remaining),
        began_at_(context_->engine().clock().now()) {
    completion_.struct_size = sizeof completion_;
    completion_.kind = LIBLOCK_KIND_ACQUIRE;
    completion_.user_data = user_data;
  }

  liblock_request id = 0;

  void ended(const Grant &grant) override {
    Engine &engine = context_->engine();
    const Status status =
        grant.status == Status::OK ? undo_if_late(engine, grant, min_remaining_) : grant.status;
    context_->requests().remove(id);
    completion_.request = id;
    completion_.status = static_cast<liblock_status>(status);
    completion_.message = status_text(completion_.status);
    completion_.remaining_ms = -1;
    completion_.waited_ms = (engine.clock().now() - began_at_) / kMillisecond;
    if (status == Status::OK) {
      completion_.lock = grant.handle;
      completion_.token = grant.token;
      if (grant.remaining != kNever) completion_.remaining_ms = ms_from_nanos(grant.remaining);
    }
    if (completions_ == nullptr) {
      runtime_->post(this);
      return;
    }
    if (!completions_->put_reserved(completion_) && status == Status::OK) {
      const Status released = engine.release(grant.handle);  // nobody will ever read of it
      static_cast<void>(released);
    }
    unpin();
  }
  void deliver() override { callback_(&completion_, completion_.user_data); }
  void dispose() override { unpin(); }

 private:
  const std::shared_ptr<Context> context_;
  const std::shared_ptr<Owner> owner_;
  const std::shared_ptr<Runtime> runtime_;
  const std::shared_ptr<Completions> completions_;
  const liblock_callback callback_;
  const Nanos min_remaining_;
  const Nanos began_at_;
  liblock_completion completion_{};
};

std::shared_ptr<Owner> Context::thread_owner() { return owner_of_this_thread(*this); }

Status Context::prepare(const liblock_acquire_options *options, AcquireParams &params,
                        std::shared_ptr<Owner> &owner, std::string &message) {
  if (const Status status = state(); status != Status::OK) return status;
  liblock_acquire_options own;
  const liblock_acquire_options *o;
  if (const Status status = known_options(options, own, o); status != Status::OK) {
    message = status == Status::UNSUPPORTED
                  ? "options come from a newer header and ask for something unknown"
                  : "options.struct_size is not set; use liblock_acquire_options_init";
    return status;
  }
  if (const Status status = check_acquire_options(*o, options_.table.max_ttl_ms); status != Status::OK) {
    message = explain_acquire_options(*o, options_.table.max_ttl_ms);
    return status;
  }
  params = acquire_params(*o);
  if (o->completions != nullptr) {
    if (o->completions->context.get() != this) {
      message = "the completion queue was opened on another context";
      return Status::INVALID_ARGUMENT;
    }
    params.losses = o->completions->rep;
  }
  if (params.on_lost != nullptr || params.losses != nullptr || params.renew) params.runtime = runtime();
  if (o->owner == LIBLOCK_OWNER_THREAD) {
    owner = thread_owner();
  } else if (o->owner != nullptr) {
    if (o->owner->context.get() != this) {
      message = "the owner was opened on another context";
      return Status::INVALID_ARGUMENT;
    }
    owner = o->owner->rep;
  }
  return Status::OK;
}

Outcome Context::acquire(std::span<const Bytes> keys, const liblock_acquire_options *options, bool try_once) {
  Outcome outcome;
  AcquireParams params;
  std::shared_ptr<Owner> owner;
  outcome.status = prepare(options, params, owner, outcome.message);
  if (outcome.status != Status::OK) return outcome;
  if (try_once) single_attempt(params);
  if (!params.tries_once()) outcome.status = may_block();
  if (outcome.status != Status::OK) {
    outcome.message = "a callback or loop thread must not wait; use wait_ms 0, or the _async call";
    return outcome;
  }
  params.threads_waiting = &waiting_;
  outcome.grant = engine_->acquire(owner != nullptr ? *owner : engine_->unnamed_owner(), keys, params);
  outcome.status = outcome.grant.status;
  outcome.waited = outcome.grant.waited;
  if (outcome.status == Status::OK)
    outcome.status = undo_if_late(*engine_, outcome.grant, params.min_remaining);
  if (outcome.status != Status::OK) outcome.grant.handle = outcome.grant.token = 0;
  if (outcome.grant.counted_as_waiting) stop_waiting();
  return outcome;
}

Status Context::submit(std::span<const Bytes> keys, const liblock_acquire_options *options,
                       liblock_callback callback, void *user_data, liblock_request *request) {
  AcquireParams params;
  std::shared_ptr<Owner> owner;
  std::string message;
  if (const Status status = prepare(options, params, owner, message); status != Status::OK) return status;
  auto completions = std::static_pointer_cast<Completions>(params.losses);
  if ((callback != nullptr) == (completions != nullptr)) return Status::INVALID_ARGUMENT;
  const std::shared_ptr<Runtime> where = runtime();
  params.runtime = where;
  if (completions != nullptr) {
    if (const Status status = completions->reserve(); status != Status::OK) return status;
  }
  Owner &holder = owner != nullptr ? *owner : engine_->unnamed_owner();
  auto *call = new ContextRequest(shared_from_this(), owner, callback, user_data, completions, params, where);
  call->id = requests_.add(*call);
  if (call->id == 0) {
    call->unpin();
    if (completions != nullptr) completions->unreserve();
    return Status::LIMIT;
  }
  *request = call->id;
  engine_->submit(*call, holder, keys, std::move(params), where);
  return Status::OK;
}

Status Context::cancel(liblock_request request) {
  if (const Status status = state(); status != Status::OK) return status;
  PendingCall *call = requests_.find(request);
  if (call == nullptr) return Status::INVALID_HANDLE;
  engine_->cancel(*call);
  call->unpin();
  return Status::OK;
}

}  // namespace liblock
