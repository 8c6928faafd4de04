// SPDX-License-Identifier: MIT
// See inspecting.hpp.
#include "redis/inspecting.hpp"

#include <algorithm>

#include "redis/instance.hpp"
#include "redis/queue_reader.hpp"

namespace liblock {

namespace {

// A grant's place in the answer of the script.
enum Field : size_t { kRecord, kPttl, kInstances, kQueued, kHeardOf, kMetadata, kStanding };

// The token is the time of the grant unless the fence was ahead of the clock.
constexpr int64_t kEarliestToken = 1'000'000'000'000'000;

void read_holder(const Instance &instance, const Reply &seen, int64_t now_us, KeyInfo &info) {
  info.hold_count = 1;
  ServerRecord record;
  if (!parse_record(seen.at(kRecord).text, record)) {
    info.value = seen.at(kRecord).text;
    return;
  }
  info.owner = record.owner;
  info.attempt_id = record.id;
  info.instance = record.instance;
  info.token = record.token;
  info.value = record.value;
  info.initial_ttl_ms = record.ttl_ms;
  info.hand_us = record.since_us;
  const auto token = static_cast<int64_t>(record.token);
  info.since_us = record.since_us != 0                         ? record.since_us
                  : token >= kEarliestToken && token <= now_us ? token
                                                               : 0;
  // It listens from its first lock on, though not from the first moment.
  const bool is_young = info.since_us == 0 || now_us - info.since_us < instance.options.alive / 1'000;
  info.is_zombie = seen.at(kHeardOf).is(Reply::Kind::Integer) && seen.at(kHeardOf).integer == 0 && !is_young;
  const Reply &metadata = seen.at(kMetadata);
  for (size_t i = 0; i + 1 < metadata.elements.size(); i += 2)
    info.metadata.emplace_back(metadata.at(i).text, metadata.at(i + 1).text);
}

std::unique_ptr<KeyInfo> read_info(const Instance &instance, Bytes lock_key, const Reply &seen,
                                   int64_t now_us) {
  auto info = std::make_unique<KeyInfo>();
  Bytes key;
  if (instance.keyspace.key_of(lock_key, key)) info->key = key;
  info->is_held = seen.at(kRecord).is(Reply::Kind::Text);
  info->remaining_ms = seen.at(kPttl).integer >= 0 ? seen.at(kPttl).integer : -1;
  // Of those who want any free key only the number of their instances is known.
  info->waiters_unnamed = seen.at(kQueued).count() + seen.at(kInstances).count();
  if (info->is_held) read_holder(instance, seen, now_us, *info);
  return info;
}

class Looking final : public ServerCall {
 public:
  Looking(Instance &instance, std::vector<std::string> lock_keys, Inspection &inspection)
      : instance_(instance), lock_keys_(std::move(lock_keys)), inspection_(inspection) {}
  bool in_detail = false;
  bool passes_over = false;
  bool tells_zombies = false;
  bool with_waiters = false;
  void next() {
    const size_t until = std::min(lock_keys_.size(), infos_.size() + kKeysPerLook);
    for (size_t i = infos_.size(); i < until; ++i) instance_.passing_on.tell_now(lock_keys_[i]);
    begin(scripts::inspect);
    for (size_t i = infos_.size(); i < until; ++i) {
      key(lock_keys_[i]);
      key(Keyspace::side_key(Keyspace::Side::Anyone, lock_keys_[i]));
      key(Keyspace::side_key(Keyspace::Side::Queue, lock_keys_[i]));
      key(Keyspace::side_key(Keyspace::Side::Metadata, lock_keys_[i]));
    }
    const Bytes listed = tells_zombies ? "3" : "2";
    argument(in_detail ? Bytes("1") : passes_over ? listed : Bytes("0"));
    instance_.link.send(*this);
  }
  bool fits(const Reply &reply) const override {
    return reply.is(Reply::Kind::Array) && reply.at(0).is_time() && reply.elements.size() > 1;
  }
  ReplyLimits limits() const override { return {kKeysPerLook * 16 * 1'024, kKeysPerLook * 160, 4}; }
  void answered(const Reply &reply) override {
    now_us_ = reply.at(0).integer;
    for (const Reply &seen : reply.elements.subspan(1)) {
      if (infos_.size() == lock_keys_.size()) break;
      const Bytes lock_key = lock_keys_[infos_.size()];
      infos_.push_back(read_info(instance_, lock_key, seen, now_us_));
      standing_elsewhere_ = 0;
      if (infos_.back()->instance != instance_.id) standing_elsewhere_ = seen.at(kStanding).count();
      infos_.back()->waiters_unnamed += standing_elsewhere_ + instance_.passing_on.count_standing(lock_key);
      queued_on_server_ = seen.at(kQueued).integer > 0;
    }
    if (infos_.size() < lock_keys_.size()) return next();
    if (!in_detail) return end(Status::OK, "");
    add_own_knowledge(*infos_.front());
    if (with_waiters && queued_on_server_) return name_waiters();
    if (with_waiters) name_own_waiters(*infos_.front());
    end(Status::OK, "");
  }
  void failed(const Failure &failure) override { end(failure.status, failure.text); }

 private:
  void add_own_knowledge(KeyInfo &info) {
    for (const LeaseRef &lease : instance_.keeper.find(lock_keys_.front())) {
      if (lease->id != info.attempt_id) continue;
      if (info.initial_ttl_ms == 0)
        info.initial_ttl_ms = lease->first_ttl == kNever ? -1 : lease->first_ttl / kMillisecond;
      for (const Lease::Key &key : lease->keys) {
        if (key.lock_key == lock_keys_.front()) info.hold_count = std::max(1u, key.handles);
      }
    }
  }
  void complete(WaiterInfo &waiter) const {
    waiter.instance = instance_.id;
    waiter.since_us = now_us_ - waiter.waited_ms * 1'000;
  }
  void name_own_waiters(KeyInfo &info) {
    info.waiters = instance_.waiting.shown(lock_keys_.front());
    for (WaiterInfo &waiter : info.waiters) complete(waiter);
    info.waiters_unnamed -= std::min(info.waiters_unnamed, info.waiters.size());
  }
  void name_waiters() {
    read_queue(instance_, lock_keys_.front(), [this](QueueRead read) {
      if (read.status != Status::OK) return end(read.status, read.why);
      KeyInfo &info = *infos_.front();
      info.waiters = std::move(read.waiters);
      info.waiters_unnamed = read.unnamed + standing_elsewhere_;
      for (WaiterInfo &waiter : instance_.passing_on.shown(lock_keys_.front())) {
        complete(waiter);
        info.waiters.push_back(std::move(waiter));
      }
      end(Status::OK, "");
    });
  }
  void end(Status status, const std::string &why) {
    Inspection &inspection = inspection_;
    std::vector<std::unique_ptr<KeyInfo>> infos = std::move(infos_);
    delete this;
    if (status == Status::OK) return inspection.seen(std::move(infos));
    inspection.failed(status, why);
  }
  Instance &instance_;
  const std::vector<std::string> lock_keys_;
  Inspection &inspection_;
  bool queued_on_server_ = false;
  size_t standing_elsewhere_ = 0;  // of the key that was seen last
  int64_t now_us_ = 0;
  std::vector<std::unique_ptr<KeyInfo>> infos_;
};

}  // namespace

void inspect(Instance &instance, const std::vector<std::string> &lock_keys, Inspection &inspection) {
  (new Looking(instance, lock_keys, inspection))->next();
}

void inspect_listed(Instance &instance, const std::vector<std::string> &lock_keys, bool tells_zombies,
                    Inspection &inspection) {
  auto *looking = new Looking(instance, lock_keys, inspection);
  looking->passes_over = true;
  looking->tells_zombies = tells_zombies;
  looking->next();
}

void inspect_in_detail(Instance &instance, Bytes lock_key, bool with_waiters, Inspection &inspection) {
  auto *looking = new Looking(instance, {std::string(lock_key)}, inspection);
  looking->in_detail = true;
  looking->with_waiters = with_waiters;
  looking->next();
}

}  // namespace liblock
