// SPDX-License-Identifier: MIT
// An opened context: checks what the caller gave, wires engine and runtime, and knows what is still under
// way.
//
//   state     calls answer   entered
//   Open      as they do     by open
//   Closed    CLOSED         by close, once; waits then end, and locks are given back or left
//   Forked    FORKED         in the child of a fork: nothing of it is touched again
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "base/parking.hpp"
#include "context/completions.hpp"
#include "context/options.hpp"
#include "context/request_table.hpp"
#include "context/shared_params.hpp"
#include "engine/engine.hpp"
#include "engine/instruments.hpp"
#include "runtime/loop_runtime.hpp"

namespace liblock {

// How a call ended, for liblock_result.
struct Outcome {
  Status status = Status::OK;
  Grant grant;
  Nanos waited = 0;
  std::string message;            // more than the status' own text
  std::string notice;             // of a success: what should be known all the same
  std::unique_ptr<KeyInfo> info;  // of a key that was busy
};

// An ask on the stack of a thread that waits for its end.
class WaitedAsk final : public Ask {
 public:
  explicit WaitedAsk(What question) {
    what = question;
    waits_at = &parking;
  }
  void ended() override { parking.unpark(); }
  Parking parking;
};

class Context final : public std::enable_shared_from_this<Context>, private RequestTable::Idle {
 public:
  enum class State : uint8_t { Open, Closed, Forked };

  // message: also where it is OK, what should be known all the same.
  static Status open(const char *url, const liblock_context_options *options,
                     std::shared_ptr<Context> &context, bool &fresh, std::string &message);
  explicit Context(ContextOptions options);
  ~Context();

  Status state() const {
    const State s = state_.load(std::memory_order_acquire);
    return s == State::Open ? Status::OK : s == State::Closed ? Status::CLOSED : Status::FORKED;
  }
  bool forked() const { return state_.load() == State::Forked; }
  void mark_forked() { state_.store(State::Forked); }
  const std::string &instance_id() const { return instance_id_; }
  const ContextOptions &options() const { return options_; }
  Engine &engine() { return *engine_; }
  Random &random() { return random_; }
  // OK, or WOULD_DEADLOCK on the callback thread and on the caller's loop thread.
  Status may_block() const {
    const bool on_loop = loop_ != nullptr && loop_->on_loop_thread();
    return on_loop || NoBlockingScope::active() ? Status::WOULD_DEADLOCK : Status::OK;
  }

  // acquire.cpp. keys empty: the global lock.
  // The shortest paths; false: nothing has changed, take the long way.
  bool acquire_fast(Bytes key, const liblock_acquire_options *options, bool try_once, FastGrant &grant,
                    Nanos &ttl);
  bool acquire_many_fast(std::span<const Bytes> keys, const liblock_acquire_options *options,
                         FastGrant &grant, Nanos &ttl);
  Outcome acquire(std::span<const Bytes> keys, const liblock_acquire_options *options, bool try_once);
  Status submit(std::span<const Bytes> keys, const liblock_acquire_options *options,
                liblock_callback callback, void *user_data, liblock_request *request);
  Status cancel(liblock_request request);
  Outcome adopt(Bytes exported, const liblock_acquire_options *options);

  // Gives a lock back without waiting for a server.
  Status release(Handle lock) {
    const bool is_told_about = handle::is_compound(lock) && traced_.load(std::memory_order_relaxed);
    return is_told_about ? release_traced(lock) : engine_->release(lock);
  }
  void close_owner(const std::shared_ptr<Owner> &owner);
  // As close_for_good(); without waiting for a server.
  void close_owner_for_good(const std::shared_ptr<Owner> &owner);

  // instrumenting.cpp
  void set_events(uint64_t mask, liblock_event_callback callback, void *user_data);
  void set_log(int32_t level, liblock_log_callback callback, void *user_data);
  void set_instruments(const InstrumentOptions &options);
  Instruments &instruments() { return *instruments_; }
  // The end of an ask that has taken so long; number: as it was asked.
  void tell(const Ask &ask, uint64_t number, Nanos elapsed);

  std::shared_ptr<Owner> thread_owner();
  std::shared_ptr<Runtime> runtime();
  RequestTable &requests() { return requests_; }

  // A call that waits in the engine: close() returns after the last of them.
  class Waiting {
   public:
    explicit Waiting(Context &context) : context_(context) { context_.waiting_.fetch_add(1); }
    ~Waiting() { context_.stop_waiting(); }
    Waiting(const Waiting &) = delete;
    Waiting &operator=(const Waiting &) = delete;

   private:
    Context &context_;
  };

  // Asks the engine and waits for the end; waits: it may take as long as ask.wait says.
  Status ask(WaitedAsk &ask, bool waits, Outcome &outcome);
  // What a completion says of an end; own: what the call itself knows of it, "" = nothing. calls.cpp
  const char *lasting_message(Status status, const std::string &own) const;
  const char *lasting_message(Status status) const {
    return status == Status::OK ? status_text(LIBLOCK_OK) : lasting_message(status, {});
  }

  Status close();
  Status close_async(liblock_callback callback, void *user_data);
  // Before it is freed, when nobody can close it again later: without memory for that it tries for a while, and then
  // ends the process rather than leave locks behind that nobody releases.
  void close_for_good();

  std::shared_ptr<Completions> open_completions(size_t capacity);
  uint64_t dropped_notices() const { return dropped_notices_->load(std::memory_order_relaxed); }
  void close_descriptors_after_fork();

 private:
  static std::shared_ptr<Context> make(ContextOptions options);
  static Status open_local(const char *url, const liblock_context_options *options,
                           std::shared_ptr<Context> &context, bool &fresh, std::string &message);
  void make_instruments();
  void listening_changed();
  // nullptr: not told about. Else the parameters keep it.
  Trace *begin_trace(std::span<const Bytes> keys, const Owner &owner, AcquireParams &params) {
    return instrumented_.load(std::memory_order_relaxed) ? make_trace(keys, owner, params) : nullptr;
  }
  Trace *make_trace(std::span<const Bytes> keys, const Owner &owner, AcquireParams &params);
  Status release_traced(Handle lock);
  void tell_release(Handle lock, Status status, Nanos elapsed);
  void tell_keys_released(const Owner &owner, Nanos elapsed);
  void tell_owner_closed(const Owner &owner, Nanos elapsed);
  void tell_closing();
  static Status open_server(const char *url, const liblock_context_options *options,
                            std::shared_ptr<Context> &context, std::string &message);
  static Status open_quorum(const char *url, const liblock_context_options *options,
                            std::shared_ptr<Context> &context, std::string &message);
  friend class ContextRequest;
  Status begin(class ContextRequest &call, Owner &holder, std::span<const Bytes> keys,
               liblock_request *request);
  Status read_usual(const liblock_acquire_options *options, bool try_once, Nanos &ttl) const;
  void stop_waiting();
  void end_everything();
  void engine_closed();
  void nothing_is_pending() override;
  void look_at_busy(std::span<const Bytes> keys, Outcome &outcome);
  Status prepare(const liblock_acquire_options *options, AcquireParams &params, std::shared_ptr<Owner> &owner,
                 std::string &message);

  const ContextOptions options_;
  Random random_;
  const std::string instance_id_;
  std::atomic<State> state_{State::Open};
  std::atomic<bool> instrumented_{false};  // acquires may be told about
  std::atomic<bool> traced_{false};        // some were
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<Instruments> instruments_;  // the engine's, or our own
  RequestTable requests_;
  SharedParams shared_params_;
  std::shared_ptr<LoopRuntime> loop_;  // the caller's loop, else null
  std::atomic<uint64_t> waiting_{0};
  std::mutex mutex_;  // guards waiting for waiting_ == 0
  std::condition_variable left_;
  std::atomic<bool> end_failed_{false};  // the end of everything was not come to; set under mutex_
  bool engine_closed_ = false;           // guarded by mutex_, as the next two
  bool ends_are_told_ = false;
  std::list<std::unique_ptr<Notice>> after_close_;
  std::vector<std::weak_ptr<Completions>> completions_;  // changed while no fork() can happen
  const std::shared_ptr<std::atomic<uint64_t>> dropped_notices_ = std::make_shared<std::atomic<uint64_t>>(0);
};

// OK: the options ask for nothing unusual and are valid, and waiting is allowed where it may come to that;
// ttl is set. UNSUPPORTED: something is unusual or wrong, and the long way finds out what.
inline Status Context::read_usual(const liblock_acquire_options *options, bool try_once, Nanos &ttl) const {
  if (state_.load(std::memory_order_acquire) != State::Open) return Status::UNSUPPORTED;
  if (instrumented_.load(std::memory_order_relaxed)) return Status::UNSUPPORTED;
  const liblock_acquire_options &o = options == nullptr ? kAcquireDefaults : *options;
  if (options != nullptr) {
    const bool usual = o.struct_size == sizeof o && differs_in_waiting_only(o, kAcquireDefaults) &&
                       o.owner == nullptr && ttl_is_valid(o.ttl_ms, options_) && waiting_is_valid(o);
    if (!usual) return Status::UNSUPPORTED;
  }
  ttl = ttl_of(o.ttl_ms);
  return try_once || o.wait_ms == 0 || o.retries == 0 ? Status::OK : may_block();
}

inline bool Context::acquire_fast(Bytes key, const liblock_acquire_options *options, bool try_once,
                                  FastGrant &grant, Nanos &ttl) {
  return read_usual(options, try_once, ttl) == Status::OK && engine_->try_fast(key, ttl, grant);
}

inline bool Context::acquire_many_fast(std::span<const Bytes> keys, const liblock_acquire_options *options,
                                       FastGrant &grant, Nanos &ttl) {
  return read_usual(options, false, ttl) == Status::OK && engine_->try_fast_many(keys, ttl, grant);
}

}  // namespace liblock

// What the public handles point to. The strong reference goes with free(); pending calls keep their own.
struct liblock_context {
  std::shared_ptr<liblock::Context> rep;
};
struct liblock_info {
  std::unique_ptr<liblock::KeyInfo> rep;
};
struct liblock_owner {
  std::shared_ptr<liblock::Context> context;
  std::shared_ptr<liblock::Owner> rep;
};
struct liblock_completions {
  std::shared_ptr<liblock::Context> context;
  std::shared_ptr<liblock::Completions> rep;
};
