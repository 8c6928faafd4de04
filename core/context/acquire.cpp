// SPDX-License-Identifier: MIT
// From a public acquire to the engine and back: options are checked, the owner is found, and the end is
// reported.
#include <algorithm>
#include <memory>
#include <utility>

#include "context/busy.hpp"
#include "context/context.hpp"
#include "context/counts.hpp"
#include "context/struct_size.hpp"
#include "context/thread_owners.hpp"
#include "engine/busy_key.hpp"
#include "engine/progress.hpp"
#include "quorum/node_list.hpp"
#include "remote/keyspace.hpp"

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
  if (min_remaining == 0) return Status::OK;
  const HoldView seen = engine.view(grant.handle);
  if (seen.status == Status::OK && engine.clock().left_until(seen.deadline) >= min_remaining)
    return Status::OK;
  const Status released = engine.release(grant.handle);
  static_cast<void>(released);
  return Status::TOO_LATE;
}

const char *why_not_accepted(std::span<const Bytes> keys) {
  return keys.empty()
             ? "a context with a server has no global lock; agree on a key that stands for everything"
             : Keyspace::kWhyReserved;
}

Status read_node_names(const liblock_acquire_options &o, AcquireParams &params, std::string &message) {
  auto names = std::make_shared<std::vector<std::string>>(o.node_count);
  for (size_t i = 0; i < o.node_count; ++i) {
    if (!read_node_name(o.nodes[i], (*names)[i], message)) return Status::INVALID_ARGUMENT;
  }
  params.nodes = std::move(names);
  return Status::OK;
}

void tell_end(Trace &trace, Status status, const Grant &grant) {
  if (status == Status::OK) {
    trace.obtained(grant);
  } else {
    trace.failed(status, grant);
  }
}

void single_attempt(AcquireParams &params) {
  params.wait = 0;
  params.retry.retries_max = 0;
}

}  // namespace

// The call's own reference goes when its end was delivered. Its memory is the request table's, which keeps
// the context until it has it back.
class alignas(RequestTable::kAlignment) ContextRequest final : public PendingCall, public Notice {
 public:
  // shared: parameters that outlive the call; nullptr: it keeps a copy of `params`.
  ContextRequest(Context &context, std::shared_ptr<Owner> owner, liblock_callback callback, void *user_data,
                 std::shared_ptr<Completions> completions, const AcquireParams *shared,
                 AcquireParams &&params)
      : context_(context),
        owner_(std::move(owner)),
        runtime_(*context.runtime()),
        completions_(std::move(completions)),
        callback_(callback),
        user_data_(user_data),
        began_at_(context_.engine().clock().now()),
        params_(shared) {
    if (shared == nullptr) params_ = new (own_params_) AcquireParams(std::move(params));
  }

  liblock_request id = 0;
  const AcquireParams &params() const { return *params_; }
  // What it asks for beyond a lock; without memory for a look at the busy key, there is none. Before it begins.
  void keep(std::shared_ptr<RequestProgress> progress, std::span<const Bytes> keys) try {
    progress_ = std::move(progress);
    if (params_->busy_info && !keys.empty()) busy_look_ = std::make_unique<BusyLook>(*this, keys);
  } catch (const std::bad_alloc &) {}

  void ended(const Grant &grant) override {
    Engine &engine = context_.engine();
    status_ = grant.status == Status::OK ? undo_if_late(engine, grant, params_->min_remaining) : grant.status;
    set_over();
    if (Trace *trace = params_->trace; trace != nullptr) tell_end(*trace, status_, grant);
    // A hand-off needs the time for nothing else, and the coarse clock costs a tenth.
    const Nanos ended_at = status_ == Status::OK ? engine.clock().coarse() : engine.clock().now();
    waited_ = std::max<Nanos>(0, ended_at - began_at_);
    grant_ = &grant;
    if (busy_look_ != nullptr && ended_as_busy(status_)) return busy_look_->begin(engine, grant.busy_key);
    end();
  }
  void deliver() override {
    if (completions_ != nullptr) return give_back_unread();
    context_.requests().begin_delivery();
    if (progress_ != nullptr) progress_->end();
    const liblock_completion end = completion();
    callback_(&end, user_data_);
  }
  void dispose() override { delivered(); }
  std::byte *engine_room() override { return engine_room_; }
  void gone() override {
    Context &context = context_;
    this->~ContextRequest();
    context.requests().give_back_memory(this);
  }

 private:
  // Who has the key that was busy: asked before the end is told.
  class BusyLook final : public Ask {
   public:
    BusyLook(ContextRequest &request, std::span<const Bytes> given) : request_(request) {
      what = What::Inspect;
      flag = true;
      waits_for_servers = false;
      keys.assign(given.begin(), given.end());
    }
    void begin(Engine &engine, uint32_t busy) {
      try {
        const std::vector<Bytes> all(keys.begin(), keys.end());
        keys = {std::string(busy_key(all, busy))};
        engine.start(*this);
      } catch (const std::bad_alloc &) {
        ended();  // without
      }
    }
    void ended() override {
      stop_counting();
      request_.end();
    }

   private:
    ContextRequest &request_;
  };

  void end() {
    // What nobody will read of is given back by the thread of the callbacks, one lock after the other: from here the
    // end of the next in line would be come to in this call, and so on, for as many as wait.
    if (completions_ == nullptr || completions_->is_abandoned()) {
      runtime_.post(this);
      return;
    }
    // It counts no longer when its end can be read.
    const std::shared_ptr<Context> kept = context_.shared_from_this();
    const std::shared_ptr<Completions> queue = completions_;
    const liblock_completion end = completion();
    delivered();
    if (queue->put_reserved(end)) return;
    // The queue was freed just now, and this object is gone.
    delete end.info;
    if (end.status == LIBLOCK_OK) {
      const Status released = kept->release(end.lock);
      static_cast<void>(released);
    }
  }
  void give_back_unread() {
    completions_->unreserve();
    if (status_ != Status::OK) return;
    const Status released = context_.release(grant_->handle);
    static_cast<void>(released);
  }
  ~ContextRequest() override {
    if (static_cast<const void *>(params_) == own_params_) params_->~AcquireParams();
  }
  liblock_completion completion() {
    liblock_completion end{};
    end.struct_size = sizeof end;
    end.kind = LIBLOCK_KIND_ACQUIRE;
    end.status = static_cast<liblock_status>(status_);
    end.request = id;
    end.remaining_ms = -1;
    end.waited_ms = waited_ / kMillisecond;
    end.user_data = user_data_;
    end.message = context_.lasting_message(status_);
    if (status_ == Status::OK) {
      end.lock = grant_->handle;
      end.token = grant_->token;
      if (grant_->remaining != kNever) end.remaining_ms = ms_from_nanos(grant_->remaining);
    }
    tell_counts(end, status_ == Status::OK, *grant_);
    if (busy_look_ != nullptr && !busy_look_->infos.empty())
      end.info = new (std::nothrow) liblock_info{std::move(busy_look_->infos.front())};
    return end;
  }
  void delivered() {
    const std::shared_ptr<Owner> owner = std::move(owner_);  // may end here, but not under a spin lock
    const std::shared_ptr<Completions> completions = std::move(completions_);
    const std::unique_ptr<BusyLook> busy_look = std::move(busy_look_);
    const bool destroyed = context_.requests().remove(id, completions == nullptr, [this] {
      this->~ContextRequest();
      return static_cast<void *>(this);
    });
    if (!destroyed) unpin();
  }

  Context &context_;
  std::shared_ptr<Owner> owner_;
  Runtime &runtime_;  // the context's
  std::shared_ptr<Completions> completions_;
  const liblock_callback callback_;
  void *const user_data_;
  const Nanos began_at_;
  // How it ended, written before it is posted.
  Status status_ = Status::INTERNAL;
  Nanos waited_ = 0;
  const Grant *grant_ = nullptr;               // the engine's side, which lives until it was delivered
  std::shared_ptr<RequestProgress> progress_;  // the parameters point at it
  std::unique_ptr<BusyLook> busy_look_;
  const AcquireParams *params_;
  alignas(RequestTable::kAlignment) std::byte engine_room_[kEngineRoom];
  alignas(AcquireParams) std::byte own_params_[sizeof(AcquireParams)];  // last: mostly not touched
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
  if (const Status status = check_acquire_options(*o, options_); status != Status::OK) {
    message = explain_acquire_options(*o, options_);
    return status;
  }
  params = acquire_params(*o, options_);
  if (o->nodes != nullptr) {
    const Status status = read_node_names(*o, params, message);
    if (status != Status::OK) return status;
  }
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
  outcome.status = engine_->accepts(keys);
  if (outcome.status != Status::OK) {
    outcome.message = why_not_accepted(keys);
    return outcome;
  }
  if (!params.tries_once() || engine_->talks_to_server()) outcome.status = may_block();
  if (outcome.status != Status::OK) {
    outcome.message = engine_->talks_to_server()
                          ? "a callback or loop thread must not wait for a server; use the _async call"
                          : "a callback or loop thread must not wait; use wait_ms 0, or the _async call";
    return outcome;
  }
  params.threads_waiting = &waiting_;
  ThreadProgress progress(params.on_queued, params.on_queued_user_data);
  if (params.tells_place()) params.progress = &progress;
  Owner &holder = owner != nullptr ? *owner : engine_->unnamed_owner();
  Trace *const trace = begin_trace(keys, holder, params);
  outcome.grant = engine_->acquire(holder, keys, params);
  outcome.status = outcome.grant.status;
  outcome.waited = outcome.grant.waited;
  if (outcome.status == Status::OK)
    outcome.status = undo_if_late(*engine_, outcome.grant, params.min_remaining);
  if (trace != nullptr) tell_end(*trace, outcome.status, outcome.grant);
  if (outcome.status != Status::OK) {
    outcome.grant.handle = outcome.grant.token = 0;
    outcome.message = engine_->explain(outcome.status);
    if (params.busy_info && !keys.empty() && ended_as_busy(outcome.status)) look_at_busy(keys, outcome);
  }
  if (outcome.grant.counted_as_waiting) stop_waiting();
  return outcome;
}

// A look that fails leaves the end as it is.
void Context::look_at_busy(std::span<const Bytes> keys, Outcome &outcome) try {
  WaitedAsk question(Ask::What::Inspect);
  question.flag = true;
  question.waits_for_servers = false;
  question.keys = {std::string(busy_key(keys, outcome.grant.busy_key))};
  Outcome ignored;
  if (ask(question, false, ignored) != Status::OK || question.infos.empty()) return;
  outcome.info = std::move(question.infos.front());
  if (outcome.message.empty()) outcome.message = busy_message(*outcome.info);
} catch (const std::bad_alloc &) {
  // The thread still counts as waiting, which its caller ends.
}

Outcome Context::adopt(Bytes exported, const liblock_acquire_options *options) {
  Outcome outcome;
  AcquireParams params;
  WaitedAsk question(Ask::What::Adopt);
  outcome.status = prepare(options, params, question.owner, outcome.message);
  if (outcome.status != Status::OK) return outcome;
  question.text = exported;
  question.params = &params;
  const Owner &holder = question.owner != nullptr ? *question.owner : engine_->unnamed_owner();
  Trace *const trace = begin_trace({}, holder, params);
  outcome.status = ask(question, false, outcome);
  if (outcome.status != Status::OK) {
    if (trace != nullptr) trace->failed(outcome.status, outcome.grant);
    return outcome;
  }
  outcome.grant.handle = question.lock;
  outcome.grant.token = question.view.token;
  outcome.grant.hold_count = question.view.hold_count;
  if (question.view.deadline != kNever)
    outcome.grant.remaining = std::max<Nanos>(0, question.view.deadline - engine_->clock().now());
  if (trace != nullptr) trace->obtained(outcome.grant);
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
  if (params.on_queued != nullptr && completions != nullptr) return Status::INVALID_ARGUMENT;
  if (const Status status = engine_->accepts(keys); status != Status::OK) return status;
  if (completions != nullptr) {
    if (const Status status = completions->reserve(); status != Status::OK) return status;
  }
  Owner &holder = owner != nullptr ? *owner : engine_->unnamed_owner();
  Status refused = Status::NO_MEMORY;
  Trace *const trace = begin_trace(keys, holder, params);
  const std::shared_ptr<CompletionSink> kept = trace != nullptr ? params.losses : nullptr;
  try {
    const AcquireParams *shared =
        trace != nullptr ? nullptr
                         : shared_params_.of(options != nullptr ? *options : kAcquireDefaults, params);
    std::shared_ptr<RequestProgress> progress;
    if (params.tells_place()) {
      progress =
          std::make_shared<RequestProgress>(params.on_queued, params.on_queued_user_data, this->runtime());
      params.progress = progress.get();
    }
    static_assert(sizeof(ContextRequest) <= RequestTable::kCallSize);
    static_cast<void>(this->runtime());  // where no thread can be had, no memory is taken either
    void *memory = requests_.take_memory(RequestTable::kCallSize, shared_from_this());
    auto *call = new (memory)
        ContextRequest(*this, owner, callback, user_data, completions, shared, std::move(params));
    call->keep(std::move(progress), keys);
    refused = begin(*call, holder, keys, request);
    if (refused == Status::OK) return Status::OK;
    call->unpin();
  } catch (const std::bad_alloc &) {
    // Nothing has begun.
  }
  if (trace != nullptr) trace->failed(refused, {});
  if (completions != nullptr) completions->unreserve();
  return refused;
}

Status Context::begin(ContextRequest &call, Owner &holder, std::span<const Bytes> keys,
                      liblock_request *request) {
  try {
    call.id = requests_.add(call);
  } catch (const std::bad_alloc &) {
    return Status::NO_MEMORY;
  }
  if (call.id == 0) return Status::LIMIT;
  *request = call.id;
  try {
    engine_->submit(call, holder, keys, call.params(), runtime());
  } catch (const std::bad_alloc &) {
    requests_.forget(std::exchange(call.id, 0));
    *request = 0;
    return Status::NO_MEMORY;
  }
  return Status::OK;
}

Status Context::cancel(liblock_request request) {
  if (const Status status = state(); status != Status::OK) return status;
  PendingCall *call = requests_.find(request);
  if (call == nullptr) return Status::INVALID_HANDLE;
  const auto unpin = [](PendingCall *pinned) { pinned->unpin(); };
  const std::unique_ptr<PendingCall, decltype(unpin)> kept(call, unpin);
  if (Ask *ask = call->asked(); ask != nullptr) {
    engine_->cancel_wait(*call, *ask);
  } else {
    engine_->cancel(*call);
  }
  return Status::OK;
}

}  // namespace liblock
