// SPDX-License-Identifier: MIT
// See instruments.hpp.
#include "engine/instruments.hpp"

#include "engine/log_entries.hpp"

namespace liblock {

namespace {

// Kinds that come of acquires and their locks.
constexpr uint64_t kOfAcquires =
    (uint64_t{2} << LIBLOCK_EVENT_FAILED) - (uint64_t{1} << LIBLOCK_EVENT_OBTAINED);

}  // namespace

void Instruments::set_options(const InstrumentOptions &options) {
  queue_->set_max(options.events_max);
  const std::lock_guard lock(options_mutex_);
  options_ = options;
  histograms_.store(options.histograms, std::memory_order_relaxed);
}

InstrumentOptions Instruments::options() const {
  const std::lock_guard lock(options_mutex_);
  return options_;
}

bool Instruments::is_on() const {
  return queue_->wants_any() || log_.wants_any() || histograms_.load(std::memory_order_relaxed);
}

bool Instruments::is_sampled(int32_t percent, liblock_sampler sampler, void *user_data,
                             const Trace::Beginning &of) {
  if (sampler == nullptr) {
    return percent >= 100 || (percent > 0 && static_cast<int32_t>(random_.next() % 100) < percent);
  }
  const NoBlockingScope scope;
  if (of.keys.empty()) return sampler(percent, nullptr, of.tag, user_data) != 0;
  const liblock_bytes key = bytes_of(of.keys.front());
  return sampler(percent, &key, of.tag, user_data) != 0;
}

std::shared_ptr<Trace> Instruments::begin(const Trace::Beginning &of) {
  const InstrumentOptions o = options();
  Trace::Wants wants;
  wants.histograms = o.histograms;
  if (queue_->wants_some(kOfAcquires)) {
    wants.events = (of.instrument & LIBLOCK_INSTRUMENT_EVENTS) != 0 ||
                   is_sampled(o.events_percent, o.events_sampler, o.events_sampler_user_data, of);
  }
  if (log_.wants_any()) {
    wants.log = (of.instrument & LIBLOCK_INSTRUMENT_LOG) != 0 ||
                is_sampled(o.log_percent, o.log_sampler, o.log_sampler_user_data, of);
    wants.attempts = wants.log && log_.wants(LIBLOCK_LOG_INFO) &&
                     (o.log_attempts || (of.instrument & LIBLOCK_INSTRUMENT_ATTEMPTS) != 0);
  }
  if (!wants.events && !wants.log && !wants.histograms) return nullptr;
  return std::make_shared<Trace>(shared_from_this(), of, wants);
}

void Instruments::remember(Handle lock, std::shared_ptr<Trace> trace) {
  Part &part = part_of(lock);
  const std::lock_guard guard(part.mutex);
  if (!part.stopped) part.traces[lock] = std::move(trace);
}

std::shared_ptr<Trace> Instruments::find(Handle lock) const {
  const Part &part = part_of(lock);
  const std::lock_guard guard(part.mutex);
  const auto found = part.traces.find(lock);
  return found == part.traces.end() ? nullptr : found->second;
}

std::shared_ptr<Trace> Instruments::take(Handle lock) {
  Part &part = part_of(lock);
  const std::lock_guard guard(part.mutex);
  const auto found = part.traces.find(lock);
  if (found == part.traces.end()) return nullptr;
  std::shared_ptr<Trace> taken = std::move(found->second);
  part.traces.erase(found);
  return taken;
}

std::vector<std::pair<Handle, std::shared_ptr<Trace>>> Instruments::of_owner(const Owner *owner) const {
  std::vector<std::pair<Handle, std::shared_ptr<Trace>>> all;
  for (const Part &part : parts_) {
    const std::lock_guard guard(part.mutex);
    for (const auto &[lock, trace] : part.traces) {
      if (owner == nullptr || trace->owner() == owner) all.emplace_back(lock, trace);
    }
  }
  return all;
}

void Instruments::administered(std::unique_ptr<Told> told) noexcept {
  told->event.instance = told->event.instance.size != 0 ? told->event.instance : bytes_of(instance_id_);
  told->kept = shared_from_this();
  queue_->push(std::move(told));
  queue_->deliver_soon();
}

namespace {

bool is_good_news(int32_t kind) {
  return kind == LIBLOCK_EVENT_CONNECTED || kind == LIBLOCK_EVENT_DOUBT_ENDED ||
         kind == LIBLOCK_EVENT_NODE_UP || kind == LIBLOCK_EVENT_NODE_REJOINED ||
         kind == LIBLOCK_EVENT_CONFIGURED;
}

}  // namespace

void Instruments::log_server_event(int32_t kind, Status status, const std::string &text,
                                   const ServerNews &news) {
  const int32_t level = is_good_news(kind) ? LIBLOCK_LOG_INFO : LIBLOCK_LOG_WARNING;
  if (!log_.wants(level)) return;
  const LogEntryKind &entry = *log_entry_kind(LIBLOCK_ENTRY_SERVER);
  const liblock_log_field fields[] = {
      {"event", LIBLOCK_FIELD_TEXT, 0, 0, bytes_of(event_name(kind))},
      {"status", LIBLOCK_FIELD_TEXT, 0, 0, bytes_of(status_name(static_cast<liblock_status>(status)))},
      {"lock", LIBLOCK_FIELD_NUMBER, 0, static_cast<int64_t>(news.lock), {nullptr, 0}},
      {"token", LIBLOCK_FIELD_NUMBER, 0, static_cast<int64_t>(news.token), {nullptr, 0}},
      {"node", LIBLOCK_FIELD_TEXT, 0, 0, bytes_of(news.node)},
  };
  log_.write({sizeof(liblock_log_entry), LIBLOCK_ENTRY_SERVER, level, wall_clock_us(), entry.name, text.c_str(),
              0, fields, sizeof fields / sizeof *fields});
}

void Instruments::hear_server_event(int32_t kind, Status status, const std::string &text,
                                    const ServerNews &news) {
  if (!queue_->wants(kind)) return;
  auto told = std::make_unique<Told>(kind);
  told->message = text;
  told->event.message = told->message.c_str();
  told->event.status = static_cast<liblock_status>(status);
  told->event.lock = news.lock;
  told->event.token = news.token;
  told->event.count = news.count;
  told->node = news.node;
  told->event.node = bytes_of(told->node);
  administered(std::move(told));
}

void Instruments::server_event(int32_t kind, Status status, const std::string &text,
                               const ServerNews &news) noexcept {
  try {
    log_server_event(kind, status, text, news);
    hear_server_event(kind, status, text, news);
  } catch (...) {
    // No memory: nobody hears of it.
  }
}

void Instruments::stands(int32_t kind, const std::string &text, Bytes node) {
  {
    const std::lock_guard lock(standing_mutex_);
    for (const Standing &one : standing_) {
      if (one.kind == kind && one.node == node) return;
    }
    standing_.push_back({kind, text, std::string(node)});
  }
  server_event(kind, Status::OK, text, {0, 0, node, 0});
}

void Instruments::tell_standing(bool to_listener) noexcept {
  try {
    std::vector<Standing> all;
    {
      const std::lock_guard lock(standing_mutex_);
      all = standing_;
    }
    for (const Standing &one : all) {
      const ServerNews news{0, 0, one.node, 0};
      if (to_listener) hear_server_event(one.kind, Status::OK, one.text, news);
      if (!to_listener) log_server_event(one.kind, Status::OK, one.text, news);
    }
  } catch (...) {
    // No memory: nobody hears of it.
  }
}

void Instruments::stop() {
  queue_->stop();
  log_.stop();
  for (Part &part : parts_) {
    std::unordered_map<Handle, std::shared_ptr<Trace>> left;  // go when the lock is let go
    const std::lock_guard guard(part.mutex);
    part.stopped = true;
    left.swap(part.traces);
  }
}

}  // namespace liblock
