// SPDX-License-Identifier: MIT
// See observers.hpp.
#include "quorum/observers.hpp"

#include <algorithm>

#include "quorum/instance.hpp"
#include "quorum/reading.hpp"
#include "redis/cleartext.hpp"

namespace liblock::quorum {

namespace {

constexpr Nanos kCollect = 100 * kMillisecond;
constexpr size_t kBatch = 64;
constexpr size_t kChangesMax = 65'536;  // the next renewal brings what was dropped

}  // namespace

class Observers::FeedCall final : public ServerCall {
 public:
  FeedCall(Instance &instance, Observer &observer) : instance_(instance), observer_(observer) {}
  void add(Bytes lock_key, const Change &change) { changes_.emplace_back(lock_key, change); }
  size_t size() const { return changes_.size(); }

  void sending(Nanos now) override {
    sent_at_ = now;
    begin_again(scripts::observe);
    for (const auto &[lock_key, change] : changes_) {
      key(lock_key);
      key(Keyspace::side_key(Keyspace::Side::Told, lock_key));
      key(Keyspace::side_key(Keyspace::Side::Metadata, lock_key));
    }
    for (const auto &[lock_key, change] : changes_) {
      argument(change.id);
      argument(static_cast<int64_t>(change.token));
      // What has ended meanwhile is told as given back.
      const bool is_over = now >= change.ends_at;
      argument(is_over ? Bytes() : Bytes(change.record));
      argument(std::max<int64_t>(1, (change.ends_at - now) / kMillisecond));
      argument(change.metadata);
    }
  }
  bool fits(const Reply &reply) const override { return reply.has_integers(0, 1); }
  void answered(const Reply &) override {
    const Nanos now = instance_.clock.now();
    Nanos oldest = now;
    for (const auto &[lock_key, change] : changes_) oldest = std::min(oldest, change.since);
    observer_.figures->round_trip_us = (now - sent_at_) / 1'000;
    observer_.figures->lag_ms = (now - oldest) / kMillisecond;
    delete this;
  }
  void failed(const Failure &) override { delete this; }

 private:
  Instance &instance_;
  Observer &observer_;
  std::vector<std::pair<std::string, Change>> changes_;
  Nanos sent_at_ = 0;
};

Observer::Observer(Instance &instance, const ConnectionOptions &options)
    : address(options.address.redacted()),
      link(*instance.runtime, instance.clock, instance.random, options, Keyspace::channel_of(instance.id),
           *this),
      instance_(instance),
      why_(address + ": it has not answered yet") {
  warn_of_cleartext(instance.events, options.address, address);
  link.connect();
}

bool Observer::is_node() const {
  return !boot_.empty() && std::ranges::any_of(instance_.nodes(), [&](const auto &node) {
    return node->boot() == boot_ && instance_.membership.is_member(*node);
  });
}

std::string Observer::why() const {
  return is_node() ? address + ": it is a node of the quorum, and is told nothing as an observer" : why_;
}

void Observer::on_connected(const ServerInfo &info, bool) {
  boot_ = info.run_id;
  why_.clear();
  instance_.board.write(instance_);
}
void Observer::on_disconnected(Status, const std::string &text) {
  why_ = text;
  instance_.board.write(instance_);
}
bool Observer::needs_server() { return !instance_.is_closing; }

Observers::~Observers() { instance_.runtime->cancel(*this); }

void Observers::start(const std::vector<ConnectionOptions> &named) {
  know(named);
  wanted_ = named;
  set(wanted_);
}

void Observers::know(const std::vector<ConnectionOptions> &named) {
  for (const ConnectionOptions &options : named) known_.insert_or_assign(options.address.redacted(), options);
}

// A quorum that was made without observers leaves them to whoever opens a context; one that had some has no others.
void Observers::follow(const Configuration &configuration) {
  if (!configuration.observers.empty() || has_followed_) {
    has_followed_ = true;
    wanted_.clear();
    for (const std::string &address : configuration.observers) {
      const auto known = known_.find(address);
      if (known != known_.end()) {
        wanted_.push_back(known->second);
      } else if (ConnectionOptions options; instance_.connection_like_nodes(address, options)) {
        wanted_.push_back(std::move(options));
      }
    }
  }
  std::vector<ConnectionOptions> fed = wanted_;
  std::erase_if(fed, [&](const ConnectionOptions &options) {
    return configuration.find_address(options.address.redacted()) != nullptr;
  });
  set(fed);
  instance_.board.write(instance_);
}

void Observers::set(const std::vector<ConnectionOptions> &named) {
  std::vector<std::unique_ptr<Observer>> before = std::move(observers_);
  observers_.clear();
  for (const ConnectionOptions &options : named) {
    const auto known = std::find_if(before.begin(), before.end(), [&](const auto &observer) {
      return observer != nullptr && observer->address == options.address.redacted();
    });
    observers_.push_back(known != before.end() ? std::move(*known)
                                               : std::make_unique<Observer>(instance_, options));
  }
  for (auto &observer : before) {
    if (observer == nullptr) continue;
    observer->link.stop();
    gone_.push_back(std::move(observer));
  }
}

void Observers::held(const GrantLease &lease) {
  if (observers_.empty()) return;
  const Nanos now = instance_.clock.now();
  for (const Lease::Key &key : lease.keys) {
    if (key.handles == 0) continue;
    note({std::string(key.lock_key), ""}, {std::string(lease.id.text()), record_of(lease, instance_.id),
                                           lease.metadata, lease.token, lease.ends_at.load(), now});
  }
}

void Observers::released(const GrantLease &lease, const LockKeys &lock_keys) {
  if (observers_.empty()) return;
  for (const Bytes lock_key : lock_keys)
    note({std::string(lock_key), ""},
         {std::string(lease.id.text()), {}, {}, lease.token, kNever, instance_.clock.now()});
}

// Without a token: what an administrator takes away need not have been granted, and its token must not outdo that of a
// lock that is.
void Observers::taken_away(Bytes lock_key, Bytes id) {
  if (observers_.empty()) return;
  note({std::string(lock_key), std::string(id)}, {std::string(id), {}, {}, 0, kNever, instance_.clock.now()});
}

void Observers::changed(Bytes lock_key, Bytes id) {
  if (observers_.empty() || looks_.size() >= kChangesMax) return;
  looks_[std::string(lock_key)] = id;
  instance_.runtime->arm(*this, instance_.runtime->now() + kCollect);
}

void Observers::note(Place place, Change change) {
  const auto known = changes_.find(place);
  if (known == changes_.end() && changes_.size() >= kChangesMax) return;
  const bool is_known = known != changes_.end() && known->second.id == change.id;
  // A lock that is lost late is older than what this instance holds by now.
  if (known != changes_.end() && known->second.token > change.token && place.second.empty()) return;
  // Whatever was seen before it was taken away comes too late.
  if (is_known && !place.second.empty() && known->second.record.empty()) return;
  if (is_known) change.since = std::min(change.since, known->second.since);
  changes_[std::move(place)] = std::move(change);
  instance_.runtime->arm(*this, instance_.runtime->now() + kCollect);
}

// Only its holder knows all of a lock: whoever changed another one's reads what a quorum has of it now.
void Observers::look() {
  while (!looks_.empty()) {
    std::vector<std::string> lock_keys;
    std::vector<Place> places;
    while (!looks_.empty() && places.size() < kKeysPerLook) {
      places.emplace_back(*looks_.begin());
      lock_keys.push_back(places.back().first);
      looks_.erase(looks_.begin());
    }
    ReadHow how;
    how.needs_value = how.takes_unknown = true;
    const Nanos now = instance_.clock.now();
    read_keys(instance_, std::move(lock_keys), how, [this, places, now](const KeysRead &read) {
      if (read.status != Status::OK || instance_.is_closing) return;
      for (size_t i = 0; i < places.size(); ++i) seen(places[i], read.keys[i], now);
    });
  }
}

void Observers::seen(const Place &place, const KeyVotes &key, Nanos asked_at) {
  if (key.verdict() != KeyVotes::Verdict::Held || key.record().id != place.second || key.left_ms() < 0)
    return;
  const NodeRecord &record = key.record();
  note(place, {record.id, text_of(record), key.packed_metadata(), record.token,
               asked_at + nanos_from_ms(key.left_ms()), instance_.clock.now()});
}

void Observers::fire(Nanos) {
  look();
  for (const auto &observer : observers_) {
    if (!observer->is_up()) {
      observer->link.connect();
      continue;
    }
    auto call = std::make_unique<FeedCall>(instance_, *observer);
    for (const auto &[place, change] : changes_) {
      call->add(place.first, change);
      if (call->size() < kBatch) continue;
      observer->link.send(*call.release());
      call = std::make_unique<FeedCall>(instance_, *observer);
    }
    if (call->size() != 0) observer->link.send(*call.release());
  }
  changes_.clear();
}

void Observers::stop() {
  instance_.runtime->cancel(*this);
  for (const auto &observer : observers_) observer->link.stop();
}

}  // namespace liblock::quorum
