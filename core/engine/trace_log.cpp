// SPDX-License-Identifier: MIT
// The log's side of trace.hpp. What an engine tells under its locks is copied, since the next moment may change it;
// it is written when they are let go, by whoever comes first.
#include <utility>

#include "engine/instruments.hpp"
#include "engine/log_entries.hpp"

namespace liblock {

namespace {

// Fields of one entry, on the stack.
class Fields {
 public:
  void number(const char *name, int64_t value) {
    all_[count_++] = {name, LIBLOCK_FIELD_NUMBER, 0, value, {nullptr, 0}};
  }
  void text(const char *name, std::string_view value) {
    all_[count_++] = {name, LIBLOCK_FIELD_TEXT, 0, 0, bytes_of(value)};
  }
  const liblock_log_field *data() const { return all_; }
  size_t size() const { return count_; }

 private:
  liblock_log_field all_[20];
  size_t count_ = 0;
};

}  // namespace

// An entry that is to be written: with its own copies of what was seen.
struct Trace::Later {
  Later(int32_t entry_of_it, const Sight &seen)
      : entry(entry_of_it),
        sight(seen),
        key(seen.key),
        first(seen.first),
        held_by(seen.held_by),
        instance(seen.instance) {}

  const int32_t entry;
  const int64_t at_us = wall_clock_us();
  const Sight sight;
  const std::string key, first, held_by, instance;
  Handle lock = 0;
  uint64_t token = 0;
  Nanos acquire = 0;
  Nanos ttl = kNever;
  Later *next = nullptr;
};

Trace::~Trace() {
  while (later_ != nullptr) delete std::exchange(later_, later_->next);
}

void Trace::log(int32_t entry, const Sight &sight) {
  const LogEntryKind &kind = *log_entry_kind(entry);
  if (!wants_.log || (is_attempt_entry(entry) && !wants_.attempts)) return;
  if (!instruments_->log().wants(kind.level)) return;
  auto later = std::make_unique<Later>(entry, sight);
  later->lock = lock_;
  later->token = sight.token != 0 ? sight.token : token_;
  later->acquire = lock_ != 0 ? acquire_ : clock_.now() - began_at_;
  later->ttl = sight.ttl >= 0 ? sight.ttl : ttl_;
  const std::lock_guard lock(mutex_);
  *later_tail_ = later.release();
  later_tail_ = &(*later_tail_)->next;
}

void Trace::write(const Later &later) {
  const LogEntryKind &kind = *log_entry_kind(later.entry);
  const Sight &seen = later.sight;
  Fields fields;
  const liblock_bytes none{"", 0};
  const liblock_bytes &first_key = keys_.empty() ? none : keys_.front();
  fields.text("key", !later.key.empty()
                         ? later.key
                         : std::string_view(static_cast<const char *>(first_key.data), first_key.size));
  fields.number("key_count", static_cast<int64_t>(keys_.size()));
  fields.number("queue_ttl_ms", shown_ms(queue_ttl_));
  fields.text("owner", owner_id_);
  const auto has = [&kind](uint32_t bit) { return (kind.fields & bit) != 0; };
  if (has(log_field::kAcquire)) fields.number("acquire_us", us_of(later.acquire));
  if (has(log_field::kHold)) fields.number("hold_us", us_of(seen.hold));
  if (has(log_field::kLock)) {
    fields.number("lock", static_cast<int64_t>(later.lock));
    fields.number("token", static_cast<int64_t>(later.token));
  }
  if (has(log_field::kTtl)) fields.number("ttl_ms", shown_ms(later.ttl));
  if (has(log_field::kStatus)) fields.text("status", status_name(static_cast<liblock_status>(seen.status)));
  if (has(log_field::kQueue)) {
    fields.number("queue_position", seen.position);
    fields.number("queue_length", seen.length);
  }
  if (has(log_field::kFirst)) fields.text("first_in_queue", later.first);
  if (has(log_field::kHolder)) fields.text("held_by", later.held_by);
  if (has(log_field::kLockData)) {
    fields.text("lock_instance", later.instance);
    fields.number("lock_token", static_cast<int64_t>(seen.token));
    fields.number("lock_remaining_ms", seen.remaining_ms);
    fields.number("lock_hold_count", static_cast<int64_t>(seen.hold_count));
  }
  if (has(log_field::kCount)) fields.number("count", static_cast<int64_t>(seen.count));
  instruments_->log().write({sizeof(liblock_log_entry), later.entry, kind.level, later.at_us, kind.name,
                             kind.message, tag_, fields.data(), fields.size()});
}

void Trace::flush() noexcept {
  for (;;) {
    std::unique_ptr<Later> later;
    {
      const std::lock_guard lock(mutex_);
      if (later_ == nullptr) break;
      later.reset(later_);
      later_ = later->next;
      if (later_ == nullptr) later_tail_ = &later_;
    }
    write(*later);
  }
  instruments_->events().deliver_soon();
}

bool Trace::begin_telling() {
  if (telling_.exchange(true)) return false;  // whoever linked it has yet to flush it
  kept_ = shared_from_this();
  return true;
}

void Trace::end_telling() {
  const std::shared_ptr<Trace> kept = std::move(kept_);
  telling_.store(false);
  flush();
}

}  // namespace liblock
