// SPDX-License-Identifier: MIT
// The instrumentation of one context: who listens, which acquires are told about, what was measured, and the locks
// that are told about, by handle. Nothing of it is asked for while nobody listens (is_on).
#pragma once

#include <array>
#include <mutex>
#include <unordered_map>

#include "base/random.hpp"
#include "engine/event_queue.hpp"
#include "engine/histogram.hpp"
#include "engine/log_sink.hpp"
#include "engine/trace.hpp"

namespace liblock {

struct InstrumentOptions {
  int32_t events_percent = 100;
  int32_t log_percent = 100;
  liblock_sampler events_sampler = nullptr;
  void *events_sampler_user_data = nullptr;
  liblock_sampler log_sampler = nullptr;
  void *log_sampler_user_data = nullptr;
  size_t events_max = EventQueue::kMaxUsual;
  bool log_attempts = false;
  bool histograms = false;
};

class Instruments final : public std::enable_shared_from_this<Instruments> {
 public:
  explicit Instruments(std::shared_ptr<Runtime> runtime)
      : queue_(std::make_shared<EventQueue>(std::move(runtime))) {}

  // Before anything is told.
  void set_instance(const std::string &id) { instance_id_ = id; }
  const std::string &instance_id() const { return instance_id_; }
  void set_options(const InstrumentOptions &options);
  EventQueue &events() { return *queue_; }
  LogSink &log() { return log_; }
  // Acquires have to ask begin().
  bool is_on() const;

  // nullptr: this acquire is not told about. Throws std::bad_alloc.
  std::shared_ptr<Trace> begin(const Trace::Beginning &beginning);
  // Not when the context has come to its end: nobody would take it.
  void remember(Handle lock, std::shared_ptr<Trace> trace);
  std::shared_ptr<Trace> find(Handle lock) const;
  // nullptr where it is not told about, or was taken before.
  std::shared_ptr<Trace> take(Handle lock);
  // Those of this owner, or all.
  std::vector<std::pair<Handle, std::shared_ptr<Trace>>> of_owner(const Owner *owner) const;

  // Told about always; never throws.
  struct ServerNews {
    Handle lock = 0;
    uint64_t token = 0;
    Bytes node{};
    uint64_t count = 0;
  };
  void server_event(int32_t kind, Status status, const std::string &text, const ServerNews &news) noexcept;
  // What is so from now on until the context ends: whoever begins to listen later hears it then. Once of each node, or
  // of the one server. Throws std::bad_alloc.
  void stands(int32_t kind, const std::string &text, Bytes node);
  // Somebody has begun to listen, to events or to the log.
  void tell_listener() noexcept { tell_standing(true); }
  void tell_log() noexcept { tell_standing(false); }
  void administered(std::unique_ptr<Told> told) noexcept;
  // The context has come to its end.
  void stop();

  Histogram acquire_times;
  Histogram hold_times;

 private:
  static constexpr size_t kParts = 16;
  struct Part {
    mutable SpinLock mutex;
    std::unordered_map<Handle, std::shared_ptr<Trace>> traces;  // guarded by mutex
    bool stopped = false;                                       // the same
  };
  Part &part_of(Handle lock) { return parts_[(lock ^ lock >> 20) % kParts]; }
  const Part &part_of(Handle lock) const { return parts_[(lock ^ lock >> 20) % kParts]; }
  struct Standing {
    int32_t kind;
    std::string text, node;
  };
  void tell_standing(bool to_listener) noexcept;
  void log_server_event(int32_t kind, Status status, const std::string &text, const ServerNews &news);
  void hear_server_event(int32_t kind, Status status, const std::string &text, const ServerNews &news);
  InstrumentOptions options() const;
  bool is_sampled(int32_t percent, liblock_sampler sampler, void *user_data, const Trace::Beginning &of);

  std::string instance_id_;
  const std::shared_ptr<EventQueue> queue_;
  LogSink log_;
  Random random_;
  std::atomic<bool> histograms_{false};
  mutable SpinLock options_mutex_;
  InstrumentOptions options_;  // guarded by options_mutex_
  std::array<Part, kParts> parts_;
  std::mutex standing_mutex_;  // nothing is told while it is held
  std::vector<Standing> standing_;
};

}  // namespace liblock
