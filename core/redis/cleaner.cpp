// SPDX-License-Identifier: MIT
// See cleaner.hpp.
#include "redis/cleaner.hpp"

#include <algorithm>

#include "redis/instance.hpp"
#include "redis/key_names.hpp"
#include "redis/releasing.hpp"

namespace liblock {

class Cleaner::Entry final : public ServerCall, public Timer {
 public:
  Entry(Cleaner &cleaner, std::vector<Key> keys, Nanos ends_at)
      : cleaner_(cleaner), keys_(std::move(keys)), ends_at_(ends_at) {}
  ~Entry() override { instance().runtime->cancel(*this); }

  uint64_t number = 0;
  int64_t not_after_us = 0;  // 0: a release
  bool gives_place_up = false;
  Handle handle = 0;
  uint64_t token = 0;

  void send() {
    if (is_under_way_) return;
    instance().runtime->cancel(*this);
    is_under_way_ = true;
    begin(scripts::release);
    for (const Key &key : keys_) add_names(*this, key.lock_key);
    argument(instance().options.foreign_gap_ms);
    for (const Key &key : keys_) argument(key.id);
    if (gives_place_up) argument(Bytes("1"));
    instance().link.send(*this);
  }
  bool fits(const Reply &reply) const override { return fits_release(reply, keys_.size()); }
  ReplyLimits limits() const override { return limits_of_release(keys_.size()); }
  void answered(const Reply &reply) override {
    if (const Reply *wrong = wrong_in_release(reply, 0, keys_.size())) {
      const std::string error(wrong->text);
      Link &link = instance().link;  // this may go
      failed({classify_error(error).status, false, explained(error)});
      return link.look_at_error(error);
    }
    is_under_way_ = false;
    const int64_t now_us = time_of_release(reply);
    instance().link.server_clock().observe(now_us, instance().clock.now());
    if (now_us > not_after_us) return cleaner_.over(*this);
    wait(std::clamp<Nanos>((not_after_us - now_us) * 1'000 + kMillisecond, kMillisecond, kCleaningPatience));
  }
  void failed(const Failure &failure) override {
    is_under_way_ = false;
    if (failure.status == Status::CLOSED) return;  // whoever stops it deletes it
    if (instance().clock.now() >= ends_at_) return cleaner_.over(*this);
    if (instance().link.is_connected()) wait(kCleaningPause);  // else on_connected comes
  }
  void fire(Nanos) override { send(); }

 private:
  Instance &instance() { return cleaner_.instance_; }
  void wait(Nanos time) { instance().runtime->arm(*this, instance().runtime->now() + time); }

  Cleaner &cleaner_;
  const std::vector<Key> keys_;
  const Nanos ends_at_;
  bool is_under_way_ = false;
};

Cleaner::~Cleaner() { stop(); }

void Cleaner::undo(const AttemptId &id, const LockKeys &lock_keys, int64_t not_after_us, Nanos ends_at) {
  std::vector<Key> keys;
  for (const Bytes lock_key : lock_keys) keys.push_back({std::string(lock_key), id});
  auto *entry = new Entry(*this, std::move(keys), ends_at);
  entry->not_after_us = std::max<int64_t>(1, not_after_us);
  entry->gives_place_up = true;
  begin(*entry);
}

void Cleaner::release(std::vector<Key> keys, Nanos ends_at, Handle handle, uint64_t token) {
  auto *entry = new Entry(*this, std::move(keys), ends_at);
  entry->handle = handle;
  entry->token = token;
  begin(*entry);
}

void Cleaner::begin(Entry &entry) {
  entry.number = ++numbers_;
  entries_.emplace(entry.number, &entry);
  entry.send();
}

void Cleaner::over(Entry &entry) {
  if (entry.handle != 0)
    instance_.events.emit(LIBLOCK_EVENT_DOUBT_ENDED, Status::OK, "a release in doubt has come to its end",
                          entry.handle, entry.token);
  entries_.erase(entry.number);
  delete &entry;
  instance_.closing_goes_on();
}

void Cleaner::on_connected() {
  const std::map<uint64_t, Entry *> all = entries_;
  for (const auto &[number, entry] : all) {
    if (entries_.count(number) != 0) entry->send();
  }
}

void Cleaner::stop() {
  for (const auto &[number, entry] : entries_) delete entry;
  entries_.clear();
}

}  // namespace liblock
